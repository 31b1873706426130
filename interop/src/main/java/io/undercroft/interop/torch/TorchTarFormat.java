package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/// What `torch.save` wrote before PyTorch 0.1.12: a tar archive. It is recognised, and refused with a way to convert
/// it.
public final class TorchTarFormat implements CheckpointFormat {
    private static final int BLOCK = 512;
    private static final int NAME_LENGTH = 100;
    private static final int MAGIC_AT = 257;
    private static final Set<String> MEMBERS = Set.of("sys_info", "pickle", "tensors", "storages");

    /// For the service loader.
    public TorchTarFormat() {}

    @Override
    public String name() {
        return "torch-tar";
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        if (file.size() < BLOCK) {
            return false;
        }
        byte[] header = new byte[BLOCK];
        file.read(0, MemorySegment.ofArray(header));
        String text = new String(header, US_ASCII);
        String name = text.substring(0, Math.clamp(text.indexOf(0), 0, NAME_LENGTH));
        return text.startsWith("ustar", MAGIC_AT) && MEMBERS.contains(name.replaceFirst("^\\./", ""));
    }

    /// Refuses the file.
    @Override
    public Contents open(MappedFile file, OpenOptions options) {
        throw new FormatException("TORCH-UNSUPPORTED", "a tar archive that PyTorch wrote before version 0.1.12", 0,
                "Only the zip format is read so far; in Python, torch.load it and torch.save it again");
    }
}

package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import java.io.IOException;
import java.lang.foreign.MemorySegment;

/// What `torch.save` wrote before PyTorch 1.6: a stream of pickles. It is recognised, and refused with a way to convert
/// it.
public final class TorchLegacyFormat implements CheckpointFormat {
    /// Protocol 2, the ten-byte integer 0x1950a86a20f9469cfc6c, STOP.
    private static final byte[] MAGIC = {
            (byte) 0x80, 2, (byte) 0x8a, 10, 0x6c, (byte) 0xfc, (byte) 0x9c, 0x46, (byte) 0xf9, 0x20, 0x6a, (byte) 0xa8,
            0x50, 0x19, '.'
    };

    /// For the service loader.
    public TorchLegacyFormat() {}

    @Override
    public String name() {
        return "torch-legacy";
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        if (file.size() < MAGIC.length) {
            return false;
        }
        MemorySegment start = MemorySegment.ofArray(new byte[MAGIC.length]);
        file.read(0, start);
        return start.mismatch(MemorySegment.ofArray(MAGIC)) < 0;
    }

    /// Refuses the file.
    @Override
    public Contents open(MappedFile file, OpenOptions options) {
        throw new FormatException("TORCH-UNSUPPORTED",
                "a file that PyTorch wrote before version 1.6, or without its zip format", 0,
                "Only the zip format is read so far; in Python, torch.load it and torch.save it again");
    }
}

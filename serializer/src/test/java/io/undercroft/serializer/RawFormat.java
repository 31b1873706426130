package io.undercroft.serializer;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.FileStorages;
import io.undercroft.serializer.spi.Output;
import io.undercroft.serializer.spi.Setting;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// A format as somebody else may add one: eight letters, then the bytes of one tensor of `uint8`.
public final class RawFormat implements CheckpointFormat {
    private static final byte[] MAGIC = "RAWBYTES".getBytes(US_ASCII);

    @Override
    public String name() {
        return "raw";
    }

    @Override
    public Set<Capability> capabilities() {
        return Set.of(Capability.SAVE);
    }

    @Override
    public List<String> suffixes() {
        return List.of(".raw");
    }

    @Override
    public List<Setting> settings() {
        return List.of(Setting.ofOpening("raw.reversed", "yes"),
                Setting.ofWriting("raw.padded", "yes"));
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        return file.startsWith(MAGIC);
    }

    /// With the setting `raw.reversed` the bytes are taken the other way round.
    @Override
    public Contents open(MappedFile file, OpenOptions options) {
        long nbytes = file.size() - MAGIC.length;
        FileStorages storages = new FileStorages(file, options);
        Storage storage = options.setting("raw.reversed").isPresent()
                ? storages.decoded(nbytes, into -> readReversed(file, into))
                : storages.stored(MAGIC.length, nbytes, 1);
        Tensor tensor = Tensor.of(storage, DType.UINT8, 0, Shape.of(nbytes), 1);
        return TreeContents.of(Map.of("bytes", tensor), Map.of(), _ -> List.of()).only(options);
    }

    private static void readReversed(MappedFile file, MemorySegment into) throws IOException {
        for (long at = 0; at < into.byteSize(); at++) {
            file.read(file.size() - 1 - at, into.asSlice(at, 1));
        }
        if (into.byteSize() > 0 && into.get(ValueLayout.JAVA_BYTE, 0) == 13) {
            throw new FormatException("RAW", "unlucky", 0, "Take another number");
        }
    }

    /// With the setting `raw.padded` zeros follow up to a multiple of 8 bytes.
    @Override
    public Draft draft(@Nullable Object state, SaveOptions options) {
        if (!(state instanceof Tensor tensor) || !tensor.dtype().equals(DType.UINT8)) {
            throw new IllegalArgumentException("state is no tensor of uint8");
        }
        return new Draft() {
            @Override
            public long nbytes() {
                return MAGIC.length + tensor.numel();
            }

            @Override
            public void writeTo(Output output) throws IOException {
                output.write(MemorySegment.ofArray(MAGIC));
                output.write(tensor.storage().segment());
                if (options.setting("raw.padded").isPresent()) {
                    output.align(8);
                }
            }
        };
    }
}

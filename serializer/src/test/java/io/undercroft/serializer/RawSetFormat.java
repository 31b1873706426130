package io.undercroft.serializer;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Output;
import io.undercroft.serializer.spi.TreeContents;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.SequencedSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// A format of several files: an index that names them in lines, and a [RawFormat] for each tensor of a map.
public final class RawSetFormat implements CheckpointFormat {
    private static final byte[] MAGIC = "RAWSET\n".getBytes(UTF_8);

    @Override
    public String name() {
        return "raw-set";
    }

    @Override
    public Set<Capability> capabilities() {
        return Set.of(Capability.SAVE, Capability.SEVERAL_FILES);
    }

    @Override
    public List<String> suffixes() {
        return List.of(".rawset");
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        return file.startsWith(MAGIC);
    }

    @Override
    public SequencedSet<String> companionNames(MappedFile file) throws IOException {
        byte[] text = new byte[(int) file.size()];
        file.read(0, MemorySegment.ofArray(text));
        return new LinkedHashSet<>(new String(text, UTF_8).lines().skip(1).toList());
    }

    @Override
    public Contents open(MappedFile file, OpenOptions options) {
        return TreeContents.of(Map.of(), Map.of(), _ -> List.of());
    }

    @Override
    public Draft draft(@Nullable Object state, SaveOptions options, String fileName) {
        SequencedMap<String, Draft> files = new LinkedHashMap<>();
        ((Map<?, ?>) state)
                .forEach((name, tensor) -> files.put(name.toString(), new RawFormat().draft(tensor, options)));
        byte[] index = (new String(MAGIC, UTF_8) + String.join("\n", files.keySet())).getBytes(UTF_8);
        return new Draft() {
            @Override
            public long nbytes() {
                return index.length;
            }

            @Override
            public void writeTo(Output output) throws IOException {
                output.write(MemorySegment.ofArray(index));
            }

            @Override
            public SequencedMap<String, Draft> companions() {
                return files;
            }
        };
    }
}

package io.undercroft.interop.safetensors;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import java.io.IOException;
import java.lang.foreign.MemorySegment;

/// The index of a model in several files of [SafetensorsFormat], usually called `model.safetensors.index.json`. It is opened as one state with
/// the tensors that the index names, in its order, and further names of them.
///
/// The files are those beside the index, and stay open until the contents are released. A symbolic link to a file elsewhere, as in the cache of
/// the Hugging Face hub, is followed only below [OpenOptions#root(java.nio.file.Path)].
public final class SafetensorsIndexFormat implements CheckpointFormat {
    /// An index has its map first, or behind a few lines about the model.
    private static final int LOOKED_AT = 1 << 16;

    /// For the service loader.
    public SafetensorsIndexFormat() {}

    @Override
    public String name() {
        return "safetensors-index";
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        byte[] start = new byte[(int) Math.min(file.size(), LOOKED_AT)];
        if (start.length == 0) {
            return false;
        }
        file.read(0, MemorySegment.ofArray(start).asSlice(0, 1));
        if (start[0] != '{') {
            return false;
        }
        file.read(0, MemorySegment.ofArray(start));
        return new String(start, ISO_8859_1).contains('"' + ShardIndex.MAP + '"');
    }

    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        return ShardedContents.open(ShardIndex.read(file), file.path(), options);
    }
}

package io.undercroft.serializer.internal.disk;

import io.undercroft.format.internal.ByteSource;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.serializer.spi.StoreOutput;
import io.undercroft.serializer.spi.StoreTarget;
import io.undercroft.serializer.spi.StoreTarget.Creation;
import java.io.Closeable;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// The place of a file in a store.
///
/// @param place the place
/// @param settings the settings of the store that the options of a save may have
public record StoredTarget(StoreTarget place, Set<String> settings) implements Target {
    @Override
    public String location() {
        return place.location();
    }

    @Override
    public String fileName() {
        return place.fileName();
    }

    @Override
    public @Nullable Path path() {
        return null;
    }

    @Override
    public @Nullable Path file() {
        return null;
    }

    @Override
    public Target sibling(String name) {
        return new StoredTarget(place.sibling(name), settings);
    }

    @Override
    public Closeable lock(boolean isAlways) {
        return () -> {};
    }

    /// Does nothing, as no store reports it.
    @Override
    public void requireSpace(long nbytes) {}

    @Override
    public void requireAbsent() throws IOException {
        if (place.exists()) {
            throw new RemoteFileException(location(), Kind.CONFLICT, "the set would have such a file, and "
                    + "one is there; write to another directory, or delete it first", null);
        }
    }

    @Override
    public StoredTarget unforced() {
        return this;
    }

    /// Does nothing, as deletions in a store are durable.
    @Override
    public void forceDirectory() {}

    @Override
    public Begun begin(Creation condition, Replacing rule) throws IOException {
        rule.check(this);
        return new Upload(place.create(condition));
    }

    @Override
    public void delete() throws IOException {
        place.delete();
    }

    private static final class Upload implements Begun {
        private final StoreOutput output;
        private Visibility visibility = Visibility.HIDDEN;
        private long size;

        Upload(StoreOutput output) {
            this.output = output;
        }

        @Override
        public void write(long position, MemorySegment bytes) throws IOException {
            output.write(position, bytes);
            size = position + bytes.byteSize();
        }

        @Override
        public long size() {
            return size;
        }

        @Override
        public @Nullable ByteSource source() {
            return null;
        }

        @Override
        public void commit(Runnable lastWord) throws IOException {
            lastWord.run();
            visibility = Visibility.UNKNOWN;
            try {
                output.commit();
                visibility = Visibility.VISIBLE;
            } catch (RemoteFileException e) {
                visibility = e.kind() == Kind.UNAVAILABLE ? Visibility.UNKNOWN : Visibility.HIDDEN;
                throw e;
            }
        }

        @Override
        public Visibility visibility() {
            return visibility;
        }

        @Override
        public void close() throws IOException {
            output.close();
        }
    }
}

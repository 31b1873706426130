package io.undercroft.serializer.internal;

import io.undercroft.format.ByteSource;
import io.undercroft.format.Limits;
import io.undercroft.format.Snapshot;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/// Our own format.
final class CroftFormat implements CheckpointFormat {
    /// Enough of the signature to tell; what damages the rest is then called by its name.
    private static final byte[] SIGNATURE_START = {(byte) 0x89, 'C', 'R', 'F'};

    @Override
    public String name() {
        return "croft";
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        if (file.size() < SIGNATURE_START.length) {
            return false;
        }
        byte[] start = new byte[SIGNATURE_START.length];
        file.read(0, MemorySegment.ofArray(start));
        return MemorySegment.ofArray(start).mismatch(MemorySegment.ofArray(SIGNATURE_START)) < 0;
    }

    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        ByteSource source = new FileSource(file);
        return new CroftContents(file, source, Snapshot.open(source, Limits.DEFAULT), options);
    }

    private record FileSource(MappedFile file) implements ByteSource {
        @Override
        public long size() {
            return file.size();
        }

        @Override
        public void read(long offset, MemorySegment into) throws IOException {
            file.read(offset, into);
        }

        @Override
        public Optional<MemorySegment> segment(long offset, long length) {
            return Optional.of(file.map(offset, length));
        }
    }
}

package io.undercroft.cli;

import io.undercroft.format.BaseKind;
import io.undercroft.format.BaseRecord;
import io.undercroft.format.ByteSource;
import io.undercroft.format.FormatException;
import io.undercroft.format.Limits;
import io.undercroft.format.Snapshot;
import io.undercroft.serializer.Checkpoint;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/// The other files in which bytes of a file stand: the shards of a set, the bases of a `.croft` file, and theirs.
final class Foundations {
    private Foundations() {}

    /// {@return whether bytes of an open file stand in another one}
    ///
    /// @param checkpoint the open file
    /// @param other the other one, there or not
    /// @param root below which directory bases are, if that was said
    /// @throws IOException if reading fails
    static boolean include(Checkpoint checkpoint, Path other, Optional<Path> root) throws IOException {
        if (!Files.isRegularFile(other)) {
            return false;
        }
        for (Path shard : checkpoint.files().subList(1, checkpoint.files().size())) {
            if (Files.isSameFile(shard, other)) {
                return true;
            }
        }
        return checkpoint.snapshot().isPresent() && isBase(checkpoint.path(), other, root);
    }

    /// Says why a file is not replaced.
    static int refuse(Path file, Path other, Run run) {
        return run.complain("%s: bytes of %s stand in it, and would be lost. Write to another name".formatted(other,
                file));
    }

    /// {@return whether a snapshot of a `.croft` file, or of one that it stands on, has bytes in another file} Sound or not: of a damaged
    /// file whatever can be read is asked.
    ///
    /// @param file the file
    /// @param other the other one, there or not
    /// @param root below which directory bases are, if that was said
    /// @throws IOException if reading fails
    static boolean isBase(Path file, Path other, Optional<Path> root) throws IOException {
        if (!Files.isRegularFile(other)) {
            return false;
        }
        Set<Path> seen = new HashSet<>();
        Deque<Path> left = new ArrayDeque<>(List.of(file.toRealPath()));
        try (FileChannel bytes = FileChannel.open(other)) {
            while (!left.isEmpty()) {
                Path next = left.pop();
                Path directory = root.orElse(Objects.requireNonNull(next.getParent()));
                for (BaseRecord base : bases(next)) {
                    if (means(base, other, bytes)) {
                        return true;
                    }
                    Path path = directory.resolve(base.path());
                    if (base.kind() == BaseKind.CROFT && Files.isRegularFile(path) && seen.add(path.toRealPath())) {
                        left.push(path.toRealPath());
                    }
                }
            }
        }
        return false;
    }

    /// Where a base is depends on a root that nobody may have told, so a file is known by what it is. Of one that was adopted the record has the
    /// length and a digest of all bytes, which would take long; here the name has to do instead.
    private static boolean means(BaseRecord base, Path other, FileChannel bytes) throws IOException {
        try {
            base.check(new Bytes(bytes));
            return base.kind() == BaseKind.CROFT
                    || Path.of(base.path()).getFileName().equals(other.toRealPath().getFileName());
        } catch (FormatException _) {
            return false;
        }
    }

    /// The bases of all snapshots, as far as they can be read.
    private static Set<BaseRecord> bases(Path file) throws IOException {
        Set<BaseRecord> bases = new LinkedHashSet<>();
        try (FileChannel channel = FileChannel.open(file)) {
            Optional<Snapshot> snapshot = Optional.of(Snapshot.open(new Bytes(channel), Limits.DEFAULT));
            while (snapshot.isPresent()) {
                for (int number = 0; number < snapshot.get().baseCount(); number++) {
                    bases.add(snapshot.get().base(number));
                }
                snapshot = snapshot.get().previous();
            }
        } catch (FormatException _) {
            // What cannot be read has no bytes to lose.
        }
        return bases;
    }

    private record Bytes(FileChannel channel) implements ByteSource {
        @Override
        public long size() throws IOException {
            return channel.size();
        }

        @Override
        public void read(long offset, MemorySegment into) throws IOException {
            ByteBuffer bytes = into.asByteBuffer();
            while (bytes.hasRemaining()) {
                if (channel.read(bytes, offset + bytes.position()) < 0) {
                    throw new EOFException("the file ends before " + into.byteSize() + " bytes from " + offset);
                }
            }
        }
    }
}

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
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
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
        if (!Files.exists(other)) {
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
    static int refuse(Checkpoint checkpoint, Path other, Run run) {
        return run.complain("%s: bytes of %s stand in it, and would be lost. Write to another name".formatted(other,
                checkpoint.path()));
    }

    private static boolean isBase(Path file, Path other, Optional<Path> root) throws IOException {
        Path base = other.toRealPath();
        Set<Path> seen = new HashSet<>();
        Deque<Path> left = new ArrayDeque<>(List.of(file.toRealPath()));
        while (!left.isEmpty()) {
            Map<Path, BaseKind> bases = bases(left.pop(), root);
            if (bases.containsKey(base)) {
                return true;
            }
            bases.forEach((path, kind) -> {
                if (kind == BaseKind.CROFT && seen.add(path)) {
                    left.push(path);
                }
            });
        }
        return false;
    }

    /// The bases that are there. Others, and files that are no longer what they were, are missed by whoever reads the file.
    private static Map<Path, BaseKind> bases(Path file, Optional<Path> root) throws IOException {
        Path directory = root.orElse(Objects.requireNonNull(file.getParent()));
        Map<Path, BaseKind> bases = new HashMap<>();
        try (FileChannel channel = FileChannel.open(file)) {
            Snapshot snapshot = Snapshot.open(new Bytes(channel), Limits.DEFAULT);
            for (int number = 0; number < snapshot.baseCount(); number++) {
                BaseRecord base = snapshot.base(number);
                Path path = directory.resolve(base.path());
                if (Files.isRegularFile(path)) {
                    bases.put(path.toRealPath(), base.kind());
                }
            }
        } catch (FormatException _) {
            return Map.of();
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

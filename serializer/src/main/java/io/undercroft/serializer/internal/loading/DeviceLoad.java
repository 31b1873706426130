package io.undercroft.serializer.internal.loading;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.serializer.internal.BinarySearch;
import io.undercroft.serializer.internal.Workers;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Device;
import io.undercroft.storage.spi.DeviceMemory.HostReader;
import io.undercroft.storage.spi.DeviceMemory.Upload;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/// Uploads storages to one device in the order of their files. Small ones are packed into blocks, so that allocations
/// and copies are few and large; a block is freed with the last storage in it.
final class DeviceLoad {
    private static final long BLOCK = 32L << 20;
    /// The minimum alignment of allocations on devices.
    private static final long ALIGNMENT = 256;

    private final List<Member> members = new ArrayList<>();
    private final List<Block> blocks = new ArrayList<>();
    private final LongConsumer progress;

    private DeviceLoad(LongConsumer progress) {
        this.progress = progress;
    }

    /// A storage that is loaded.
    private record Member(DeviceSource source, CheckedInput input) {
        long nbytes() {
            return source.bytes().nbytes();
        }
    }

    /// Several storages in one allocation.
    private static final class Block implements HostReader {
        private final List<Member> members = new ArrayList<>();
        private final List<Long> starts = new ArrayList<>();
        private final LongConsumer progress;
        private long size;
        private @Nullable Allocation whole;

        Block(LongConsumer progress) {
            this.progress = progress;
        }

        private static long aligned(long size) {
            return (size + ALIGNMENT - 1) & -ALIGNMENT;
        }

        boolean takes(Member member) {
            return member.nbytes() <= BLOCK - Math.min(BLOCK, aligned(size));
        }

        void add(Member member) {
            long start = aligned(size);
            members.add(member);
            starts.add(start);
            size = start + member.nbytes();
        }

        boolean isZero() {
            return members.stream().allMatch(member -> member.input.isZero());
        }

        /// All bytes are uploaded, gaps included, unless all are zeros.
        MemorySegment allocate() {
            Allocation made = members.getFirst().source.allocate(size, isZero());
            whole = made;
            return made.segment();
        }

        void free() {
            if (whole != null) {
                whole.free();
            }
        }

        /// Called for parts that do not overlap, by several threads.
        @Override
        public void read(long offset, MemorySegment into) {
            long end = offset + into.byteSize();
            long done = offset;
            for (int i = indexOf(offset); i < members.size() && starts.get(i) < end; i++) {
                long start = starts.get(i);
                long from = Math.max(offset, start);
                long to = Math.min(end, start + members.get(i).nbytes());
                if (from < to) {
                    into.asSlice(done - offset, from - done).fill((byte) 0);
                    members.get(i).input.read(from - start, into.asSlice(from - offset, to - from));
                    progress.accept(to - from);
                    done = to;
                }
            }
            into.asSlice(done - offset).fill((byte) 0);
        }

        /// {@return the number of the last storage that starts at or before a byte}
        private int indexOf(long offset) {
            return Math.max(0, BinarySearch.first(starts.size(), number -> starts.get(number) > offset) - 1);
        }

        /// {@return the allocations of the storages}
        List<Allocation> parts(Allocation made) {
            if (members.size() == 1) {
                return List.of(made);
            }
            AtomicInteger left = new AtomicInteger(members.size());
            List<Allocation> parts = new ArrayList<>();
            for (int i = 0; i < members.size(); i++) {
                parts.add(new Allocation(made.segment().asSlice(starts.get(i), members.get(i).nbytes()),
                        Allocation.Sharing.PRIVATE, null, () -> {
                            if (left.decrementAndGet() == 0) {
                                made.free();
                            }
                        }));
            }
            return parts;
        }

        /// Sets the bytes of each storage, or its damage.
        void finish(Allocation made) {
            List<Allocation> parts = parts(made);
            for (int i = 0; i < members.size(); i++) {
                Member member = members.get(i);
                Allocation part = parts.get(i);
                member.source.loaded(() -> member.source.bytes().checked(member.input, part));
            }
        }
    }

    /// Loads one storage.
    ///
    /// @param source the storage
    /// @param input its bytes
    /// @return its bytes on the device
    static Allocation one(DeviceSource source, CheckedInput input) {
        DeviceLoad load = new DeviceLoad(_ -> {});
        load.members.add(new Member(source, input));
        try {
            load.upload();
        } catch (Throwable e) {
            load.free();
            throw e;
        }
        return source.bytes().checked(input, Objects.requireNonNull(load.blocks.getFirst().whole));
    }

    /// Loads storages, each device at the same time as the others, with one upload for each. Afterwards each source has
    /// the bytes, or their damage. Those that have to be decoded are left out.
    ///
    /// @param sources the storages
    /// @param progress receives the number of further bytes read
    /// @throws IOException if reading fails; no memory of a device is kept then
    static void all(List<DeviceSource> sources, LongConsumer progress) throws IOException {
        Map<Device, DeviceLoad> loads = new LinkedHashMap<>();
        for (DeviceSource source : sources) {
            try {
                source.input().ifPresent(input -> loads.computeIfAbsent(source.memory().device(),
                        _ -> new DeviceLoad(progress)).members.add(new Member(source, input)));
            } catch (FormatException e) {
                source.loaded(() -> {
                    throw e;
                });
            }
        }
        try {
            Workers.atOnce(loads.values(), DeviceLoad::upload);
        } catch (Throwable e) {
            loads.values().forEach(DeviceLoad::free);
            throw e;
        }
        loads.values().forEach(DeviceLoad::finish);
    }

    private void upload() {
        pack();
        List<Upload> uploads = new ArrayList<>();
        for (Block block : blocks) {
            MemorySegment target = block.allocate();
            if (block.isZero()) {
                // New memory is zeroed.
                progress.accept(block.members.stream().mapToLong(Member::nbytes).sum());
            } else {
                uploads.add(new Upload(target, block));
            }
        }
        if (!uploads.isEmpty()) {
            members.getFirst().source.memory().upload(uploads);
        }
    }

    private void pack() {
        Map<MappedFile, Integer> files = new HashMap<>();
        for (Member member : members) {
            files.putIfAbsent(member.source.bytes().file(), files.size());
        }
        List<Member> inOrder = new ArrayList<>(members);
        inOrder.sort(Comparator.<Member>comparingInt(member -> files.get(member.source.bytes().file()))
                .thenComparingLong(DeviceLoad::position));
        Block current = new Block(progress);
        for (Member member : inOrder) {
            if (member.nbytes() > BLOCK / 2) {
                addBlock().add(member);
                continue;
            }
            if (current.members.isEmpty() || !current.takes(member)) {
                current = addBlock();
            }
            current.add(member);
        }
    }

    private Block addBlock() {
        Block block = new Block(progress);
        blocks.add(block);
        return block;
    }

    /// Returns the offset of the bytes of a storage in its file, or 0 if they start in another file.
    private static long position(Member member) {
        FilePiece first = member.input.first();
        return first == null ? 0 : first.offset();
    }

    private void finish() {
        for (Block block : blocks) {
            Allocation whole = block.whole;
            if (whole != null) {
                block.finish(whole);
            }
        }
    }

    private void free() {
        blocks.forEach(Block::free);
    }
}

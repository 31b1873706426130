package io.undercroft.properties.crash;

import io.undercroft.properties.crash.DiskOperation.Create;
import io.undercroft.properties.crash.DiskOperation.Delete;
import io.undercroft.properties.crash.DiskOperation.FailedForce;
import io.undercroft.properties.crash.DiskOperation.Force;
import io.undercroft.properties.crash.DiskOperation.ForceDirectory;
import io.undercroft.properties.crash.DiskOperation.Rename;
import io.undercroft.properties.crash.DiskOperation.Truncate;
import io.undercroft.properties.crash.DiskOperation.Write;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// What a disk may hold after the power went at some moment.
///
/// What was forced is there. Of what was written after the last force, each sector of 512 bytes may be there or not, in
/// any order; where a file became longer and a sector is not there, it is zeros or garbage. A rename may have reached
/// the disk or not, unless its directory was forced. What was written before a force that failed
/// counts as written after the last force, whatever is forced later.
final class PowerCut {
    private static final int SECTOR = 512;

    /// How what was not forced fares.
    enum Fate {
        /// All of it is lost.
        LOST,
        /// All of it arrived, as if the process had been killed and not the power cut.
        ARRIVED,
        /// Each write arrived whole or not at all.
        WHOLE_WRITES,
        /// Each sector arrived or not.
        SECTORS
    }

    private final Map<Integer, byte[]> files = new HashMap<>();
    /// The files by the names that the disk has for them, and by those that the system has, until it stops.
    private final Map<Path, Integer> onDisk = new HashMap<>();
    private final Map<Path, Integer> inSystem = new HashMap<>();
    private final Fate fate;
    private final Random random;

    private PowerCut(Fate fate, Random random) {
        this.fate = fate;
        this.random = random;
    }

    /// Cuts the power.
    ///
    /// @param before the files that were there, durably
    /// @param done what was done since then, up to the cut
    /// @param path the file to look at
    /// @param fate how what was not forced fares
    /// @param random decides the rest
    /// @return the bytes of the file, or null if there is none
    static byte @Nullable [] bytesAfter(Map<Path, byte[]> before, List<DiskOperation> done, Path path, Fate fate,
            Random random) {
        PowerCut cut = new PowerCut(fate, random);
        before.forEach((file, bytes) -> cut.onDisk.put(file, cut.add(bytes.clone())));
        cut.inSystem.putAll(cut.onDisk);
        return cut.play(done, path);
    }

    private int add(byte[] bytes) {
        files.put(files.size(), bytes);
        return files.size() - 1;
    }

    private byte @Nullable [] play(List<DiskOperation> done, Path path) {
        boolean[] isDurable = durable(done);
        for (int number = 0; number < isDurable.length; number++) {
            play(done.get(number), isDurable[number]);
        }
        return files.get(onDisk.get(path));
    }

    /// What the next force after it succeeded for. What was written before a force that failed is not brought to the
    /// disk by those after it. (A file that is renamed is forced before.)
    private static boolean[] durable(List<DiskOperation> done) {
        boolean[] durable = new boolean[done.size()];
        Set<Path> forced = new HashSet<>();
        boolean areNamesForced = false;
        for (int number = durable.length - 1; number >= 0; number--) {
            DiskOperation operation = done.get(number);
            durable[number] = switch (operation) {
                case Write write -> forced.contains(write.path());
                case Truncate cut -> forced.contains(cut.path());
                case Create _,Rename _,Delete _ -> areNamesForced;
                case Force _,FailedForce _,ForceDirectory _ -> true;
            };
            switch (operation) {
                case Force(Path file) -> forced.add(file);
                case FailedForce(Path file) -> forced.remove(file);
                case ForceDirectory _ -> areNamesForced = true;
                default -> {}
            }
        }
        return durable;
    }

    private void play(DiskOperation operation, boolean isDurable) {
        switch (operation) {
            case Create(Path path) -> {
                // A name that nobody asks for may as well be there.
                int file = add(new byte[0]);
                onDisk.put(path, file);
                inSystem.put(path, file);
            }
            case Write(Path path, long offset, MemorySegment bytes, RecordingDisk.Way _) ->
                files.computeIfPresent(inSystem.get(path),
                        (_, old) -> write(old, (int) offset, bytes.toArray(ValueLayout.JAVA_BYTE), isDurable));
            case Truncate(Path path, long size) -> {
                if (isDurable || arrives()) {
                    files.computeIfPresent(inSystem.get(path), (_, old) -> Arrays.copyOf(old, (int) size));
                }
            }
            case Rename(Path from, Path to) -> {
                inSystem.put(to, inSystem.remove(from));
                if (isDurable || arrives()) {
                    onDisk.put(to, onDisk.remove(from));
                }
            }
            case Delete(Path path) -> {
                inSystem.remove(path);
                if (isDurable || arrives()) {
                    onDisk.remove(path);
                }
            }
            case Force _,FailedForce _,ForceDirectory _ -> {}
        }
    }

    private boolean arrives() {
        return switch (fate) {
            case LOST -> false;
            case ARRIVED -> true;
            case WHOLE_WRITES, SECTORS -> random.nextBoolean();
        };
    }

    private byte[] write(byte[] old, int offset, byte[] bytes, boolean isDurable) {
        if (isDurable || fate == Fate.ARRIVED) {
            return patched(old, offset, bytes);
        }
        return switch (fate) {
            case WHOLE_WRITES -> random.nextBoolean() ? patched(old, offset, bytes) : old;
            case SECTORS -> torn(old, offset, bytes);
            default -> old;
        };
    }

    private byte[] torn(byte[] old, int offset, byte[] bytes) {
        int end = offset + bytes.length;
        boolean garbage = random.nextInt(4) == 0;
        byte[] torn = Arrays.copyOf(old, Math.max(old.length, end));
        int size = old.length;
        for (int sector = offset / SECTOR * SECTOR; sector < end; sector += SECTOR) {
            int from = Math.max(sector, offset);
            int to = Math.min(sector + SECTOR, end);
            if (random.nextBoolean()) {
                System.arraycopy(bytes, from - offset, torn, from, to - from);
                size = Math.max(size, to);
            } else if (garbage && from >= old.length) {
                byte[] noise = new byte[to - from];
                random.nextBytes(noise);
                System.arraycopy(noise, 0, torn, from, noise.length);
                size = Math.max(size, to);
            }
        }
        return size == torn.length ? torn : Arrays.copyOf(torn, size);
    }

    /// Writes into a file; in place, unless it grows.
    private static byte[] patched(byte[] old, int offset, byte[] bytes) {
        int end = offset + bytes.length;
        byte[] patched = end > old.length ? Arrays.copyOf(old, end) : old;
        System.arraycopy(bytes, 0, patched, offset, bytes.length);
        return patched;
    }
}

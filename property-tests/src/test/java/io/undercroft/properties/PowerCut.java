package io.undercroft.properties;

import io.undercroft.properties.DiskOperation.Create;
import io.undercroft.properties.DiskOperation.Delete;
import io.undercroft.properties.DiskOperation.Force;
import io.undercroft.properties.DiskOperation.ForceDirectory;
import io.undercroft.properties.DiskOperation.Rename;
import io.undercroft.properties.DiskOperation.Truncate;
import io.undercroft.properties.DiskOperation.Write;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/// What a disk may hold after the power went at some moment.
///
/// What was forced is there. Of what was written after the last force, each sector of 512 bytes may be there or not, in any
/// order; where a file became longer and a sector is not there, it is zeros or garbage. A rename may have reached the disk
/// or not, unless its directory was forced.
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

    private final Map<Path, byte[]> files = new HashMap<>();
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
    static byte @Nullable [] bytesAfter(Map<Path, byte[]> before, Iterable<DiskOperation> done, Path path, Fate fate,
            Random random) {
        PowerCut cut = new PowerCut(fate, random);
        before.forEach((file, bytes) -> cut.files.put(file, bytes.clone()));
        return cut.play(done, path);
    }

    private byte @Nullable [] play(Iterable<DiskOperation> done, Path path) {
        Map<Path, Integer> lastForce = new HashMap<>();
        int lastDirectoryForce = -1;
        int number = 0;
        for (DiskOperation operation : done) {
            switch (operation) {
                case Force(Path file) -> lastForce.put(file, number);
                case ForceDirectory _ -> lastDirectoryForce = number;
                default -> {}
            }
            number++;
        }
        number = 0;
        for (DiskOperation operation : done) {
            boolean isDurable = switch (operation) {
                case Write write -> number < lastForce.getOrDefault(write.path(), -1);
                case Truncate cut -> number < lastForce.getOrDefault(cut.path(), -1);
                case Create _,Rename _,Delete _,ForceDirectory _,Force _ -> number < lastDirectoryForce;
            };
            play(operation, isDurable);
            number++;
        }
        return files.get(path);
    }

    private void play(DiskOperation operation, boolean isDurable) {
        switch (operation) {
            // A name that nobody asks for may as well be there.
            case Create(Path path) -> files.put(path, new byte[0]);
            case Write(Path path, long offset, MemorySegment bytes) ->
                write(path, (int) offset, bytes.toArray(ValueLayout.JAVA_BYTE), isDurable);
            case Truncate(Path path, long size) -> {
                if (isDurable || arrives()) {
                    files.computeIfPresent(path, (_, old) -> Arrays.copyOf(old, (int) size));
                }
            }
            case Rename(Path from, Path to) -> {
                if (isDurable || arrives()) {
                    files.put(to, files.remove(from));
                }
            }
            case Delete(Path path) -> {
                if (isDurable || arrives()) {
                    files.remove(path);
                }
            }
            case Force _,ForceDirectory _ -> {}
        }
    }

    private boolean arrives() {
        return switch (fate) {
            case LOST -> false;
            case ARRIVED -> true;
            case WHOLE_WRITES, SECTORS -> random.nextBoolean();
        };
    }

    private void write(Path path, int offset, byte[] bytes, boolean isDurable) {
        byte[] old = files.getOrDefault(path, new byte[0]);
        if (isDurable || fate == Fate.ARRIVED) {
            files.put(path, patched(old, offset, bytes, offset, offset + bytes.length));
        } else if (fate == Fate.WHOLE_WRITES && random.nextBoolean()) {
            files.put(path, patched(old, offset, bytes, offset, offset + bytes.length));
        } else if (fate == Fate.SECTORS) {
            files.put(path, torn(old, offset, bytes));
        }
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

    /// Replaces the bytes from `from` to `to` of the file by those of a write at `offset`; in place, unless it grows.
    private static byte[] patched(byte[] old, int offset, byte[] bytes, int from, int to) {
        byte[] patched = to > old.length ? Arrays.copyOf(old, to) : old;
        System.arraycopy(bytes, from - offset, patched, from, to - from);
        return patched;
    }
}

package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/// Files of somebody who makes every checksum right again.
class ForgeryTest {
    private static final byte[] GOLDEN = Golden.resource(Golden.FILE);
    private static final int[] VALUES = {0x00, 0x01, 0x02, 0x10, 0x20, 0x40, 0x7F, 0x80, 0xFE, 0xFF};

    private final int index = (int) new Forgery(GOLDEN).indexOffset();

    @Test
    void everyThirdByteOfTheIndexMayLieAndTheFileIsReadOrRefused() {
        List<Boolean> refused = new ArrayList<>();
        for (int at = index; at < GOLDEN.length; at += 3) {
            if (at >= index + 4 && at < index + 8) {
                continue; // With another count of sections the forger would not find the end of the directory.
            }
            for (int value : VALUES) {
                refused.add(isRefused(new Forgery(GOLDEN).putByte(at, value).sealed()));
            }
        }
        assertThat(refused).contains(true, false);
    }

    @Test
    void manyBytesOfTheIndexMayLieAndTheFileIsReadOrRefused() {
        Random random = new Random(20260726);
        List<Boolean> refused = new ArrayList<>();
        for (int round = 0; round < 7_000; round++) {
            Forgery forgery = new Forgery(GOLDEN);
            for (int i = random.nextInt(4); i >= 0; i--) {
                // Past the directory, so that the tables lie and not only their places.
                int at = index + 0x240 + random.nextInt(GOLDEN.length - index - 0x240);
                forgery.putByte(at, random.nextInt(256));
            }
            refused.add(isRefused(forgery.sealed()));
        }
        assertThat(refused).contains(true, false);
    }

    /// The bytes of records, of coded bytes and of references, each with the checksum that it must have.
    @Test
    void codedExtentsMayLieAndTheFileIsReadOrRefused() {
        byte[] coded = Features.coded().toByteArray();
        Forgery original = new Forgery(coded);
        long records = original.at(SectionType.CODE, 0);
        Random random = new Random(20261128);
        List<Boolean> refused = new ArrayList<>();
        for (int round = 0; round < 3_000; round++) {
            Forgery forgery = new Forgery(coded);
            for (int i = random.nextInt(3); i >= 0; i--) {
                boolean isRecord = random.nextBoolean();
                long at = isRecord
                        ? records + random.nextInt(64)
                        : FileLayout.DATA_START
                                + random.nextInt((int) (original.indexOffset() - FileLayout.DATA_START));
                forgery.putByte(at, random.nextInt(256));
            }
            byte[] forged = forgery.sealed();
            for (int i = 0; i < 2; i++) {
                long place = forgery.getLong(forgery.at(SectionType.EXTN, i + 1) + 8);
                long length = forgery.getLong(records + 32L * i + 8);
                if (length >= 0 && length <= forged.length - place) {
                    forgery.putInt(records + 32L * i + 24,
                            Checksums.crc32c(MemorySegment.ofArray(forged).asSlice(place, length)));
                }
            }
            refused.add(isRefused(forgery.sealed()));
        }
        assertThat(refused).contains(true, false);
    }

    /// Anything but an answer or a refusal is an exception that fails the test.
    private static boolean isRefused(byte[] file) {
        try {
            WholeRead.of(file);
            return false;
        } catch (FormatException e) {
            return true;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

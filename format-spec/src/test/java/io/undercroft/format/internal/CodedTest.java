package io.undercroft.format.internal;

import static io.undercroft.format.internal.Refusals.open;
import static io.undercroft.format.internal.Refusals.verify;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/// Verifying files with coded extents, and checking their storages.
class CodedTest {
    private static final byte[] PLAIN = random(256);
    private static final byte[] NEAR = changed(PLAIN);
    private static final String CROFT = "base.croft";
    private static final String FOREIGN = "a.bin";

    private static byte[] random(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }

    private static byte[] changed(byte[] bytes) {
        byte[] changed = bytes.clone();
        changed[bytes.length / 2] ^= 1;
        return changed;
    }

    @Test
    void everyFlippedBitIsFound() throws IOException {
        byte[] file = Features.coded().toByteArray();
        assertThat(verify(file)).isEmpty();
        assertThat(IntStream.range(0, file.length * Byte.SIZE).filter(bit -> !isFound(file, bit))).isEmpty();
    }

    private static boolean isFound(byte[] file, int bit) {
        byte[] flipped = file.clone();
        flipped[bit / Byte.SIZE] ^= (byte) (1 << bit % Byte.SIZE);
        try {
            return !verify(flipped).isEmpty();
        } catch (FormatException _) {
            return true;
        } catch (IOException e) {
            throw new AssertionError("memory does not fail", e);
        }
    }

    @Test
    void damageToBytesThatAreAReferenceIsFoundInBothStorages() throws IOException {
        byte[] file = Features.coded().toByteArray();
        file[(int) FileLayout.DATA_START + 5] ^= 1;
        assertThat(verify(file)).extracting(Finding::storage).containsExactly(0, 1);
        assertThat(verify(file)).extracting(Finding::rule).containsOnly(Rule.V14_CHECKSUM);
        assertThat(damaged(file, null)).containsExactly(0, 1);
    }

    @Test
    void damageToCodedBytesIsFoundWithTheirPlace() throws IOException {
        byte[] file = Features.coded().toByteArray();
        ExtentRecord extent = open(file).extent(2);
        file[(int) extent.fileOffset() + 12] ^= 1;
        assertThat(verify(file)).containsExactly(new Finding(Rule.V14_CHECKSUM, 1, 2, 0, extent.fileOffset(),
                extent.storedLength(), "the coded bytes of an extent are damaged"));
        assertThat(damaged(file, null)).containsExactly(2);
    }

    /// A reference that belongs to no extent, as compaction leaves them.
    @Test
    void aReferenceIsCoveredAndItsDamageFound() throws IOException {
        FileImage image = new FileImage();
        long place = image.put(PLAIN.length, PLAIN);
        image.add(image.putCoded(4, NEAR, ExtentRecord.THIS_FILE, place, PLAIN));
        image.index().addStorage("cpu");
        byte[] file = image.toByteArray();
        assertThat(verify(file)).isEmpty();
        for (int at = 0; at < PLAIN.length; at++) {
            file[(int) place + at] ^= 0x10;
            assertThat(verify(file)).extracting(Finding::rule).containsExactly(Rule.V14_CHECKSUM);
            assertThat(damaged(file, null)).containsExactly(0);
            file[(int) place + at] ^= 0x10;
        }
    }

    /// One storage has its reference in another file, and another has its coded bytes there and its reference here.
    private static byte[] based(byte[] croft, byte[] foreign) {
        FileImage image = new FileImage();
        int first = image.index().addBase(BaseRecord.croft(CROFT, 0, Refusals.newest(croft)));
        int second = image.index()
                .addBase(BaseRecord.foreign(FOREIGN, Digest128.of(MemorySegment.ofArray(foreign)), foreign.length));
        image.add(image.putCoded(2, NEAR, second, 11, PLAIN));
        image.index().addStorage("cpu");
        long place = image.put(PLAIN.length, PLAIN);
        byte[] coded = Features.coded(4, NEAR, PLAIN);
        image.index().addCodedExtent(first, FileLayout.DATA_START, NEAR.length, Features.sums(NEAR),
                Features.coding(4, coded, ExtentRecord.THIS_FILE, place, true));
        image.index().addStorage("cpu");
        return image.toByteArray();
    }

    private static byte[] croft() {
        FileImage image = new FileImage();
        image.addStorage(Features.coded(4, NEAR, PLAIN));
        return image.toByteArray();
    }

    private static byte[] foreign() {
        byte[] file = new byte[PLAIN.length + 11];
        FileImage.put(file, 11, PLAIN);
        return file;
    }

    private static BaseFiles files(byte @Nullable [] croft, byte @Nullable [] foreign) {
        return wanted -> Optional.ofNullable(wanted.path().equals(CROFT) ? croft : foreign).map(CodedTest::source);
    }

    private static ByteSource source(byte[] file) {
        return ByteSource.of(MemorySegment.ofArray(file));
    }

    @Test
    void codedBytesAndReferencesInOtherFilesAreVerified() throws IOException {
        byte[] file = based(croft(), foreign());
        assertThat(verify(file, files(croft(), foreign()))).isEqualTo(new Verifier.Result(List.of(), 0, 0));
        byte[] damaged = foreign();
        damaged[20] ^= 1;
        assertThat(verify(file, files(croft(), damaged)).findings()).extracting(Finding::rule)
                .containsExactly(Rule.V18_BASE);
    }

    @Test
    void whatIsInThisFileIsVerifiedWithoutTheOthers() throws IOException {
        byte[] file = based(croft(), foreign());
        Verifier.Result none = verify(file, BaseFiles.none());
        assertThat(none.findings()).isEmpty();
        assertThat(none.unverifiedExtents()).isEqualTo(2);
        assertThat(verify(file, files(croft(), null)).unverifiedExtents()).isEqualTo(1);
        assertThat(verify(file, files(null, foreign())).unverifiedExtents()).isEqualTo(1);

        file[(int) open(file).extent(0).fileOffset() + 9] ^= 1;
        assertThat(verify(file, BaseFiles.none()).findings()).extracting(Finding::what)
                .containsExactly("the coded bytes of an extent are damaged");
    }

    @Test
    void aBaseThatBecomesShorterWhileItIsReadIsReported() throws IOException {
        byte[] file = based(croft(), foreign());
        BaseFiles shrinking = wanted -> {
            ByteSource whole = source(wanted.path().equals(CROFT) ? croft() : foreign());
            return Optional.of(new ByteSource() {
                @Override
                public long size() throws IOException {
                    return whole.size();
                }

                @Override
                public void read(long offset, MemorySegment into) throws IOException {
                    boolean isReference = offset == 11 && into.byteSize() == PLAIN.length;
                    whole.read(isReference ? whole.size() : offset, into);
                }
            });
        };
        assertThat(verify(file, shrinking).findings()).singleElement().satisfies(finding -> {
            assertThat(finding.rule()).isEqualTo(Rule.V18_BASE);
            assertThat(finding.storage()).isZero();
            assertThat(finding.what()).contains(FOREIGN);
        });
    }

    @Test
    void aMediumThatFailsIsReportedWhereItFails() throws IOException {
        byte[] file = Features.coded().toByteArray();
        long reference = FileLayout.DATA_START;
        long coded = open(file).extent(1).fileOffset();
        for (long place : new long[]{reference, coded}) {
            ByteSource failing = failing(file, place);
            Snapshot snapshot = Snapshot.open(failing, Limits.DEFAULT);
            assertThat(Verifier.verify(failing, snapshot, BaseFiles.none()).findings())
                    .filteredOn(finding -> finding.storage() == 1)
                    .containsExactly(new Finding(null, 1, 1, 0, place,
                            place == reference ? PLAIN.length : snapshot.extent(1).storedLength(), "read error"));
        }
    }

    private static ByteSource failing(byte[] file, long place) {
        ByteSource whole = source(file);
        return new ByteSource() {
            @Override
            public long size() throws IOException {
                return whole.size();
            }

            @Override
            public void read(long offset, MemorySegment into) throws IOException {
                if (offset == place) {
                    throw new IOException("the medium fails");
                }
                whole.read(offset, into);
            }

            @Override
            public OptionalLong failedAt(IOException failure) {
                return OptionalLong.of(place);
            }
        };
    }

    /// Two snapshots may say different things of the same coded bytes, and both may be right.
    @Test
    void theSameCodedBytesAreDecodedAsEachSnapshotSays() throws IOException {
        byte[] bytes = new byte[256];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (i % 4);
        }
        FileImage first = new FileImage();
        byte[] reference = new byte[256];
        Arrays.fill(reference, (byte) 0x11);
        first.addStorage(reference);
        ExtentRecord wide = first.putCoded(4, bytes);
        first.add(wide);
        first.index().addStorage("cpu");
        byte[] one = first.toByteArray();
        byte[] summed = new byte[256];
        ByteBuffer sums = ByteBuffer.wrap(summed).order(ByteOrder.LITTLE_ENDIAN);
        while (sums.hasRemaining()) {
            sums.putInt(0x1111_1111 + 0x0302_0100 / 2);
        }
        Coding other = new Coding(Coding.DIFFERENCE, 4, wide.coding().length(), wide.coding().checksum(), 0,
                FileLayout.DATA_START);
        byte[] stored = Arrays.copyOfRange(one, (int) wide.fileOffset(),
                (int) (wide.fileOffset() + wide.storedLength()));

        assertThat(verify(next(one, wide, summed, other))).isEmpty();
        assertThat(verify(next(one, wide, bytes, other))).extracting(Finding::sequence).containsExactly(2L);
        assertThat(verify(next(one, wide, bytes, new Coding(1, 4, other.length(), 7, 0, 0))))
                .extracting(Finding::sequence).containsExactly(2L);
        assertThat(verify(next(one, wide, stored, null))).isEmpty();
        assertThat(verify(next(one, wide, changed(stored), null))).extracting(Finding::sequence).containsExactly(2L);
    }

    private static byte[] next(byte[] file, ExtentRecord place, byte[] bytes, @Nullable Coding coding) {
        FileImage image = FileImage.after(file);
        if (coding == null) {
            image.index().addRawExtent(place.fileOffset(), bytes.length, Features.sums(bytes));
        } else {
            image.index().addCodedExtent(0, place.fileOffset(), bytes.length, Features.sums(bytes), coding);
        }
        image.index().addStorage("cpu");
        return image.toByteArray();
    }

    /// Coded bytes that were found to be damaged are not read again for each storage that has them, so that what comes
    /// after them is still verified.
    @Test
    void damagedBytesThatManyStoragesHaveHideNoOtherDamage() throws IOException {
        FileImage image = new FileImage();
        ExtentRecord extent = image.putCoded(2, new byte[1000]);
        for (int i = 0; i < 500; i++) {
            image.add(extent);
            image.index().addStorage("cpu");
        }
        image.addStorage(PLAIN);
        byte[] file = image.toByteArray();
        file[(int) extent.fileOffset() + 5] ^= 1;
        file[(int) open(file).extent(500).fileOffset()] ^= 1;
        assertThat(verify(file)).hasSize(501);
        assertThat(verify(file).getLast().storage()).isEqualTo(500);
        assertThat(damaged(file, null)).hasSize(501);

        byte[] forged = image.toByteArray();
        Forgery forgery = new Forgery(forged).putByte(extent.fileOffset(), 0);
        int checksum = Checksums.crc32c(MemorySegment.ofArray(forgery.sealed()).asSlice(extent.fileOffset(),
                extent.storedLength()));
        for (int i = 0; i < 500; i++) {
            forgery.putInt(forgery.at(SectionType.CODE, i) + 24, checksum);
        }
        forgery.putByte(open(forged).extent(500).fileOffset(), PLAIN[0] + 1);
        assertThat(verify(forgery.sealed())).hasSize(501);
    }

    @Test
    void chunksAreCheckedAsFarAsTheirFilesAreThere() throws IOException {
        byte[] file = based(croft(), foreign());
        assertThat(damaged(file, null)).isEmpty();
        assertThat(damaged(file, foreign())).isEmpty();
        byte[] damaged = foreign();
        damaged[20] ^= 1;
        assertThat(damaged(file, damaged)).containsExactly(0);
        file[(int) open(file).extent(0).fileOffset() + 9] ^= 1;
        assertThat(damaged(file, null)).containsExactly(0);
        assertThat(damaged(file, foreign())).containsExactly(0);
    }

    @Test
    void aChunkIsIntactIfItsCodedBytesAre() throws IOException {
        byte[] file = Features.coded().toByteArray();
        StorageChunk chunk = new StorageCheck(open(file)).table(1).getFirst();
        assertThat(chunk.length()).isEqualTo(256);
        assertThat(chunk.storedLength()).isLessThan(chunk.length());
        assertThat(StorageCheck.isIntact(chunk, source(file))).isTrue();
        file[(int) chunk.fileOffset()] ^= 1;
        assertThat(StorageCheck.isIntact(chunk, source(file))).isFalse();
    }

    /// {@return the storages that have damaged chunks}
    private static List<Integer> damaged(byte[] file, byte @Nullable [] foreign) throws IOException {
        Snapshot snapshot = open(file);
        StorageCheck.Pass pass = new StorageCheck(snapshot).pass(base -> switch (base) {
            case ExtentRecord.THIS_FILE -> Optional.of(source(file));
            case 2 -> Optional.ofNullable(foreign).map(CodedTest::source);
            default -> Optional.empty();
        });
        List<Integer> damaged = new ArrayList<>();
        for (int storage = 0; storage < snapshot.storageCount(); storage++) {
            if (!pass.damaged(storage).isEmpty()) {
                damaged.add(storage);
            }
        }
        return damaged;
    }

    @Test
    void storagesWithAnUnknownCodecAreRefusedAndOthersAreNot() throws IOException {
        Forgery forgery = new Forgery(Features.coded().toByteArray());
        Snapshot snapshot = open(forgery
                .putByte(forgery.at(SectionType.CODE, 0) + 4, 9).sealed());
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> snapshot.storage(1))
                .extracting(FormatException::code).isEqualTo(Rule.V13_UNSUPPORTED.code());
        assertThat(snapshot.storage(0).nbytes()).isEqualTo(256);
        assertThat(snapshot.extent(2).kind()).isEqualTo(ExtentKind.CODED);
    }
}

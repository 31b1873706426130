package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/// Sets of files.
class SetManifestTest {
    private static final byte[] ONE = Features.shared().toByteArray();
    private static final byte[] TWO = FileImage.append(ONE, new IndexBuilder(FileImage.CHUNK_LOG2), "the second");
    private static final byte[] SEALED = Features.shared().toSealedByteArray();
    private static final Map<String, byte[]> FILES = Map.of("parts/two.croft", TWO, "sealed.croft", SEALED);

    /// Where the text of a set of two starts.
    private static final int TEXT = 64 + 2 * 80;

    private final Shard first = Shard.of("parts/two.croft", Refusals.newest(ONE));
    private final Shard second = Shard.of("sealed.croft", Refusals.newest(SEALED));
    private final SetManifest set = SetManifest.canonical(List.of(first, second), Optional.empty());

    @Test
    void aSetComesBackAsItWasSaved() throws IOException {
        assertThat(read(set.encode())).isEqualTo(set);
        assertThat(set.encode()).hasSize(64 + 2 * 80 + "parts/two.croft".length() + "sealed.croft".length() + 4);
    }

    @Test
    void theIdOfACanonicalSetIsMadeOfWhatItSays() {
        assertThat(set.uuid().version()).isEqualTo(8);
        assertThat(set).isEqualTo(SetManifest.canonical(List.of(first, second), Optional.empty()));
        assertThat(set.uuid()).isNotEqualTo(SetManifest.canonical(List.of(second, first), Optional.empty()).uuid());
        byte[] bytes = set.encode();
        Arrays.fill(bytes, 16, 32, (byte) 0);
        Arrays.fill(bytes, bytes.length - 4, bytes.length, (byte) 0);
        assertThat(FileLayout.canonicalUuid(Digest128.of(MemorySegment.ofArray(bytes)))).isEqualTo(set.uuid());
    }

    @Test
    void theShardsAreOpenedAtTheirSnapshots() throws IOException {
        for (Shard shard : set.shards()) {
            Snapshot snapshot = shard.open(source(FILES.get(shard.path())), Limits.DEFAULT);
            assertThat(snapshot.commit().sequence()).isEqualTo(1);
            assertThat(snapshot.storageCount()).isEqualTo(2);
            shard.check(source(FILES.get(shard.path())), Limits.DEFAULT);
        }
    }

    @Test
    void v21RefusesAShardThatIsAnotherFileOrStale() {
        for (Shard wrong : List.of(new Shard(new UUID(1, 2), first.digest(), 1, first.length(), first.path()),
                new Shard(first.uuid(), new Digest128(1, 2), 1, first.length(), first.path()),
                new Shard(first.uuid(), first.digest(), 1, first.length() + 1, first.path()),
                new Shard(first.uuid(), first.digest(), 0, first.length(), first.path()),
                new Shard(first.uuid(), first.digest(), 2, first.length(), first.path()),
                new Shard(first.uuid(), first.digest(), 3, first.length(), first.path()))) {
            refused(Rule.V21_SHARD, () -> wrong.open(source(TWO), Limits.DEFAULT));
            refused(Rule.V21_SHARD, () -> wrong.check(source(TWO), Limits.DEFAULT));
        }
    }

    @Test
    void everyFlippedBitIsFound() {
        byte[] bytes = set.encode();
        List<Integer> unnoticed = new ArrayList<>();
        for (int bit = 0; bit < bytes.length * 8; bit++) {
            bytes[bit / 8] ^= (byte) (1 << bit % 8);
            if (isRead(bytes)) {
                unnoticed.add(bit);
            }
            bytes[bit / 8] ^= (byte) (1 << bit % 8);
        }
        assertThat(unnoticed).isEmpty();
    }

    @Test
    void aSetCutAnywhereOrWithMoreBytesIsRefused() {
        byte[] bytes = set.encode();
        for (int length = 8; length < bytes.length; length++) {
            byte[] cut = Arrays.copyOf(bytes, length);
            refused(Rule.V11_TRUNCATED, () -> read(cut));
        }
        refused(Rule.V12_SIGNATURE, () -> read(new byte[0]));
        refused(Rule.V15_STRUCTURE, () -> read(Arrays.copyOf(bytes, bytes.length + 1)));
    }

    @Test
    void eachRuleIsBrokenWithTheChecksumRight() {
        refused(Rule.V12_SIGNATURE, forged(0, 0));
        refused(Rule.V13_UNSUPPORTED, forged(8, 2));
        refused(Rule.V13_UNSUPPORTED, forged(48, 1));
        refused(Rule.V8_LIMIT, forged(14, 2));
        refused(Rule.V8_LIMIT, forged(64 + 53, 17));
        refused(Rule.V8_LIMIT, forged(64 + 52, 0));
        refused(Rule.V15_STRUCTURE, forged(32, 79));
        refused(Rule.V15_STRUCTURE, forged(36, 1));
        refused(Rule.V15_STRUCTURE, forged(40, 1));
        refused(Rule.V11_TRUNCATED, forged(42, 1));
        refused(Rule.V1_ARITHMETIC, forged(47, 0x80));
        refused(Rule.V1_ARITHMETIC, forged(64 + 39, 0x80));
        refused(Rule.V15_STRUCTURE, forged(56, 1));
        refused(Rule.V1_ARITHMETIC, forged(63, 0x80));
        refused(Rule.V9_RESERVED, forged(64 + 79, 1));
        refused(Rule.V10_INDEX, forged(64 + 48, 100));
        refused(Rule.V6_NAME, forged(TEXT, '/'));
        refused(Rule.V6_NAME, forged(TEXT, 0xFF));
        refused(Rule.V6_NAME, forged(TEXT + 5, 0));
    }

    @Test
    void v6RefusesAPathThatComesTwice() {
        byte[] bytes = SetManifest
                .canonical(List.of(first, new Shard(second.uuid(), second.digest(), 1, 1, "parts/owt.croft")),
                        Optional.empty())
                .encode();
        System.arraycopy("two".getBytes(StandardCharsets.US_ASCII), 0, bytes, TEXT + first.path().length() + 6, 3);
        refused(Rule.V6_NAME, () -> read(summed(bytes)));
    }

    @Test
    void v14RefusesAChecksumThatDoesNotMatch() {
        byte[] bytes = set.encode();
        bytes[17] ^= 1;
        refused(Rule.V14_CHECKSUM, () -> read(bytes));
    }

    @Test
    void widerRecordsOfANewerMinorVersionAreRead() throws IOException {
        byte[] bytes = set.encode();
        byte[] wider = new byte[bytes.length + 2 * 8];
        System.arraycopy(bytes, 0, wider, 0, 64 + 80);
        Arrays.fill(wider, 64 + 80, 64 + 88, (byte) 0x77);
        System.arraycopy(bytes, 64 + 80, wider, 64 + 88, 80);
        System.arraycopy(bytes, 64 + 160, wider, 64 + 176, bytes.length - 64 - 160);
        wider[10] = 1;
        wider[32] = 88;
        wider[40] = (byte) wider.length;
        wider[41] = (byte) (wider.length >> 8);
        assertThat(read(summed(wider))).isEqualTo(set);
    }

    @Test
    void whatIsAtALimitIsReadAndWhatIsOneOverItIsRefused() throws IOException {
        isTheMost("maxShards", 2);
        isTheMost("maxManifestBytes", set.encode().length);
        isTheMost("maxNameBytes", "parts/two.croft".length());
    }

    private void isTheMost(String limit, long value) throws IOException {
        assertThat(SetManifest.read(source(set.encode()), RuleTest.limit(limit, value))).isEqualTo(set);
        refused(Rule.V8_LIMIT, () -> SetManifest.read(source(set.encode()), RuleTest.limit(limit, value - 1)));
    }

    @Test
    void aPathIsRefusedAtTheFieldThatIsWrong() {
        // The record of the second shard.
        int record = 64 + 80;
        assertThat(offsetOf(forged(record + 52, 0))).isEqualTo(record + 52);
        assertThat(offsetOf(forged(record + 48, 100))).isEqualTo(record + 48);
        assertThat(offsetOf(forged(record + 48, "parts/two.croft".length() + 1))).isEqualTo(record + 48);
        int path = TEXT + "parts/two.croft".length();
        assertThat(offsetOf(forged(path, 0xFF))).isEqualTo(path);
        assertThat(offsetOf(forged(path, '/'))).isEqualTo(record + 48);
    }

    private static long offsetOf(ThrowingCallable use) {
        return catchThrowableOfType(FormatException.class, use).offset();
    }

    @Test
    void whatReadersWouldRefuseIsNotMade() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> SetManifest.canonical(List.of(first, first), Optional.empty()));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> SetManifest.canonical(List.of(Shard.of("../a", Refusals.newest(ONE))),
                        Optional.empty()));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> SetManifest.canonical(List.of(Shard.of("a".repeat(4097), Refusals.newest(ONE))),
                        Optional.empty()));
    }

    private ThrowingCallable forged(int at, int value) {
        byte[] bytes = set.encode();
        bytes[at] = (byte) value;
        return () -> read(summed(bytes));
    }

    private static byte[] summed(byte[] bytes) {
        MemorySegment all = MemorySegment.ofArray(bytes);
        all.set(ValueLayout.JAVA_INT_UNALIGNED, bytes.length - 4L, Checksums.crc32c(all.asSlice(0, bytes.length - 4L)));
        return bytes;
    }

    private static boolean isRead(byte[] bytes) {
        try {
            read(bytes);
            return true;
        } catch (FormatException e) {
            return false;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static SetManifest read(byte[] bytes) throws IOException {
        return SetManifest.read(source(bytes), Limits.DEFAULT);
    }

    private static ByteSource source(byte[] bytes) {
        return ByteSource.of(MemorySegment.ofArray(bytes));
    }

    private static void refused(Rule rule, ThrowingCallable use) {
        assertThatExceptionOfType(FormatException.class).isThrownBy(use).extracting(FormatException::code)
                .isEqualTo(rule.code());
    }
}

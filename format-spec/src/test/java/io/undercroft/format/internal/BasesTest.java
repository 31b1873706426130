package io.undercroft.format.internal;

import static io.undercroft.format.internal.Refusals.open;
import static io.undercroft.format.internal.Refusals.verify;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/// Verifying a file whose bytes are in others: in the second snapshot of a `.croft` file, and in a file of another
/// format.
class BasesTest {
    private static final byte[] BYTES = {1, 2, 3, 4, 5};
    private static final byte[] ADOPTED = "..adopted bytes..".getBytes(StandardCharsets.US_ASCII);
    private static final String CROFT = "base.croft";
    private static final String FOREIGN = "a.bin";

    private final byte[] base = FileImage.append(first(), new IndexBuilder(FileImage.CHUNK_LOG2), "two");
    private final BaseRecord croft = BaseRecord.croft(CROFT, 0, Refusals.newest(base));
    private final BaseRecord foreign = BaseRecord.foreign(FOREIGN, Digest128.of(MemorySegment.ofArray(ADOPTED)),
            ADOPTED.length);

    private static byte[] first() {
        FileImage image = new FileImage();
        image.addStorage(BYTES);
        return image.toByteArray();
    }

    /// A file with a storage in each of two bases, and the first of them twice.
    private static byte[] based(BaseRecord croft, BaseRecord foreign) {
        FileImage image = new FileImage();
        IndexBuilder index = image.index();
        int first = index.addBase(croft);
        int second = index.addBase(foreign);
        for (int i = 0; i < 2; i++) {
            index.addBaseExtent(first, FileLayout.DATA_START, BYTES.length, Features.sums(BYTES));
            index.addStorage("cpu");
        }
        index.addBaseExtent(second, 2, 7, Features.sums(Arrays.copyOfRange(ADOPTED, 2, 9)));
        index.addStorage("cpu");
        return image.toByteArray();
    }

    private static BaseFiles files(Map<String, byte[]> files) {
        return wanted -> Optional.ofNullable(files.get(wanted.path()))
                .map(bytes -> ByteSource.of(MemorySegment.ofArray(bytes)));
    }

    @Test
    void bytesInBasesThatAreThereAreVerified() throws IOException {
        assertThat(verify(based(croft, foreign), files(Map.of(CROFT, base, FOREIGN, ADOPTED))))
                .isEqualTo(new Verifier.Result(List.of(), 0, 0));
    }

    @Test
    void bytesInBasesThatAreNotThereAreCountedOnce() throws IOException {
        byte[] file = based(croft, foreign);
        assertThat(verify(file, BaseFiles.none())).isEqualTo(new Verifier.Result(List.of(), 2, 12));
        assertThat(verify(file, files(Map.of(FOREIGN, ADOPTED))))
                .isEqualTo(new Verifier.Result(List.of(), 1, 5));
        byte[] twice = FileImage.append(file, new IndexBuilder(FileImage.CHUNK_LOG2), "the second");
        assertThat(verify(twice, BaseFiles.none()).unverifiedExtents()).isEqualTo(2);
    }

    @Test
    void damageToBytesInABaseSaysInWhich() throws IOException {
        byte[] damaged = base.clone();
        damaged[(int) FileLayout.DATA_START + 1] ^= 1;
        Verifier.Result found = verify(based(croft, foreign), files(Map.of(CROFT, damaged, FOREIGN, ADOPTED)));
        assertThat(found.findings()).hasSize(2).allSatisfy(damage -> {
            assertThat(damage.rule()).isEqualTo(Rule.V14_CHECKSUM);
            assertThat(damage.base()).isEqualTo(1);
            assertThat(damage.offset()).isEqualTo(FileLayout.DATA_START);
        });
    }

    @Test
    void v18RefusesABaseThatIsNotTheOneThatWasMeant() throws IOException {
        CommitRecord commit = Refusals.newest(base);
        refused(new BaseRecord(BaseKind.CROFT, CROFT, 0, new UUID(1, 2), croft.digest(), croft.length(), 2));
        refused(new BaseRecord(BaseKind.CROFT, CROFT, 0, croft.uuid(), new Digest128(1, 2), croft.length(), 2));
        refused(new BaseRecord(BaseKind.CROFT, CROFT, 0, croft.uuid(), croft.digest(), croft.length() - 1, 2));
        refused(new BaseRecord(BaseKind.CROFT, CROFT, 0, croft.uuid(), croft.digest(), croft.length() + 1, 2));
        refused(new BaseRecord(BaseKind.CROFT, CROFT, 0, croft.uuid(), croft.digest(), croft.length(), 1));
        refused(new BaseRecord(BaseKind.CROFT, CROFT, 0, croft.uuid(), croft.digest(), croft.length(), 3));
        refused(BaseRecord.croft(CROFT, 1, commit));
    }

    private void refused(BaseRecord wrong) throws IOException {
        Verifier.Result found = verify(based(wrong, foreign), files(Map.of(CROFT, base, FOREIGN, ADOPTED)));
        assertThat(found.findings()).extracting(Finding::rule).containsExactly(Rule.V18_BASE);
        assertThat(found.unverifiedBytes()).isEqualTo(BYTES.length);
    }

    @Test
    void v18RefusesAForeignFileOfOtherBytesOrAnotherLength() throws IOException {
        byte[] other = ADOPTED.clone();
        other[0] ^= 1;
        for (byte[] wrong : new byte[][]{other, Arrays.copyOf(ADOPTED, 100), Arrays.copyOf(ADOPTED, 9)}) {
            Verifier.Result found = verify(based(croft, foreign), files(Map.of(CROFT, base, FOREIGN, wrong)));
            assertThat(found.findings()).extracting(Finding::rule).containsExactly(Rule.V18_BASE);
            assertThat(found.unverifiedBytes()).isEqualTo(7);
        }
    }

    @Test
    void v18RefusesABaseThatIsDamagedItself() throws IOException {
        byte[] damaged = base.clone();
        damaged[20] ^= 1;
        Verifier.Result found = verify(based(croft, foreign), files(Map.of(CROFT, damaged, FOREIGN, ADOPTED)));
        assertThat(found.findings()).singleElement().satisfies(damage -> {
            assertThat(damage.rule()).isEqualTo(Rule.V18_BASE);
            assertThat(damage.what()).contains(CROFT);
        });
    }

    @Test
    void theDepthOfABaseIsOneMoreThanThatOfItsOwn() throws IOException {
        byte[] middle = based(croft, foreign);
        Map<String, byte[]> all = Map.of(CROFT, base, FOREIGN, ADOPTED, "middle.croft", middle);
        for (int depth : new int[]{0, 1, 2}) {
            byte[] file = onMiddle(BaseRecord.croft("middle.croft", depth, Refusals.newest(middle)));
            assertThat(verify(file, files(all)).findings()).hasSize(depth == 1 ? 0 : 1);
        }
    }

    private static byte[] onMiddle(BaseRecord middle) {
        FileImage image = new FileImage();
        // its index starts there
        image.index().addBaseExtent(image.index().addBase(middle), FileLayout.DATA_START, 1, Features.sums((byte) 'C'));
        image.index().addStorage("cpu");
        return image.toByteArray();
    }

    @Test
    void aBaseIsRecognisedByItsFirstPageAlone() throws IOException {
        croft.check(ByteSource.of(MemorySegment.ofArray(base)));
        byte[] other = new FileImage().toByteArray();
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> croft.check(ByteSource.of(MemorySegment.ofArray(other))))
                .extracting(FormatException::code).isEqualTo(Rule.V18_BASE.code());
        assertThat(open(other).commit().uuid()).isNotEqualTo(croft.uuid());
    }
}

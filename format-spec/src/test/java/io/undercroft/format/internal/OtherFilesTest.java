package io.undercroft.format.internal;

import static io.undercroft.format.internal.Refusals.open;
import static io.undercroft.format.internal.Refusals.refused;
import static io.undercroft.format.internal.Refusals.verify;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.format.Digest128;
import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Extents that are in other files. Base 0 is of the kind CROFT, base 1 FOREIGN; extent 0 is in this file, 1 in base
/// 0, 2 in base 1.
class OtherFilesTest {
    private static final byte[] FILE = Features.basedOnOthers().toByteArray();

    private final Forgery forgery = new Forgery(FILE);
    private final long croft = forgery.at(SectionType.BASE, 0);
    private final long foreign = forgery.at(SectionType.BASE, 1);

    @Test
    void basesAndTheirExtentsComeBack() throws IOException {
        Snapshot snapshot = open(FILE);

        assertThat(snapshot.baseCount()).isEqualTo(2);
        assertThat(snapshot.base(0)).isEqualTo(Features.croft("models/first.croft", 3));
        assertThat(snapshot.base(1)).isEqualTo(Features.foreign("model.safetensors"));
        assertThat(snapshot.extent(0).base()).isEqualTo(ExtentRecord.THIS_FILE);
        assertThat(snapshot.extent(1))
                .isEqualTo(new ExtentRecord(ExtentKind.RAW, false, 1, FileLayout.DATA_START + 64, 8,
                        Features.sums(new byte[8]), null));
        assertThat(snapshot.extent(2)).isEqualTo(new ExtentRecord(ExtentKind.FOREIGN, false, 2, 11, 5,
                Features.sums(new byte[5]), null));
    }

    @Test
    void whatStandsElsewhereIsCountedAsNotVerified() throws IOException {
        assertThat(verify(FILE, BaseFiles.none())).isEqualTo(new Verifier.Result(List.of(), 2, 8 + 5));
    }

    @Test
    void v2RefusesExtentsOutsideTheirBase() {
        refused(Rule.V2_RANGE, new Forgery(FILE).putLong(croft + 48, FileLayout.DATA_START + 71).sealed());
        refused(Rule.V2_RANGE, new Forgery(FILE).putLong(foreign + 48, 15).sealed());
        refused(Rule.V2_RANGE, new Forgery(FILE).putLong(forgery.at(SectionType.EXTN, 1) + 8, 64).sealed());
        refused(Rule.V2_RANGE, new Forgery(FILE).putLong(forgery.at(SectionType.EXTN, 1) + 8, 0x10001).sealed());
    }

    @Test
    void v6RefusesPathsThatLeadElsewhereThanDown() {
        long path = forgery.at(SectionType.STRB, textOfPath());
        refused(Rule.V6_NAME, new Forgery(FILE).putByte(path, '/').sealed());
        refused(Rule.V6_NAME, new Forgery(FILE).putByte(path + 7, '/').sealed());
        refused(Rule.V6_NAME, new Forgery(FILE).putByte(path + 2, 0).sealed());
        refused(Rule.V6_NAME, new Forgery(FILE).putByte(path + 2, 0xFF).sealed());
    }

    private long textOfPath() {
        return forgery.getLong(croft);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a\u0000"})
    void aPathThatMightLeadElsewhereIsNone(String path) {
        assertThat(BaseRecord.isPath(path)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"a", "a/b.croft", "größe", "...", ".hidden/..x", "a b", "a\\b",
            "..\\a", "c:a", "a\nb"})
    void aPathThatLeadsDownIsOne(String path) {
        assertThat(BaseRecord.isPath(path)).isTrue();
    }

    @Test
    void v8RefusesTooManyBasesTooDeepOnesAndEmptyPaths() {
        refused(Rule.V8_LIMIT, FILE, RuleTest.limit("maxBases", 1));
        refused(Rule.V8_LIMIT, FILE, RuleTest.limit("maxBaseDepth", 2));
        refused(Rule.V8_LIMIT, new Forgery(FILE).putShort(croft + 14, 8).sealed());
        refused(Rule.V8_LIMIT, new Forgery(FILE).putInt(foreign + 8, 0).sealed());
    }

    @Test
    void v9RefusesReservedBytes() {
        refused(Rule.V9_RESERVED, new Forgery(FILE).putByte(croft + 64, 1).sealed());
        refused(Rule.V9_RESERVED, new Forgery(FILE).putByte(foreign + 95, 1).sealed());
    }

    @Test
    void v10RefusesBasesThatAreNotThereAreNotNamedOrAreOfTheWrongKind() {
        long extent = forgery.at(SectionType.EXTN, 1);
        refused(Rule.V10_INDEX, new Forgery(FILE).putShort(extent + 2, 3).sealed());
        refused(Rule.V10_INDEX, new Forgery(FILE).putShort(extent + 2, -1).sealed());
        refused(Rule.V10_INDEX, new Forgery(FILE).putShort(extent + 2, 2).sealed());
        refused(Rule.V10_INDEX, new Forgery(FILE).putByte(extent, 2).sealed());
        refused(Rule.V10_INDEX, new Forgery(FILE).putByte(forgery.at(SectionType.EXTN, 0), 2).sealed());
        refused(Rule.V10_INDEX, new Forgery(FILE).putShort(extent + 2, 0).putLong(extent + 8, 0x440).sealed());
    }

    @Test
    void v13RefusesBasesOfAnotherKind() {
        refused(Rule.V13_UNSUPPORTED, new Forgery(FILE).putShort(croft + 12, 2).sealed());
    }

    @Test
    void v15RefusesFieldsThatContradictTheKindAndTheSameFileTwice() {
        refused(Rule.V15_STRUCTURE, new Forgery(FILE).putLong(croft + 56, 0).sealed());
        refused(Rule.V15_STRUCTURE, new Forgery(FILE).putLong(foreign + 56, 1).sealed());
        refused(Rule.V15_STRUCTURE, new Forgery(FILE).putShort(foreign + 14, 1).sealed());
        refused(Rule.V15_STRUCTURE, new Forgery(FILE).putByte(foreign + 16, 1).sealed());
        Forgery twice = new Forgery(FILE).putShort(foreign + 12, 0).putLong(foreign + 56, 1);
        twice.putLong(foreign + 16, forgery.getLong(croft + 16)).putLong(foreign + 24, forgery.getLong(croft + 24));
        refused(Rule.V15_STRUCTURE, twice.sealed());
    }

    @Test
    void theBuilderRefusesWhatReadersWould() {
        IndexBuilder index = new IndexBuilder(FileImage.CHUNK_LOG2);
        int base = index.addBase(Features.croft("a.croft", 0));

        assertThat(base).isEqualTo(1);
        assertThatIllegalArgumentException().isThrownBy(() -> index.addBase(Features.croft("b.croft", 0)));
        assertThatIllegalArgumentException().isThrownBy(() -> index.addBase(Features.foreign("../a")));
        assertThatIllegalArgumentException().isThrownBy(() -> index
                .addBase(new BaseRecord(BaseKind.CROFT, "c", 8, new UUID(1, 1), Digest128.ZERO, 1 << 20, 1)));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> index.addBaseExtent(base, 200_000, 8, Features.sums(new byte[8])));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> index.addBaseExtent(2, 0x10000, 8, Features.sums(new byte[8])));
    }

    @Test
    void theBuilderLeavesOutBasesThatNoExtentNames() throws IOException {
        FileImage image = new FileImage();
        image.index().addBase(Features.foreign("first"));
        int second = image.index().addBase(Features.foreign("second"));
        image.index().addBase(Features.foreign("third"));
        int fourth = image.index().addBase(Features.foreign("fourth"));
        for (int base : new int[]{fourth, second}) {
            image.index().addBaseExtent(base, 0, 8, Features.sums(new byte[8]));
            image.index().addStorage("cpu");
        }
        Snapshot snapshot = open(image.toByteArray());

        assertThat(snapshot.faults()).isEmpty();
        assertThat(snapshot.baseCount()).isEqualTo(2);
        assertThat(snapshot.base(0).path()).isEqualTo("second");
        assertThat(snapshot.base(1).path()).isEqualTo("fourth");
        assertThat(snapshot.extent(0).base()).isEqualTo(2);
        assertThat(snapshot.extent(1).base()).isEqualTo(1);
    }
}

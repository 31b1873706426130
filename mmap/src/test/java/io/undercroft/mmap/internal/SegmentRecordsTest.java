package io.undercroft.mmap.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.mmap.NameLifetime;
import io.undercroft.mmap.internal.Processes.ProcessKey;
import io.undercroft.mmap.internal.SegmentRecords.Entry;
import io.undercroft.mmap.internal.SegmentRecords.HoldRecord;
import io.undercroft.mmap.internal.SegmentRecords.Role;
import java.io.IOException;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class SegmentRecordsTest {
    private static final ProcessKey ALICE = new ProcessKey(4711, 1_700_000_000_123L, 4_026_531_836L);
    private static final ProcessKey BOB = new ProcessKey(4711, 1_700_000_000_123L, 4_026_531_837L);

    @ParameterizedTest
    @EnumSource
    void whatIsWrittenIsRead(NameLifetime lifetime) {
        HoldRecord made = new HoldRecord(12, Role.CREATOR, ALICE, 1);
        HoldRecord held = new HoldRecord(12, Role.HOLDER, BOB, 999_999_999_999_999_999L);
        Entry entry = Entry.of(12,
                List.of(held.toString(), Entry.record(12, lifetime), made.toString()));

        assertThat(entry.lifetime()).contains(lifetime);
        assertThat(entry.holds()).containsExactly(held, made);
        assertThat(entry.stale()).isEmpty();
        assertThat(entry.isClear()).isTrue();
    }

    @Test
    void aNameLastsWhileThoseLiveForWhomItLasts() throws IOException {
        HoldRecord made = new HoldRecord(12, Role.CREATOR, ALICE, 1);
        HoldRecord held = new HoldRecord(12, Role.HOLDER, BOB, 2);
        for (NameLifetime lifetime : NameLifetime.values()) {
            Entry entry = entry(Entry.record(12, lifetime), made.toString(), held.toString());
            boolean lastsForever = lifetime == NameLifetime.UNTIL_UNLINKED;
            assertThat(entry.isOver(_ -> true)).isFalse();
            assertThat(entry.isOver(_ -> false)).isEqualTo(!lastsForever);
            assertThat(entry.isOver(ALICE::equals)).isFalse();
            assertThat(entry.isOver(BOB::equals)).isEqualTo(lifetime == NameLifetime.WITH_CREATOR);
            assertThat(entry.without(made).isOver(_ -> true)).isEqualTo(lifetime == NameLifetime.WITH_CREATOR);
            assertThat(entry.without(made).without(held).isOver(_ -> true)).isEqualTo(!lastsForever);
        }
    }

    @Test
    void recordsOfAnotherSegmentMeanNothing() throws IOException {
        Entry entry = entry("13.WITH_CREATOR", "13.CREATOR." + ALICE + ".1", "12.WITH_LAST_HOLDER",
                "12.HOLDER." + BOB + ".1", "14.UNTIL_UNLINKED");

        assertThat(entry.lifetime()).contains(NameLifetime.WITH_LAST_HOLDER);
        assertThat(entry.holds()).hasSize(1);
        assertThat(entry.stale()).containsExactly("13.WITH_CREATOR", "13.CREATOR." + ALICE + ".1", "14.UNTIL_UNLINKED");
        assertThat(entry.isOver(ALICE::equals)).isTrue();
        Entry ofNone = Entry.of(-1, List.of("13.WITH_CREATOR"));
        assertThat(ofNone.stale()).hasSize(1);
        assertThat(ofNone.isOver(_ -> false)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ".", "12", "12.", "12.FOREVER", "12.with_creator", "012345678901234567890.WITH_CREATOR",
            "-12.WITH_CREATOR", "12.WITH_CREATOR.x", "12.CREATOR", "12.CREATOR.1-2.3", "12.CREATOR.1-2-3",
            "12.CREATOR.1-2-3.", "12.CREATOR.1-2-3.4.5", "12.OWNER.1-2-3.4", "12.HOLDER.1-2-99999999999999999999.4",
            "12.HOLDER.1-2-3.4\n", "١٢.WITH_CREATOR", "tmp", ".nfs0001", "12.HOLDER.1-2-3.4~"})
    void whatMakesNoSenseIsNeverAReasonToRemoveASegment(String garbage) throws IOException {
        Entry entry = entry("12.WITH_LAST_HOLDER", garbage);

        assertThat(entry.isClear()).isFalse();
        assertThat(entry.stale()).isEmpty();
        assertThat(entry.isOver(_ -> false)).isFalse();
        assertThat(entry.lifetime()).contains(NameLifetime.WITH_LAST_HOLDER);
    }

    @Test
    void twoLifespansAreUnclear() throws IOException {
        assertThat(entry("12.WITH_LAST_HOLDER", "12.WITH_CREATOR").isOver(_ -> false)).isFalse();
        assertThat(entry("12.HOLDER." + ALICE + ".1").isOver(_ -> false)).as("none at all").isFalse();
    }

    @Test
    void anyTextIsTakenWithoutHarm() throws IOException {
        Random random = new Random(20_261_121);
        String letters = "0123456789.-CREATORHOLDERWITH_LAST_HOLDER";
        for (int round = 0; round < 20_000; round++) {
            StringBuilder text = new StringBuilder();
            for (int i = random.nextInt(60); i > 0; i--) {
                text.append(letters.charAt(random.nextInt(letters.length())));
            }
            Entry entry = Entry.of(12, List.of("12.WITH_CREATOR", text.toString()));
            boolean isUnderstood = entry.holds().size() + entry.stale().size() == 1;
            assertThat(entry.isOver(_ -> false)).as("%s", text).isEqualTo(isUnderstood);
        }
    }

    @Test
    void whoCannotBeAskedIsNotDead() {
        Entry entry = entry("12.WITH_LAST_HOLDER", "12.HOLDER." + ALICE + ".1");

        assertThatThrownBy(() -> entry.isOver(_ -> {
            throw new IOException("no descriptor left");
        })).isInstanceOf(IOException.class);
    }

    @Test
    void thisProcessHasAKeyThatIsRead() {
        ProcessKey self = ProcessKey.ofThisProcess();

        assertThat(ProcessKey.parse(self.toString())).contains(self);
        assertThat(self.pid()).isEqualTo(ProcessHandle.current().pid());
        assertThat(self.start()).isEqualTo(ProcessHandle.current().info().startInstant().orElseThrow());
        assertThat(ProcessKey.parse("1-2")).isEmpty();
    }

    private static Entry entry(String... files) {
        return Entry.of(12, List.of(files));
    }
}

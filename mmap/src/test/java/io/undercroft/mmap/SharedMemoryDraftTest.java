package io.undercroft.mmap;

import static io.undercroft.testsupport.TestData.noise;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.Allocation;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

@EnabledOnOs(OS.LINUX)
class SharedMemoryDraftTest extends NamedSegment {
    @Test
    void whatIsWrittenIsSeenUnderItsNameOnceItIsPublished() throws IOException {
        byte[] bytes = noise(3_000_001, 1);
        try (SharedMemoryDraft draft = SharedMemoryDraft.create(); Arena arena = Arena.ofConfined()) {
            draft.write(5000, MemorySegment.ofArray(bytes));
            draft.write(10, arena.allocateFrom(JAVA_BYTE, (byte) 1, (byte) 2));
            MemorySegment back = MemorySegment.ofArray(new byte[bytes.length]);
            draft.read(5000, back);
            assertThat(back.toArray(JAVA_BYTE)).isEqualTo(bytes);
            assertThat(draft.size()).isEqualTo(3_005_001);
            assertThat(HOME.resolve(name)).doesNotExist();

            try (SharedMemory memory = draft.publish("/" + name, NameLifetime.UNTIL_UNLINKED)) {
                assertThat(memory.nbytes()).isEqualTo(3_005_001);
                assertThat(memory.segment().asSlice(5000).toArray(JAVA_BYTE)).isEqualTo(bytes);
                assertThat(memory.segment().asSlice(9, 4).toArray(JAVA_BYTE)).containsExactly(0, 1, 2, 0);
            }
            assertThatIllegalStateException().isThrownBy(() -> draft.write(0, MemorySegment.ofArray(new byte[1])));
        }
        assertThat(Files.size(HOME.resolve(name))).isEqualTo(3_005_001);
    }

    @Test
    void publishingTakesTheNameAndLeavesTheBytesToThoseAttached() throws IOException {
        try (SharedMemory old = SharedMemory.create(name, 10);
                MappedFile file = MappedFile.attach(name, MapMode.READ_ONLY, new MapBudget(),
                        TrustedOwner.SELF_OR_ROOT);
                SharedMemoryDraft draft = SharedMemoryDraft.create()) {
            old.segment().fill((byte) 1);
            draft.write(0, MemorySegment.ofArray(new byte[]{2, 2}));
            assertThat(file.isCurrent()).isTrue();
            draft.publish(name, NameLifetime.UNTIL_UNLINKED).close();

            assertThat(file.isCurrent()).isFalse();
            assertThat(file.map(0, 10).get(JAVA_BYTE, 9)).isEqualTo((byte) 1);
            try (MappedFile now = MappedFile.attach("/" + name, MapMode.PRIVATE, new MapBudget(),
                    TrustedOwner.SELF_OR_ROOT)) {
                assertThat(now.map(0, 2).toArray(JAVA_BYTE)).containsExactly(2, 2);
                assertThat(now.isCurrent()).isTrue();
                SharedMemory.unlink(name);
                assertThat(now.isCurrent()).isFalse();
            }
        }
    }

    @Test
    void aLifetimeThatIsNullIsRefusedAndNothingIsLeft() throws IOException {
        assertThatNullPointerException().isThrownBy(() -> SharedMemory.create(name, 8, null)).withMessage("lifetime");
        try (SharedMemoryDraft draft = SharedMemoryDraft.create()) {
            assertThatNullPointerException().isThrownBy(() -> draft.publish(name, null)).withMessage("lifetime");
            draft.write(0, MemorySegment.ofArray(new byte[1]));
        }
        assertThat(HOME.resolve(name)).doesNotExist();
        try (Stream<Path> registries = Files.list(HOME)) {
            assertThat(registries.map(registry -> registry.resolve("segments").resolve(name))).noneMatch(Files::exists);
        }
    }

    @Test
    void aDraftThatIsClosedIsGone() throws IOException {
        SharedMemoryDraft draft = SharedMemoryDraft.create();
        draft.write(0, MemorySegment.ofArray(new byte[100]));
        assertThatThrownBy(() -> draft.read(99, MemorySegment.ofArray(new byte[2])))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> draft.write(-1, MemorySegment.ofArray(new byte[2])))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> draft.write(Long.MAX_VALUE, MemorySegment.ofArray(new byte[2])))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(draft.size()).isEqualTo(100);
        draft.close();
        draft.close();

        assertThatIllegalStateException().isThrownBy(() -> draft.publish(name, NameLifetime.UNTIL_UNLINKED));
        assertThat(HOME.resolve(name)).doesNotExist();
    }

    @Test
    void aPublishedNameLastsAsItsLifetimeSays() throws IOException {
        SharedMemory published = published(NameLifetime.WITH_LAST_HOLDER);
        MappedFile file = MappedFile.attach(name, MapMode.SHARED, new MapBudget(), TrustedOwner.SELF_OR_ROOT);
        published.close();
        assertThat(SharedMemory.list()).filteredOn(each -> each.name().equals(name)).singleElement()
                .satisfies(each -> assertThat(each.holders()).hasSize(1));
        Allocation window = file.window(0, 1);
        file.close();
        assertThat(HOME.resolve(name)).as("the window holds it").exists();
        window.free();
        assertThat(HOME.resolve(name)).doesNotExist();

        SharedMemory made = published(NameLifetime.WITH_CREATOR);
        try (MappedFile reader = MappedFile.attach(name, MapMode.READ_ONLY, new MapBudget(),
                TrustedOwner.SELF_OR_ROOT)) {
            made.close();
            assertThat(HOME.resolve(name)).doesNotExist();
            assertThat(reader.isCurrent()).isFalse();
        }
    }

    @Test
    void whoeverHeldTheOldSegmentLetsGoOfTheOldOneOnly() throws IOException {
        SharedMemory old = published(NameLifetime.WITH_LAST_HOLDER);
        MappedFile reader = MappedFile.attach(name, MapMode.READ_ONLY, new MapBudget(), TrustedOwner.SELF_OR_ROOT);
        SharedMemory now = published(NameLifetime.WITH_CREATOR);
        assertThat(now.identity()).isNotEqualTo(old.identity());
        old.close();
        reader.close();
        assertThat(HOME.resolve(name)).exists();
        now.close();
        assertThat(HOME.resolve(name)).doesNotExist();
    }

    @Test
    void aFileThatNobodyClosesLetsGoWithTheGarbage() throws Exception {
        SharedMemory published = published(NameLifetime.WITH_LAST_HOLDER);
        MemorySegment segment = MappedFile.attach(name, MapMode.READ_ONLY, new MapBudget(), TrustedOwner.SELF_OR_ROOT)
                .map(0, 3);
        published.close();
        System.gc();
        assertThat(segment.get(JAVA_BYTE, 0)).isEqualTo((byte) 1);
        assertThat(HOME.resolve(name)).as("the segment keeps it").exists();
        segment = null;
        assertThat(PosixMappedFileTest.becomesTrue(() -> {
            System.gc();
            return Files.notExists(HOME.resolve(name));
        })).isTrue();
    }

    @Test
    void aDraftThatCannotGetItsNameIsAsBefore() throws IOException {
        try (SharedMemoryDraft draft = SharedMemoryDraft.create()) {
            draft.write(0, MemorySegment.ofArray(new byte[]{4}));
            assertThatThrownBy(() -> draft.publish("a/b", NameLifetime.WITH_CREATOR))
                    .isInstanceOf(SharedMemoryException.class);
            Path folder = Files.createDirectory(HOME.resolve(name));
            try {
                assertThatThrownBy(() -> draft.publish(name, NameLifetime.WITH_CREATOR))
                        .isInstanceOf(SharedMemoryException.class).hasMessageContaining("EISDIR");
            } finally {
                Files.delete(folder);
            }
            assertThat(SharedMemory.list()).extracting(SharedSegment::name).doesNotContain(name);
            draft.write(1, MemorySegment.ofArray(new byte[]{5}));
            try (SharedMemory memory = draft.publish(name, NameLifetime.WITH_CREATOR)) {
                assertThat(memory.segment().toArray(JAVA_BYTE)).containsExactly(4, 5);
            }
        }
    }

    @Test
    void bytesThatAreGoneLeaveTheDraftAsItWas() throws IOException {
        Arena arena = Arena.ofShared();
        MemorySegment gone = arena.allocate(10);
        arena.close();
        try (SharedMemoryDraft draft = SharedMemoryDraft.create()) {
            draft.write(0, MemorySegment.ofArray(new byte[]{4}));
            assertThatIllegalStateException().isThrownBy(() -> draft.write(5000, gone));
            draft.publish(name, NameLifetime.UNTIL_UNLINKED).close();
            assertThat(HOME.resolve(name)).hasBinaryContent(new byte[]{4});
        }
    }

    @Test
    void aSegmentMayBePublishedWithoutBytes() throws IOException {
        try (SharedMemoryDraft draft = SharedMemoryDraft.create();
                SharedMemory memory = draft.publish(name, NameLifetime.WITH_CREATOR);
                MappedFile file = MappedFile.attach(name, MapMode.READ_ONLY, new MapBudget(),
                        TrustedOwner.SELF_OR_ROOT)) {
            assertThat(memory.nbytes()).isZero();
            assertThat(file.size()).isZero();
        }
    }

    private SharedMemory published(NameLifetime lifetime) throws IOException {
        try (SharedMemoryDraft draft = SharedMemoryDraft.create()) {
            draft.write(0, MemorySegment.ofArray(new byte[]{1, 2, 3}));
            return draft.publish(name, lifetime);
        }
    }
}

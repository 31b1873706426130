package io.undercroft.mmap;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.mmap.SharedMemoryException.Reason;
import io.undercroft.storage.Storage;
import io.undercroft.testsupport.PeerJvm;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@EnabledOnOs(OS.LINUX)
class SharedMemoryTest extends NamedSegment {
    @Test
    void aNameOrPathThatIsNullIsRefusedWithTheNameOfTheParameter() {
        String none = null;
        Path nowhere = null;
        assertNamed("name", () -> SharedMemory.create(none, 1));
        assertNamed("name", () -> SharedMemory.attach(none));
        assertNamed("name", () -> SharedMemory.unlink(none));
        assertNamed("name", () -> SharedMemory.unlinkIfUnheld(none));
        assertNamed("mode", () -> SharedMemory.attach("/" + name, null, TrustedOwner.SELF_OR_ROOT));
        assertNamed("name",
                () -> MappedFile.attach(none, MapMode.SHARED, new MapBudget(), TrustedOwner.SELF_OR_ROOT));
        assertNamed("path", () -> MappedFile.open(nowhere, MapMode.PRIVATE));
        assertNamed("mode", () -> MappedFile.open(Path.of("weights"), null));
    }

    private static void assertNamed(String parameter, ThrowingCallable call) {
        assertThatThrownBy(call).isInstanceOf(NullPointerException.class).hasMessage(parameter);
    }

    @Test
    void aSecondProcessReadsAndWritesTheSameBytes() throws Exception {
        try (SharedMemory memory = SharedMemory.create(name, 1_000_001);
                PeerJvm peer = PeerJvm.start(SharedMemoryPeer.class, "/" + name)) {
            long last = memory.nbytes() - Long.BYTES;
            memory.segment().set(JAVA_LONG_UNALIGNED, last, 0x0123_4567_89AB_CDEFL);

            assertThat(peer.answer()).isEqualTo("1000001 " + 0x0123_4567_89AB_CDEFL);
            assertThat(memory.segment().get(JAVA_LONG_UNALIGNED, last)).isEqualTo(0x0123_4567_89AB_CDEFL + 1);

            memory.segment().set(JAVA_LONG_UNALIGNED, last, 42);
            peer.say("!");
            assertThat(peer.answer()).isEqualTo((int) '!' + " 42");
            peer.endsWell();
        }
    }

    @Test
    void aNewSegmentIsZeroedPreallocatedAndForItsOwnerOnly() throws IOException {
        Path path = HOME.resolve(name);
        try (SharedMemory memory = SharedMemory.create(name, 300_000)) {
            assertThat(memory.nbytes()).isEqualTo(300_000);
            assertThat(memory.segment().mismatch(MemorySegment.ofArray(new byte[300_000]))).isEqualTo(-1);
            assertThat(path).hasSize(300_000);
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(path))).isEqualTo("rw-------");
            assertThat((Long) Files.getAttribute(path, "unix:size")).isEqualTo(300_000);
        }
        assertThat(path).exists();
    }

    @Test
    void nameWithAndWithoutSlashAreTheSame() throws IOException {
        try (SharedMemory memory = SharedMemory.create("/" + name, 10);
                SharedMemory other = SharedMemory.attach(name)) {
            memory.segment().set(JAVA_BYTE, 3, (byte) 5);

            assertThat(other.segment().get(JAVA_BYTE, 3)).isEqualTo((byte) 5);
            assertThat(memory.name()).isEqualTo(other.name()).isEqualTo(name);
        }
    }

    @Test
    void attachingForReadingOnlyRejectsWrites() throws IOException {
        try (SharedMemory memory = SharedMemory.create(name, 10);
                SharedMemory reader = SharedMemory.attach(name, MapMode.READ_ONLY, TrustedOwner.SELF_OR_ROOT)) {
            memory.segment().set(JAVA_BYTE, 3, (byte) 5);

            assertThat(reader.segment().get(JAVA_BYTE, 3)).isEqualTo((byte) 5);
            assertThatThrownBy(() -> reader.segment().set(JAVA_BYTE, 3, (byte) 6))
                    .isInstanceOf(IllegalArgumentException.class);
            Storage storage = Storage.over(reader.allocation());
            assertThat(storage.isReadOnly()).isTrue();
            storage.release();
        }
    }

    @Test
    void aSegmentOfNoBytesWorks() throws IOException {
        try (SharedMemory memory = SharedMemory.create(name, 0); SharedMemory other = SharedMemory.attach(name)) {
            assertThat(memory.nbytes()).isZero();
            assertThat(other.segment().byteSize()).isZero();
        }
    }

    @Test
    void creatingTwiceFailsAndLeavesTheFirstAlone() throws IOException {
        try (SharedMemory memory = SharedMemory.create(name, 10)) {
            memory.segment().fill((byte) 9);

            failsWith(Reason.EXISTS, () -> SharedMemory.create(name, 20), "exists already", "unlink it first");
            try (SharedMemory other = SharedMemory.attach(name)) {
                assertThat(other.nbytes()).isEqualTo(10);
                assertThat(other.segment().get(JAVA_BYTE, 9)).isEqualTo((byte) 9);
            }
        }
    }

    @Test
    void anUnlinkedSegmentLivesOnForThoseAttachedAndForNobodyElse() throws IOException {
        try (SharedMemory memory = SharedMemory.create(name, 10); SharedMemory other = SharedMemory.attach(name)) {
            assertThat(SharedMemory.unlink("/" + name)).isTrue();
            assertThat(SharedMemory.unlink(name)).isFalse();

            memory.segment().set(JAVA_BYTE, 0, (byte) 1);
            assertThat(other.segment().get(JAVA_BYTE, 0)).isEqualTo((byte) 1);
            failsWith(Reason.NOT_FOUND, () -> SharedMemory.attach(name), "/" + name, "unlinked");
        }
    }

    @Test
    void moreThanThereIsFailsAtCreationAndLeavesNothing() throws IOException {
        long tooMuch = Files.getFileStore(HOME).getTotalSpace() + (1L << 30);

        failsWith(Reason.FULL, () -> SharedMemory.create(name, tooMuch), "requires " + tooMuch + " bytes", "are free",
                "--shm-size");
        failsWith(Reason.FULL, () -> SharedMemory.create(name, Long.MAX_VALUE), "--shm-size");
        assertThat(HOME.resolve(name)).doesNotExist();
        assertThat(Proc.mappings(name)).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "/", "a/b", "//a", "/a/", ".", "..", "/..", "nul\0nul", "two\nlines",
            "undercroft-0", "/undercroft-1000", "half\uD83D"})
    void namesThatSharedMemoryCannotHaveAreRefused(String bad) {
        failsWith(Reason.BAD_NAME, () -> SharedMemory.create(bad, 10), "is no name");
        failsWith(Reason.BAD_NAME, () -> SharedMemory.attach(bad), "is no name");
        failsWith(Reason.BAD_NAME, () -> SharedMemory.unlink(bad), "is no name");
        failsWith(Reason.BAD_NAME,
                () -> MappedFile.attach(bad, MapMode.PRIVATE, new MapBudget(), TrustedOwner.SELF_OR_ROOT),
                "is no name");
    }

    @Test
    void aNameMayHave255BytesAndNoMore() throws IOException {
        String longest = "ü".repeat(127) + "x";
        try (SharedMemory memory = SharedMemory.create(longest, 1)) {
            assertThat(memory.name()).isEqualTo(longest);
        } finally {
            assertThat(SharedMemory.unlink(longest)).isTrue();
        }
        failsWith(Reason.BAD_NAME, () -> SharedMemory.create(longest + "x", 1), "has 256 bytes", "may have 255");
    }

    @Test
    void aNegativeSizeIsRefused() {
        assertThatThrownBy(() -> SharedMemory.create(name, -1)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("-1");
    }

    @Test
    void everyHolderKeepsTheMappingUntilItLetsGo() throws IOException {
        SharedMemory memory = SharedMemory.create(name, 10);
        MemorySegment segment = memory.segment();
        Storage storage = Storage.over(memory.allocation());
        SharedMemory held = memory.retain();
        assertThat(storage.isShared()).isTrue();
        assertThat(storage.filename()).contains("/" + name);
        assertThat(storage.nbytes()).isEqualTo(10);

        memory.close();
        held.close();
        storage.set(4, (byte) 1);
        assertThat(Proc.mappings(name)).isOne();

        storage.release();
        assertThat(Proc.mappings(name)).isZero();
        assertThatThrownBy(() -> segment.get(JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(memory::allocation).isInstanceOf(IllegalStateException.class);
        memory.close();
    }

    @Test
    void aJvmThatDeniesNativeAccessMapsFilesAndRefusesSharedMemory() throws Exception {
        Path file = Files.writeString(Files.createTempFile("undercroft", ".bin"), "{k=v}");
        try (PeerJvm peer = PeerJvm.startWith(List.of("--illegal-native-access=deny"), NativeAccessDenied.class,
                file.toString())) {
            assertThat(peer.answer()).isEqualTo("{k=v}{k=v}{k=v}");
            assertThat(peer.answer()).isEqualTo("2097152");
            assertThat(peer.answer()).isEqualTo("Optional.empty");
            assertThat(peer.answer()).startsWith("UNSUPPORTED ").contains("--enable-native-access=ALL-UNNAMED")
                    .contains("IllegalCallerException");
            peer.endsWell();
        } finally {
            Files.delete(file);
        }
    }

    private static void failsWith(Reason reason, ThrowingCallable call, String... parts) {
        assertThatExceptionOfType(SharedMemoryException.class).isThrownBy(call).withMessageNotContaining("\n")
                .satisfies(e -> {
                    assertThat(e.reason()).isEqualTo(reason);
                    assertThat(e.getMessage()).contains(parts);
                });
    }
}

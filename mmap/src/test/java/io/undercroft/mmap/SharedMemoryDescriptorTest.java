package io.undercroft.mmap;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.undercroft.mmap.SharedMemoryException.Reason;
import io.undercroft.storage.Storage;
import io.undercroft.testsupport.PeerJvm;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/// Shared memory that is handed over by a descriptor.
@EnabledOnOs(OS.LINUX)
class SharedMemoryDescriptorTest {

    private final long pid = ProcessHandle.current().pid();

    @Test
    void anotherProcessAttachesWhatHasNoName() throws Exception {
        try (SharedMemory memory = SharedMemory.anonymous(5000);
                PeerJvm peer = PeerJvm.start(RegistryPeer.class)) {
            memory.segment().set(JAVA_BYTE, 0, (byte) 42);
            assertThat(memory.name()).isEmpty();
            assertThat(memory.toString()).contains("/proc/" + pid + "/fd/").endsWith("of 5000 bytes");
            peer.answer();
            int fd = memory.descriptor().orElseThrow();
            assertThat(peer.ask("descriptor " + pid + " " + fd)).isEqualTo("5000 42");
            assertThat(memory.segment().get(JAVA_BYTE, 4999)).isEqualTo((byte) 77);
        }
    }

    @Test
    void whatAnotherProcessMadeOutlivesIt() throws Exception {
        try (PeerJvm peer = PeerJvm.start(RegistryPeer.class)) {
            peer.answer();
            int fd = Integer.parseInt(peer.ask("anonymous 100"));
            try (SharedMemory memory = SharedMemory.attachDescriptor(peer.pid(), fd)) {
                memory.segment().set(JAVA_BYTE, 99, (byte) 1);
                try (SharedMemory again = SharedMemory.attachDescriptor(peer.pid(), fd)) {
                    assertThat(again.segment().get(JAVA_BYTE, 99)).isEqualTo((byte) 1);
                    assertThat(again.identity()).isEqualTo(memory.identity()).isPresent();
                }
                peer.kill();
                assertThat(memory.segment().get(JAVA_BYTE, 99)).isEqualTo((byte) 1);
                failsWith(Reason.NOT_FOUND, () -> SharedMemory.attachDescriptor(peer.pid(), fd),
                        "there is no process " + peer.pid());
            }
        }
    }

    @Test
    void aChildAttachesADescriptorThatItInherited() throws Exception {
        Path file = Files.createTempFile("undercroft", ".bin");
        Files.write(file, new byte[]{5, 6, 7});
        try (PeerJvm peer = PeerJvm.startBy(List.of("sh", "-c", "exec 9<>\"$1\" 8<\"$1\" 7>&1; shift; exec \"$@\"",
                "sh", file.toString()), RegistryPeer.class)) {
            peer.answer();
            assertThat(peer.ask("inherited 9")).isEqualTo("3 5");
            assertThat(Files.readAllBytes(file)).containsExactly(5, 6, 77);
            assertThat(peer.ask("inherited 8")).startsWith("NOT_PERMITTED")
                    .contains("not open for reading and writing");
            assertThat(peer.ask("inherited 7")).startsWith("NOT_MEMORY");
            assertThat(peer.ask("inherited 6666")).startsWith("NOT_FOUND").contains("no such descriptor");
            assertThat(peer.ask("inherited -1")).startsWith("NOT_FOUND");
            assertThat(peer.ask("descriptor " + peer.pid() + " 7")).startsWith("NOT_MEMORY");
            failsWith(Reason.NOT_MEMORY, () -> SharedMemory.attachDescriptor(peer.pid(), 7), "something else");
            failsWith(Reason.NOT_FOUND, () -> SharedMemory.attachDescriptor(peer.pid(), 6666), "/fd/6666");
        } finally {
            Files.delete(file);
        }
    }

    @Test
    void theDescriptorStaysOpenUntilTheLastHolderLetsGo() throws IOException {
        SharedMemory memory = SharedMemory.anonymous(10);
        Path path = Path.of("/proc/self/fd/" + memory.descriptor().orElseThrow());
        Storage storage = Storage.over(memory.allocation());
        memory.close();
        assertThat(Files.readSymbolicLink(path).toString()).contains("memfd:undercroft");
        storage.release();
        assertThat(path).doesNotExist();
        assertThatIllegalStateException().isThrownBy(memory::allocation);
    }

    @Test
    void whatNobodyClosesIsClosedWithTheGarbage() throws Exception {
        long before = Proc.descriptors();
        for (int i = 0; i < 50; i++) {
            SharedMemory.anonymous(i * 1000L).segment();
        }
        assertThat(PosixMappedFileTest.becomesTrue(() -> {
            System.gc();
            return Proc.descriptors() <= before && Proc.mappings("memfd:undercroft") == 0;
        })).isTrue();
    }

    @Test
    void theAllocatorOfMemoryWithoutNamesTellsWhereOthersFindIt() throws IOException {
        Storage storage = Storage.allocate(100, SharedMemory.anonymousAllocator());
        storage.set(99, (byte) 9);
        Path path = Path.of(storage.filename().orElseThrow());
        assertThat(path.toString()).startsWith("/proc/" + pid + "/fd/");
        assertThat(Files.readAllBytes(path)).hasSize(100).endsWith(9);
        Storage other = FileStorage.open(path, MapMode.SHARED);
        other.set(0, (byte) 1);
        assertThat(storage.get(0)).isEqualTo((byte) 1);
        storage.release();
        other.release();
        assertThat(Proc.mappings("memfd:undercroft")).isZero();

        Storage nothing = Storage.allocate(0, SharedMemory.anonymousAllocator());
        assertThat(nothing.isShared()).isTrue();
        nothing.release();
    }

    @Test
    void twoOfThemAreToldApartAndNamesToo() throws IOException {
        String name = "undercroft-test-" + UUID.randomUUID();
        try (SharedMemory one = SharedMemory.anonymous(10);
                SharedMemory two = SharedMemory.anonymous(10);
                SharedMemory named = SharedMemory.create(name, 10, NameLifetime.WITH_LAST_HOLDER);
                SharedMemory attached = SharedMemory.attach(name, MapMode.READ_ONLY, TrustedOwner.SELF_OR_ROOT)) {
            assertThat(one.identity()).isNotEqualTo(two.identity());
            assertThat(named.identity()).isEqualTo(attached.identity()).isNotEqualTo(one.identity());
            assertThat(named.descriptor()).isEmpty();
            SharedMemory.unlink(name);
            try (SharedMemory anew = SharedMemory.create(name, 10, NameLifetime.WITH_LAST_HOLDER)) {
                assertThat(anew.identity()).isNotEqualTo(named.identity());
            }
        }
    }

    @Test
    void moreThanThereIsIsRefusedBeforeTheSystemTries() throws IOException {
        long before = Proc.descriptors();
        failsWith(Reason.FULL, () -> SharedMemory.anonymous(1L << 50), "requires " + (1L << 50) + " bytes", "are free");
        assertThatExceptionOfType(OutOfMemoryError.class)
                .isThrownBy(() -> SharedMemory.anonymousAllocator().allocate(Long.MAX_VALUE));
        assertThatIllegalArgumentException().isThrownBy(() -> SharedMemory.anonymous(-1));
        assertThat(Proc.descriptors()).isEqualTo(before);
    }

    private static void failsWith(Reason reason, ThrowingCallable call, String... parts) {
        assertThatExceptionOfType(SharedMemoryException.class).isThrownBy(call).withMessageNotContaining("\n")
                .satisfies(e -> {
                    assertThat(e.reason()).isEqualTo(reason);
                    assertThat(e.getMessage()).contains(parts);
                });
    }
}

package io.undercroft.mmap.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.mmap.NameLifetime;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/// The way of macOS, which Linux can go too.
@EnabledOnOs(OS.LINUX)
class ProcessLocalNamesTest {
    private final String name = "undercroft-test-" + UUID.randomUUID();
    private final Path file = Path.of("/dev/shm", name);
    private final ProcessLocalNames names = new ProcessLocalNames(Libc.find().orElseThrow());

    @AfterEach
    void removeTheName() throws IOException {
        Files.deleteIfExists(file);
    }

    @Test
    void aNameGoesWithItsCreatorUnlessItLastsUntilItIsUnlinked() throws IOException {
        for (NameLifetime lifetime : NameLifetime.values()) {
            Hold hold = created(lifetime);
            assertThat(file).exists();
            hold.release();
            assertThat(Files.exists(file)).isEqualTo(lifetime == NameLifetime.UNTIL_UNLINKED);
            hold.release();
            assertThat(names.unlink(name)).isEqualTo(lifetime == NameLifetime.UNTIL_UNLINKED);
        }
    }

    @Test
    void aDraftThatIsNotCreatedLeavesNoName() throws IOException {
        try (Draft draft = names.draft(name)) {
            assertThat(draft.descriptor()).isPositive();
            assertThatThrownBy(() -> names.draft(name)).isInstanceOfSatisfying(ErrnoException.class,
                    e -> assertThat(e.errno()).isEqualTo(ErrnoException.EEXIST));
            assertThatThrownBy(() -> draft.publish(name, NameLifetime.WITH_CREATOR))
                    .isInstanceOf(RegistryException.class);
        }
        assertThat(file).doesNotExist();
        assertThatThrownBy(names::draft).isInstanceOf(RegistryException.class).hasMessageContaining("create it by its");
    }

    @Test
    void aNameThatWasUnlinkedAndCreatedAnewIsNotItsFirstCreators() throws IOException {
        Hold first = created(NameLifetime.WITH_CREATOR);
        assertThat(names.unlink(name)).isTrue();
        Hold second = created(NameLifetime.WITH_CREATOR);
        first.release();
        assertThat(file).exists();
        second.release();
        assertThat(file).doesNotExist();
    }

    @Test
    void theEndOfTheProcessRemovesWhatNobodyLetGo() throws IOException {
        created(NameLifetime.WITH_LAST_HOLDER);
        assertThat(names.list()).isEmpty();
        assertThat(names.gc()).isEmpty();
        assertThat(file).exists();
        names.releaseAll();
        assertThat(file).doesNotExist();
    }

    private Hold created(NameLifetime lifetime) throws IOException {
        try (Draft draft = names.draft(name)) {
            return draft.create(name, lifetime);
        }
    }
}

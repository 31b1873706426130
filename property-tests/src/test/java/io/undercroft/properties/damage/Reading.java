package io.undercroft.properties.damage;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Damage;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/// What a reader says of a file that may be damaged, when it opens it, reads all of it and verifies it.
enum Reading {
    /// Everything could be read and agrees with its checksums.
    SOUND,
    /// The file was refused, or verifying found damage.
    REPORTED;

    private static final int PAGE = 4096;
    /// More is only touched at its corners: a few bytes of a file may stand for any number of elements.
    private static final long COPIED = 1 << 22;

    /// Reads a file. Whatever is thrown but [FormatException] is the caller's to see.
    static Reading of(Path path) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            checkpoint.state();
            for (String name : checkpoint.names()) {
                read(checkpoint.tensor(name));
            }
            checkpoint.storages().forEach(Reading::read);
            List<Damage> damages = checkpoint.verify().damages();
            damages.forEach(Reading::checkText);
            return damages.isEmpty() ? SOUND : REPORTED;
        } catch (FormatException e) {
            checkText(e, path);
            return REPORTED;
        }
    }

    private static void read(Tensor tensor) {
        if (tensor.device().isMeta() || tensor.numel() == 0) {
            return;
        }
        if (tensor.numel() <= COPIED && tensor.dtype().isByteSized()) {
            var _ = tensor.contiguous();
        }
        read(tensor.storage());
    }

    private static void read(Storage storage) {
        if (storage.device().isMeta()) {
            return;
        }
        for (long i = 0; i < storage.nbytes(); i += PAGE) {
            storage.get(i);
        }
    }

    private static void checkText(Damage damage) {
        assertThat(damage.what()).isNotBlank();
        assertThat(damage.where()).isNotBlank();
    }

    /// The message is one clear line that names the file and says what to do.
    static void checkText(FormatException e, Path path) {
        assertThat(e.getMessage()).contains(path.toString()).contains(e.code()).doesNotContain("\n", "\r", "\u001b");
        assertThat(e.remedy().toString()).isNotBlank();
    }
}

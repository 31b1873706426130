package io.undercroft.serializer.internal.loading;

import io.undercroft.format.FormatException;
import io.undercroft.format.Rule;
import io.undercroft.serializer.internal.Workers;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;

/// Fetches the bytes of all storages, several at once.
public final class EagerLoad {
    private EagerLoad() {}

    /// Fetches the bytes of storages that have some. One whose checksums fail is left out: whoever asks for it is told.
    ///
    /// @param storages the storages
    /// @throws IOException if reading fails
    /// @throws FormatException if bytes cannot be had for what is in the file
    public static void run(List<Storage> storages) throws IOException {
        List<Storage> wanted = storages.stream().filter(storage -> !storage.isMeta()).toList();
        try {
            Workers.share(wanted, EagerLoad::fetch);
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    private static void fetch(Storage storage) {
        try {
            storage.segment();
        } catch (FormatException e) {
            if (!e.code().equals(Rule.V14_CHECKSUM.code())) {
                throw e;
            }
        }
    }
}

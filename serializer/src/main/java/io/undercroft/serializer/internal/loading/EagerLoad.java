package io.undercroft.serializer.internal.loading;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Rule;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.MappingException;
import io.undercroft.serializer.ProgressListener;
import io.undercroft.serializer.internal.Progress;
import io.undercroft.serializer.internal.Workers;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;

/// Fetches the bytes of all storages, several at once.
public final class EagerLoad {
    /// As many as there are requests at a time to one file.
    static final int REMOTE_THREADS = 6;

    private EagerLoad() {}

    /// Loads the bytes of all storages of a file, those for devices first. One whose checksums fail is left out: it
    /// throws when it is touched.
    ///
    /// @param contents the contents of the file
    /// @param file the file
    /// @param listener receives the number of bytes read
    /// @throws IOException if reading fails
    /// @throws FormatException if bytes are not available for what is in the file
    public static void run(Contents contents, MappedFile file, ProgressListener listener) throws IOException {
        List<Storage> wanted = contents.storages().stream().filter(storage -> !storage.isMeta())
                .map(storage -> storage.base().orElse(storage)).distinct().toList();
        List<Storage> onHost = wanted.stream().filter(storage -> storage.device().isCpu()).toList();
        List<Storage> onDevices = wanted.stream().filter(storage -> !storage.device().isCpu()).toList();
        Progress progress = new Progress(listener,
                wanted.stream().mapToLong(Storage::nbytes).reduce(0, Math::addExact));
        try {
            upload(onDevices, progress);
            Workers.Work<Storage> load = storage -> {
                fetch(storage);
                progress.add(storage.nbytes());
            };
            if (file.source().isPresent()) {
                for (List<Storage> group : contents.loadGroups(onHost)) {
                    contents.openGroup(group);
                    loadTogether(StoreBatch.plan(group, contents::runs), load);
                }
            } else {
                Workers.share(onHost, load);
            }
        } catch (MappingException e) {
            throw e;
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    private static void loadTogether(StoreBatch.Plan plan, Workers.Work<Storage> load) throws IOException {
        MappedFile.load(plan.files(), () -> {
            MappedFile.fetch(plan.common());
            Workers.atOnce(plan.batches(), REMOTE_THREADS, batch -> {
                try (MappedFile.Held _ = MappedFile.hold(batch.held())) {
                    for (Storage storage : batch.storages()) {
                        load.on(storage);
                    }
                }
            });
        });
    }

    private static void upload(List<Storage> storages, Progress progress) throws IOException {
        List<DeviceSource> sources = storages.stream().flatMap(storage -> DeviceSource.of(storage).stream()).toList();
        DeviceLoad.all(sources, progress::add);
        Throwable failure = null;
        for (Storage storage : storages) {
            // Also after a failure: a storage that has its bytes is freed with the checkpoint.
            try {
                boolean isLoaded = DeviceSource.of(storage).map(DeviceSource::isLoaded).orElse(true);
                fetch(storage);
                progress.add(isLoaded ? 0 : storage.nbytes());
            } catch (RuntimeException | Error e) {
                failure = failure == null ? e : failure;
            }
        }
        Workers.rethrow(failure);
    }

    private static void fetch(Storage storage) {
        try {
            var _ = storage.materialize();
        } catch (FormatException e) {
            if (!e.code().equals(Rule.V14_CHECKSUM.code())) {
                throw e;
            }
        }
    }
}

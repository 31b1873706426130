package io.undercroft.interop.torch;

import io.undercroft.interop.internal.StorageFilter;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.spi.TreeContents;
import java.io.IOException;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/// What `torch.save` wrote before PyTorch 0.1.12: a tar archive of storages, tensors and a pickle. There are no
/// checksums of what it holds, so [Contents#verify] says that nothing was verified.
public final class TorchTarFormat implements CheckpointFormat {
    private static final Set<String> MEMBERS = Set.of("sys_info", "pickle", "tensors", "storages");

    /// For the service loader.
    public TorchTarFormat() {}

    @Override
    public String name() {
        return "torch-tar";
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        return TarDirectory.firstName(file).filter(MEMBERS::contains).isPresent();
    }

    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        TarDirectory tar = TarDirectory.read(file);
        Elements elements = new Elements(file, options, ByteOrder.LITTLE_ENDIAN);
        return StorageFilter.read(options, (opening, filter) -> {
            ReadBudget budget = ReadBudget.of(file.size());
            TarSave save = new TarSave(file, tar, opening, filter, elements, budget);
            Object state = save.read();
            List<UnreadPart> unread = Stream.concat(save.unread().stream(), tar.besides(MEMBERS).stream()).toList();
            return TreeContents.of(state, Map.of(), List::of, budget).withUnverified(1, file.size())
                    .withPlaces(elements::placeOf).withUnread(unread);
        });
    }
}

package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.spi.Setting;
import io.undercroft.serializer.spi.TreeContents;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// What Python's `pickle.dump` writes, of protocols 0 to 5: plain values, containers, and objects as the pickle
/// describes them. Nothing of a file is ever run. There are no checksums, so [Contents#verify] reports that nothing was
/// verified.
///
/// A file may hold several pickles, one after the other. The first is opened, as by `pickle.load`, and
/// [Contents#unread] reports the rest.
public final class PickleFormat implements CheckpointFormat {
    /// For the service loader.
    public PickleFormat() {}

    @Override
    public String name() {
        return "pickle";
    }

    @Override
    public List<String> suffixes() {
        return List.of(".pkl", ".pickle");
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        return !TorchLegacyFormat.isSave(file) && PickleProbe.matches(file);
    }

    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        ReadBudget budget = ReadBudget.of(file.size());
        ForeignNames names = ForeignNames.of(TorchSettings.isStrict(options));
        PickleStream stream = new PickleStream(file, 0, file.size(), budget);
        Object state = read(file, stream, names);
        StateCheck.check(state, names.isStrict(), _ -> {});
        List<UnreadPart> rest = stream.position() == file.size()
                ? List.of()
                : List.of(new UnreadPart(Kind.BYTES, "what is behind the first pickle", stream.position(),
                        file.size() - stream.position()));
        return TreeContents.of(state, Map.of(), List::of, budget).withUnverified(1, file.size()).withUnread(rest)
                .withForeignClasses(names.classes(), tensors -> ModuleNames.of(state, tensors)).only(options);
    }

    private static @Nullable Object read(MappedFile file, PickleStream stream, ForeignNames names) throws IOException {
        try {
            return stream.pickle(_ -> {
                throw PickleFault.malformed("a persistent id where there is nothing to refer to");
            }, names);
        } catch (FormatException e) {
            if (PickleProbe.isJoblib(file)) {
                throw new FormatException("PICKLE-JOBLIB",
                        "a file of joblib, which has the elements of arrays between the opcodes of its pickle", 0,
                        "In Python, load it with joblib.load, and save its arrays with numpy.savez", e);
            }
            throw e;
        }
    }

    @Override
    public List<Setting> settings() {
        return List.of(TorchSettings.STRICT);
    }
}

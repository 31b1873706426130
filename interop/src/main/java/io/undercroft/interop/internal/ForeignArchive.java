package io.undercroft.interop.internal;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/// A zip archive of another program.
///
/// @param record what the name of one of its records ends with
/// @param what what it is
/// @param remedy the way to obtain a file that can be opened
public record ForeignArchive(String record, String what, String remedy) {
    /// The kinds of archives, the more specific ones first.
    private static final List<ForeignArchive> KNOWN = List.of(
            new ForeignArchive("model.weights.h5", "a model of Keras (.keras)",
                    "Load it with keras.saving.load_model, and save its arrays with numpy.savez or as safetensors"),
            new ForeignArchive("_stable_baselines3_version", "an agent of Stable-Baselines3",
                    "Unpack it with unzip, and open policy.pth"),
            new ForeignArchive("MAR-INF/MANIFEST.json", "a model archive of TorchServe (.mar)",
                    "Unpack it with unzip, and open the model in it"),
            new ForeignArchive("/.data/extern_modules", "a package of torch.package, with code",
                    "Load it with torch.package.PackageImporter, and torch.save the state_dict() of its model"),
            new ForeignArchive("/.data/serialization_id",
                    "what is left of a torch.save that failed, without its data.pkl",
                    "Save it again; the exception of torch.save says why it failed"),
            new ForeignArchive("", "a zip archive in which no model was found",
                    "Unpack it with unzip, and open the files in it"));

    /// {@return the exception for an archive in which no format finds a model; nothing if a file does not start as a
    /// zip archive does}
    ///
    /// @param file any file
    /// @throws IOException if reading fails
    public static Optional<FormatException> refusal(MappedFile file) throws IOException {
        if (ZipDirectory.firstName(file).isEmpty()) {
            return Optional.empty();
        }
        try {
            ZipDirectory zip = ZipDirectory.read(file);
            return KNOWN.stream()
                    .filter(each -> zip.records().stream().anyMatch(record -> record.name().endsWith(each.record)))
                    .findFirst()
                    .map(each -> new FormatException("FORMAT-UNKNOWN", "this is " + each.what, 0, each.remedy));
        } catch (FormatException e) {
            return Optional.of(e);
        }
    }
}

package io.undercroft.samples;

import io.undercroft.mmap.RemoteFileException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.StateClasses;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/// Saves and opens a file of three formats: `.croft` with objects of the program, `.safetensors`, and `.matrix`, which
/// this program adds; and finds the modules for files on web servers and in stores.
public final class Samples {
    /// A part of the state that is a class of the program.
    record Run(long step, Map<String, Tensor> model) {}

    /// A class of the program that is saved by its fields.
    static final class Settings {
        String name = "unnamed";
        double rate;
    }

    private Samples() {}

    /// Runs all samples.
    ///
    /// @param arguments the directory for the files
    /// @throws IOException if reading or writing fails
    public static void main(String... arguments) throws IOException {
        Path folder = Files.createDirectories(Path.of(arguments[0]));
        Tensor weight = Tensor.arange(DType.FLOAT32, 12).view(3, 4);
        savesAnObject(folder.resolve("settings.croft"));
        findsStores();
        savesARecord(folder.resolve("run.croft"), new Run(7, Map.of("weight", weight, "tied", weight.view(4, 3))));
        savesForOthers(folder.resolve("model.safetensors"), Map.of("weight", weight));
        savesInAnAddedFormat(folder.resolve("weight.matrix"), Map.of("matrix", weight));
        boolean isModule = Samples.class.getModule().isNamed();
        System.out.println("samples passed on the " + (isModule ? "module" : "class") + " path");
    }

    private static void savesARecord(Path path, Run run) throws IOException {
        StateClasses classes = StateClasses.of(Run.class);
        Checkpoint.save(path, run, SaveOptions.defaults().classes(classes));
        try (Checkpoint checkpoint = Checkpoint.open(path, OpenOptions.defaults().classes(classes))) {
            Run opened = checkpoint.state(Run.class);
            check(opened.step() == 7, "the step");
            check(opened.model().get("weight").storage() == opened.model().get("tied").storage(), "tied weights");
        }
    }

    private static void savesAnObject(Path path) throws IOException {
        StateClasses classes = StateClasses.of(Settings.class);
        Settings settings = new Settings();
        settings.name = "tuned";
        settings.rate = 0.1;
        Checkpoint.save(path, settings, SaveOptions.defaults().classes(classes));
        try (Checkpoint checkpoint = Checkpoint.open(path, OpenOptions.defaults().classes(classes))) {
            Settings opened = checkpoint.state(Settings.class);
            check(opened.name.equals("tuned") && opened.rate == 0.1, "an object");
        }
    }

    /// The modules for web servers and for Hadoop are there: each refuses a URI for a reason of its own.
    private static void findsStores() throws IOException {
        checkRefused("http://server.example/model.croft", "http is not encrypted");
        checkRefused("hdfs://nowhere/model.croft", "the client of Hadoop is missing");
    }

    private static void checkRefused(String uri, String message) throws IOException {
        try (Checkpoint _ = Checkpoint.open(URI.create(uri))) {
            throw new IllegalStateException(uri + " was opened");
        } catch (RemoteFileException | IllegalArgumentException e) {
            check(e.getMessage().contains(message), "the store of " + uri + " (" + e.getMessage() + ")");
        }
    }

    private static void savesForOthers(Path path, Map<String, Tensor> state) throws IOException {
        Checkpoint.save(path, state);
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            check(checkpoint.format().equals("safetensors"), "the format of a suffix");
            check(checkpoint.tensor("weight").getFloat(2, 3) == 11, "an element");
        }
    }

    private static void savesInAnAddedFormat(Path path, Map<String, Tensor> state) throws IOException {
        Checkpoint.save(path, state);
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            check(checkpoint.format().equals("matrix"), "the added format");
            check(checkpoint.tensor("matrix").getFloat(1, 2) == 6, "an element of the added format");
        }
    }

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException(what + " is not as saved");
        }
    }
}

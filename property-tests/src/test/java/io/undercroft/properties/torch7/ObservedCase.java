package io.undercroft.properties.torch7;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.undercroft.properties.Repository;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/// A few lines of Lua, carried out one after the other, and what Torch7 answered to each.
record ObservedCase(String id, List<Step> steps) {
    /// One line and its answer: an error, or what it printed and the values it returned.
    record Step(int number, String lua, Optional<String> error, String printed, String result) {
        /// {@return what Torch7 answered, in one line}
        String answer() {
            return error.orElse(printed + result);
        }
    }

    /// The names of shared memory that the cases use. In their place come names of this process, so that two runs do
    /// not meet.
    private static final String NAMES = "t7r(esearch)?_";
    private static final String OWN_NAMES = "undercroft_" + ProcessHandle.current().pid() + "_";

    /// The cases of one observed file.
    static List<ObservedCase> in(String file) {
        try {
            JsonNode observed = new ObjectMapper()
                    .readTree(Repository.path("fixtures/torch7/observed/" + file + ".luajit.json").toFile());
            return StreamSupport.stream(observed.get("cases").spliterator(), false).map(ObservedCase::of).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static ObservedCase of(JsonNode written) {
        List<Step> steps = new ArrayList<>();
        for (JsonNode step : written.get("steps")) {
            steps.add(new Step(steps.size() + 1, text(step, "lua").orElseThrow(), text(step, "error"),
                    text(step, "printed").orElse(""), text(step, "result").orElse("")));
        }
        return new ObservedCase(written.get("id").textValue(), steps);
    }

    private static Optional<String> text(JsonNode step, String field) {
        return Optional.ofNullable(step.get(field)).map(value -> withOwnNames(value.textValue()));
    }

    /// Removes the shared memory that cases left behind, as Torch7 leaves it.
    static void removeSharedMemory() throws IOException {
        try (Stream<Path> names = Files.list(Path.of("/dev/shm"))) {
            for (Path name : names.filter(path -> path.getFileName().toString().startsWith(OWN_NAMES)).toList()) {
                Files.delete(name);
            }
        }
    }

    static String withOwnNames(String text) {
        return text.replaceAll(NAMES, OWN_NAMES);
    }
}

package io.undercroft.properties.torch7;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.undercroft.properties.Repository;
import io.undercroft.properties.torch7.OperationsFile.Line;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/// A few lines of Lua, carried out one after the other, and what Torch7 answered to each.
record ObservedCase(String id, List<Step> steps) {
    /// One line and its answer: an error, or what it printed and the values it returned.
    ///
    /// @param name the file, the case and the number of the line
    /// @param operations what does the same with our storages
    record Step(String name, String lua, List<String> operations, Optional<String> error, String printed,
            String result) {
        /// {@return what Torch7 answered, in one line}
        String answer() {
            return error.orElse(printed + result);
        }
    }

    /// The names of shared memory that the cases use. In their place come names of this process, so that two runs do
    /// not meet.
    private static final String NAMES = "t7r(esearch)?_";
    private static final String OWN_NAMES = "undercroft_" + ProcessHandle.current().pid() + "_";
    private static final Map<String, Line> OPERATIONS = OperationsFile.read();

    /// The cases of one observed file.
    static List<ObservedCase> in(String file) {
        try {
            JsonNode observed = new ObjectMapper()
                    .readTree(
                            Repository.path("test-support/fixtures/torch7/observed/" + file + ".luajit.json").toFile());
            return observed.get("cases").valueStream().map(written -> of(file, written)).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static ObservedCase of(String file, JsonNode written) {
        String id = written.get("id").textValue();
        List<Step> steps = new ArrayList<>();
        for (JsonNode step : written.get("steps")) {
            String name = "%s/%s %s".formatted(file, id, steps.size() + 1);
            List<String> operations = OPERATIONS.containsKey(name) ? OPERATIONS.get(name).operations() : List.of();
            steps.add(new Step(name, text(step, "lua").orElseThrow(),
                    operations.stream().map(ObservedCase::withOwnNames).toList(), text(step, "error"),
                    text(step, "printed").orElse(""), text(step, "result").orElse("")));
        }
        return new ObservedCase(id, steps);
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

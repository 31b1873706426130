package io.undercroft.properties;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Services are declared twice: `module-info.java` for the module path, `META-INF/services` for the class path.
class ServicesTest {
    private static final Pattern PROVIDES = Pattern.compile("provides ([\\w.]+) with\\s+([\\w.,\\s]+);");

    @ParameterizedTest
    @ValueSource(strings = {"mmap", "interop", "http", "hadoop", "cuda", "docs/samples"})
    void bothPathsFindTheSameServicesInTheSameOrder(String module) throws IOException {
        Map<String, List<String>> onModulePath = new TreeMap<>();
        Matcher provides = PROVIDES
                .matcher(Files.readString(Repository.path(module + "/src/main/java/module-info.java")));
        while (provides.find()) {
            onModulePath.put(provides.group(1), Arrays.asList(provides.group(2).split(",\\s*")));
        }
        Map<String, List<String>> onClassPath = new TreeMap<>();
        try (Stream<Path> files = Files.list(Repository.path(module + "/src/main/resources/META-INF/services"))) {
            for (Path file : files.toList()) {
                onClassPath.put(file.getFileName().toString(), Files.readAllLines(file));
            }
        }

        assertThat(onModulePath).isNotEmpty().isEqualTo(onClassPath);
    }
}

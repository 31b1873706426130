package io.undercroft.hadoop;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// A program on the module path, with the client of Hadoop as automatic modules.
class ModulePathTest {
    /// What is needed of the class path of this JVM: no servers, and none of the libraries that the client contains.
    private static final Pattern NEEDED = Pattern.compile(
            ".*/(format-spec|storage-core|mmap|serializer|hadoop)/target/[^/]+"
                    + "|.*/(undercroft-(format-spec|storage-core|mmap|serializer|hadoop)|jspecify|hash4j|kryo"
                    + "|reflectasm|minlog|objenesis|hadoop-client-api|hadoop-client-runtime|slf4j-api)-\\d[^/]*\\.jar");
    private static final String DESCRIPTOR = """
            module app {
                requires io.undercroft.hadoop;
            }
            """;
    private static final String PROGRAM = """
            package app;

            import io.undercroft.hadoop.HadoopFiles;
            import io.undercroft.serializer.Checkpoint;
            import io.undercroft.storage.DType;
            import io.undercroft.storage.Tensor;
            import java.net.URI;
            import java.util.Map;
            import org.apache.hadoop.fs.FileSystem;

            public class Main {
                public static void main(String... arguments) throws Exception {
                    URI uri = URI.create(arguments[0]);
                    Checkpoint.save(uri, Map.of("weight", Tensor.arange(DType.INT32, 100_000)));
                    try (Checkpoint opened = Checkpoint.open(uri)) {
                        System.out.println("read " + opened.tensor("weight").getLong(77_777));
                    }
                    System.out.println(HadoopFiles.class.getModule() + ", " + FileSystem.class.getModule());
                }
            }
            """;

    @TempDir
    Path folder;

    @Test
    void aProgramOnTheModulePathSavesToHdfsAndOpensThat() throws Exception {
        String needed = Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> NEEDED.matcher(entry).matches() && !entry.endsWith("test-classes"))
                .collect(Collectors.joining(File.pathSeparator));
        Path classes = compiled(needed);

        List<String> command = List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=io.undercroft.mmap,hadoop.client.api",
                "--sun-misc-unsafe-memory-access=allow", "-p", classes + File.pathSeparator + needed, "-m",
                "app/app.Main", Hdfs.uri("/on-the-module-path.croft").toString());
        Process program = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(program.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

        assertThat(program.waitFor(5, TimeUnit.MINUTES)).isTrue();
        assertThat(program.exitValue()).as(output).isZero();
        assertThat(output.lines()).contains("read 77777",
                "module io.undercroft.hadoop, module hadoop.client.api");
    }

    private Path compiled(String modulePath) throws Exception {
        Path sources = Files.createDirectories(folder.resolve("sources/app"));
        Files.writeString(sources.resolveSibling("module-info.java"), DESCRIPTOR);
        Files.writeString(sources.resolve("Main.java"), PROGRAM);
        Path classes = folder.resolve("classes");
        List<String> arguments = List.of("-p", modulePath, "-d", classes.toString(),
                sources.resolveSibling("module-info.java").toString(), sources.resolve("Main.java").toString());
        assertThat(ToolProvider.getSystemJavaCompiler().run(null, null, null, arguments.toArray(String[]::new)))
                .isZero();
        return classes;
    }
}

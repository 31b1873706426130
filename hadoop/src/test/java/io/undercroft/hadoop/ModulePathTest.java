package io.undercroft.hadoop;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
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
                    + "|.*/(undercroft-(format-spec|storage-core|mmap|serializer|hadoop)|jspecify|hash4j"
                    + "|zstd-jni|hadoop-client-api|hadoop-client-runtime|slf4j-api)"
                    + "-\\d[^/]*\\.jar");
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
        check(Hdfs.uri("/on-the-module-path.croft"), List.of());
    }

    /// The connector and the SDK of AWS are on the class path: jars of the SDK have packages in common.
    @Test
    void aProgramOnTheModulePathSavesToAnObjectStoreAndOpensThat() throws Exception {
        Files.copy(Path.of(ConfigurationFile.of(S3.configuration())), folder.resolve("core-site.xml"));
        String others = entries()
                .filter(entry -> !NEEDED.matcher(entry).matches() && entry.endsWith(".jar")
                        && !entry.contains("minicluster"))
                .collect(Collectors.joining(File.pathSeparator));

        check(S3.uri("/on-the-module-path.croft"), List.of("-cp", others));
    }

    private static Stream<String> entries() {
        return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator));
    }

    private void check(URI uri, List<String> options) throws Exception {
        String needed = entries().filter(entry -> NEEDED.matcher(entry).matches() && !entry.endsWith("test-classes"))
                .collect(Collectors.joining(File.pathSeparator));
        Path classes = compiled(needed);

        List<String> command = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=io.undercroft.mmap,hadoop.client.api",
                        "--sun-misc-unsafe-memory-access=allow", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-p",
                        classes + File.pathSeparator + needed));
        command.addAll(options);
        command.addAll(List.of("-m", "app/app.Main", uri.toString()));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().put("HADOOP_CONF_DIR", folder.toString());
        Process program = builder.start();
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

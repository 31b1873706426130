package io.undercroft.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.io.TempDirFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// The script `croft`, in a checkout of its own, with JDKs and a Maven that only say that they were called.
class LauncherTest {
    private static final Path SCRIPT = Path.of("..", "croft");
    private static final List<String> TOOLS = List.of("readlink", "find", "mkdir", "ln", "rm", "mv", "touch", "cat",
            "sleep");

    @TempDir(factory = WithoutBlanks.class)
    Path folder;
    private Path repo;
    private Path jdks;
    private Path bin;

    /// `CROFT_JDK_DIRS` separates its patterns by blanks.
    static final class WithoutBlanks implements TempDirFactory {
        @Override
        public Path createTempDirectory(AnnotatedElementContext element, ExtensionContext context)
                throws IOException {
            return Files.createTempDirectory(Path.of("target").toAbsolutePath(), "launcher-");
        }
    }

    @BeforeEach
    void aCheckoutThatIsBuilt() throws IOException {
        repo = Files.createDirectory(folder.resolve("repo"));
        jdks = Files.createDirectory(folder.resolve("jdks"));
        bin = Files.createDirectory(folder.resolve("bin"));
        Files.copy(SCRIPT, repo.resolve("croft"));
        Files.createDirectories(repo.resolve("cli/src/main"));
        Files.copy(Path.of("launcher.sh"), repo.resolve("cli/launcher.sh"));
        Files.writeString(repo.resolve("pom.xml"), "");
        Files.writeString(repo.resolve("cli/pom.xml"), "");
        age(repo.resolve("pom.xml"), repo.resolve("cli/pom.xml"), repo.resolve("cli/src/main"),
                repo.resolve("cli/launcher.sh"));
        Files.createDirectories(repo.resolve("cli/target/croft/lib"));
        Files.createFile(repo.resolve("cli/target/croft/lib/undercroft-cli.jar"));
        Files.createFile(repo.resolve("cli/target/croft/built"));
    }

    @Test
    void argumentsAndTheExitCodePassThrough() throws Exception {
        jdk("a", "25.0.3");

        Run run = croft("inspect", "a file", "--json");

        assertThat(run.out).contains("java a ",
                "-jar " + repo.toRealPath() + "/cli/target/croft/lib/undercroft-cli.jar",
                "[inspect] [a file] [--json]");
        assertThat(run.err).isEmpty();
        assertThat(run.code).isEqualTo(7);
    }

    @Test
    void moreJarsAreBehindThoseOfTheCommand() throws Exception {
        jdk("a", "25.0.3");

        Run run = run(Map.of("CROFT_CLASSPATH", "/opt/hadoop/*:/etc/hadoop"), repo.resolve("croft").toString(),
                "inspect", "x");

        assertThat(run.out).contains("/short.aot", "-cp " + repo.toRealPath()
                + "/cli/target/croft/lib/undercroft-cli.jar:/opt/hadoop/*:/etc/hadoop io.undercroft.cli.Croft",
                "[inspect] [x]");
    }

    @Test
    void javaGetsTheWidthOfTheTerminal() throws Exception {
        Path terminal = Path.of("/usr/bin/script");
        assumeThat(terminal).exists();
        jdk("a", "25.0.3");
        Files.writeString(jdks.resolve("a/bin/java"), "#!/bin/sh\necho \"columns $COLUMNS\"\n");
        ProcessBuilder typed = new ProcessBuilder(terminal.toString(), "--quiet", "--command",
                "stty cols 57; " + repo.resolve("croft") + " inspect", "/dev/null").redirectErrorStream(true);
        typed.environment().put("CROFT_JAVA_HOME", jdks.resolve("a").toString());
        typed.environment().remove("COLUMNS");
        Process shell = typed.start();

        assertThat(shell.inputReader().lines()).contains("columns 57");
        assertThat(shell.waitFor()).isZero();
    }

    @Test
    void aLinkLeadsToTheCheckout() throws Exception {
        jdk("a", "25.0.3");
        Files.createSymbolicLink(bin.resolve("second"), repo.resolve("croft"));
        Files.createSymbolicLink(bin.resolve("first"), Path.of("second"));

        Run run = run(Map.of(), bin.resolve("first").toString());

        assertThat(run.out).contains(repo.toRealPath() + "/cli/target");
    }

    @Test
    void aTestedJdkIsTakenBeforeANewerOne() throws Exception {
        jdk("a", "26.0.1");
        jdk("b", "17.0.15");
        jdk("c", "25.0.4");

        assertThat(croft().out).contains("java c ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"26", "26-ea", "27.0.1", "100.1"})
    void aNewerJdkWillDo(String version) throws Exception {
        jdk("a", version);

        assertThat(croft().out).contains("java a ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"1.8.0_402", "9", "11.0.2", "17.0.15", "24.0.2"})
    void anOlderJdkWillNotDo(String version) throws Exception {
        jdk("a", version);

        Run run = croft();

        assertThat(run.code).isEqualTo(1);
        assertThat(run.err).startsWith("croft: no JDK 25.0.3 or newer was found.").contains("is too old", "Temurin 25",
                "CROFT_JAVA_HOME");
    }

    @ParameterizedTest
    @ValueSource(strings = {"25", "25.0.1", "25.0.2"})
    void aJdkThatCorruptsDataIsRefusedWithTheReason(String version) throws Exception {
        jdk("a", version);

        Run run = croft();

        assertThat(run.code).isEqualTo(1);
        assertThat(run.err).contains(jdks.resolve("a").toString(), version + " can corrupt data, JDK-8377811");
    }

    @Test
    void withoutAnyJdkItSaysWhatToInstall() throws Exception {
        Run run = croft("inspect", "x");

        assertThat(run.code).isEqualTo(1);
        assertThat(run.out).isEmpty();
        assertThat(run.err).contains("Install one, for instance Eclipse Temurin 25");
    }

    @Test
    void theJdkThatTheUserNamesIsTakenAndNoOther() throws Exception {
        jdk("a", "25.0.3");
        Path chosen = jdk(folder.resolve("chosen"), "chosen", "26.0.1");

        assertThat(run(Map.of("CROFT_JAVA_HOME", chosen.toString()), script()).out).contains("java chosen ");
        Run refused = run(Map.of("CROFT_JAVA_HOME", folder.resolve("nowhere").toString()), script());
        assertThat(refused.code).isEqualTo(1);
        assertThat(refused.err).contains("CROFT_JAVA_HOME", "nowhere");
    }

    @Test
    void javaHomeComesBeforeThePathAndThePathBeforeTheUsualFolders() throws Exception {
        jdk("a", "25.0.3");
        Path onPath = jdk(folder.resolve("path"), "path", "25.0.3");
        Files.createSymbolicLink(bin.resolve("java"), onPath.resolve("bin/java"));
        Path home = jdk(folder.resolve("home"), "home", "25.0.3");

        assertThat(croft().out).contains("java path ");
        assertThat(run(Map.of("JAVA_HOME", home.toString()), script()).out).contains("java home ");
    }

    @Test
    void changedSourcesAreBuiltAgain() throws Exception {
        jdk("a", "25.0.3");
        maven("exit 0");
        Files.writeString(repo.resolve("cli/src/main/New.java"), "");
        Files.setLastModifiedTime(repo.resolve("cli/src/main/New.java"), FileTime.from(Instant.now().plusSeconds(2)));

        Run first = croft();

        assertThat(first.err).contains("croft: building");
        assertThat(repo.resolve("cli/target/croft/build.log")).content().contains("mvn", "-pl cli -am package");
        assertThat(repo.resolve("cli/target/croft/lock")).doesNotExist();
    }

    @Test
    void whatIsBuiltIsNotBuiltAgain() throws Exception {
        jdk("a", "25.0.3");
        maven("exit 0");
        Files.delete(repo.resolve("cli/target/croft/built"));

        assertThat(croft().err).contains("croft: building");
        assertThat(croft().err).isEmpty();
    }

    @Test
    void aBuildThatFailsShowsWhy() throws Exception {
        jdk("a", "25.0.3");
        maven("echo 'cannot find symbol'; exit 1");
        Files.delete(repo.resolve("cli/target/croft/built"));

        Run run = croft();

        assertThat(run.code).isEqualTo(1);
        assertThat(run.err).contains("cannot find symbol", "croft: the build failed");
        assertThat(run.out).isEmpty();
        assertThat(repo.resolve("cli/target/croft/lock")).doesNotExist();
    }

    @Test
    void withoutMavenItSaysSo() throws Exception {
        jdk("a", "25.0.3");
        Files.delete(repo.resolve("cli/target/croft/built"));

        Run run = croft();

        assertThat(run.code).isEqualTo(1);
        assertThat(run.err).contains("Maven is missing: install Maven 3.8.7 or newer");
    }

    @Test
    void twoAtOnceBuildOnce() throws Exception {
        jdk("a", "25.0.3");
        maven("echo once >>" + folder.resolve("builds") + "; sleep 1");
        Files.delete(repo.resolve("cli/target/croft/built"));

        Process first = start(Map.of(), script());
        Process second = start(Map.of(), script());
        first.getInputStream().readAllBytes();
        second.getInputStream().readAllBytes();

        assertThat(first.waitFor()).isEqualTo(7);
        assertThat(second.waitFor()).isEqualTo(7);
        assertThat(folder.resolve("builds")).content().isEqualTo("once\n");
    }

    @Test
    void theLockOfAProcessThatDiedIsTakenAway() throws Exception {
        jdk("a", "25.0.3");
        maven("exit 0");
        Files.delete(repo.resolve("cli/target/croft/built"));
        Process dead = new ProcessBuilder("true").start();
        dead.waitFor();
        Files.createSymbolicLink(repo.resolve("cli/target/croft/lock"), Path.of(Long.toString(dead.pid())));

        assertThat(croft().code).isEqualTo(7);
    }

    @Test
    void twoThatFindTheLockOfADeadProcessBuildOnce() throws Exception {
        jdk("a", "25.0.3");
        maven("echo once >>" + folder.resolve("builds") + "; sleep 3");
        Files.delete(repo.resolve("cli/target/croft/built"));
        Process dead = new ProcessBuilder("true").start();
        dead.waitFor();
        Files.createSymbolicLink(repo.resolve("cli/target/croft/lock"), Path.of(Long.toString(dead.pid())));
        // Both read the lock before one removes it, and the second removes it later than the first.
        Path slow = Files.createDirectory(folder.resolve("slow"));
        Path seen = Files.createDirectory(folder.resolve("seen"));
        executable(slow.resolve("readlink"), """
                link=$(/bin/readlink "$@") || exit 1
                case $1 in */lock)
                    /bin/touch %1$s/$$
                    until [ "$(/bin/ls %1$s | /usr/bin/wc -l)" -ge 2 ]; do /bin/sleep 0.05; done
                    ;;
                esac
                echo "$link\"""".formatted(seen));
        executable(slow.resolve("rm"), """
                case $2 in */lock) /bin/mkdir %s 2>/dev/null || /bin/sleep 1 ;; esac
                exec /bin/rm "$@\"""".formatted(folder.resolve("removed")));

        Process first = start(Map.of("PATH", slow + ":" + bin), script());
        Process second = start(Map.of("PATH", slow + ":" + bin), script());
        first.getInputStream().readAllBytes();
        second.getInputStream().readAllBytes();

        assertThat(first.waitFor()).isEqualTo(7);
        assertThat(second.waitFor()).isEqualTo(7);
        assertThat(folder.resolve("builds")).content().isEqualTo("once\n");
        try (Stream<Path> left = Files.list(repo.resolve("cli/target/croft"))) {
            assertThat(left).noneMatch(file -> file.getFileName().toString().startsWith("lock"));
        }
    }

    @Test
    void theBuildIsToldToUseANewerJdkIfThereIsNo25() throws Exception {
        jdk("a", "26.0.1");
        maven("exit 0");
        Files.delete(repo.resolve("cli/target/croft/built"));
        assertThat(croft().code).isEqualTo(7);
        assertThat(repo.resolve("cli/target/croft/build.log")).content().contains("-Djdk.range=[25.0.3,)");

        jdk("b", "25.0.4");
        Files.delete(repo.resolve("cli/target/croft/built"));
        assertThat(croft().code).isEqualTo(7);
        assertThat(repo.resolve("cli/target/croft/build.log")).content().doesNotContain("jdk.range");
    }

    @ParameterizedTest
    @ValueSource(strings = {"--version", "inspect a.pt", "inspect --json a.pt", "snapshots a", "shm list", "doctor",
            ""})
    void commandsThatReadLittleStartFromTheirOwnCacheWithOneCompiler(String line) throws Exception {
        jdk("a", "25.0.3");

        assertThat(croft(line.split(" ")).out).contains("/cli/target/croft/short.aot", "-XX:TieredStopAtLevel=1");
    }

    @ParameterizedTest
    @ValueSource(strings = {"inspect --hash a.pt", "verify a.pt", "diff a b", "convert a b", "append a b", "compact a",
            "salvage a b", "shm publish a b", "quickstart", "cuda-check"})
    void commandsThatReadManyBytesHaveBothCompilers(String line) throws Exception {
        jdk("a", "25.0.3");
        Files.createFile(repo.resolve("cli/target/croft/bulk.aot"));

        assertThat(croft(line.split(" ")).out).contains("/cli/target/croft/bulk.aot").doesNotContain("TieredStopAt");
    }

    @Test
    void withoutACacheOfItsOwnACommandStartsFromTheOther() throws Exception {
        jdk("a", "25.0.3");

        assertThat(croft("verify", "a.pt").out).contains("/cli/target/croft/short.aot").doesNotContain("TieredStopAt");
    }

    @Test
    void hexdumpAloneHasMoreJarsBeforeThoseOfTheUser() throws Exception {
        jdk("a", "25.0.3");
        String lib = repo.toRealPath() + "/cli/target/croft/lib";
        String jars = "-cp " + lib + "/undercroft-cli.jar:" + lib + "/hexdump/*";
        assertThat(croft("hexdump", "a.croft").out).contains(jars + " io.undercroft.cli.Croft hexdump a.croft");
        assertThat(run(Map.of("CROFT_CLASSPATH", "/opt/hadoop/*"), script(), "hexdump", "a.croft").out)
                .contains(jars + ":/opt/hadoop/* io.undercroft.cli.Croft hexdump");
        assertThat(croft("inspect", "hexdump").out).contains("-jar " + lib).doesNotContain("lib/hexdump");
    }

    @Test
    void aBuildMakesBothCaches() throws Exception {
        Path java = jdk("a", "25.0.3").resolve("bin/java");
        executable(java, """
                for option in "$@"; do
                    case $option in -XX:AOTCacheOutput=*) echo "$*" >"${option#*=}" ;; esac
                done""");
        maven("exit 0");
        Files.delete(repo.resolve("cli/target/croft/built"));

        assertThat(croft().code).isZero();
        assertThat(repo.resolve("cli/target/croft/bulk.aot")).content().contains("undercroft-cli.jar train-bulk ");
        assertThat(repo.resolve("cli/target/croft/short.aot")).content().contains("undercroft-cli.jar train-short ",
                "-XX:TieredStopAtLevel=1");
        assertThat(repo.resolve("cli/target/croft/training")).doesNotExist();
    }

    @ParameterizedTest
    @ValueSource(strings = {"no cache", "", "This is no cache."})
    void aCacheThatDoesNotFitIsIgnoredSilently(String cache) throws Exception {
        Path croft = repo.resolve("cli/target/croft");
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.MAIN_CLASS, Croft.class.getName());
        manifest.getMainAttributes().put(Attributes.Name.CLASS_PATH,
                Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                        .map(entry -> Path.of(entry).toUri().toString()).collect(Collectors.joining(" ")));
        new JarOutputStream(Files.newOutputStream(croft.resolve("lib/undercroft-cli.jar")), manifest).close();
        if (!cache.equals("no cache")) {
            Files.writeString(croft.resolve("short.aot"), cache);
        }

        Run run = run(Map.of("CROFT_JAVA_HOME", System.getProperty("java.home")), script(), "--version");

        assertThat(run.err).isEmpty();
        assertThat(run.out).startsWith("croft ").hasLineCount(1);
        assertThat(run.code).isZero();
    }

    @Test
    void anInstallationThatCannotBeWrittenStarts() throws Exception {
        jdk("a", "25.0.3");
        Files.setPosixFilePermissions(repo.resolve("cli/target/croft"), PosixFilePermissions.fromString("r-xr-xr-x"));

        assertThat(croft("inspect", "a.pt").code).isEqualTo(7);
    }

    private Path jdk(String name, String version) throws IOException {
        return jdk(jdks.resolve(name), name, version);
    }

    private static Path jdk(Path home, String name, String version) throws IOException {
        Files.createDirectories(home.resolve("bin"));
        Files.writeString(home.resolve("release"),
                "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"" + version + "\"\nOS_NAME=\"Linux\"\n");
        executable(home.resolve("bin/java"), "printf 'java " + name + " %s' \"$*\"; printf ' [%s]' \"$@\"; exit 7");
        return home;
    }

    private void maven(String body) throws IOException {
        executable(bin.resolve("mvn"), "echo mvn \"$@\"\n" + body);
    }

    private static void executable(Path file, String body) throws IOException {
        Files.writeString(file, "#!/bin/sh\n" + body + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private static void age(Path... files) throws IOException {
        for (Path file : files) {
            Files.setLastModifiedTime(file, FileTime.from(Instant.now().minusSeconds(60)));
        }
    }

    private String script() {
        return repo.resolve("croft").toString();
    }

    private Run croft(String... args) throws Exception {
        String[] command = new String[args.length + 1];
        command[0] = script();
        System.arraycopy(args, 0, command, 1, args.length);
        return run(Map.of(), command);
    }

    private record Run(int code, String out, String err) {}

    private Run run(Map<String, String> environment, String... command) throws Exception {
        Process process = start(environment, command);
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        String err = Files.readString(folder.resolve("stderr"));
        assertThat(process.waitFor(5, TimeUnit.MINUTES)).isTrue();
        return new Run(process.exitValue(), out, err);
    }

    private Process start(Map<String, String> environment, String... command) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().clear();
        // What the script needs of the system, without any java or mvn that is installed here.
        for (String tool : TOOLS) {
            executable(bin.resolve(tool), "exec /bin/" + tool + " \"$@\"");
        }
        builder.environment().put("PATH", bin.toString());
        builder.environment().put("HOME", folder.toString());
        builder.environment().put("CROFT_JDK_DIRS", jdks + "/*");
        builder.environment().putAll(environment);
        builder.redirectError(folder.resolve("stderr").toFile());
        return builder.start();
    }
}

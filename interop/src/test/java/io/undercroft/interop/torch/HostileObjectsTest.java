package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.testsupport.PeerJvm;
import io.undercroft.testsupport.Proc;
import io.undercroft.testsupport.Sameness;
import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Pickles of objects that are made to cost much, to end the program or to make it load classes.
class HostileObjectsTest {
    private static final OpenOptions PICKLE = OpenOptions.defaults().format("pickle");
    private static final int DEEP = 100_000;
    private static final int NAMES = 10_000;

    @TempDir
    private Path folder;

    private Path file(String name, byte[] pickle) throws IOException {
        return Files.write(folder.resolve(name), pickle);
    }

    /// What a file of more than 1 MiB may take.
    private static long most(Path file) throws IOException {
        return (64L << 20) + 64 * Files.size(file);
    }

    private static PickleBuilder repeated(PickleBuilder pickle, String ops, int count) {
        return pickle.raw(ops.repeat(count).getBytes(ISO_8859_1));
    }

    // ---- costs ----

    @ParameterizedTest
    @ValueSource(strings = {"h\1)\u0081", "h\1)R", "h\1)\u0081}b", "h\1)\u0081Na", "h\2)R", "\u008f(N\u0090",
            "\u008f(h\1)\u0081\u0090", "(h\1o"})
    void aMillionTinyObjectsAreReadOrRefusedInTheMemoryThatTheirFileJustifies(String ops) throws IOException {
        PickleBuilder pickle = new PickleBuilder().global("app", "C").bytes('q', 1).global("datetime", "date")
                .bytes('q', 2).ops("00(");
        Path file = file("many.pkl", repeated(pickle, ops, 1_000_000).ops("t").stop());
        long before = Proc.allocatedByThisThread();
        FormatException refusal = catchThrowableOfType(FormatException.class,
                () -> Checkpoint.open(file, PICKLE).close());
        assertThat(Proc.allocatedByThisThread() - before).isLessThan(most(file));
        assertThat(refusal == null || refusal.code().startsWith("COST")).isTrue();
    }

    @Test
    void veryManyLongNamesAreReadOrRefusedInTheMemoryThatTheirFileJustifies() throws IOException {
        PickleBuilder pickle = new PickleBuilder().ops("(");
        for (int i = 0; i < 30_000; i++) {
            pickle.global("m".repeat(100) + i, "C".repeat(100)).ops(")R");
        }
        Path file = file("names.pkl", pickle.ops("t").stop());
        long before = Proc.allocatedByThisThread();
        try (Checkpoint c = Checkpoint.open(file, PICKLE)) {
            assertThat(c.foreignClasses()).hasSize(30_000);
        }
        assertThat(Proc.allocatedByThisThread() - before).isLessThan(most(file));
    }

    @Test
    void aNameOfAMillionCharactersIsRefusedInLittleMemory() throws IOException {
        String name = "n".repeat(1 << 20);
        PickleBuilder again = new PickleBuilder().text(name).bytes('q', 0).ops("0(");
        for (byte[] pickle : List.of(new PickleBuilder().global("app", name).ops(")R").stop(),
                new PickleBuilder().ops("(").ops("i" + name + "\nC\n").stop(),
                repeated(again, "h\0h\0\u0093", 100_000).ops("t").stop())) {
            Path file = file("long.pkl", pickle);
            long before = Proc.allocatedByThisThread();
            FormatException refusal = catchThrowableOfType(FormatException.class,
                    () -> Checkpoint.open(file, PICKLE).close());
            assertThat(refusal.getMessage()).hasSizeLessThan(4096);
            assertThat(Proc.allocatedByThisThread() - before).isLessThan(64L << 20);
        }
    }

    // ---- depth ----

    /// Each line: what opens a level, the innermost value, what closes a level.
    @ParameterizedTest
    @CsvSource(quoteCharacter = '`', value = {"], N, a", "`` , N, T1", "}N, N, s", "(, N, FS", "(, N, t", "(, N, l",
            "SE(, N, AI", "C, N, T1R", "C, )R, T1R", "``, C, )R", "C)NO, N, b", "C)NO, N, a",
            "C, N, T1NO", "(C, N, o", "``, N, T1Q", "G, C, VxNLT2R", "W, C, T1R", "RC, C, BNT3R", "C)}N, N, sNE",
            "Z, N, T1T1R"})
    void deepNestingIsReadOrRefusedAndNeverRecursedOn(String open, String core, String close) throws IOException {
        PickleBuilder pickle = repeated(new PickleBuilder().ops("("), ops(open), DEEP);
        Path file = file("deep.pkl", repeated(repeated(pickle, ops(core), 1), ops(close), DEEP).ops("t").stop());
        FormatException refusal = catchThrowableOfType(FormatException.class,
                () -> Checkpoint.open(file, PICKLE).close());
        assertThat(refusal).isNotNull();
        assertThat(refusal.code()).isIn("TORCH-DEPTH", "TORCH-PICKLE", "TORCH-SHARED", "COST-MEMORY", "COST-WORK");
    }

    /// Opcodes that no line of a source has, and names.
    private static String ops(String short_) {
        return short_.replace("NL", "\n").replace("NO", "\u0081").replace("NE", "\u0092").replace("T1", "\u0085")
                .replace("T2", "\u0086").replace("T3", "\u0087").replace("FS", "\u0091").replace("SE", "\u008f")
                .replace("AI", "\u0090").replace("RC", "ccopy_reg\n_reconstructor\n").replace("C", "capp\nC\n")
                .replace("G", "c__builtin__\ngetattr\n").replace("W", "ccopy_reg\n__newobj__\n")
                .replace("B", "c__builtin__\nobject\n").replace("Z", "c__builtin__\nset\n");
    }

    @Test
    void aDeepTupleIsNoKey() throws IOException {
        PickleBuilder pickle = repeated(new PickleBuilder().ops("}N"), "\u0085", DEEP).ops("Ns");
        Path file = file("key.pkl", pickle.stop());
        assertThat(catchThrowableOfType(FormatException.class, () -> Checkpoint.open(file, PICKLE).close()).code())
                .isEqualTo("TORCH-KEY");
    }

    // ---- cycles ----

    /// An object that is its own entry, element, item, key, argument of a call, or part of a set in itself.
    @ParameterizedTest
    @ValueSource(strings = {"}Vself\nh\1sb", "h\1a", "Vself\nh\1s", "}h\1Nsb", "h\1Ns", "h\1b",
            "}Vcall\nh\1h\1\u0085Rsb", "}Vset\n\u008f(h\1\u0090sb", "}Vset\n(h\1\u0091sb", "}Vref\nh\1Qsb"})
    void anObjectThatRefersToItselfIsKept(String ops) throws IOException {
        PickleBuilder pickle = new PickleBuilder().global("app", "C").ops(")").bytes(0x81, 'q', 1);
        Path file = file("self.pkl", repeated(pickle, ops, 1).stop());
        Path croft = folder.resolve("self.croft");
        try (Checkpoint c = Checkpoint.open(file, PICKLE)) {
            Checkpoint.save(croft, c.state());
            try (Checkpoint again = Checkpoint.open(croft)) {
                Sameness.check(c.state(), again.state());
            }
        }
    }

    // ---- classes of the JVM ----

    /// A file can name any class of the JVM, in all ways that a pickle has. None is loaded: neither those that exist,
    /// nor anything else that would grow with their number.
    @Test
    void theJvmLoadsNoClassForTenThousandNames() throws IOException, InterruptedException {
        List<String> harmless = IntStream.range(0, NAMES).mapToObj(i -> "app.p" + i + ".C").toList();
        Set<String> named = new LinkedHashSet<>(List.of("java.lang.Runtime", "java.lang.ProcessBuilder",
                "javax.script.ScriptEngineManager", "javax.management.loading.MLet", "java.rmi.server.RemoteObject"));
        named.addAll(classesOfTheJdk(NAMES / 2));
        IntStream.range(named.size(), NAMES).forEach(i -> named.add("no.such.Class" + i));
        Path log = folder.resolve("classes.log");
        List<String> options = new ArrayList<>(PeerJvm.NATIVE);
        options.add("-Xlog:class+load:file=" + log + ":none");
        String[] answer;
        try (PeerJvm peer = PeerJvm.startWith(options, NamedClassesPeer.class,
                file("harmless.pkl", classes(harmless)).toString(),
                file("attack.pkl", classes(List.copyOf(named))).toString())) {
            answer = peer.answer().split(" ", -1);
            peer.endsWell();
        }
        assertThat(Integer.parseInt(answer[2])).isEqualTo(NAMES);
        // Other threads of the JVM may load some.
        assertThat(Integer.parseInt(answer[1])).isLessThan(50);
        List<String> loaded = Files.readAllLines(log).stream().map(line -> line.split(" ", 2)[0])
                .dropWhile(name -> !name.equals(answer[0])).toList();
        // The JVM loads this one itself when it ends.
        named.remove("java.lang.Shutdown");
        assertThat(loaded).isNotEmpty().doesNotContainAnyElementsOf(named);
    }

    private static List<String> classesOfTheJdk(int count) throws IOException {
        Path modules = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules");
        List<String> all = new ArrayList<>();
        for (String module : List.of("java.base", "java.xml", "java.naming", "java.management", "java.sql")) {
            Path root = modules.resolve(module);
            if (Files.exists(root)) {
                try (Stream<Path> files = Files.walk(root)) {
                    files.map(file -> root.relativize(file).toString())
                            .filter(file -> file.endsWith(".class") && file.indexOf('/') > 0)
                            .filter(file -> file.indexOf('$') < 0 && file.indexOf('-') < 0)
                            .forEach(file -> all.add(file.replace(".class", "").replace('/', '.')));
                }
            }
        }
        assertThat(all).hasSizeGreaterThan(2000);
        return all.subList(0, Math.min(count, all.size()));
    }

    /// A list with an object of each class, made and filled in different ways.
    private static byte[] classes(List<String> names) {
        PickleBuilder pickle = new PickleBuilder().ops("](");
        for (int i = 0; i < names.size(); i++) {
            int dot = names.get(i).lastIndexOf('.');
            String module = names.get(i).substring(0, dot);
            String name = names.get(i).substring(dot + 1);
            switch (i % 4) {
                case 0 -> pickle.global(module, name).ops(")R");
                case 1 -> pickle.ops("(i" + module + "\n" + name + "\n");
                case 2 -> pickle.text(module).text(name).bytes(0x93).ops(")").bytes(0x81);
                default -> pickle.global(module, name).text("getRuntime").bytes(0x85).ops("R");
            }
            pickle.ops("}").text("a").integer(1).ops("sb");
        }
        return pickle.ops("e").stop();
    }
}

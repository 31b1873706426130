package io.undercroft.properties;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PeerJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/// The size of the main sources, the cycles between their files, and what the first open loads; `config/shape` prints
/// them. A line of code is one that is neither blank nor a comment.
final class SourceShape {
    private static final int SMALL = 40;
    private static final String SOURCES = "src/main/java";

    /// The compiled main sources.
    static final JavaClasses CLASSES = new ClassFileImporter().withImportOption(new ImportOption.DoNotIncludeTests())
            .withImportOption(location -> !location.contains("/test-support/")).importPackages("io.undercroft");

    private SourceShape() {}

    /// The counts of one module, or of all.
    private record Size(int files, int small, int types, int publicTypes, int lines) {
        static final Size NONE = new Size(0, 0, 0, 0, 0);

        Size plus(Size other) {
            return new Size(files + other.files, small + other.small, types + other.types,
                    publicTypes + other.publicTypes, lines + other.lines);
        }
    }

    /// Prints the counts.
    ///
    /// @param arguments the root directory of the project
    @SuppressWarnings("SystemOut")
    public static void main(String... arguments) throws IOException, InterruptedException {
        System.out.printf("%-13s %6s %8s %6s %8s %8s%n", "module", "files", "below " + SMALL, "types", "public",
                "lines");
        Size all = Size.NONE;
        for (Map.Entry<String, Size> module : sizes(Path.of(arguments[0])).entrySet()) {
            print(module.getKey(), module.getValue());
            all = all.plus(module.getValue());
        }
        print("all", all);
        List<NavigableSet<String>> cycles = cycles();
        System.out.printf("%ncycles between files: %d%n", cycles.size());
        cycles.forEach(cycle -> System.out.println("  " + String.join(", ", cycle)));
        System.out.printf("classes outside the archive of the JDK that the first open of a .croft file loads: %d%n",
                firstOpen());
    }

    @SuppressWarnings("SystemOut")
    private static void print(String module, Size size) {
        System.out.printf("%-13s %6d %8d %6d %8d %8d%n", module, size.files, size.small, size.types, size.publicTypes,
                size.lines);
    }

    /// Returns the counts of each module, by its directory.
    private static NavigableMap<String, Size> sizes(Path root) throws IOException {
        NavigableMap<String, Size> sizes = new TreeMap<>();
        Map<String, Size> types = new HashMap<>();
        for (JavaClass each : CLASSES) {
            boolean isPublic = each.getModifiers().contains(JavaModifier.PUBLIC)
                    && !each.getPackageName().contains(".internal");
            if (!each.isAnonymousClass() && !each.getSimpleName().equals("package-info")) {
                types.merge(file(each), new Size(0, 0, 1, isPublic ? 1 : 0, 0), Size::plus);
            }
        }
        try (Stream<Path> directories = Files.list(root)) {
            for (Path module : directories.filter(each -> Files.isDirectory(each.resolve(SOURCES))
                    && !each.endsWith("test-support")).toList()) {
                sizes.put(Objects.toString(module.getFileName()), size(module.resolve(SOURCES), types));
            }
        }
        return sizes;
    }

    private static Size size(Path sources, Map<String, Size> types) throws IOException {
        Size size = Size.NONE;
        try (Stream<Path> files = Files.walk(sources)) {
            for (Path file : files.filter(each -> each.toString().endsWith(".java")).toList()) {
                int lines = lines(file);
                String name = sources.relativize(file).toString().replace(".java", "").replace('/', '.');
                size = size.plus(new Size(1, lines < SMALL ? 1 : 0, 0, 0, lines))
                        .plus(types.getOrDefault(name, Size.NONE));
            }
        }
        return size;
    }

    private static int lines(Path file) throws IOException {
        int count = 0;
        boolean isInComment = false;
        for (String line : Files.readAllLines(file)) {
            String text = line.strip();
            boolean starts = text.startsWith("/*");
            if (!isInComment && !starts && !text.isEmpty() && !text.startsWith("//")) {
                count++;
            }
            isInComment = (isInComment || starts) && !text.contains("*/");
        }
        return count;
    }

    /// Returns the name of the source file of a class, which is that of its outermost class.
    private static String file(JavaClass type) {
        String name = type.getName();
        int nested = name.indexOf('$');
        return nested < 0 ? name : name.substring(0, nested);
    }

    /// {@return the sets of files of different packages that depend on each other in a circle, by the names of their
    /// outermost types} Dependencies within a package do not count: a sealed type names its subtypes, for instance.
    static List<NavigableSet<String>> cycles() {
        Map<String, Set<String>> dependencies = new TreeMap<>();
        for (JavaClass each : CLASSES) {
            Set<String> of = dependencies.computeIfAbsent(file(each), _ -> new TreeSet<>());
            each.getDirectDependenciesFromSelf().forEach(dependency -> {
                JavaClass target = dependency.getTargetClass().getBaseComponentType();
                if (CLASSES.contain(target.getName()) && !target.getPackageName().equals(each.getPackageName())) {
                    of.add(file(target));
                }
            });
        }
        return new Circles(dependencies).found;
    }

    /// The strongly connected components of more than one node, by the algorithm of Tarjan. (The longest path has some
    /// hundred files.)
    private static final class Circles {
        private final Map<String, Set<String>> edges;
        private final Map<String, Integer> numbers = new HashMap<>();
        private final Deque<String> open = new ArrayDeque<>();
        private final Set<String> isOpen = new HashSet<>();
        private final List<NavigableSet<String>> found = new ArrayList<>();

        Circles(Map<String, Set<String>> edges) {
            this.edges = edges;
            edges.keySet().forEach(this::visit);
        }

        private int visit(String node) {
            Integer known = numbers.get(node);
            if (known != null) {
                return isOpen.contains(node) ? known : Integer.MAX_VALUE;
            }
            int number = numbers.size();
            numbers.put(node, number);
            open.push(node);
            isOpen.add(node);
            int low = number;
            for (String next : edges.getOrDefault(node, Set.of())) {
                low = Math.min(low, visit(next));
            }
            if (low == number) {
                NavigableSet<String> circle = new TreeSet<>();
                String last;
                do {
                    last = open.pop();
                    isOpen.remove(last);
                    circle.add(last);
                } while (!last.equals(node));
                if (circle.size() > 1) {
                    found.add(circle);
                }
            }
            return low;
        }
    }

    /// Opens a file and reads one element.
    static final class Opening {
        private Opening() {}

        @SuppressWarnings("SystemOut")
        public static void main(String[] arguments) throws IOException {
            try (Checkpoint checkpoint = Checkpoint.open(Path.of(arguments[0]))) {
                System.out.println(checkpoint.tensor("weight").getFloat(0));
            }
        }
    }

    private static long firstOpen() throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory("shape");
        Path file = folder.resolve("model.croft");
        Path log = folder.resolve("classes.log");
        try {
            Checkpoint.save(file, Map.of("weight", Tensor.ones(DType.FLOAT32, 64)));
            List<String> options = Stream.concat(PeerJvm.NATIVE.stream(),
                    Stream.of("-Xshare:auto", "-Xlog:class+load:file=" + log)).toList();
            try (PeerJvm peer = PeerJvm.startWith(options, Opening.class, file.toString())) {
                peer.lines();
            }
            try (Stream<String> lines = Files.lines(log)) {
                return lines.filter(line -> line.contains(" source: ") && !line.contains("shared objects file"))
                        .count();
            }
        } finally {
            Files.deleteIfExists(file);
            Files.deleteIfExists(log);
            Files.delete(folder);
        }
    }
}

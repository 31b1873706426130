package io.undercroft.cli.build;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.classfile.ClassElement;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassFile.ClassHierarchyResolverOption;
import java.lang.classfile.ClassFile.StackMapsOption;
import java.lang.classfile.ClassFileVersion;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.constant.ClassDesc;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.jspecify.annotations.Nullable;

/// Copies a jar and rewrites its classes with a class file version that an AOT cache can store.
///
/// The JVM refuses to archive classes of version 49 and older, as they have no stack maps. This program writes them as
/// version 52 and computes the stack maps; the instructions are unchanged. All other entries are copied: resources,
/// licences, the manifest, newer classes and the module descriptor. The result depends only on the entries of the jar.
public final class ClassFileUpgrade {
    /// The entry that describes the change, as the licence of a jar may require.
    static final String NOTICE = "META-INF/CLASS-FILE-VERSION.txt";
    /// The first version whose classes must have stack maps.
    private static final int FIRST_WITH_STACK_MAPS = ClassFile.JAVA_6_VERSION;
    private static final int VERSION = ClassFile.JAVA_8_VERSION;
    private static final LocalDateTime TIME = LocalDateTime.of(1980, 2, 1, 0, 0);

    private final Map<String, byte[]> entries;
    private final ClassFile classFile;

    private ClassFileUpgrade(Map<String, byte[]> entries) {
        this.entries = entries;
        ClassHierarchyResolver resolver = ClassHierarchyResolver.ofResourceParsing(this::classOfTheJar)
                .orElse(ClassHierarchyResolver.defaultResolver());
        this.classFile = ClassFile.of(StackMapsOption.GENERATE_STACK_MAPS, ClassHierarchyResolverOption.of(resolver));
    }

    /// Copies a jar.
    ///
    /// @param args the jar, and the file to write
    /// @throws IOException if the jar cannot be read or the file cannot be written
    public static void main(String... args) throws IOException {
        if (args.length != 2) {
            throw new IllegalArgumentException("two arguments are needed: the jar, and the file to write");
        }
        copy(Path.of(args[0]), Path.of(args[1]));
    }

    /// Copies a jar.
    ///
    /// @param source the jar
    /// @param target the file to write; it is replaced
    /// @return how many classes have a new version
    /// @throws IllegalArgumentException if the jar is signed, or a class of it cannot be verified with stack maps
    /// @throws IOException if the one cannot be read or the other cannot be written
    static int copy(Path source, Path target) throws IOException {
        Map<String, byte[]> entries = read(source);
        ClassFileUpgrade upgrade = new ClassFileUpgrade(entries);
        int upgraded = 0;
        for (Map.Entry<String, byte[]> entry : entries.entrySet()) {
            if (entry.getKey().endsWith(".class")) {
                byte[] before = entry.getValue();
                entry.setValue(upgrade.upgraded(entry.getKey(), before));
                upgraded += entry.getValue() == before ? 0 : 1;
            }
        }
        if (upgraded > 0) {
            entries.put(NOTICE, """
                    %d classes of %s were changed: their class files have version %d, and stack maps.
                    Their instructions and all other entries are unchanged.
                    """.formatted(upgraded, source.getFileName(), VERSION).getBytes(StandardCharsets.UTF_8));
        }
        write(entries, target);
        return upgraded;
    }

    /// {@return the entries by their names, in the order of the jar, without those of directories}
    private static Map<String, byte[]> read(Path jar) throws IOException {
        Map<String, byte[]> entries = new LinkedHashMap<>();
        try (ZipFile zip = new ZipFile(jar.toFile())) {
            for (ZipEntry entry : zip.stream().filter(entry -> !entry.isDirectory()).toList()) {
                if (isSignature(entry.getName())) {
                    throw new IllegalArgumentException(jar + " is signed (" + entry.getName()
                            + "), and the signature would not fit changed classes");
                }
                try (InputStream bytes = zip.getInputStream(entry)) {
                    entries.put(entry.getName(), bytes.readAllBytes());
                }
            }
        }
        return entries;
    }

    private static boolean isSignature(String entry) {
        String name = entry.toUpperCase(Locale.ROOT);
        return name.startsWith("META-INF/") && name.endsWith(".SF");
    }

    private static void write(Map<String, byte[]> entries, Path jar) throws IOException {
        try (OutputStream file = Files.newOutputStream(jar); ZipOutputStream zip = new ZipOutputStream(file)) {
            for (Map.Entry<String, byte[]> each : entries.entrySet()) {
                ZipEntry entry = new ZipEntry(each.getKey());
                // Unlike an instant, a local time is stored unchanged in every time zone.
                entry.setTimeLocal(TIME);
                zip.putNextEntry(entry);
                zip.write(each.getValue());
            }
        }
    }

    private byte[] upgraded(String name, byte[] bytes) {
        ClassModel model = classFile.parse(bytes);
        if (model.majorVersion() >= FIRST_WITH_STACK_MAPS) {
            return bytes;
        }
        byte[] upgraded = classFile.transformClass(model, ClassTransform
                .transformingMethodBodies(CodeTransform.ACCEPT_ALL.andThen(ClassFileUpgrade::same))
                .andThen((builder, element) -> builder.with(versioned(element))));
        List<VerifyError> faults = classFile.verify(upgraded);
        if (!faults.isEmpty()) {
            throw new IllegalArgumentException(name + " cannot be verified with stack maps", faults.getFirst());
        }
        return upgraded;
    }

    private static ClassElement versioned(ClassElement element) {
        return element instanceof ClassFileVersion ? ClassFileVersion.of(VERSION, 0) : element;
    }

    /// Writes an instruction unchanged. Methods without a transformation would be copied as bytes, without stack maps.
    private static void same(CodeBuilder builder, CodeElement element) {
        builder.with(element);
    }

    private @Nullable InputStream classOfTheJar(ClassDesc type) {
        String descriptor = type.descriptorString();
        byte[] bytes = entries.get(descriptor.substring(1, descriptor.length() - 1) + ".class");
        return bytes == null ? null : new ByteArrayInputStream(bytes);
    }
}

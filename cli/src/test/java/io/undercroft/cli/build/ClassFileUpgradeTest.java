package io.undercroft.cli.build;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.classfile.Attributes;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeModel;
import java.lang.classfile.Instruction;
import java.lang.classfile.Label;
import java.lang.classfile.MethodModel;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TimeZone;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import picocli.CommandLine;

@Isolated("changes the time zone of the process")
class ClassFileUpgradeTest {
    private static final ClassDesc OLD = ClassDesc.of("Old");

    @TempDir
    Path folder;

    @Test
    void anOldClassGetsStackMapsAndBehavesTheSame() throws Exception {
        Path jar = jar(Map.of("Old.class", old()));

        assertThat(upgrade(jar)).isOne();

        ClassModel model = ClassFile.of().parse(entries(target()).get("Old.class"));
        assertThat(model.majorVersion()).isEqualTo(52);
        CodeModel code = model.methods().getFirst().code().orElseThrow();
        assertThat(code.findAttribute(Attributes.stackMapTable())).isPresent();
        try (URLClassLoader loader = new URLClassLoader(new URL[]{target().toUri().toURL()}, null)) {
            assertThat(loader.loadClass("Old").getMethod("larger", int.class, int.class).invoke(null, 3, 17))
                    .isEqualTo(17);
        }
    }

    @Test
    void allOtherEntriesAreCopiedByteForByteAndInOrder() throws IOException {
        Map<String, byte[]> files = new LinkedHashMap<>();
        files.put("META-INF/MANIFEST.MF", text("Manifest-Version: 1.0\nAutomatic-Module-Name: old\n"));
        files.put("META-INF/LICENSE", text("You may"));
        files.put("META-INF/versions/9/module-info.class", recent());
        files.put("Recent.class", recent());
        files.put("Old.class", old());
        files.put("a.properties", text("a=b"));

        upgrade(jar(files));

        Map<String, byte[]> copied = entries(target());
        assertThat(new String(copied.remove(ClassFileUpgrade.NOTICE), StandardCharsets.UTF_8))
                .startsWith("1 classes of source.jar were changed: their class files have version 52");
        assertThat(copied.keySet()).containsExactlyElementsOf(files.keySet());
        files.remove("Old.class");
        files.forEach((name, bytes) -> assertThat(copied.get(name)).as(name).isEqualTo(bytes));
    }

    @Test
    void aJarWithoutOldClassesHasNoNotice() throws IOException {
        assertThat(upgrade(jar(Map.of("Recent.class", recent())))).isZero();
        assertThat(entries(target())).containsOnlyKeys("Recent.class");
    }

    @Test
    void theResultIsTheSameInEveryTimeZone() throws IOException {
        Path jar = jar(Map.of("Old.class", old()));
        TimeZone before = TimeZone.getDefault();
        try {
            TimeZone.setDefault(TimeZone.getTimeZone("Asia/Tokyo"));
            upgrade(jar);
            byte[] first = Files.readAllBytes(target());
            TimeZone.setDefault(TimeZone.getTimeZone("America/Lima"));
            upgrade(jar);

            assertThat(Files.readAllBytes(target())).isEqualTo(first);
        } finally {
            TimeZone.setDefault(before);
        }
    }

    @Test
    void aSignedJarIsRefused() throws IOException {
        Path jar = jar(Map.of("META-INF/SIGNER.SF", text("Signature-Version: 1.0"), "Old.class", old()));

        assertThatThrownBy(() -> upgrade(jar)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("is signed (META-INF/SIGNER.SF)");
        assertThat(target()).doesNotExist();
    }

    @Test
    void allClassesOfPicocliAreUpgradedWithEqualInstructions() throws IOException, URISyntaxException {
        Path picocli = Path.of(CommandLine.class.getProtectionDomain().getCodeSource().getLocation().toURI());

        assertThat(upgrade(picocli)).isGreaterThan(200);

        Map<String, byte[]> before = entries(picocli);
        entries(target()).forEach((name, bytes) -> {
            if (name.endsWith(".class")) {
                ClassModel upgraded = ClassFile.of().parse(bytes);
                assertThat(upgraded.majorVersion()).as(name).isGreaterThanOrEqualTo(52);
                assertThat(instructions(upgraded)).as(name)
                        .isEqualTo(instructions(ClassFile.of().parse(before.get(name))));
            }
        });
    }

    /// The names of the instructions by method.
    private static Map<String, List<String>> instructions(ClassModel model) {
        Map<String, List<String>> all = new LinkedHashMap<>();
        for (MethodModel method : model.methods()) {
            all.put(method.methodName() + method.methodType().stringValue(),
                    method.code().stream().flatMap(CodeModel::elementStream)
                            .filter(Instruction.class::isInstance).map(Instruction.class::cast)
                            .map(instruction -> instruction.opcode().name()).toList());
        }
        return all;
    }

    /// A class of version 49 with a branch: `static int larger(int, int)`.
    private static byte[] old() {
        return ClassFile.of(ClassFile.StackMapsOption.DROP_STACK_MAPS).build(OLD, type -> type
                .withVersion(ClassFile.JAVA_5_VERSION, 0)
                .withFlags(ClassFile.ACC_PUBLIC)
                .withMethodBody("larger", MethodTypeDesc.of(ConstantDescs.CD_int, ConstantDescs.CD_int,
                        ConstantDescs.CD_int), ClassFile.ACC_PUBLIC | ClassFile.ACC_STATIC, code -> {
                            Label second = code.newLabel();
                            code.iload(0).iload(1).if_icmplt(second).iload(0).ireturn().labelBinding(second).iload(1)
                                    .ireturn();
                        }));
    }

    private static byte[] recent() {
        return ClassFile.of().build(ClassDesc.of("Recent"), type -> type.withVersion(ClassFile.JAVA_9_VERSION, 0));
    }

    private static byte[] text(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private Path target() {
        return folder.resolve("target.jar");
    }

    private int upgrade(Path jar) throws IOException {
        return ClassFileUpgrade.copy(jar, target());
    }

    private Path jar(Map<String, byte[]> files) throws IOException {
        Path jar = folder.resolve("source.jar");
        try (OutputStream out = Files.newOutputStream(jar); ZipOutputStream zip = new ZipOutputStream(out)) {
            for (Map.Entry<String, byte[]> file : files.entrySet()) {
                zip.putNextEntry(new ZipEntry(file.getKey()));
                zip.write(file.getValue());
            }
        }
        return jar;
    }

    private static Map<String, byte[]> entries(Path jar) throws IOException {
        Map<String, byte[]> entries = new LinkedHashMap<>();
        try (ZipFile zip = new ZipFile(jar.toFile())) {
            for (ZipEntry entry : zip.stream().filter(entry -> !entry.isDirectory()).toList()) {
                entries.put(entry.getName(), zip.getInputStream(entry).readAllBytes());
            }
        }
        return entries;
    }
}

package io.undercroft.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Commands on files of Hadoop, in a file system that needs no server: one of mounted directories.
class HadoopTest {
    /// A `FileContext` of Hadoop 3.5.0 finds no mounted directory whose path has blanks.
    @TempDir(factory = NextToTheClasses.class)
    Path folder;

    private String setting;

    @BeforeEach
    void configure() throws IOException {
        Path data = Files.createDirectory(folder.resolve("data"));
        Path configuration = Files.writeString(folder.resolve("site.xml"), """
                <configuration>
                  <property><name>fs.viewfs.mounttable.models.link./data</name><value>%s</value></property>
                </configuration>
                """.formatted(data.toUri()));
        setting = "hadoop.conf=" + configuration;
        Checkpoint.save(data.resolve("a.croft"), Map.of("weight", Tensor.arange(DType.INT32, 1000)));
    }

    private static String uri(String name) {
        return "viewfs://models/data/" + name;
    }

    @Test
    void filesOfHadoopAreReadAsOthers() {
        Invocation inspected = Invocation.of("inspect", "--set", setting, uri("a.croft"));
        assertThat(inspected.err()).isEmpty();
        assertThat(inspected.out()).startsWith(uri("a.croft")).contains("weight");
        assertThat(Invocation.of("verify", "--set", setting, uri("a.croft")).out())
                .startsWith(uri("a.croft") + ": ");
        assertThat(Invocation.of("snapshots", "--set", setting, uri("a.croft")).code()).isZero();
        assertThat(Invocation.of("diff", "--set", setting, uri("a.croft"), folder.resolve("data/a.croft")).code())
                .isZero();
    }

    @Test
    void filesAreConvertedFromAndToHadoop() throws IOException {
        Invocation to = Invocation.of("convert", "--set", setting, "--to-set", setting, uri("a.croft"),
                uri("b.croft"));
        assertThat(to.err()).isEmpty();
        assertThat(to.out()).contains(uri("a.croft") + " (croft", "-> " + uri("b.croft"));
        assertThat(Invocation.of("convert", "--to-set", setting, folder.resolve("data/b.croft"),
                uri("c.safetensors")).err()).isEmpty();
        try (Checkpoint converted = Checkpoint.open(folder.resolve("data/c.safetensors"))) {
            assertThat(converted.tensor("weight").contentEquals(Tensor.arange(DType.INT32, 1000))).isTrue();
        }
        assertThat(Invocation.of("convert", "--set", setting, uri("c.safetensors"), folder.resolve("d.croft"))
                .code()).isZero();
        assertThat(folder.resolve("data")).isDirectoryNotContaining(file -> file.toString().endsWith("-tmp"));
    }

    @Test
    void whatCannotBeDoneIsSaid() {
        Invocation missing = Invocation.of("inspect", "--set", setting, uri("none.croft"));
        assertThat(missing.code()).isEqualTo(3);
        assertThat(missing.err()).startsWith("croft: " + uri("none.croft") + ": there is no such file")
                .hasLineCount(1);
        Invocation copied = Invocation.of("convert", "--keep-bases", folder.resolve("data/a.croft"), uri("b.croft"));
        assertThat(copied.code()).isEqualTo(2);
        assertThat(copied.err()).contains("--keep-bases");
        Invocation based = Invocation.of("convert", "--to-set", setting, "--base", folder.resolve("data/a.croft"),
                folder.resolve("data/a.croft"), uri("b.croft"));
        assertThat(based.code()).isEqualTo(2);
        assertThat(based.err()).contains("a file in a store");
        Invocation written = Invocation.of("convert", folder.resolve("data/a.croft"), "https://host/b.croft");
        assertThat(written.code()).isEqualTo(1);
        assertThat(written.err()).contains("upload");
    }
}

package io.undercroft.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.SimpleFileServer;
import com.sun.net.httpserver.SimpleFileServer.OutputLevel;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Files that are named by a URI.
class WebServerTest {
    private static final Path MODELS = Invocation.FIXTURES.resolve("models");

    @TempDir
    Path folder;

    private HttpServer server;

    @BeforeEach
    void serve() {
        server = SimpleFileServer.createFileServer(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                MODELS.toAbsolutePath().normalize(), OutputLevel.NONE);
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    private String uri(String name) {
        return "http://localhost:" + server.getAddress().getPort() + "/" + name;
    }

    @Test
    void aUriIsInspectedAndVerifiedAsItsFile() throws IOException {
        Invocation remote = Invocation.of("inspect", uri("tiny-gpt2.pt"));
        Invocation local = Invocation.of("inspect", MODELS.resolve("tiny-gpt2.pt"));

        assertThat(remote.err()).isEmpty();
        assertThat(remote.out().lines().findFirst()).contains(uri("tiny-gpt2.pt"));
        assertThat(remote.out().lines().skip(1)).containsExactlyElementsOf(local.out().lines().skip(1).toList());
        assertThat(Invocation.of("inspect --json --hash", uri("tiny-gpt2.pt")).json())
                .isEqualTo(Invocation.of("inspect --json --hash", MODELS.resolve("tiny-gpt2.pt")).json());
        assertThat(Invocation.of("verify", uri("tiny-gpt2.pt")).out()).startsWith(uri("tiny-gpt2.pt") + ": ");
    }

    @Test
    void aUriIsConverted() {
        Path out = folder.resolve("out.croft");

        Invocation converted = Invocation.of("convert", uri("tiny-gpt2-training.pt"), out);

        assertThat(converted.err()).isEmpty();
        assertThat(converted.out()).startsWith(uri("tiny-gpt2-training.pt") + " (torch-zip, ").contains("-> " + out);
        assertThat(Invocation.of("convert", uri("tiny-gpt2.pt"), folder.resolve("out.safetensors")).code()).isZero();
    }

    @Test
    void urisAreComparedAndExtractedFrom() throws IOException {
        Invocation same = Invocation.of("diff", uri("tiny-gpt2.pt"), MODELS.resolve("tiny-gpt2.pt"));
        assertThat(same.code()).as(same.err()).isZero();
        assertThat(same.out()).startsWith("A  " + uri("tiny-gpt2.pt") + " (torch-zip)");
        assertThat(Invocation.of("diff --json", uri("tiny-gpt2.pt"), uri("tiny-gpt2-training.pt")).json()
                .at("/b/file").asText()).isEqualTo(uri("tiny-gpt2-training.pt"));
        assertThat(Invocation.of("extract", uri("tiny-gpt2.pt"), "lm_head.weight", "--rows", "1:2").out())
                .isEqualTo(Invocation.of("extract", MODELS.resolve("tiny-gpt2.pt"), "lm_head.weight", "--rows", "1:2")
                        .out())
                .startsWith("tensor([[");
        assertThat(Invocation.of("diff", uri("none.pt"), MODELS.resolve("tiny-gpt2.pt")).code()).isEqualTo(3);
        assertThat(Invocation.of("hexdump", uri("tiny-gpt2.pt")).code()).isEqualTo(2);
    }

    @Test
    void failuresNameTheUriAndTheWayOut() {
        Invocation missing = Invocation.of("inspect", uri("none.pt"));
        assertThat(missing.code()).isEqualTo(3);
        assertThat(missing.err()).startsWith("croft: " + uri("none.pt") + ": there is no such file on the server (404)")
                .hasLineCount(1);
        Invocation plain = Invocation.of("inspect", "http://192.0.2.1/model.pt");
        assertThat(plain.code()).isEqualTo(2);
        assertThat(plain.err()).contains("http://192.0.2.1/model.pt", "http.allow=yes");
        Invocation unknown = Invocation.of("inspect", "gopher://host/model.pt");
        assertThat(unknown.code()).isEqualTo(3);
        assertThat(unknown.err()).contains("the known schemes are file, ", ", http, https, ");
        Invocation invalid = Invocation.of("inspect", "https://host/a b.pt");
        assertThat(invalid.code()).isEqualTo(2);
        assertThat(invalid.err()).contains("%20").hasLineCount(1);
    }
}

package io.undercroft.http.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PeerJvm;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Files of a web server with a certificate that the trust store of this JVM does not have, and that of another one
/// has.
class EncryptedServerTest {
    private static final String PASSWORD = "changeit";

    @TempDir
    Path directory;

    @TempDir
    Path keys;

    private SSLContext certificate;
    private WebServer server;

    @BeforeEach
    void serve() throws Exception {
        Checkpoint.save(directory.resolve("model.croft"), Map.of("weight", Tensor.arange(DType.INT32, 100_000)));
        Path store = keys.resolve("server.p12");
        keytool("-genkeypair", "-alias", "localhost", "-keyalg", "EC", "-dname", "CN=localhost", "-ext",
                "san=dns:localhost", "-storetype", "PKCS12", "-keystore", store.toString());
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray()), PASSWORD.toCharArray());
        certificate = SSLContext.getInstance("TLS");
        certificate.init(factory.getKeyManagers(), null, null);
        server = WebServer.encrypted(directory, certificate);
    }

    @AfterEach
    void stop() throws IOException {
        server.close();
    }

    private static void keytool(String... arguments) throws Exception {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(List.of("-storepass", PASSWORD, "-noprompt"));
        run(all);
    }

    private static void run(List<String> arguments) throws Exception {
        List<String> command = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "keytool").toString()));
        command.addAll(arguments);
        Process keytool = new ProcessBuilder(command).redirectErrorStream(true).start();
        keytool.getOutputStream().close();
        String output = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(keytool.waitFor(2, TimeUnit.MINUTES)).isTrue();
        assertThat(keytool.exitValue()).as(output).isZero();
    }

    private URI uri(String host) {
        return URI.create("https://" + host + ":" + server.port() + "/model.croft");
    }

    /// A store with nothing but the certificate, as somebody makes it who got that from the owner of the server.
    private Path trustStore() throws Exception {
        Path certificate = keys.resolve("server.pem");
        Path store = keys.resolve("trusted.p12");
        keytool("-exportcert", "-rfc", "-alias", "localhost", "-keystore", keys.resolve("server.p12").toString(),
                "-file", certificate.toString());
        keytool("-importcert", "-alias", "server", "-file", certificate.toString(), "-storetype", "PKCS12",
                "-keystore", store.toString());
        return store;
    }

    /// Opens files in a JVM with other certificates.
    public static final class Peer {
        private Peer() {}

        /// Prints an element of each file, or why it cannot be opened.
        ///
        /// @param uris the files
        public static void main(String... uris) {
            for (String uri : uris) {
                OpenOptions options = OpenOptions.defaults().setting("https.token", "hf_secret");
                try (Checkpoint opened = Checkpoint.open(URI.create(uri), options)) {
                    System.out.println("read " + opened.tensor("weight").getLong(77_777));
                } catch (IOException e) {
                    System.out.println(e);
                }
            }
        }
    }

    @Test
    void aCertificateInTheTrustStoreOfTheJvmIsTrustedForItsHost() throws Exception {
        List<String> options = List.of("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow",
                "-Djavax.net.ssl.trustStore=" + trustStore(), "-Djavax.net.ssl.trustStorePassword=" + PASSWORD);
        List<String> lines = PeerJvm.startWith(options, Peer.class, uri("localhost").toString(),
                uri("127.0.0.1").toString()).lines();

        assertThat(lines).hasSize(2);
        assertThat(lines.getFirst()).isEqualTo("read 77777");
        assertThat(lines.getLast()).contains("no trusted connection").contains("127.0.0.1");
        assertThat(server.seen).isNotEmpty().allMatch(request -> request.host().startsWith("localhost:"));
    }

    @Test
    void noTokenFollowsARedirectToAnotherServerOrWithoutEncryption() throws Exception {
        try (WebServer other = WebServer.encrypted(directory, certificate);
                WebServer plain = new WebServer(directory)) {
            String name = uri("localhost").getPath();
            server.on("moved", exchange -> WebServer.redirect(exchange, "https://localhost:" + other.port() + name));
            server.on("plain", exchange -> WebServer.redirect(exchange, plain.uri(name.substring(1)).toString()));
            List<String> options = List.of("--enable-native-access=ALL-UNNAMED",
                    "--sun-misc-unsafe-memory-access=allow", "-Djavax.net.ssl.trustStore=" + trustStore(),
                    "-Djavax.net.ssl.trustStorePassword=" + PASSWORD);

            List<String> lines = PeerJvm.startWith(options, Peer.class,
                    uri("localhost").resolve("/moved").toString(), uri("localhost").resolve("/plain").toString())
                    .lines();

            assertThat(lines).hasSize(2);
            assertThat(lines.getFirst()).isEqualTo("read 77777");
            assertThat(lines.getLast()).contains("redirects to an http URI");
            assertThat(server.seen).isNotEmpty()
                    .allMatch(request -> request.authorization().equals("Bearer hf_secret"));
            assertThat(other.seen).isNotEmpty().allMatch(request -> request.authorization() == null);
            assertThat(plain.seen).isEmpty();
        }
    }

    /// Follows the words of the message, and nothing else.
    @Test
    void theRemedyForACertificateThatIsNotTrustedWorks() throws Exception {
        String message = refusal(uri("localhost"));
        Path certificate = keys.resolve("given.pem");
        keytool("-exportcert", "-rfc", "-alias", "localhost", "-keystore", keys.resolve("server.p12").toString(),
                "-file", certificate.toString());
        String store = keys.resolve("followed.p12").toString();
        Matcher command = Pattern.compile("keytool( -importcert [^)]*)").matcher(message);
        Matcher properties = Pattern.compile("-Djavax\\.net\\.ssl\\.\\S+").matcher(message);
        assertThat(command.find()).isTrue();
        List<String> arguments = new ArrayList<>();
        for (String word : command.group(1).strip().split(" ", -1)) {
            arguments.add(given(word, certificate, store));
        }
        run(arguments);
        List<String> options = new ArrayList<>(PeerJvm.NATIVE);
        properties.results().forEach(each -> options.add(given(each.group(), certificate, store)));

        assertThat(PeerJvm.startWith(options, Peer.class, uri("localhost").toString()).lines())
                .containsExactly("read 77777");
        assertThat(Files.readString(Path.of("..", "docs", "guide.md")).replaceAll("\\s+", " "))
                .contains("keytool" + command.group(1), "-Djavax.net.ssl.trustStorePassword=PASSWORD");
    }

    private static String refusal(URI uri) throws IOException {
        try (Checkpoint _ = Checkpoint.open(uri)) {
            return "it was opened";
        } catch (RemoteFileException refused) {
            return refused.getMessage();
        }
    }

    private static String given(String word, Path certificate, String store) {
        return word.replace("CERTIFICATE", certificate.toString()).replace("=FILE", "=" + store)
                .replaceAll("^FILE$", store).replace("PASSWORD", PASSWORD);
    }

    @Test
    void aCertificateThatIsNotTrustedIsRefusedAtOnceWithARemedy() {
        assertThatExceptionOfType(RemoteFileException.class).isThrownBy(() -> Checkpoint.open(uri("localhost")))
                .satisfies(refused -> assertThat(refused.kind()).isEqualTo(Kind.UNAVAILABLE))
                .withMessageContaining("no trusted connection").withMessageContaining("keytool -importcert")
                .withMessageContaining("-Djavax.net.ssl.trustStore=FILE");
        assertThat(server.seen).isEmpty();
    }
}

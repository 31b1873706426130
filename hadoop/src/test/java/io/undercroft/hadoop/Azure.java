package io.undercroft.hadoop;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;

/// An endpoint of Azure Blob Storage that keeps blobs in memory, one for all tests of a JVM: Azurite, whose program the
/// environment variable `UNDERCROFT_AZURITE` names.
///
/// The client takes the account from the name of the host, which [AzureResolver] resolves.
final class Azure {
    static final String VARIABLE = "UNDERCROFT_AZURITE";
    static final String MISSING = "UNDERCROFT_AZURITE names no program";
    static final String HOST = "devstoreaccount1.blob.core.windows.net";
    static final String CONTAINER = "models";

    /// The key of the account of every Azurite, which its documentation states.
    private static final String KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2U"
            + "VErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
    private static final Pattern LISTENING = Pattern.compile("listens on http://127\\.0\\.0\\.1:(\\d+)");
    private static final int PORT = start();

    private Azure() {}

    private static int start() {
        try {
            Process server = new ProcessBuilder(Objects.requireNonNull(System.getenv(VARIABLE)), "--blobPort", "0",
                    "--inMemoryPersistence", "--skipApiVersionCheck", "--silent", "--disableTelemetry")
                    .redirectErrorStream(true).start();
            Runtime.getRuntime().addShutdownHook(new Thread(server::destroyForcibly));
            return portOf(server.inputReader());
        } catch (IOException e) {
            throw new IllegalStateException("the server does not start", e);
        }
    }

    private static int portOf(BufferedReader output) throws IOException {
        StringBuilder lines = new StringBuilder();
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            Matcher listening = LISTENING.matcher(line);
            if (listening.find()) {
                // A server that nobody reads from would wait when the pipe is full.
                Thread.ofPlatform().daemon().start(() -> output.lines().forEach(_ -> {}));
                return Integer.parseInt(listening.group(1));
            }
            lines.append(line).append('\n');
        }
        throw new IOException("it printed " + lines);
    }

    static Configuration configuration() {
        Configuration configuration = new Configuration(false);
        configuration.set(keyOf(uri("/")), KEY);
        configuration.set("fs.azure.account.hns.enabled", "false");
        configuration.set("fs.azure.always.use.https", "false");
        configuration.set("fs.azure.networking.library", "JDK_HTTP_URL_CONNECTION");
        configuration.set("fs.azure.io.retry.max.retries", "1");
        return configuration;
    }

    /// {@return the name of the key of the account of a URI}
    static String keyOf(URI uri) {
        return "fs.azure.account.key." + uri.getHost() + ":" + uri.getPort();
    }

    /// {@return the file system of a container, which is made if there is none}
    static FileSystem fileSystem() throws IOException {
        Configuration all = new Configuration();
        configuration().forEach(entry -> all.set(entry.getKey(), entry.getValue()));
        all.set("fs.azure.createRemoteFileSystemDuringInitialization", "true");
        return FileSystem.newInstance(uri("/"), all);
    }

    static URI uri(String path) {
        return uri(CONTAINER, PORT, path);
    }

    static URI uri(String container, int port, String path) {
        return URI.create("abfs://" + container + "@" + HOST + ":" + port + path);
    }

    static URI uri(String container, String path) {
        return uri(container, PORT, path);
    }
}

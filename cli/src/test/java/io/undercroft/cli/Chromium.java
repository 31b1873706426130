package io.undercroft.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/// A headless Chromium with one page, controlled by its DevTools protocol.
///
/// The environment variable `UNDERCROFT_CHROMIUM` names the program.
final class Chromium implements AutoCloseable {
    private static final int PATIENCE_SECONDS = 120;
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Process process;
    private final BlockingQueue<JsonNode> messages = new LinkedBlockingQueue<>();
    private final List<JsonNode> events = new ArrayList<>();
    private final HttpClient http = HttpClient.newHttpClient();
    private final WebSocket socket;
    private int calls;

    /// {@return the program, if there is one}
    static Optional<Path> program() {
        return Optional.ofNullable(System.getenv("UNDERCROFT_CHROMIUM")).filter(name -> !name.isEmpty())
                .map(Path::of);
    }

    /// Starts it with an empty page.
    ///
    /// @param profile a directory for its files
    Chromium(Path program, Path profile) throws IOException, InterruptedException {
        process = new ProcessBuilder(program.toString(), "--headless", "--no-sandbox", "--disable-gpu",
                "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
                "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-port=0",
                "--user-data-dir=" + profile, "about:blank").redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
        try {
            URI list = URI.create("http://127.0.0.1:" + port(profile) + "/json/list");
            JsonNode pages = JSON.readTree(
                    http.send(HttpRequest.newBuilder(list).build(), BodyHandlers.ofString()).body());
            socket = http.newWebSocketBuilder()
                    .buildAsync(URI.create(pages.get(0).get("webSocketDebuggerUrl").asText()), new Receiver()).join();
            for (String domain : List.of("Page", "Runtime", "Log", "Network", "DOM")) {
                call(domain + ".enable", _ -> {});
            }
        } catch (Throwable e) {
            process.destroyForcibly();
            throw e;
        }
    }

    /// Waits for the file with the port that the browser listens on.
    private String port(Path profile) throws IOException, InterruptedException {
        Path file = profile.resolve("DevToolsActivePort");
        for (int left = PATIENCE_SECONDS * 20; left > 0 && process.isAlive(); left--) {
            if (Files.exists(file) && Files.readString(file).contains("\n")) {
                return Files.readAllLines(file).getFirst();
            }
            Thread.sleep(50);
        }
        throw new IOException("Chromium does not start");
    }

    private final class Receiver implements WebSocket.Listener {
        private final StringBuilder text = new StringBuilder();

        @Override
        public CompletionStage<?> onText(WebSocket from, CharSequence part, boolean isLast) {
            text.append(part);
            if (isLast) {
                try {
                    messages.add(JSON.readTree(text.toString()));
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
                text.setLength(0);
            }
            from.request(1);
            return null;
        }
    }

    /// Calls a method of the protocol.
    private JsonNode call(String method, Consumer<ObjectNode> parameters) throws IOException, InterruptedException {
        int id = ++calls;
        ObjectNode request = JSON.createObjectNode().put("id", id).put("method", method);
        parameters.accept(request.putObject("params"));
        socket.sendText(request.toString(), true).join();
        while (true) {
            JsonNode message = messages.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
            if (message == null) {
                throw new IOException(method + " does not end");
            }
            if (message.path("id").asInt() != id) {
                events.add(message);
            } else if (message.has("error")) {
                throw new IOException(method + ": " + message.get("error"));
            } else {
                return message.get("result");
            }
        }
    }

    /// Opens a page and waits until its script has run.
    void open(Path page) throws IOException, InterruptedException {
        events.clear();
        call("Page.navigate", with -> with.put("url", page.toUri().toString()));
        until("document.readyState === 'complete' && location.protocol === 'file:'");
    }

    /// {@return the value of an expression, awaited if it is a promise}
    JsonNode evaluate(String expression) throws IOException, InterruptedException {
        JsonNode result = call("Runtime.evaluate", with -> with.put("expression", expression)
                .put("returnByValue", true).put("awaitPromise", true));
        if (result.has("exceptionDetails")) {
            throw new AssertionError(expression + ": " + result.get("exceptionDetails"));
        }
        return result.get("result").path("value");
    }

    String text(String selector) throws IOException, InterruptedException {
        return evaluate("document.querySelector('" + selector + "').innerText").asText();
    }

    /// Waits until an expression is true.
    void until(String expression) throws IOException, InterruptedException {
        for (int left = PATIENCE_SECONDS * 20; !evaluate("!!(" + expression + ")").asBoolean(); left--) {
            if (left == 0) {
                throw new AssertionError(expression + " does not become true: " + problems());
            }
            Thread.sleep(50);
        }
    }

    /// Presses a key, `Enter` or `a`, in the element that has the focus.
    void press(String key) throws IOException, InterruptedException {
        Map<String, Integer> codes = Map.of("Enter", 13, "Tab", 9, "ArrowDown", 40, "ArrowRight", 39, "End", 35,
                "Home", 36, "PageDown", 34);
        call("Input.dispatchKeyEvent", with -> {
            with.put("type", "keyDown").put("key", key).put("windowsVirtualKeyCode", codes.getOrDefault(key, 0));
            if (key.length() == 1) {
                with.put("text", key);
            } else if (key.equals("Enter")) {
                with.put("text", "\r");
            }
        });
        call("Input.dispatchKeyEvent", with -> with.put("type", "keyUp").put("key", key));
    }

    void type(String text) throws IOException, InterruptedException {
        call("Input.insertText", with -> with.put("text", text));
    }

    /// Chooses a file in an input element.
    void choose(String selector, Path file) throws IOException, InterruptedException {
        int root = call("DOM.getDocument", _ -> {}).path("root").path("nodeId").asInt();
        int node = call("DOM.querySelector", with -> with.put("nodeId", root).put("selector", selector)).get("nodeId")
                .asInt();
        // Chromium reads no file of a path with "..".
        String path = file.toRealPath().toString();
        call("DOM.setFileInputFiles", with -> with.put("nodeId", node).putArray("files").add(path));
    }

    void size(int width, int height) throws IOException, InterruptedException {
        call("Emulation.setDeviceMetricsOverride", with -> with.put("width", width).put("height", height)
                .put("deviceScaleFactor", 1).put("mobile", false));
    }

    void dark(boolean isDark) throws IOException, InterruptedException {
        call("Emulation.setEmulatedMedia", with -> with.putArray("features").addObject()
                .put("name", "prefers-color-scheme").put("value", isDark ? "dark" : "light"));
    }

    void screenshot(Path png) throws IOException, InterruptedException {
        Files.createDirectories(png.toAbsolutePath().getParent());
        Files.write(png, Base64.getDecoder().decode(call("Page.captureScreenshot", _ -> {}).get("data").asText()));
    }

    /// {@return the errors of the open page: exceptions and messages, including those of its policy}
    List<String> problems() {
        return events.stream().filter(event -> {
            String method = event.get("method").asText();
            return method.equals("Runtime.exceptionThrown") || method.equals("Log.entryAdded");
        }).map(JsonNode::toString).toList();
    }

    /// {@return the URLs that were requested since the page was opened, without its own and `data:` URLs}
    List<String> requests() {
        return events.stream().filter(event -> event.get("method").asText().equals("Network.requestWillBeSent"))
                .filter(event -> !event.at("/params/type").asText().equals("Document"))
                .map(event -> event.at("/params/request/url").asText()).filter(url -> !url.startsWith("data:"))
                .toList();
    }

    @Override
    public void close() {
        socket.abort();
        http.shutdownNow();
        process.descendants().forEach(ProcessHandle::destroy);
        process.destroy();
        process.onExit().orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS).join();
    }
}

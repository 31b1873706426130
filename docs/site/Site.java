import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.Block;
import org.commonmark.node.Code;
import org.commonmark.node.FencedCodeBlock;
import org.commonmark.node.Heading;
import org.commonmark.node.HtmlBlock;
import org.commonmark.node.HtmlInline;
import org.commonmark.node.Image;
import org.commonmark.node.IndentedCodeBlock;
import org.commonmark.node.Link;
import org.commonmark.node.Node;
import org.commonmark.node.SoftLineBreak;
import org.commonmark.node.Text;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.html.HtmlRenderer;

/// Makes web pages of the Markdown pages of the repository.
///
/// Each page keeps its path, with the suffix `.html`; a `README.md` becomes the `index.html` of its directory. Files
/// that pages link to become pages with their text, directories become lists of their files, and images are copied.
/// Anchors are made from headings as in the repository's own view of Markdown.
final class Site {
    private record Section(String title, List<Entry> entries) {
    }

    /// @param source a page of the repository, perhaps with an anchor, or a page of the Javadoc
    private record Entry(String source, String label) {
        boolean isJavadoc() {
            return source.startsWith(JAVADOC);
        }

        String page() {
            return source.split("#", 2)[0];
        }

        String anchor() {
            return source.substring(page().length());
        }
    }

    private record Anchor(String id, String text, int level) {
    }

    /// One part of a page in the search index.
    private record Passage(String address, String page, String heading, String text) {
    }

    /// Where the Javadoc is. It is made before the other pages.
    private static final String JAVADOC = "api/";
    private static final List<Section> MENU = List.of(
            new Section("Use it", List.of(new Entry("README.md", "Overview"), new Entry("docs/guide.md", "Guide"),
                    new Entry("docs/guide.md#serve-a-model-from-n-jvms", "Serve a model"),
                    new Entry("docs/concepts.md", "Concepts"), new Entry("docs/command.md", "The command"),
                    new Entry("docs/python.md", "Python"))),
            new Section("Reference", List.of(new Entry("docs/features.md", "Features"),
                    new Entry(JAVADOC + "index.html", "API"),
                    new Entry("docs/formats.md", "File formats"), new Entry("format-spec/SPEC.md", "The .croft format"),
                    new Entry("docs/inspect-json.md", "JSON of inspect"))),
            new Section("Trust it", List.of(new Entry("docs/testing.md", "How it is tested"),
                    new Entry("docs/measurements.md", "Measurements"),
                    new Entry("docs/scale.md", "Beyond one machine"), new Entry("SECURITY.md", "Security"),
                    new Entry("CHANGELOG.md", "Changes"))),
            new Section("Change it", List.of(new Entry("CONTRIBUTING.md", "Contributing"),
                    new Entry("docs/architecture.md", "Architecture"),
                    new Entry("docs/decisions/README.md", "Decisions"))),
            new Section("Coming from Torch", List.of(new Entry("docs/seed-coverage.md", "Operations"),
                    new Entry("docs/torch7-differences.md", "Differences from Torch7"))));

    private static final Set<String> IMAGES = Set.of("svg", "png", "jpg", "gif", "webp");
    private static final Pattern EMPTY_HEAD = Pattern
            .compile("<thead>\\s*<tr>\\s*(?:<th[^>]*></th>\\s*)+</tr>\\s*</thead>");
    private static final Pattern ATTRIBUTE = Pattern.compile("\\b(href|src|srcset)=\"([^\"]*)\"");
    private static final Pattern ID = Pattern.compile("\\bid=\"([^\"]*)\"");
    private static final Pattern JAVA = Pattern.compile("(?<comment>//[^\n]*|/\\*.*?\\*/)"
            + "|(?<string>\"\"\".*?\"\"\"|\"(?:\\\\.|[^\"\\\\\n])*\"|'(?:\\\\.|[^'\\\\\n])+')"
            + "|(?<word>\\b(?:abstract|boolean|break|byte|case|catch|char|class|continue|default|do|double|else|enum"
            + "|extends|false|final|finally|float|for|if|implements|import|instanceof|int|interface|long|module|new"
            + "|null|opens|package|permits|private|protected|provides|public|record|requires|return|sealed|short|static"
            + "|super|switch|synchronized|this|throw|throws|true|try|var|void|while|with|yield)\\b)", Pattern.DOTALL);
    private static final Pattern SHELL = Pattern
            .compile("(?m)(?<comment>(?:^|(?<=\\s))#[^\n]*)|(?<string>(?!))|(?<word>(?!))");
    private static final Pattern XML = Pattern
            .compile("(?<comment><!--.*?-->)|(?<string>(?!))|(?<word></?[\\w.:-]+|/?>)", Pattern.DOTALL);

    private final Path repository;
    private final Path output;
    private final Parser parser = Parser.builder().extensions(List.of(TablesExtension.create())).build();
    /// Sources that have to be written, and all that were ever in it.
    private final Deque<String> open = new ArrayDeque<>();
    private final Set<String> known = new HashSet<>();
    private final List<Passage> passages = new ArrayList<>();
    private final Set<String> faults = new TreeSet<>();
    private int pages;

    private Site(Path repository, Path output) {
        this.repository = repository;
        this.output = output;
    }

    public static void main(String[] arguments) throws IOException {
        Path output = Path.of(arguments[1]).toAbsolutePath().normalize();
        Site site = new Site(Path.of(arguments[0]).toRealPath(), output);
        site.make();
        if (!site.faults.isEmpty()) {
            site.faults.forEach(System.err::println);
            System.err.println("site: " + site.faults.size() + " faults");
            System.exit(1);
        }
        System.out.println(output.resolve("index.html") + ": " + site.pages + " pages, no broken links");
    }

    private void make() throws IOException {
        for (Section section : MENU) {
            section.entries().stream().filter(entry -> !entry.isJavadoc()).forEach(entry -> need(entry.page()));
        }
        everyPageIsInTheMenu();
        for (String source = open.poll(); source != null; source = open.poll()) {
            write(source);
        }
        Files.writeString(output.resolve("search-index.js"), searchIndex(), UTF_8);
        for (String asset : List.of("site.css", "site.js")) {
            Files.copy(repository.resolve("docs/site").resolve(asset), output.resolve(asset));
        }
        checkLinks();
    }

    private void everyPageIsInTheMenu() throws IOException {
        try (Stream<Path> files = Files.list(repository.resolve("docs"))) {
            files.map(file -> "docs/" + file.getFileName())
                    .filter(file -> file.endsWith(".md") && !known.contains(file))
                    .forEach(file -> faults.add(file + ": is not in the menu of docs/site/Site.java"));
        }
    }

    private void need(String source) {
        if (known.add(source)) {
            open.add(source);
        }
    }

    private void write(String source) throws IOException {
        Path file = repository.resolve(source);
        if (Files.isDirectory(file)) {
            writeList(source, file);
        } else if (!Files.exists(file)) {
            faults.add(source + ": is in the menu and does not exist");
        } else if (source.endsWith(".md")) {
            writePage(source, Files.readString(file, UTF_8));
        } else if (IMAGES.contains(suffix(source))) {
            Path copy = output.resolve(source);
            Files.createDirectories(copy.getParent());
            Files.copy(file, copy);
        } else {
            String text = Files.readString(file, UTF_8);
            writeHtml(source, source, "<h1><code>" + escape(source) + "</code></h1>\n" + code(text, suffix(source)),
                    List.of());
        }
    }

    private void writeList(String source, Path directory) throws IOException {
        StringBuilder list = new StringBuilder("<h1><code>" + escape(source) + "</code></h1>\n<ul>\n");
        try (Stream<Path> files = Files.walk(directory)) {
            files.filter(Files::isRegularFile).map(file -> directory.relativize(file).toString())
                    .filter(name -> !("/" + name).contains("/target/")).sorted()
                    .forEach(name -> list.append("<li><code>").append(escape(name)).append("</code></li>\n"));
        }
        writeHtml(source, source, list.append("</ul>\n").toString(), List.of());
    }

    private void writePage(String source, String markdown) throws IOException {
        Node document = parser.parse(markdown);
        List<Anchor> anchors = new ArrayList<>();
        Map<Node, String> ids = new HashMap<>();
        Map<String, Integer> uses = new HashMap<>();
        document.accept(new AbstractVisitor() {
            @Override
            public void visit(Heading heading) {
                String text = text(heading);
                String slug = text.toLowerCase(Locale.ROOT).replaceAll("[^\\p{L}\\p{N} _-]", "").replace(' ', '-');
                int use = uses.merge(slug, 1, Integer::sum) - 1;
                Anchor anchor = new Anchor(use == 0 ? slug : slug + "-" + use, text, heading.getLevel());
                anchors.add(anchor);
                ids.put(heading, anchor.id());
                visitChildren(heading);
            }

            @Override
            public void visit(Link link) {
                link.setDestination(address(source, link.getDestination()));
                visitChildren(link);
            }

            @Override
            public void visit(Image image) {
                image.setDestination(address(source, image.getDestination()));
                visitChildren(image);
            }

            @Override
            public void visit(HtmlInline html) {
                html.setLiteral(attributes(html.getLiteral(), value -> address(source, value)));
            }

            @Override
            public void visit(HtmlBlock html) {
                html.setLiteral(attributes(html.getLiteral(), value -> address(source, value)));
            }

            @Override
            public void visit(FencedCodeBlock block) {
                replace(block, code(block.getLiteral(), block.getInfo()));
            }

            @Override
            public void visit(IndentedCodeBlock block) {
                replace(block, code(block.getLiteral(), "sh"));
            }
        });
        String title = anchors.isEmpty() ? source : anchors.getFirst().text();
        HtmlRenderer renderer = HtmlRenderer.builder().extensions(List.of(TablesExtension.create()))
                .attributeProviderFactory(_ -> (node, _, attributes) -> {
                    if (ids.containsKey(node)) {
                        attributes.put("id", ids.get(node));
                    }
                }).build();
        String html = EMPTY_HEAD.matcher(renderer.render(document)).replaceAll("")
                .replace("<table>", "<div class=\"table\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table>")
                .replace("</table>", "</table></div>");
        collect(target(source), title, document, ids);
        writeHtml(source, title, html, anchors);
    }

    /// Adds the page to the search index, one passage for each heading.
    private void collect(String address, String title, Node document, Map<Node, String> ids) {
        String heading = title;
        String place = address;
        StringBuilder text = new StringBuilder();
        for (Node node = document.getFirstChild(); node != null; node = node.getNext()) {
            if (node instanceof Heading next) {
                passages.add(new Passage(place, title, heading, text.toString().strip()));
                heading = text(next);
                place = next.getLevel() == 1 ? address : address + "#" + ids.get(next);
                text.setLength(0);
            } else {
                text.append(text(node)).append(' ');
            }
        }
        passages.add(new Passage(place, title, heading, text.toString().strip()));
    }

    private String searchIndex() {
        return passages.stream().filter(passage -> !passage.text().isEmpty())
                .map(passage -> Stream.of(passage.address(), passage.page(), passage.heading(), passage.text())
                        .map(Site::quote).collect(Collectors.joining(",", "[", "]")))
                .collect(Collectors.joining(",\n", "const searchIndex = [\n", "\n];\n"));
    }

    private void writeHtml(String source, String title, String body, List<Anchor> anchors) throws IOException {
        String address = target(source);
        String root = "../".repeat((int) address.chars().filter(c -> c == '/').count());
        StringBuilder menu = new StringBuilder();
        for (Section section : MENU) {
            menu.append("<h2>").append(section.title()).append("</h2>\n<ul>\n");
            for (Entry entry : section.entries()) {
                String link = entry.isJavadoc() ? entry.source() : target(entry.page()) + entry.anchor();
                menu.append("<li><a href=\"").append(root).append(link).append('"')
                        .append(entry.source().equals(source) ? " aria-current=\"page\"" : "").append('>')
                        .append(escape(entry.label())).append("</a></li>\n");
            }
            menu.append("</ul>\n");
        }
        List<Anchor> sections = anchors.stream().filter(anchor -> anchor.level() == 2).toList();
        String contents = sections.size() < 2 ? "" : sections.stream()
                .map(anchor -> "<li><a href=\"#" + anchor.id() + "\">" + escape(anchor.text()) + "</a></li>\n")
                .collect(Collectors.joining("", "<aside class=\"contents\" aria-labelledby=\"contents-title\">\n"
                        + "<h2 id=\"contents-title\">On this page</h2>\n<ul>\n", "</ul>\n</aside>\n"));
        Path file = output.resolve(address);
        Files.createDirectories(file.getParent());
        Files.writeString(file, """
                <!DOCTYPE html>
                <html lang="en" data-root="%s">
                <head>
                <meta charset="utf-8">
                <meta name="viewport" content="width=device-width, initial-scale=1">
                <title>%s</title>
                <link rel="icon" href="data:,">
                <link rel="stylesheet" href="%ssite.css">
                <script src="%ssite.js"></script>
                </head>
                <body>
                <a class="skip" href="#content">Skip to the text</a>
                <header>
                <button type="button" id="menu-button" aria-expanded="false" aria-controls="menu">Menu</button>
                <a class="home" href="%sindex.html">Undercroft</a>
                <div class="search" role="search">
                <input type="search" id="search" placeholder="Search ( / )" aria-label="Search" autocomplete="off">
                <div id="results" hidden><p role="status"></p><ol></ol></div>
                </div>
                <button type="button" id="theme-button">Theme</button>
                </header>
                <nav id="menu" aria-label="Pages">
                %s</nav>
                <main id="content" tabindex="-1">
                %s</main>
                %s</body>
                </html>
                """.formatted(root, escape(title.equals("Undercroft") ? title : title + " – Undercroft"), root, root,
                root, menu, body, contents), UTF_8);
        pages++;
    }

    /// The address of a link for the page of `source`.
    private String address(String source, String link) {
        if (link.matches("[a-z]+:.*")) {
            return link;
        }
        int hash = link.indexOf('#');
        String path = hash < 0 ? link : link.substring(0, hash);
        String anchor = hash < 0 ? "" : link.substring(hash);
        if (path.isEmpty()) {
            return anchor;
        }
        Path from = Path.of("/" + source).getParent();
        Path to = from.resolve(path).normalize();
        String linked = to.toString().substring(1);
        if (!Files.exists(repository.resolve(linked))) {
            faults.add(source + ": " + link + " does not exist");
            return link;
        }
        if (Files.exists(repository.resolve(linked).resolve("README.md"))) {
            linked = (linked.isEmpty() ? "" : linked + "/") + "README.md";
        }
        need(linked);
        return Path.of("/" + target(source)).getParent().relativize(Path.of("/" + target(linked))) + anchor;
    }

    /// Where the page of a file of the repository is.
    private String target(String source) {
        if (source.equals("README.md") || source.endsWith("/README.md")) {
            return source.substring(0, source.length() - "README.md".length()) + "index.html";
        }
        if (source.endsWith(".md")) {
            return source.substring(0, source.length() - ".md".length()) + ".html";
        }
        if (Files.isDirectory(repository.resolve(source))) {
            return source + "/index.html";
        }
        return IMAGES.contains(suffix(source)) ? source : source + ".html";
    }

    /// Looks at what was written: every address in it exists, every anchor too, and nothing is loaded from elsewhere.
    private void checkLinks() throws IOException {
        Map<String, Set<String>> ids = new LinkedHashMap<>();
        Map<String, String> texts = new LinkedHashMap<>();
        try (Stream<Path> files = Files.walk(output)) {
            for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
                String address = output.relativize(file).toString();
                // What javadoc makes has the links that it found.
                boolean isPage = address.endsWith(".html") && !address.startsWith(JAVADOC);
                String text = isPage ? Files.readString(file, UTF_8) : "";
                texts.put(address, text);
                ids.put(address, ID.matcher(text).results().map(id -> id.group(1)).collect(Collectors.toSet()));
            }
        }
        texts.forEach((address, text) -> ATTRIBUTE.matcher(text).results().forEach(attribute -> {
            boolean loaded = !attribute.group(1).equals("href");
            String link = attribute.group(2);
            if (link.startsWith("data:") || (!loaded && link.startsWith("https:"))) {
                return;
            }
            String[] parts = link.split("#", 2);
            String to = parts[0].isEmpty() ? address
                    : Path.of("/" + address).resolveSibling(parts[0]).normalize().toString().substring(1);
            if (!ids.containsKey(to)) {
                faults.add(address + ": " + link + " leads nowhere");
            } else if (parts.length == 2 && !ids.get(to).contains(parts[1])) {
                faults.add(address + ": " + link + " has no such heading");
            }
        }));
    }

    private static void replace(Block block, String html) {
        HtmlBlock replacement = new HtmlBlock();
        replacement.setLiteral(html);
        block.insertAfter(replacement);
        block.unlink();
    }

    private static String code(String text, String language) {
        Pattern syntax = switch (language) {
            case "java" -> JAVA;
            case "xml" -> XML;
            case "sh", "py", "ksy" -> SHELL;
            default -> null;
        };
        StringBuilder html = new StringBuilder("<pre tabindex=\"0\"><code>");
        int end = 0;
        if (syntax != null) {
            Matcher token = syntax.matcher(text);
            while (token.find()) {
                String kind = Stream.of("comment", "string", "word").filter(name -> token.group(name) != null)
                        .findFirst().orElseThrow();
                html.append(escape(text.substring(end, token.start()))).append("<span class=\"").append(kind)
                        .append("\">").append(escape(token.group())).append("</span>");
                end = token.end();
            }
        }
        return html.append(escape(text.substring(end))).append("</code></pre>").toString();
    }

    private static String text(Node node) {
        StringBuilder text = new StringBuilder();
        node.accept(new AbstractVisitor() {
            @Override
            public void visit(Text part) {
                text.append(part.getLiteral());
            }

            @Override
            public void visit(Code part) {
                text.append(part.getLiteral());
            }

            @Override
            public void visit(SoftLineBreak part) {
                text.append(' ');
            }

            @Override
            public void visit(HtmlBlock part) {
                // Code blocks, by now.
                text.append(part.getLiteral().replaceAll("<[^>]*>", "").replace("&lt;", "<").replace("&gt;", ">")
                        .replace("&quot;", "\"").replace("&amp;", "&"));
            }

            @Override
            protected void visitChildren(Node parent) {
                super.visitChildren(parent);
                if (parent instanceof Block || parent.getClass().getSimpleName().equals("TableCell")) {
                    text.append(' ');
                }
            }
        });
        return text.toString().strip();
    }

    private static String attributes(String html, UnaryOperator<String> change) {
        return ATTRIBUTE.matcher(html).replaceAll(attribute -> Matcher
                .quoteReplacement(attribute.group(1) + "=\"" + change.apply(attribute.group(2)) + "\""));
    }

    private static String suffix(String name) {
        return name.substring(name.lastIndexOf('.') + 1);
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\"", "&quot;");
    }

    private static String quote(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\s+", " ") + '"';
    }
}

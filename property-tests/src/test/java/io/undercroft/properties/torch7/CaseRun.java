package io.undercroft.properties.torch7;

import io.undercroft.properties.torch7.ObservedCase.Step;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import io.undercroft.testsupport.PeerJvm;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// Carries out the operations of one case, in a directory that is its working directory. `operations.txt` says how
/// operations are written.
final class CaseRun implements AutoCloseable {
    private static final Pattern OPERATION = Pattern.compile("(?:(?<answer>->) |(?<name>\\w+) = )?(?<stages>.*)");
    private static final Pattern WORD = Pattern.compile("'[^']*'|\\{.*}|\\S+");
    private static final Pattern ESCAPE = Pattern.compile("\\\\x(\\p{XDigit}{2})");

    private final Path directory;
    private final StorageOperations storages;
    private final Map<String, Object> variables = new HashMap<>(Map.of("allocator", Allocator.offHeap()));
    private final StringBuilder printed = new StringBuilder();
    private DType defaultType = DType.of("Double");

    CaseRun(Path directory) {
        this.directory = directory;
        this.storages = new StorageOperations(directory);
    }

    /// Carries out operations in the directory where this is started, and prints what they print.
    @SuppressWarnings("SystemOut")
    public static void main(String[] operations) throws IOException, InterruptedException {
        try (CaseRun run = new CaseRun(Path.of(""))) {
            for (String operation : operations[0].split("; ", -1)) {
                run.perform(operation, new ArrayList<>());
            }
            System.out.print(run.printed);
        }
    }

    /// Carries out the operations of the next line.
    Outcome run(Step step) {
        List<Object> answers = new ArrayList<>();
        printed.setLength(0);
        try {
            for (String operation : step.operations()) {
                perform(operation, answers);
            }
            String result = answers.stream().map(Notation::of).collect(Collectors.joining(" | "));
            return Outcome.of(result, withoutLastLineFeeds(printed.toString()));
        } catch (Exception | OutOfMemoryError e) {
            return Outcome.of(e);
        }
    }

    @Override
    public void close() {
        storages.close();
    }

    private void perform(String operation, List<Object> answers) throws IOException, InterruptedException {
        Matcher parts = OPERATION.matcher(operation);
        if (!parts.matches()) {
            throw new AssertionError("no operation: " + operation);
        }
        Object value = valueOf(parts.group("stages"));
        if (parts.group("answer") != null) {
            answers.add(value);
        } else if (parts.group("name") != null) {
            variables.put(parts.group("name"), value);
        }
    }

    private Object valueOf(String stages) throws IOException, InterruptedException {
        if (stages.startsWith("sh ")) {
            return shell(stages.substring("sh ".length()));
        }
        if (stages.startsWith("process ")) {
            return String.join("\n", PeerJvm.startAfter("cd '" + directory + "'", CaseRun.class,
                    stages.substring("process ".length())).lines());
        }
        List<List<String>> words = Stream.of(stages.split(" \\| ")).map(CaseRun::words).toList();
        Object value = first(words.getFirst());
        for (List<String> stage : words.subList(1, words.size())) {
            value = apply(value, stage.getFirst(), arguments(stage, 1));
        }
        return value;
    }

    /// A value, a new object, or what an operation does with a value.
    private Object first(List<String> words) {
        String word = words.getFirst();
        return switch (word) {
            case "write" -> print(arguments(words, 1).values().stream().map(Notation::text)
                    .collect(Collectors.joining()));
            case "getdefaulttensortype" -> Notation.tensorType(defaultType);
            case "setdefaulttensortype" -> {
                defaultType = dtypeOf(arguments(words, 1).get(1, String.class));
                yield defaultType;
            }
            default -> word.matches("\\w*Storage")
                    ? storages.make(dtypeOf(word), arguments(words, 1))
                    : word.matches("\\w*Tensor")
                            ? storages.makeTensor(dtypeOf(word), arguments(words, 1))
                            : words.size() == 1
                                    ? value(word)
                                    : apply(value(word), words.get(1), arguments(words, 2));
        };
    }

    private DType dtypeOf(String type) {
        return DType.callWithDefault(defaultType, () -> TypedStorage.dtypeOf(type.replace("Tensor", "Storage")));
    }

    private Object apply(Object value, String operation, Arguments arguments) {
        return switch (operation) {
            case "print" -> print(Notation.text(value) + "\n");
            case "tostring" -> Notation.text(value);
            case "typename" -> Notation.type(value);
            case "isStorage" -> value instanceof TypedStorage;
            case "isTensor" -> value instanceof Tensor;
            case "equals" -> value.equals(arguments.get(1));
            case "same" -> value == arguments.get(1);
            default -> value instanceof Tensor tensor
                    ? storages.apply(tensor, operation, arguments)
                    : storages.apply((TypedStorage) value, operation, arguments);
        };
    }

    private static List<String> words(String text) {
        return WORD.matcher(text).results().map(MatchResult::group).toList();
    }

    private Arguments arguments(List<String> words, int from) {
        return new Arguments(words.subList(from, words.size()).stream().map(this::value).toList());
    }

    private Object value(String word) {
        if (word.startsWith("'")) {
            return ESCAPE.matcher(word.substring(1, word.length() - 1)).replaceAll(escape -> Matcher
                    .quoteReplacement(Character.toString(Integer.parseInt(escape.group(1), 16))));
        }
        if (word.startsWith("{")) {
            return words(word.substring(1, word.length() - 1)).stream().map(this::value).toList();
        }
        return switch (word) {
            case "nil" -> null;
            case "true", "false" -> Boolean.valueOf(word);
            default -> word.matches("-?\\d+L")
                    ? Long.valueOf(word.substring(0, word.length() - 1))
                    : word.matches("-?(\\d.*|Infinity|NaN)")
                            ? Double.valueOf(word)
                            : Objects.requireNonNull(variables.get(word), word);
        };
    }

    private Object print(String text) {
        printed.append(text);
        return text;
    }

    /// What a command prints, errors too, in the language of Torch7's answers and with the rights that its files had.
    private String shell(String command) throws IOException {
        ProcessBuilder shell = new ProcessBuilder("/bin/sh", "-c", "umask 022\n" + command)
                .directory(directory.toFile()).redirectErrorStream(true);
        shell.environment().put("LC_ALL", "C");
        byte[] output = shell.start().getInputStream().readAllBytes();
        return withoutLastLineFeeds(new String(output, StandardCharsets.ISO_8859_1));
    }

    private static String withoutLastLineFeeds(String text) {
        return text.replaceAll("\n+$", "");
    }
}

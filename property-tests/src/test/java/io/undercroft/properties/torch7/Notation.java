package io.undercroft.properties.torch7;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/// Values as the observed cases write them down.
final class Notation {
    private Notation() {}

    static String of(List<Object> values) {
        return values.stream().map(Notation::of).collect(Collectors.joining(" | "));
    }

    private static String of(Object value) {
        return switch (value) {
            case String text -> quote(text);
            case LuaTable table -> of(table);
            case StorageObject storage -> of(storage);
            case TensorObject tensor -> of(tensor);
            case null, default -> LuaValues.print(value);
        };
    }

    private static String quote(String text) {
        return text.chars()
                .mapToObj(c -> c < ' ' || c > '~' || c == '\\' ? "\\x%02x".formatted(c) : Character.toString(c))
                .collect(Collectors.joining("", "\"", "\""));
    }

    private static String of(LuaTable table) {
        return table.entries().entrySet().stream()
                .map(entry -> "[" + of(entry.getKey()) + "]=" + of(entry.getValue()))
                .collect(Collectors.joining(", ", "{", "}"));
    }

    private static String of(StorageObject storage) {
        return storage.type() + "[" + storage.typed().size() + "]"
                + storage.elements().stream().map(Numbers::print).collect(Collectors.joining(", ", "{", "}"));
    }

    private static String of(TensorObject tensor) {
        return "%s(size=%s, stride=%s, offset=%d, storage=%s)".formatted(tensor.type(),
                braces(tensor.tensor().shape().toArray()), braces(tensor.tensor().stride()),
                tensor.tensor().storageOffset() + 1, of(tensor.storage()));
    }

    private static String braces(long[] values) {
        return Arrays.stream(values).mapToObj(Long::toString).collect(Collectors.joining(", ", "{", "}"));
    }
}

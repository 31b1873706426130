package io.undercroft.storage;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/// What PyTorch answers, from the resources that `src/test/python/torch_cases.py` writes.
final class TorchCases {
    private TorchCases() {}

    /// A tensor and what PyTorch prints for it.
    record Printing(String name, Tensor tensor, String expected) {
        @Override
        public String toString() {
            return name;
        }
    }

    static List<String> lines(String resource) {
        try (InputStream in = TorchCases.class.getResourceAsStream(resource)) {
            return new String(Objects.requireNonNull(in, resource).readAllBytes(), StandardCharsets.UTF_8).lines()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static List<Printing> printing() {
        List<Printing> cases = new ArrayList<>();
        List<String> lines = lines("printing.txt");
        for (int start = 0; start < lines.size();) {
            int end = start + 1;
            while (end < lines.size() && !lines.get(end).startsWith("case ")) {
                end++;
            }
            String header = lines.get(start);
            String name = cases.size() + ": " + header.substring(0, Math.min(header.length(), 60));
            cases.add(new Printing(name, tensor(header), String.join("\n", lines.subList(start + 1, end))));
            start = end;
        }
        return cases;
    }

    static long[] numbers(String list) {
        return list.equals("-") ? new long[0] : Arrays.stream(list.split(",", -1)).mapToLong(Long::parseLong).toArray();
    }

    private static Tensor tensor(String header) {
        String[] parts = header.split(" ", -1);
        Tensor tensor = Tensor.of(storage(parts[6]), DType.of(parts[1]), Long.parseLong(parts[4]),
                Shape.of(numbers(parts[2])), numbers(parts[3]));
        return tensor.withFlags(flags(parts[5]));
    }

    private static Storage storage(String text) {
        if (text.startsWith("meta:")) {
            return Storage.meta(Long.parseLong(text.substring(5)));
        }
        return Storage.wrap(MemorySegment.ofArray(text.equals("-") ? new byte[0] : HexFormat.of().parseHex(text)));
    }

    static Set<Tensor.Flag> flags(String text) {
        Set<Tensor.Flag> flags = EnumSet.noneOf(Tensor.Flag.class);
        if (!text.equals("-")) {
            Arrays.stream(text.split(",", -1)).map(Tensor.Flag::valueOf).forEach(flags::add);
        }
        return flags;
    }
}

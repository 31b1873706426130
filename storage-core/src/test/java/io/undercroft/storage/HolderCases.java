package io.undercroft.storage;

import io.undercroft.storage.Quantizer.PerChannel;
import io.undercroft.storage.Quantizer.PerChannelFloat;
import io.undercroft.storage.Quantizer.PerTensor;
import io.undercroft.storage.SparseCooTensor.Coalescence;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.IntStream;

/// What PyTorch answers about quantized and sparse tensors, from the resources that `src/test/python/holder_cases.py`
/// writes.
final class HolderCases {
    private HolderCases() {}

    /// Stored integers, what makes numbers of them, and these numbers.
    record Quantized(String name, QuantizedTensor tensor, Tensor dequantized) {
        @Override
        public String toString() {
            return name;
        }
    }

    /// A sparse tensor, and the dense one.
    record Sparse(String name, SparseTensor tensor, Tensor dense) {
        @Override
        public String toString() {
            return name;
        }
    }

    /// Components, and whether PyTorch makes a tensor of them; what it takes, but should not, counts as refused.
    record Invariants(String name, boolean taken, Layout layout, Shape shape, List<Tensor> parts) {
        SparseTensor tensor() {
            return sparse(layout, shape, parts, Coalescence.UNCOALESCED);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    static List<Quantized> quantized() {
        return cases("quantized.txt").stream().map(HolderCases::quantized).toList();
    }

    static List<Sparse> sparse() {
        return cases("sparse.txt").stream().map(HolderCases::sparse).toList();
    }

    static List<Invariants> invariants() {
        List<String> lines = TorchCases.lines("invariants.txt");
        List<Invariants> cases = new ArrayList<>();
        for (String line : lines) {
            String[] words = line.split(" ", -1);
            List<Tensor> parts = Arrays.stream(words).skip(3).map(HolderCases::tensor).toList();
            cases.add(new Invariants(cases.size() + ": " + words[1], words[0].equals("taken"),
                    Layout.find(words[1]).orElseThrow(),
                    Shape.of(TorchCases.numbers(words[2])), parts));
        }
        return cases;
    }

    private record Case(int number, List<String> words) {}

    private static List<Case> cases(String resource) {
        List<String> lines = TorchCases.lines(resource);
        return IntStream.range(0, lines.size()).mapToObj(i -> new Case(i, List.of(lines.get(i).split(" ", -1))))
                .toList();
    }

    private static Quantized quantized(Case given) {
        List<String> words = given.words();
        String[] integers = words.get(3).split("/", -1);
        Tensor floats = tensor(words.get(4));
        Shape shape = floats.shape();
        Tensor stored = Tensor.of(storage(integers[2]), DType.of(integers[0]), 0, shape, shape.contiguousStride());
        return new Quantized(given.number() + ": " + integers[0] + " " + words.get(2).substring(0, 30),
                new QuantizedTensor(stored, quantizer(words.get(2))), floats);
    }

    private static Quantizer quantizer(String text) {
        String[] parts = text.split(";", -1);
        return switch (parts[0]) {
            case "torch.per_tensor_affine" -> new PerTensor(
                    Double.longBitsToDouble(Long.parseUnsignedLong(parts[1], 16)), Long.parseLong(parts[2]));
            case "torch.per_channel_affine" ->
                new PerChannel(tensor(parts[1]), tensor(parts[2]), Integer.parseInt(parts[3]));
            default -> new PerChannelFloat(tensor(parts[1]), tensor(parts[2]), Integer.parseInt(parts[3]));
        };
    }

    private static Sparse sparse(Case given) {
        List<String> words = given.words();
        Layout layout = Layout.find(words.get(1)).orElseThrow();
        Shape shape = Shape.of(TorchCases.numbers(words.get(2)));
        int count = layout == Layout.SPARSE_COO ? 2 : 3;
        List<Tensor> parts = new ArrayList<>(words.subList(5, 5 + count).stream().map(HolderCases::tensor).toList());
        if (!words.get(3).equals("-")) {
            parts.set(count - 1, parts.get(count - 1).withFlags(EnumSet.of(Tensor.Flag.valueOf(words.get(3)))));
        }
        boolean coo = layout == Layout.SPARSE_COO;
        Coalescence coalescence = coo ? Coalescence.valueOf(words.get(7)) : Coalescence.UNCOALESCED;
        return new Sparse(given.number() + ": " + layout + " " + shape, sparse(layout, shape, parts, coalescence),
                tensor(words.get(4)));
    }

    private static SparseTensor sparse(Layout layout, Shape shape, List<Tensor> parts, Coalescence coalescence) {
        return layout == Layout.SPARSE_COO
                ? new SparseCooTensor(parts.get(0), parts.get(1), shape, coalescence)
                : new SparseCompressedTensor(layout, parts.get(0), parts.get(1), parts.get(2), shape);
    }

    private static Tensor tensor(String text) {
        String[] parts = text.split("/", -1);
        Shape shape = Shape.of(TorchCases.numbers(parts[1]));
        return Tensor.of(storage(parts[2]), DType.of(parts[0]), 0, shape, shape.contiguousStride());
    }

    private static Storage storage(String hex) {
        return Storage.wrap(MemorySegment.ofArray(hex.equals("-") ? new byte[0] : HexFormat.of().parseHex(hex)));
    }
}

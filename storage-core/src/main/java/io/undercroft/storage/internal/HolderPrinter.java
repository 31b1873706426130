package io.undercroft.storage.internal;

import io.undercroft.storage.Device;
import io.undercroft.storage.Layout;
import io.undercroft.storage.QuantizedTensor;
import io.undercroft.storage.Quantizer.Channels;
import io.undercroft.storage.Quantizer.PerTensor;
import io.undercroft.storage.SparseCompressedTensor;
import io.undercroft.storage.SparseCooTensor;
import io.undercroft.storage.SparseTensor;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.Tensor.Flag;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/// Prints quantized and sparse tensors as PyTorch does.
///
/// PyTorch prints sizes instead of elements on the meta device; here that is also done for tensors on freed storages,
/// and for quantized ones whose parameters give no numbers.
public final class HolderPrinter {
    private static final String PREFIX = "tensor(";
    private static final String MARGIN = " ".repeat(PREFIX.length());
    private static final String UNREAD = "...";

    private HolderPrinter() {}

    /// {@return a quantized tensor as PyTorch prints it}
    ///
    /// @param tensor what to print
    public static String print(QuantizedTensor tensor) {
        List<String> suffixes = new ArrayList<>();
        addDevice(suffixes, tensor.device());
        suffixes.add("size=" + TensorPrinter.tuple(tensor.shape()));
        suffixes.add("dtype=torch." + tensor.dtype());
        suffixes.add("quantization_scheme=" + tensor.qscheme());
        switch (tensor.quantizer()) {
            case PerTensor(double scale, long zeroPoint) -> {
                suffixes.add("scale=" + PythonNumber.of(scale));
                suffixes.add("zero_point=" + zeroPoint);
            }
            case Channels channels -> {
                suffixes.add("scale=" + channels.scales());
                suffixes.add("zero_point=" + channels.zeroPoints());
                suffixes.add("axis=" + channels.axis());
            }
        }
        return TensorPrinter.withSuffixes(PREFIX + elements(tensor::dequantize, PREFIX.length()), suffixes);
    }

    /// {@return a sparse tensor as PyTorch prints it}
    ///
    /// @param tensor what to print
    public static String print(SparseTensor tensor) {
        List<String> parts = switch (tensor) {
            case SparseCooTensor coo -> List.of(part("indices", coo.indices()), part("values", coo.values()));
            case SparseCompressedTensor compressed -> {
                boolean rows = compressed.layout().compressesRows();
                yield List.of(part(rows ? "crow_indices" : "ccol_indices", compressed.compressedIndices()),
                        part(rows ? "col_indices" : "row_indices", compressed.plainIndices()),
                        part("values", compressed.values()));
            }
        };
        String start = PREFIX + String.join(",\n" + MARGIN, parts);
        return tensor.layout() == Layout.SPARSE_COO
                ? TensorPrinter.withSuffixesBelow(start, suffixes(tensor))
                : TensorPrinter.withSuffixes(start, suffixes(tensor));
    }

    private static List<String> suffixes(SparseTensor tensor) {
        List<String> suffixes = new ArrayList<>();
        addDevice(suffixes, tensor.device());
        suffixes.add("size=" + TensorPrinter.tuple(tensor.shape()));
        if (!tensor.device().isMeta()) {
            suffixes.add("nnz=" + tensor.nnz());
        }
        if (!TensorPrinter.speaksForItself(tensor.dtype())) {
            suffixes.add("dtype=torch." + tensor.dtype());
        }
        suffixes.add("layout=" + tensor.layout());
        if (tensor.values().is(Flag.REQUIRES_GRAD)) {
            suffixes.add("requires_grad=True");
        }
        return suffixes;
    }

    private static void addDevice(List<String> suffixes, Device device) {
        if (!device.isCpu()) {
            suffixes.add("device='" + device + "'");
        }
    }

    private static String part(String name, Tensor tensor) {
        String start = name + "=tensor(";
        String elements = elements(() -> tensor, PREFIX.length() + start.length());
        boolean sized = tensor.numel() == 0 || elements.equals(UNREAD);
        return start + elements + (sized ? ", size=" + TensorPrinter.tuple(tensor.shape()) : "") + ")";
    }

    private static String elements(Supplier<Tensor> tensor, int indent) {
        try {
            return TensorPrinter.elements(tensor.get(), indent);
        } catch (IllegalArgumentException | IllegalStateException _) {
            return UNREAD;
        }
    }
}

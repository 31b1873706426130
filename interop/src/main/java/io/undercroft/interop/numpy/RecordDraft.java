package io.undercroft.interop.numpy;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.TensorsByName;
import io.undercroft.interop.internal.numpy.ArrayNodes;
import io.undercroft.interop.internal.numpy.FieldPlace;
import io.undercroft.interop.internal.numpy.NumpyType.Field;
import io.undercroft.interop.internal.numpy.NumpyType.Kind;
import io.undercroft.interop.internal.numpy.NumpyType;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Output;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.BorrowedBytes;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/// An array of records to be written, as `numpy.save` writes it. What is between the fields becomes zeros.
final class RecordDraft implements Draft {
    /// How many bytes of records are put together at once.
    private static final long SLAB = 1 << 23;

    private final String path;
    private final byte[] header;
    private final NumpyType type;
    private final Shape shape;
    private final boolean isFortran;
    private final List<Leaf> leaves;

    private RecordDraft(String path, byte[] header, NumpyType type, Shape shape, boolean isFortran,
            List<Leaf> leaves) {
        this.path = path;
        this.header = header;
        this.type = type;
        this.shape = shape;
        this.isFortran = isFortran;
        this.leaves = leaves;
    }

    /// A field that is no record.
    ///
    /// @param path its path in the state
    /// @param place where it is in a record
    /// @param elements its elements in all records
    /// @param tensor the tensor of the state that has them, or one made of texts
    private record Leaf(String path, FieldPlace place, Elements elements, Tensor tensor) {}

    /// Plans an array.
    ///
    /// @param path the path of the array in the state, for messages
    /// @param records its node
    /// @throws IllegalArgumentException if the fields do not fit the type that the node names
    static RecordDraft of(String path, TypedMap records) {
        if (!(records.attributes().get(ArrayNodes.DTYPE) instanceof String descr)
                || !(records.attributes().get(ArrayNodes.SHAPE) instanceof Shape shape)) {
            throw new IllegalArgumentException(
                    path + ": records of NumPy have the attributes dtype, a text, and shape, a Shape");
        }
        NumpyType type = type(path, descr);
        boolean isFortran = Boolean.TRUE.equals(records.attributes().get(ArrayNodes.FORTRAN));
        List<Leaf> leaves = new ArrayList<>();
        try {
            var _ = Math.multiplyExact(type.itemsize(), shape.numel());
            collect(path, type, records, shape, FieldPlace.WHOLE, leaves);
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException(path + ": the records have more than 2^63-1 bytes", e);
        }
        return new RecordDraft(path, NpyHeader.bytes(type, shape, isFortran), type, shape, isFortran, leaves);
    }

    private static NumpyType type(String path, String descr) {
        try {
            NumpyType type = DictReader.type(descr);
            if (type.kind() == Kind.RECORD) {
                return type;
            }
        } catch (FormatException e) {
            throw new IllegalArgumentException(path + ": the attribute dtype is no type of records: " + e.what(), e);
        }
        throw new IllegalArgumentException(path + ": the attribute dtype is no type of records");
    }

    /// Recursion is safe: the text of the type nests records to a small depth only.
    private static void collect(String path, NumpyType type, @Nullable Object value, Shape shape, FieldPlace place,
            List<Leaf> leaves) {
        if (!(value instanceof TypedMap map) || map.size() != type.fields().size()) {
            throw new IllegalArgumentException(path + ": the record does not have the fields that its dtype has");
        }
        for (Field field : type.fields()) {
            String inner = path + "/" + field.name();
            FieldPlace fieldPlace = place.in(field);
            if (field.type().kind() == Kind.RECORD) {
                collect(inner, field.type(), map.get(field.name()), shape, fieldPlace, leaves);
                continue;
            }
            Elements elements = Elements.of(inner, map.get(field.name()));
            Tensor tensor = TensorsByName.withGrad(elements.tensor(), false);
            TensorsByName.checkBytes(inner, tensor);
            if (!elements.type().descr().equals(field.type().descr())
                    || !elements.shape().equals(fieldPlace.shape(shape))) {
                throw new IllegalArgumentException(inner + ": the field is " + elements.type().descr() + " "
                        + elements.shape() + ", and its dtype has " + field.type().descr() + " "
                        + fieldPlace.shape(shape));
            }
            leaves.add(new Leaf(inner, fieldPlace, new Elements(elements.type(), tensor), elements.tensor()));
        }
    }

    @Override
    public SequencedMap<String, Tensor> names() {
        SequencedMap<String, Tensor> names = new LinkedHashMap<>();
        leaves.forEach(leaf -> names.put(name(leaf), leaf.tensor));
        return names;
    }

    private String name(Leaf leaf) {
        return leaf.path.substring(path.length() + 1);
    }

    @Override
    public boolean keeps(Object value, String attribute, Set<Capability> format) {
        return ArrayDraft.isKept(value, attribute);
    }

    /// Fields that are aligned are read as tensors on the bytes of all records.
    @Override
    public List<SharedStorage> sharedStorages() {
        return List.of(new SharedStorage(leaves.stream()
                .filter(leaf -> ArrayNodes.isInPlace(type, shape, leaf.elements.type(), leaf.place))
                .map(this::name).collect(Collectors.toSet()), type.itemsize() * shape.numel()));
    }

    @Override
    public long nbytes() {
        return Math.addExact(header.length, Math.multiplyExact(type.itemsize(), shape.numel()));
    }

    @Override
    public void writeTo(Output output) throws IOException {
        output.write(MemorySegment.ofArray(header));
        if (nbytes() == header.length) {
            return;
        }
        List<BorrowedBytes> borrowed = new ArrayList<>();
        try {
            List<Tensor> fields = new ArrayList<>();
            for (Leaf leaf : leaves) {
                BorrowedBytes bytes = leaf.elements.tensor().storage().borrow();
                borrowed.add(bytes);
                Tensor tensor = bytes.on(leaf.elements.tensor());
                fields.add(isFortran ? NpyHeader.reversed(tensor, tensor.dim() - shape.rank()) : tensor);
            }
            long[] sizes = shape.toArray();
            write(fields, isFortran ? reversed(sizes) : sizes, output);
        } finally {
            borrowed.forEach(BorrowedBytes::close);
        }
    }

    private static long[] reversed(long[] sizes) {
        long[] reversed = new long[sizes.length];
        for (int dim = 0; dim < sizes.length; dim++) {
            reversed[dim] = sizes[sizes.length - 1 - dim];
        }
        return reversed;
    }

    /// Recursion is safe: it goes one dimension deeper each time.
    private void write(List<Tensor> fields, long[] sizes, Output output) throws IOException {
        long count = Shape.of(sizes).numel();
        if (sizes.length == 0 || count <= SLAB / type.itemsize()) {
            writeSlab(fields, count, output);
            return;
        }
        long[] inner = Arrays.copyOfRange(sizes, 1, sizes.length);
        long rows = SLAB / type.itemsize() / Shape.of(inner).numel();
        for (long at = 0; at < sizes[0]; at += Math.max(rows, 1)) {
            long start = at;
            if (rows == 0) {
                write(fields.stream().map(field -> field.select(0, start)).toList(), inner, output);
            } else {
                long length = Math.min(rows, sizes[0] - start);
                writeSlab(fields.stream().map(field -> field.narrow(0, start, length)).toList(),
                        length * Shape.of(inner).numel(), output);
            }
        }
    }

    private void writeSlab(List<Tensor> fields, long count, Output output) throws IOException {
        Storage slab = Storage.allocate(count * type.itemsize(), AnonymousMemory.allocator());
        try {
            for (int i = 0; i < fields.size(); i++) {
                Leaf leaf = leaves.get(i);
                Tensor field = fields.get(i);
                if (field.numel() > 0) {
                    Storage values = Storage.allocate(field.nbytes(), AnonymousMemory.allocator());
                    try {
                        field.copyTo(values.segment());
                        leaf.place.runs(count, type.itemsize(), leaf.elements.type().itemsize())
                                .scatter(values.segment(), slab.segment());
                    } finally {
                        values.release();
                    }
                }
            }
            output.write(slab.segment());
        } finally {
            slab.release();
        }
    }
}

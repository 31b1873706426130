package io.undercroft.interop.internal.numpy;

import io.undercroft.interop.internal.numpy.NumpyType.Field;
import io.undercroft.interop.internal.numpy.NumpyType.Kind;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.spi.FileStorages;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.BorrowedBytes;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/// Makes the value of one array in a state: a tensor, or a node whose type is NumPy's class of the elements.
///
/// Fields of records are tensors on the bytes of all records, with strides from one record to the next, if they are
/// aligned there and not swapped; else they are gathered when they are first touched. Only texts of small arrays are
/// read when the file is opened, so opening takes as long for one array as for another.
public final class ArrayNodes {
    /// The attribute with the unit of dates and spans of time.
    public static final String UNIT = "unit";
    /// The attribute with the dtype of records, as NumPy writes it.
    public static final String DTYPE = "dtype";
    /// The attribute that is true of what was in column-major order.
    public static final String FORTRAN = "fortran_order";
    /// The attribute with the characters or bytes of the longest text.
    public static final String LENGTH = "length";
    /// The attribute with the sizes of an array that is no tensor.
    public static final String SHAPE = "shape";
    /// The most bytes, and the most texts, of an array whose texts become strings when it is opened.
    private static final int MOST_BYTES = 1 << 16;
    private static final int MOST_TEXTS = 1 << 12;
    /// So many fields are gathered each by a pass over all records.
    private static final int FEW_FIELDS = 4;

    private final ArrayLayout layout;
    private final ArrayBytes bytes;
    private final Predicate<String> isChosen;
    private final Allowance allowance;
    private final ReadBudget budget;
    private final boolean hasManyFields;
    /// The bytes of a small array with texts, once they were needed.
    private byte @Nullable [] small;
    private @Nullable Storage stored;
    private @Nullable Storage blank;

    /// @param layout describes the array
    /// @param bytes its elements
    /// @param isChosen tells of the path of a tensor whether it is loaded
    /// @param allowance what opening the file may cost
    public ArrayNodes(ArrayLayout layout, ArrayBytes bytes, Predicate<String> isChosen, Allowance allowance) {
        this.layout = layout;
        this.bytes = bytes;
        this.isChosen = isChosen;
        this.allowance = allowance;
        this.budget = allowance.budget;
        this.hasManyFields = fields(layout.type()) > FEW_FIELDS;
    }

    private static long fields(NumpyType type) {
        return type.fields().isEmpty() ? 1 : type.fields().stream().mapToLong(field -> fields(field.type())).sum();
    }

    /// The budget for opening a file, and the number of texts that may become strings; further ones stay tensors.
    public static final class Allowance {
        private final ReadBudget budget;
        private long texts = 1 << 17;
        private long nbytes = 4 << 20;

        /// @param budget what opening the file may cost
        public Allowance(ReadBudget budget) {
            this.budget = budget;
        }

        private boolean take(long count, long size) {
            boolean isLeft = count <= Math.min(texts, MOST_TEXTS) && size <= Math.min(nbytes, MOST_BYTES);
            texts -= isLeft ? count : 0;
            nbytes -= isLeft ? size : 0;
            return isLeft;
        }
    }

    /// {@return the value}
    ///
    /// @param path its path in the state
    /// @throws IOException if reading fails
    /// @throws IllegalArgumentException if there can be no such array, for it has too many dimensions for instance
    /// @throws ArithmeticException if there can be no such array, for it has too many elements
    public Object node(String path) throws IOException {
        return node(path, layout.type(), FieldPlace.WHOLE);
    }

    /// Recursion is safe: the header nests records to a small depth only.
    private Object node(String path, NumpyType type, FieldPlace place) throws IOException {
        return switch (type.kind()) {
            case NUMBER -> tensor(path, type, place);
            case TEXT, BYTES -> texts(path, type, place);
            case VOID -> typed(type, tensor(path, type, place));
            case DATE, SPAN -> {
                Typed times = typed(type, tensor(path, type, place));
                times.attributes().put(UNIT, type.unit());
                yield times;
            }
            case OBJECT -> throw new IllegalArgumentException("objects of Python have no bytes here");
            case RECORD -> {
                budget.takeMemory(ReadBudget.CONTAINER + ReadBudget.TENSOR);
                TypedMap map = new TypedMap(type.kind().type());
                for (Field field : type.fields()) {
                    budget.takeMemory(ReadBudget.ENTRY + ReadBudget.NUMBER);
                    budget.takeText(field.name().length());
                    String segment = StateIndex.escape(field.name());
                    budget.takeText(path.length());
                    map.put(field.name(), node(path.isEmpty() ? segment : path + "/" + segment, field.type(),
                            place.in(field)));
                }
                map.attributes().put(DTYPE, type.descr());
                map.attributes().put(SHAPE, place.shape(layout.shape()));
                putOrder(map.attributes());
                yield map;
            }
        };
    }

    private void putOrder(Map<String, @Nullable Object> attributes) {
        if (layout.isFortran()) {
            attributes.put(FORTRAN, true);
        }
    }

    private Typed typed(NumpyType type, Object value) {
        budget.takeMemory(ReadBudget.CONTAINER + ReadBudget.ENTRY);
        return new Typed(type.kind().type(), value);
    }

    // ---- texts ----

    private Typed texts(String path, NumpyType type, FieldPlace place) throws IOException {
        Shape shape = place.shape(layout.shape());
        List<String> texts = allowance.take(shape.numel(), layout.nbytes())
                ? read(type, place, shape).orElse(null)
                : null;
        if (texts == null) {
            return typed(type, tensor(path, type, place));
        }
        Typed node = typed(type, shape.rank() == 0 ? texts.getFirst() : texts);
        node.attributes().put(LENGTH, type.length());
        if (shape.rank() > 0) {
            node.attributes().put(SHAPE, shape);
            putOrder(node.attributes());
        }
        return node;
    }

    /// {@return the texts in row-major order, or nothing if one of them is no text}
    private Optional<List<String>> read(NumpyType type, FieldPlace place, Shape shape) throws IOException {
        if (shape.numel() == 0) {
            // The length of a text is limited by the size of the file only if there is one.
            return Optional.of(List.of());
        }
        FieldRuns runs = runs(type, place);
        MemorySegment gathered = MemorySegment.ofArray(new byte[(int) runs.nbytes()]);
        runs.gathering(gathered).accept(0, MemorySegment.ofArray(small()));
        int width = type.dtype().itemsize();
        ByteOrder order = type.order();
        long count = shape.numel();
        int[] codes = new int[Math.toIntExact(type.length())];
        List<String> texts = new ArrayList<>((int) count);
        long[] sizes = shape.toArray();
        long[] strides = strides(place);
        for (long i = 0; i < count; i++) {
            long start = FieldRuns.position(i, sizes, strides) * codes.length;
            for (int k = 0; k < codes.length; k++) {
                codes[k] = width == 1
                        ? Byte.toUnsignedInt(gathered.get(ValueLayout.JAVA_BYTE, start + k))
                        : gathered.get(ValueLayout.JAVA_INT_UNALIGNED.withOrder(order), (start + k) * width);
            }
            Optional<String> text = NumpyText.decode(type.kind(), codes);
            if (text.isEmpty()) {
                return Optional.empty();
            }
            budget.takeText(text.get().length());
            texts.add(text.get());
        }
        return Optional.of(texts);
    }

    private byte[] small() throws IOException {
        byte[] read = small;
        if (read == null) {
            byte[] made = new byte[(int) layout.nbytes()];
            bytes.forEachPart((position, part) -> MemorySegment.copy(part, 0, MemorySegment.ofArray(made), position,
                    part.byteSize()));
            read = made;
            small = made;
        }
        return read;
    }

    // ---- tensors ----

    private Tensor tensor(String path, NumpyType type, FieldPlace place) throws IOException {
        budget.takeMemory(ReadBudget.TENSOR);
        Shape shape = Shape.of(FieldPlace.concat(place.shape(layout.shape()).toArray(), type.inner().toArray()));
        long size = type.dtype().itemsize();
        FieldPlace whole = place.with(type.inner(), size);
        boolean isChosen = this.isChosen.test(path);
        if (isInPlace(layout.type(), layout.shape(), type, place)) {
            long[] stride = FieldPlace.concat(scaled(layout.stride(), layout.type().itemsize() / size),
                    whole.steps(size).orElseThrow());
            // Without elements an offset may be at the end of no bytes.
            return Tensor.of(isChosen ? stored() : blank(), type.dtype(),
                    shape.numel() == 0 ? 0 : whole.offset() / size,
                    shape, stride);
        }
        FieldRuns runs = runs(type, place);
        Storage records = isChosen && hasManyFields ? stored() : null;
        Storage storage = isChosen
                ? bytes.decoded(List.of(type.dtype(), type.isNative(), runs.form()), runs.nbytes(), into -> {
                    if (records == null) {
                        bytes.forEachPart(runs.gathering(into));
                    } else {
                        // One that is borrowed often keeps its bytes, so that they are read a few times only.
                        try (BorrowedBytes all = records.borrow()) {
                            runs.gathering(into).accept(0, all.storage().segment());
                        }
                    }
                    if (!type.isNative()) {
                        Storage.wrap(into).byteswap(type.dtype());
                    }
                })
                : Storage.meta(runs.nbytes());
        long[] inner = type.inner().contiguousStride();
        return Tensor.of(storage, type.dtype(), 0, shape,
                FieldPlace.concat(scaled(strides(place), Math.max(type.length(), 1)), inner));
    }

    /// {@return the strides of a field whose elements were gathered, in elements}
    private long[] strides(FieldPlace place) {
        Shape field = place.sizes();
        return FieldPlace.concat(scaled(layout.stride(), Math.max(field.numel(), 1)), field.contiguousStride());
    }

    private static long[] scaled(long[] strides, long factor) {
        return Arrays.stream(strides).map(stride -> Math.multiplyExact(stride, factor)).toArray();
    }

    /// {@return whether a field is in memory as in the file, a whole number of elements from the start of each record}
    ///
    /// @param records the type of the records
    /// @param shape the shape of the array of records
    /// @param type the type of the field
    /// @param place where it is in a record
    public static boolean isInPlace(NumpyType records, Shape shape, NumpyType type, FieldPlace place) {
        long size = type.dtype().itemsize();
        return type.isNative() && place.offset() % size == 0
                && (shape.numel() <= 1 || records.itemsize() % size == 0)
                && place.with(type.inner(), size).steps(size).isPresent();
    }

    private FieldRuns runs(NumpyType type, FieldPlace place) {
        return place.runs(layout.shape().numel(), layout.type().itemsize(), type.itemsize());
    }

    private Storage stored() throws IOException {
        Storage made = stored;
        if (made == null) {
            made = bytes.stored(alignment(layout.type()));
            stored = made;
        }
        return made;
    }

    private Storage blank() {
        Storage made = blank;
        if (made == null) {
            made = Storage.meta(layout.nbytes());
            blank = made;
        }
        return made;
    }

    /// {@return what the elements need to be mapped, also those of fields}
    private static int alignment(NumpyType type) {
        return type.kind() == Kind.RECORD
                ? type.fields().stream().mapToInt(field -> alignment(field.type())).max().orElse(1)
                : FileStorages.alignment(type.dtype());
    }
}

package io.undercroft.storage;

import static io.undercroft.storage.internal.Layouts.DOUBLE;
import static io.undercroft.storage.internal.Layouts.FLOAT;
import static io.undercroft.storage.internal.Layouts.LONG;

import io.undercroft.storage.ElementType.Access;
import io.undercroft.storage.internal.Convention;
import io.undercroft.storage.internal.Conversion;
import io.undercroft.storage.internal.Elements;
import io.undercroft.storage.internal.PythonNumber;
import io.undercroft.storage.internal.Torch7Printer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/// A view of a storage as a one-dimensional array of elements of one type: `torch.FloatStorage`, `torch.IntStorage` and
/// so on, of PyTorch and of Torch7.
///
/// **This is the legacy view.** PyTorch has deprecated it. New code should use a [Storage] for bytes and sharing, and a
/// [Tensor] on it for elements. Torch7's storages correspond to this type.
///
/// The bytes, the identity, the device and the references are those of [#untyped]. Two typed storages are equal if they
/// have the same storage and the same type. Bytes at the end that do not make a whole element are ignored.
///
/// **Elements.** Sizes, offsets and indexes count elements, from 0. (Torch7 counts from 1. In PyTorch, -1 is the last
/// element, and a slice that ends outside is truncated; here both throw.) As in PyTorch, an element of [DType#QUINT4X2]
/// or [DType#QUINT2X4] is the byte that has two or four of them, and quantized elements are the stored integers. (Their
/// scale and zero point belong to a tensor.)
///
/// **Numbers that do not fit** are converted as by Torch7, which is the conversion of C on x86-64: a double loses its
/// fraction. If the result is out of the range of `int` (for uint32 and elements of 64 bits: `long`), or the double is
/// NaN, it becomes the lowest `int` (`long`). Narrower integers take the lower bits of the result. So 300.7 becomes 44
/// as a byte, and 1e10 becomes 0. As uint64, numbers from 2^63 to 2^64 fit too, and larger ones become 0. (PyTorch
/// throws for such numbers.) As a bool, every number except 0 is true. Types that are not complex drop the imaginary
/// part.
///
/// **Errors.** An index out of bounds throws an [IndexOutOfBoundsException]. A size that is negative or too large for
/// any storage throws an [IllegalArgumentException]. Access to elements of a freed or meta storage, or of another
/// device, throws an [IllegalStateException]; writing to a meta storage does nothing. Writing to a read-only storage
/// throws an [UnsupportedOperationException], and so does access to elements of a type that is not numeric, such as
/// [DType#BITS8].
///
/// **Threads.** As for [Storage].
///
/// @param untyped the bytes
/// @param dtype the type of the elements
public record TypedStorage(Storage untyped, DType dtype) implements Iterable<Object> {
    private static final Map<DType, String> CLASS_NAMES = new HashMap<>();
    private static final Set<DType> TORCH7 = Set.of(DType.FLOAT64, DType.FLOAT32, DType.FLOAT16, DType.INT64,
            DType.INT32, DType.INT16, DType.INT8, DType.UINT8);

    static {
        for (String prefix : List.of("Double", "Float", "Half", "Long", "Int", "Short", "Char", "Byte", "Bool",
                "BFloat16", "ComplexDouble", "ComplexFloat", "QUInt8", "QInt8", "QInt32", "QUInt4x2", "QUInt2x4")) {
            CLASS_NAMES.put(DType.of(prefix), prefix + "Storage");
        }
    }

    /// Checks that the arguments are not null.
    public TypedStorage {
        Objects.requireNonNull(untyped, "untyped");
        Objects.requireNonNull(dtype, "dtype");
    }

    // ---- making ----

    /// Allocates a storage of zeros. (PyTorch and Torch7 do not initialise it.)
    ///
    /// @param dtype the type of the elements
    /// @param size the number of elements
    /// @return the storage
    /// @throws IllegalArgumentException if the size is negative or too large for any storage
    /// @throws OutOfMemoryError if the bytes cannot be allocated
    public static TypedStorage allocate(DType dtype, long size) {
        return new TypedStorage(Storage.allocate(bytes(dtype, size)), dtype);
    }

    /// Allocates a storage of zeros.
    ///
    /// @param dtype the type of the elements
    /// @param size the number of elements
    /// @param allocator the allocator of the bytes
    /// @return the storage
    /// @throws IllegalArgumentException if the size is negative or too large for any storage
    /// @throws OutOfMemoryError if the bytes cannot be allocated
    public static TypedStorage allocate(DType dtype, long size, Allocator allocator) {
        return new TypedStorage(Storage.allocate(bytes(dtype, size), allocator), dtype);
    }

    /// Allocates a storage of zeros of the default type, as `torch.Storage`.
    ///
    /// @param size the number of elements
    /// @return the storage
    /// @throws IllegalArgumentException if the size is negative or too large for any storage
    /// @throws OutOfMemoryError if the bytes cannot be allocated
    public static TypedStorage allocate(long size) {
        return allocate(DType.defaultType(), size);
    }

    /// Creates a new storage of the given elements.
    ///
    /// @param dtype their type
    /// @param elements the elements, which are converted to the type
    /// @return the storage
    /// @throws UnsupportedOperationException if the type is not numeric
    public static TypedStorage of(DType dtype, double... elements) {
        TypedStorage given = allocate(DType.FLOAT64, elements.length);
        MemorySegment.copy(elements, 0, given.untyped.writable(), DOUBLE, 0, elements.length);
        return allocate(dtype, elements.length).copyFrom(given);
    }

    /// Creates a new storage of the given elements.
    ///
    /// @param dtype their type
    /// @param elements the elements, which are converted to the type
    /// @return the storage
    /// @throws UnsupportedOperationException if the type is not numeric
    public static TypedStorage of(DType dtype, long... elements) {
        TypedStorage given = allocate(DType.INT64, elements.length);
        MemorySegment.copy(elements, 0, given.untyped.writable(), LONG, 0, elements.length);
        return allocate(dtype, elements.length).copyFrom(given);
    }

    /// Creates a storage on memory at an address, as [Storage#ofAddress].
    ///
    /// @param dtype the type of the elements
    /// @param address the address of the first element
    /// @param size the number of elements there are
    /// @return the storage
    /// @throws IllegalArgumentException if the size is negative or too large for any storage
    public static TypedStorage ofAddress(DType dtype, long address, long size) {
        return new TypedStorage(Storage.ofAddress(address, bytes(dtype, size)), dtype);
    }

    // ---- names ----

    /// Returns the element type of a storage class.
    ///
    /// @param name one of PyTorch's 17 names, with or without `torch.` or `torch.cuda.`, for instance
    ///     `torch.FloatStorage`; or `torch.Storage`, for [DType#defaultType]
    /// @return the type
    /// @throws IllegalArgumentException if there is no such storage class
    public static DType dtypeOf(String name) {
        String plain = name.replaceFirst("^torch\\.(cuda\\.)?", "");
        if (plain.equals("Storage")) {
            return DType.defaultType();
        }
        return CLASS_NAMES.entrySet().stream().filter(named -> named.getValue().equals(plain)).map(Map.Entry::getKey)
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no storage class is called '" + name + "'"));
    }

    /// {@return the name of PyTorch's and Torch7's storage class for the type, without `torch.`, for instance
    /// `FloatStorage`; `TypedStorage` for newer types, which have no storage class}
    public String typeName() {
        return CLASS_NAMES.getOrDefault(dtype, "TypedStorage");
    }

    static boolean hasClass(DType dtype) {
        return CLASS_NAMES.containsKey(dtype);
    }

    // ---- sizes ----

    /// {@return the number of whole elements}
    public long size() {
        return untyped.nbytes() / elementSize();
    }

    /// {@return the size of the whole storage in bytes}
    public long nbytes() {
        return untyped.nbytes();
    }

    /// {@return the size of an element in bytes}
    public int elementSize() {
        return dtype.itemsize();
    }

    /// {@return the device of the bytes}
    public Device device() {
        return untyped.device();
    }

    /// {@return whether the bytes are on a CUDA device}
    public boolean isCuda() {
        return untyped.isCuda();
    }

    /// {@return this storage if it is in host memory, otherwise a copy in host memory}
    ///
    /// @throws IllegalStateException if it was freed or has no bytes (meta)
    @CheckReturnValue
    public TypedStorage cpu() {
        return to(Device.CPU);
    }

    /// {@return this storage if it is on the first CUDA device, otherwise a copy on it}
    ///
    /// @throws IllegalStateException if it was freed, has no bytes (meta), or there is no such device
    @CheckReturnValue
    public TypedStorage cuda() {
        return to(Device.cuda(0));
    }

    /// {@return this storage if it is on the device, otherwise a copy on it}
    ///
    /// @param target the device; if it has no index, the first of its type
    /// @throws IllegalStateException if it was freed, has no bytes (meta), or there is no such device
    @CheckReturnValue
    public TypedStorage to(Device target) {
        Storage moved = untyped.to(target);
        return moved == untyped ? this : new TypedStorage(moved, dtype);
    }

    /// {@return whether the bytes are in pinned host memory}
    public boolean isPinned() {
        return untyped.isPinned();
    }

    /// {@return this storage if it is pinned, otherwise a copy in pinned host memory}
    ///
    /// @throws IllegalStateException if it was freed, has no bytes (meta), or there is no pinned memory
    @CheckReturnValue
    public TypedStorage pinMemory() {
        return isPinned() ? this : new TypedStorage(untyped.pinMemory(), dtype);
    }

    /// {@return the address of the first element, as [Storage#dataPtr]}
    ///
    /// @throws UnsupportedOperationException if the bytes are on the heap
    /// @throws IllegalStateException if it was freed
    public long dataPtr() {
        return untyped.dataPtr();
    }

    /// {@return the name of the file or shared memory that has the bytes, as [Storage#filename]}
    ///
    /// @throws IllegalStateException if it was freed
    public Optional<String> filename() {
        return untyped.filename();
    }

    /// {@return whether writes are visible to other processes, as [Storage#isShared]}
    ///
    /// @throws IllegalStateException if it was freed
    public boolean isShared() {
        return untyped.isShared();
    }

    /// Moves the bytes to memory that other processes can open, as [Storage#shareMemory].
    ///
    /// @return this storage
    /// @throws IllegalStateException if it was freed, has no bytes (meta), or there is no shared memory on its device
    /// @throws OutOfMemoryError if there is not enough shared memory; nothing has changed then
    public TypedStorage shareMemory() {
        untyped.shareMemory();
        return this;
    }

    /// {@return whether the storage can be resized, as [Storage#isResizable]}
    public boolean isResizable() {
        return untyped.isResizable();
    }

    /// Changes the number of elements, as [Storage#resize]. New elements are zero.
    ///
    /// @param size the new number of elements
    /// @return this storage
    /// @throws IllegalArgumentException if the size is negative or too large for any storage
    /// @throws UnsupportedOperationException if the storage cannot be resized, as [Storage#resize]
    /// @throws OutOfMemoryError if the bytes cannot be allocated; nothing has changed then
    public TypedStorage resize(long size) {
        untyped.resize(bytes(dtype, size));
        return this;
    }

    // ---- elements ----

    /// {@return an element as a double; the real part of a complex one}
    ///
    /// @param index from 0 to `size() - 1`
    public double getDouble(long index) {
        MemorySegment bytes = elements(index, untyped.segment());
        ElementType type = type();
        // The most common types without a detour, as for tensors; see [Tensor].
        return switch (type.access) {
            case FLOAT -> bytes.get(FLOAT, index * Float.BYTES);
            case DOUBLE -> bytes.get(DOUBLE, index * Double.BYTES);
            case INT, LONG, OTHER -> type.elements.getDouble(bytes, index);
        };
    }

    /// {@return an element as [#getDouble(long)], rounded to a float}
    ///
    /// @param index from 0 to `size() - 1`
    public float getFloat(long index) {
        return (float) getDouble(index);
    }

    /// {@return an element as a long, without its fraction; uint64 elements from 2^63 on are negative}
    ///
    /// @param index from 0 to `size() - 1`
    public long getLong(long index) {
        MemorySegment bytes = elements(index, untyped.segment());
        ElementType type = type();
        return type.access == Access.LONG
                ? bytes.get(LONG, index * Long.BYTES)
                : type.elements.getLong(bytes, index);
    }

    /// {@return an element as a complex number}
    ///
    /// @param index from 0 to `size() - 1`
    public Complex getComplex(long index) {
        MemorySegment bytes = elements(index, untyped.segment());
        Elements elements = type().elements;
        return new Complex(elements.getDouble(bytes, index), elements.getImaginary(bytes, index));
    }

    /// {@return an element as an object of the class for its type: [Double], [Complex], [Boolean], [Long], or
    /// [BigInteger] for uint64}
    ///
    /// @param index from 0 to `size() - 1`
    public Object get(long index) {
        return switch (dtype.kind()) {
            case FLOATING -> getDouble(index);
            case COMPLEX -> getComplex(index);
            case BOOLEAN -> getLong(index) != 0;
            case UNSIGNED -> dtype.bits() < Long.SIZE
                    ? (Object) getLong(index)
                    : new BigInteger(Long.toUnsignedString(getLong(index)));
            case SIGNED, QUANTIZED, BITS -> getLong(index);
        };
    }

    /// Writes an element.
    ///
    /// @param index from 0 to `size() - 1`
    /// @param value the number, [converted][TypedStorage] to the type
    public void setDouble(long index, double value) {
        if (untyped.isMeta()) {
            check(index, untyped.nbytes());
            return;
        }
        MemorySegment bytes = elements(index, untyped.writable());
        switch (type().access) {
            case FLOAT -> bytes.set(FLOAT, index * Float.BYTES, (float) value);
            case DOUBLE -> bytes.set(DOUBLE, index * Double.BYTES, value);
            case INT, LONG, OTHER -> codec().setDouble(bytes, index, value);
        }
    }

    /// Writes an element.
    ///
    /// @param index from 0 to `size() - 1`
    /// @param value the number, [converted][TypedStorage] to the type
    public void setFloat(long index, float value) {
        setDouble(index, value);
    }

    /// Writes an element.
    ///
    /// @param index from 0 to `size() - 1`
    /// @param value the number, [converted][TypedStorage] to the type
    public void setLong(long index, long value) {
        if (untyped.isMeta()) {
            check(index, untyped.nbytes());
            return;
        }
        MemorySegment bytes = elements(index, untyped.writable());
        if (type().access == Access.LONG) {
            bytes.set(LONG, index * Long.BYTES, value);
        } else {
            codec().setLong(bytes, index, value);
        }
    }

    /// Writes an element.
    ///
    /// @param index from 0 to `size() - 1`
    /// @param value the number, converted to the type; types that are not complex drop the imaginary part
    public void setComplex(long index, Complex value) {
        if (untyped.isMeta()) {
            check(index, untyped.nbytes());
            return;
        }
        MemorySegment bytes = elements(index, untyped.writable());
        codec().setComplex(bytes, index, value.real(), value.imaginary());
    }

    /// {@return the elements in order, each as [#get] returns it}
    public Stream<Object> stream() {
        return LongStream.range(0, size()).mapToObj(this::get);
    }

    /// {@return the elements in order, each as [#get] returns it}
    @Override
    public Iterator<Object> iterator() {
        return stream().iterator();
    }

    /// {@return the elements, each as [#get] returns it, in a new list (`tolist` in PyTorch, `totable` in
    /// Torch7)} A list takes many times the memory of the storage.
    public List<Object> toList() {
        return BulkAccess.ask(untyped, () -> stream().toList());
    }

    // ---- whole storages ----

    /// Sets all elements to one number.
    ///
    /// @param value the number, [converted][TypedStorage] to the type
    /// @return this storage
    public TypedStorage fill(double value) {
        return fill(element -> codec().setDouble(element, 0, value));
    }

    /// Sets all elements to one number.
    ///
    /// @param value the number, [converted][TypedStorage] to the type
    /// @return this storage
    public TypedStorage fill(long value) {
        return fill(element -> codec().setLong(element, 0, value));
    }

    /// Sets all elements to one number.
    ///
    /// @param value the number, converted to the type; types that are not complex drop the imaginary part
    /// @return this storage
    public TypedStorage fill(Complex value) {
        return fill(element -> codec().setComplex(element, 0, value.real(), value.imaginary()));
    }

    private TypedStorage fill(Consumer<MemorySegment> writer) {
        MemorySegment element = MemorySegment.ofArray(new byte[elementSize()]);
        writer.accept(element);
        return change(target -> BulkAccess.repeat(element, target));
    }

    /// Copies all elements of another storage, from any device to any other, and converts them if the types differ
    /// (`copy` in Torch7). PyTorch's `copy_`, which does not convert, corresponds to [Storage#copyFrom].
    ///
    /// Overlapping slices of one storage are copied as if through a temporary buffer. (In Torch7 and PyTorch, the
    /// result is undefined.)
    ///
    /// @param source the storage to copy
    /// @return this storage
    /// @throws IllegalArgumentException if the sizes differ (Torch7 checks sizes only if the types are equal)
    public TypedStorage copyFrom(TypedStorage source) {
        if (source.size() != size()) {
            throw new IllegalArgumentException("cannot copy " + source.describe() + " over " + describe());
        }
        return change(target -> source.copyTo(this, target));
    }

    private void copyTo(TypedStorage other, MemorySegment target) {
        read(source -> {
            if (source.byteSize() / elementSize() != target.byteSize() / other.elementSize()) {
                throw new IllegalStateException(
                        describe() + " or " + other.describe() + " was resized while the one was copied to the other");
            }
            if (dtype.equals(other.dtype)) {
                MemorySegment.copy(source, 0, target, 0, target.byteSize());
            } else {
                convert(source, other.stored(), target);
            }
        });
    }

    /// Where bytes overlap, the source is copied before it is converted.
    private void convert(MemorySegment source, DType to, MemorySegment target) {
        long numel = source.byteSize() / elementSize();
        if (source.asOverlappingSlice(target).isEmpty()) {
            Conversion.convert(stored(), source, to, target, numel, Convention.TORCH7);
            return;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment copy = arena.allocate(source.byteSize()).copyFrom(source);
            Conversion.convert(stored(), copy, to, target, numel, Convention.TORCH7);
        }
    }

    /// Reads the bytes where the host reaches them: in place, or in a copy.
    private void read(Consumer<MemorySegment> reader) {
        Storage host = untyped.cpu();
        BulkAccess.run(host, () -> reader.accept(host.segment()));
    }

    /// Changes the elements where the host reaches them: in place, or in a copy that then replaces them.
    private TypedStorage change(Consumer<MemorySegment> writer) {
        if (untyped.isMeta()) {
            return this;
        }
        Storage host = untyped.cpu();
        BulkAccess.run(host, () -> {
            MemorySegment all = host.writable();
            writer.accept(all.asSlice(0, all.byteSize() / elementSize() * elementSize()));
        });
        if (host != untyped) {
            untyped.copyFrom(host);
        }
        return this;
    }

    /// {@return a new storage with the same elements, on the same device, converted as PyTorch converts (`float()`,
    /// `long()`, …)} It is a copy also if the type is the same. Quantized elements are converted as their stored
    /// integers. (PyTorch does not convert them.)
    ///
    /// @param target the type of the copy
    /// @throws UnsupportedOperationException if the types differ and one of them is not numeric
    @CheckReturnValue
    public TypedStorage to(DType target) {
        if (target.equals(dtype)) {
            return copy();
        } else if (untyped.isMeta()) {
            return new TypedStorage(Storage.meta(bytes(target, size())), target);
        }
        long nbytes = bytes(target, size());
        Storage space = device().isCpu() ? untyped.allocateLike(nbytes) : Storage.allocate(nbytes);
        TypedStorage made = new TypedStorage(space, target);
        read(source -> {
            if (source.byteSize() / elementSize() != made.size()) {
                throw new IllegalStateException(describe() + " was resized while it was converted");
            }
            made.change(bytes -> Conversion.convert(stored(), source, made.stored(), bytes, made.size(),
                    Convention.PYTORCH));
        });
        return new TypedStorage(made.untyped.to(device()), target);
    }

    /// {@return a new storage with a copy of the bytes (`clone` in PyTorch)}
    @CheckReturnValue
    public TypedStorage copy() {
        return new TypedStorage(untyped.copy(), dtype);
    }

    /// {@return a new storage of zeros of the same type, on the same device and allocated by the same allocator (`new`
    /// in Torch7)}
    ///
    /// @param size the number of elements elements
    /// @throws IllegalArgumentException if the size is negative or too large for any storage
    @CheckReturnValue
    public TypedStorage allocateLike(long size) {
        return new TypedStorage(untyped.allocateLike(bytes(dtype, size)), dtype);
    }

    /// Returns a view of the elements from an offset to the end, as [#slice(long, long)].
    ///
    /// @param offset the first element of the view
    /// @return the view
    /// @throws IndexOutOfBoundsException if the offset is negative or larger than this storage
    @CheckReturnValue
    public TypedStorage slice(long offset) {
        return slice(offset, size() - offset);
    }

    /// Returns a view of some of the elements (in Torch7, a storage made of a storage). Writes to one are visible in
    /// the other. It has a separate identity, keeps this storage alive and cannot be resized, as [Storage#slice]. It
    /// may be empty. (In Torch7, it may not.)
    ///
    /// @param offset the first element of the view
    /// @param size the number of elements
    /// @return the view
    /// @throws IndexOutOfBoundsException if the view is not inside this storage
    @CheckReturnValue
    public TypedStorage slice(long offset, long size) {
        if (offset < 0 || size < 0 || offset > size() - size) {
            throw new IndexOutOfBoundsException(
                    "a slice of " + size + " elements from element " + offset + " of " + describe());
        }
        return new TypedStorage(untyped.slice(offset * elementSize(), size * elementSize()), dtype);
    }

    // ---- text ----

    /// {@return the bytes as UTF-8 text} NULs are kept. Only for [DType#UINT8] and [DType#INT8], as in Torch7. Its
    /// strings are byte strings, which [#string(Charset)] with ISO_8859_1 returns.
    ///
    /// @throws IllegalStateException if the bytes are not valid UTF-8
    /// @throws UnsupportedOperationException if the type is not uint8 or int8
    public String string() {
        return string(StandardCharsets.UTF_8);
    }

    /// {@return the bytes as text} NULs are kept.
    ///
    /// @param charset the charset of the bytes
    /// @throws IllegalStateException if the bytes are not valid in the charset, or too many for a string
    /// @throws UnsupportedOperationException if the type is not uint8 or int8
    public String string(Charset charset) {
        checkText();
        if (size() > Integer.MAX_VALUE - 8) {
            throw new IllegalStateException(describe() + " is too long for a string");
        }
        ByteBuffer bytes = ByteBuffer
                .wrap(BulkAccess.ask(untyped, () -> untyped.segment().toArray(ValueLayout.JAVA_BYTE)));
        try {
            return charset.newDecoder().decode(bytes).toString();
        } catch (CharacterCodingException e) {
            throw new IllegalStateException(
                    describe() + " holds no " + charset + " text; pass its charset, or ISO_8859_1 to take any bytes",
                    e);
        }
    }

    /// Resizes the storage to the length of a text in UTF-8, and writes the text without a NUL at its end.
    ///
    /// @param text the text
    /// @return this storage
    /// @throws IllegalArgumentException if the text has an unpaired surrogate
    /// @throws UnsupportedOperationException if the type is not uint8 or int8, or the storage cannot be resized, also
    ///     if its size would not change (as in Torch7)
    public TypedStorage string(String text) {
        return string(text, StandardCharsets.UTF_8);
    }

    /// Resizes the storage to the length of a text in bytes, and writes the text without a NUL at its end.
    ///
    /// @param text the text
    /// @param charset the charset of the bytes
    /// @return this storage
    /// @throws IllegalArgumentException if the charset cannot encode the text
    /// @throws UnsupportedOperationException if the type is not uint8 or int8, or the storage cannot be resized, also
    ///     if its size would not change (as in Torch7)
    public TypedStorage string(String text, Charset charset) {
        checkText();
        try {
            ByteBuffer bytes = charset.newEncoder().encode(CharBuffer.wrap(text));
            resize(bytes.remaining());
            return change(target -> target.copyFrom(MemorySegment.ofBuffer(bytes)));
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException(charset.equals(StandardCharsets.UTF_8)
                    ? "the text has half of a surrogate pair, which UTF-8 cannot write"
                    : charset + " cannot write the text; UTF_8 can write any", e);
        }
    }

    private void checkText() {
        if (!dtype.equals(DType.UINT8) && !dtype.equals(DType.INT8)) {
            throw new UnsupportedOperationException("only ByteStorage and CharStorage hold text, not " + describe());
        }
    }

    // ---- references ----

    /// Adds a reference to the untyped storage, as [Storage#retain].
    ///
    /// @return this storage
    /// @throws IllegalStateException if it was freed
    public TypedStorage retain() {
        untyped.retain();
        return this;
    }

    /// Removes a reference to the untyped storage, and frees it if that was the last (`free` in Torch7), as
    /// [Storage#release].
    ///
    /// @throws IllegalStateException if it was freed before
    public void release() {
        untyped.release();
    }

    /// {@return the number of references to the untyped storage; 0 after it was freed}
    public int referenceCount() {
        return untyped.referenceCount();
    }

    // ---- printing ----

    /// {@return the elements as PyTorch prints them, one on a line; of more than 1000 only those at the ends} Elements
    /// that the host cannot access are not printed; elements that are not numeric are printed as hexadecimal digits.
    @Override
    public String toString() {
        String lines = BulkAccess.ask(untyped, () -> untyped.lines(size(), this::text));
        return lines + "\n[torch.storage.TypedStorage(dtype=torch." + dtype
                + ", device=" + device() + ") of size " + size() + "]";
    }

    private String text(long index) {
        if (dtype.kind() == DType.Kind.BITS) {
            return PythonNumber.hex(untyped.segment().asSlice(index * elementSize(), elementSize()));
        }
        return switch (get(index)) {
            case Double number -> PythonNumber.of(number);
            case Boolean truth -> truth ? "True" : "False";
            case Object number -> number.toString();
        };
    }

    /// {@return all elements as Torch7 prints them, without the line feed at the end}
    ///
    /// @throws UnsupportedOperationException if Torch7 does not have the type
    public String toTorch7String() {
        if (!TORCH7.contains(dtype)) {
            throw new UnsupportedOperationException("Torch7 cannot print " + describe() + "; it has no such type");
        }
        return BulkAccess.ask(untyped, () -> Torch7Printer.print(typeName(), size(), this::getDouble));
    }

    // ---- helpers ----

    private ElementType type() {
        return ElementType.of(stored());
    }

    /// Returns the encoding of elements that are written as Torch7 writes them.
    private Elements codec() {
        return Elements.of(stored(), Convention.TORCH7);
    }

    /// Returns the type of what is stored as one element: of elements that share a byte, the byte.
    private DType stored() {
        return dtype.kind() == DType.Kind.QUANTIZED && !dtype.isByteSized() ? DType.UINT8 : dtype;
    }

    /// Returns the bytes, among which the element is.
    private MemorySegment elements(long index, MemorySegment bytes) {
        check(index, bytes.byteSize());
        return bytes;
    }

    /// Without a division, which would take longer than the rest of an access.
    private void check(long index, long nbytes) {
        int itemsize = dtype.itemsize();
        long at = index * itemsize;
        boolean overflows = index < 0 || at < 0 || Math.multiplyHigh(index, itemsize) != 0;
        if (overflows || at > nbytes - itemsize) {
            throw new IndexOutOfBoundsException("element " + index + " of " + describe());
        }
    }

    private String describe() {
        return "a storage of " + size() + " " + dtype.name() + " elements";
    }

    private static long bytes(DType dtype, long size) {
        int itemsize = dtype.itemsize();
        if (size < 0 || size > Long.MAX_VALUE / itemsize) {
            throw new IllegalArgumentException(
                    "a storage cannot have " + size + " " + dtype.name() + " elements of " + itemsize + " bytes");
        }
        return size * itemsize;
    }
}

package io.undercroft.properties.tensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.MemoryFormat;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.Tensor.Flag;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/// A tensor and what it should be.
///
/// @param tensor the tensor
/// @param memory what it should use
/// @param dtype what its elements should be
/// @param flags what should have to be done to what is stored
/// @param model where its elements should lie
record ModelledTensor(Tensor tensor, Memory memory, DType dtype, Set<Flag> flags, IndexModel model) {
    /// A copy whose elements should lie one after another.
    ModelledTensor rowMajorCopy(Tensor copy) {
        return copy(copy, elements(), IndexModel.rowMajor(model.sizes(), 0, width()));
    }

    /// A copy whose channels, dimension 1, should lie innermost.
    ModelledTensor channelsLastCopy(Tensor copy) {
        IndexModel innermost = model.movedim(1, model.rank() - 1);
        List<List<Long>> stored = innermost.places().stream().map(this::element).toList();
        IndexModel places = IndexModel.rowMajor(innermost.sizes(), 0, width()).movedim(model.rank() - 1, 1);
        return copy(copy, stored, places);
    }

    private ModelledTensor copy(Tensor copy, List<List<Long>> stored, IndexModel places) {
        return new ModelledTensor(copy, Memory.holding(copy.storage(), dtype, stored), dtype, Set.of(), places);
    }

    ModelledTensor seenAs(Tensor view, IndexModel meaning) {
        return new ModelledTensor(view, memory, dtype, flags, meaning);
    }

    int width() {
        return dtype.bits();
    }

    boolean isResolved() {
        return !flags.contains(Flag.CONJ) && !flags.contains(Flag.NEG);
    }

    /// Whether the elements are one run of stored bytes in row-major order.
    boolean isOneRun() {
        return isResolved() && startsOnByte() && model.isRun(width());
    }

    boolean startsOnByte() {
        return model.numel() == 0 || model.places().getFirst() % Byte.SIZE == 0;
    }

    boolean isChannelsLast() {
        return model.movedim(1, model.rank() - 1).isRun(width());
    }

    /// Whether a dimension repeats elements.
    boolean repeats() {
        List<Integer> zero = Collections.nCopies(model.rank(), 0);
        return model.numel() > 0 && IntStream.range(0, model.rank()).anyMatch(d -> model.size(d) > 1
                && model.place(IndexModel.changed(zero, d, 1)) == model.place(zero));
    }

    /// {@return what all elements should be, in row-major order}
    List<List<Long>> elements() {
        return model.places().stream().map(this::element).toList();
    }

    List<Long> element(int place) {
        return Encoding.resolve(dtype, flags, Encoding.read(memory.bytes, dtype, place));
    }

    /// Writes an element into what the memory should hold.
    void write(int place, List<Long> parts) {
        Encoding.write(memory.bytes, dtype, place, Encoding.resolve(dtype, flags, parts));
    }

    // ---- checks ----

    void check(Object story) {
        assertThat(tensor.dtype()).as("dtype of %s", story).isEqualTo(dtype);
        assertThat(tensor.flags()).as("flags of %s", story).isEqualTo(flags);
        assertThat(tensor.shape().toArray()).as("shape of %s", story).isEqualTo(longs(model.sizes()));
        assertThat(tensor.dim()).as("dimensions of %s", story).isEqualTo(model.rank());
        assertThat(tensor.numel()).as("numel of %s", story).isEqualTo(model.numel());
        assertThat(tensor.storage()).as("storage of %s", story).isSameAs(memory.storage);
        checkOrder(story);
        checkElements(story);
        checkBytes(story);
    }

    private void checkOrder(Object story) {
        assertThat(tensor.isContiguous()).as("isContiguous of %s", story).isEqualTo(model.isRun(width()));
        boolean images = model.rank() == 4;
        boolean volumes = model.rank() == 5;
        // Without elements it is a question of strides alone.
        if (model.numel() > 0) {
            assertThat(tensor.isContiguous(MemoryFormat.CHANNELS_LAST)).as("channels last of %s", story)
                    .isEqualTo(images && isChannelsLast());
            assertThat(tensor.isContiguous(MemoryFormat.CHANNELS_LAST_3D)).as("channels last of %s", story)
                    .isEqualTo(volumes && isChannelsLast());
            assertThat(tensor.storageOffset() * width()).as("offset of %s", story)
                    .isEqualTo((long) model.places().getFirst());
        }
    }

    private void checkElements(Object story) {
        for (List<Integer> index : IndexModel.indices(model.sizes())) {
            List<Long> wanted = element(model.place(index));
            long[] at = longs(index);
            Complex number = Encoding.number(dtype, wanted);
            same(number.real(), tensor.getDouble(at), index, story);
            same(number, tensor.getComplex(at), index, story);
            same(Encoding.whole(dtype, wanted), tensor.getLong(at), index, story);
        }
    }

    /// Not by AssertJ, which would take most of the time.
    private static void same(Object wanted, Object seen, List<Integer> index, Object story) {
        if (!wanted.equals(seen)) {
            throw new AssertionError(story + ": " + seen + " instead of " + wanted + " at " + index);
        }
    }

    private void checkBytes(Object story) {
        byte[] wanted = Memory.packed(dtype, elements());
        byte[] copied = new byte[wanted.length];
        tensor.copyTo(MemorySegment.ofArray(copied));
        assertThat(copied).as("the bytes copied of %s", story).isEqualTo(wanted);
        if (isOneRun()) {
            assertThat(significant(tensor.bytes().toArray(ValueLayout.JAVA_BYTE))).as("the bytes of %s", story)
                    .isEqualTo(wanted);
        } else {
            assertThatThrownBy(tensor::bytes, "the bytes of %s", story).isInstanceOf(IllegalStateException.class);
        }
    }

    /// Clears the bits of the last byte that no element fills.
    private byte[] significant(byte... bytes) {
        int used = model.numel() * width() % Byte.SIZE;
        if (used > 0) {
            bytes[bytes.length - 1] &= (byte) ((1 << used) - 1);
        }
        return bytes;
    }

    static long[] longs(List<Integer> values) {
        return values.stream().mapToLong(Integer::longValue).toArray();
    }
}

package io.undercroft.format.internal;

import io.undercroft.format.FormatException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// A tensor of a set, and where its parts are. The parts are decoded and checked when they are needed.
///
/// Immutable. Equal if name, dtype, shape and parts are.
public final class SlicedTensor {
    private static final int VALUES_EACH = 3;
    /// No tensor has more bytes than a storage may have.
    private static final long MOST_BITS = 1L << 60;

    private final String name;
    private final DTypeRecord dtype;
    private final long[] shape;
    private final byte[] parts;
    private final long base;

    /// @param parts the tree of the parts
    /// @param base the offset of the tree in the manifest, for messages
    private SlicedTensor(String name, DTypeRecord dtype, long[] shape, byte[] parts, long base) {
        this.name = name;
        this.dtype = dtype;
        this.shape = shape;
        this.parts = parts;
        this.base = base;
    }

    /// Describes a tensor. Whether the parts are those of the whole tensor is checked by [#parts].
    ///
    /// @param name its name
    /// @param dtype the type of its elements
    /// @param shape its sizes
    /// @param parts its parts, in any order
    /// @return the tensor, its parts in their order
    public static SlicedTensor of(String name, DTypeRecord dtype, long[] shape, List<SlicePart> parts) {
        List<SlicePart> sorted = parts.stream()
                .sorted(Comparator.comparing(SlicePart::offset, Arrays::compare).thenComparing(SlicePart::shard))
                .toList();
        StateTreeWriter tree = new StateTreeWriter();
        tree.openList(VALUES_EACH * sorted.size());
        for (SlicePart part : sorted) {
            tree.writeInteger(part.shard());
            tree.writeShape(part.offset());
            tree.writeShape(part.size());
        }
        return new SlicedTensor(name, dtype, shape.clone(), tree.toByteArray(), FormatException.NO_OFFSET);
    }

    /// Reads a tensor, from the token after its name on.
    static SlicedTensor read(String name, StateTreeReader in, Limits limits) {
        SetIndex.require(in, StateToken.TUPLE, 4);
        SetIndex.require(in, StateToken.STRING);
        if (in.length() > limits.maxNameBytes()) {
            throw Rule.V8_LIMIT.broken("an element type of the set has a name of " + in.length()
                    + " bytes, the limit is " + limits.maxNameBytes(), in.offset());
        }
        String dtype = in.text();
        SetIndex.require(in, StateToken.INTEGER);
        long bits = in.longValue();
        if (bits < 1 || bits > Integer.MAX_VALUE) {
            throw Rule.V15_STRUCTURE.broken("an element type of the set has " + bits + " bits", in.offset());
        }
        SetIndex.require(in, StateToken.SHAPE);
        long[] shape = in.shape();
        requireCountable(name, shape, bits, in.offset());
        SetIndex.require(in, StateToken.BYTES);
        byte[] parts = in.bytes().toArray(ValueLayout.JAVA_BYTE);
        long base = in.end() - parts.length;
        SetIndex.require(in, StateToken.END);
        return new SlicedTensor(name, new DTypeRecord(dtype, (int) bits), shape, parts, base);
    }

    private static void requireCountable(String name, long[] shape, long bits, long offset) {
        if (Arrays.stream(shape).anyMatch(size -> size == 0)) {
            return;
        }
        long all = bits;
        for (long size : shape) {
            if (size > MOST_BITS / all) {
                throw Rule.V1_ARITHMETIC.broken("the tensor " + FormatException.quote(name) + " of the shape "
                        + Arrays.toString(shape) + " has more bytes than any storage", offset);
            }
            all *= size;
        }
    }

    /// Writes what [#read] reads.
    void write(StateTreeWriter tree) {
        tree.openTuple(4);
        tree.writeString(dtype.name());
        tree.writeInteger(dtype.bits());
        tree.writeShape(shape);
        tree.writeBytes(MemorySegment.ofArray(parts));
    }

    /// {@return its name}
    public String name() {
        return name;
    }

    /// {@return the type of its elements}
    public DTypeRecord dtype() {
        return dtype;
    }

    /// {@return its sizes}
    public long[] shape() {
        return shape.clone();
    }

    /// {@return its parts, which have each element once, in the order of their offsets}
    ///
    /// @param shards the shards of the set
    /// @throws FormatException by rule V22 if they overlap, leave a gap or are not inside the tensor; by others if they
    ///     are malformed
    public List<SlicePart> parts(List<Shard> shards) {
        List<SlicePart> all = decoded(shards.size());
        Tiling.check(this, all, shards);
        return all;
    }

    private List<SlicePart> decoded(int shards) {
        StateTreeReader in = new StateTreeReader(MemorySegment.ofArray(parts), Limits.DEFAULT, base);
        SetIndex.require(in, StateToken.LIST);
        if (in.count() % VALUES_EACH != 0) {
            throw Rule.V16_TREE.broken("the parts of " + FormatException.quote(name) + " are no list of triples",
                    in.offset());
        }
        List<SlicePart> all = new ArrayList<>(in.count() / VALUES_EACH);
        for (int left = in.count() / VALUES_EACH; left > 0; left--) {
            SetIndex.require(in, StateToken.INTEGER);
            long shard = in.longValue();
            if (shard < 0 || shard >= shards) {
                throw Rule.V10_INDEX.broken("a part of " + FormatException.quote(name) + " is in the shard " + shard
                        + " of " + shards, in.offset());
            }
            SetIndex.require(in, StateToken.SHAPE);
            long[] offset = in.shape();
            SetIndex.require(in, StateToken.SHAPE);
            all.add(new SlicePart((int) shard, offset, in.shape()));
        }
        SetIndex.require(in, StateToken.END);
        SetIndex.require(in, StateToken.DONE);
        return all;
    }

    /// {@return the offset of its parts in the manifest, for messages}
    long offset() {
        return base;
    }

    /// {@return for instance `'w' of float32 [2, 3]`}
    String describe() {
        return FormatException.quote(name) + " of " + FormatException.printable(dtype.name()) + ' '
                + Arrays.toString(shape);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof SlicedTensor that && name.equals(that.name) && dtype.equals(that.dtype)
                && Arrays.equals(shape, that.shape) && Arrays.equals(parts, that.parts);
    }

    @Override
    public int hashCode() {
        return Objects.hash(name, dtype, Arrays.hashCode(shape), Arrays.hashCode(parts));
    }

    @Override
    public String toString() {
        return describe();
    }
}

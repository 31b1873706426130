package io.undercroft.storage;

import io.undercroft.storage.Tensor.Flag;
import io.undercroft.storage.internal.Elements;
import io.undercroft.storage.internal.LazyFlags;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// The meaning of the stored bits of a tensor: a dtype and flags, and the codec of such elements. Immutable, and
/// shared by all views of a tensor.
final class ElementType {
    /// The elements that are read and written without a detour; see [Tensor].
    enum Access {
        FLOAT, DOUBLE, INT, LONG, OTHER
    }

    private static final Map<DType, Access> DIRECT = Map.of(DType.FLOAT32, Access.FLOAT, DType.FLOAT64, Access.DOUBLE,
            DType.INT32, Access.INT, DType.INT64, Access.LONG);

    final DType dtype;
    final Set<Flag> flags;
    final LazyFlags lazy;
    final Elements elements;
    final Access access;

    private ElementType(DType dtype, Set<Flag> flags) {
        this.dtype = dtype;
        this.flags = flags;
        this.lazy = new LazyFlags(flags.contains(Flag.NEG), flags.contains(Flag.CONJ));
        this.elements = Elements.of(dtype, lazy);
        this.access = isResolved() ? DIRECT.getOrDefault(dtype, Access.OTHER) : Access.OTHER;
    }

    /// Elements of a dtype, without flags.
    static ElementType of(DType dtype) {
        return dtype.plainElements();
    }

    /// For [DType#plainElements], which keeps them.
    static ElementType makePlain(DType dtype) {
        return new ElementType(dtype, Set.of());
    }

    /// The dtype of blocks of quantized numbers; null if none is known by the name.
    static @Nullable DType blocks(String name) {
        return Elements.blocks(name);
    }

    /// How many numbers an element holds.
    int blockSize() {
        return elements.blockSize();
    }

    /// Elements of the same dtype with other flags.
    ///
    /// @throws IllegalArgumentException if the dtype has no conjugates or negatives
    ElementType with(Set<Flag> wanted) {
        if (wanted.equals(flags)) {
            return this;
        }
        if (wanted.contains(Flag.CONJ) && dtype.kind() != DType.Kind.COMPLEX) {
            throw new IllegalArgumentException("only complex elements have conjugates, not " + dtype.name());
        }
        boolean numbers = switch (dtype.kind()) {
            case FLOATING, SIGNED, UNSIGNED, COMPLEX -> true;
            case BOOLEAN, QUANTIZED, BITS -> false;
        };
        if (wanted.contains(Flag.NEG) && !numbers) {
            throw new IllegalArgumentException("elements of " + dtype.name() + " cannot be negated");
        }
        Set<Flag> copy = EnumSet.noneOf(Flag.class);
        copy.addAll(wanted);
        return copy.isEmpty() ? of(dtype) : new ElementType(dtype, Collections.unmodifiableSet(copy));
    }

    /// Elements of the same dtype with one flag turned over.
    ElementType toggled(Flag flag) {
        Set<Flag> wanted = EnumSet.noneOf(Flag.class);
        wanted.addAll(flags);
        if (!wanted.remove(flag)) {
            wanted.add(flag);
        }
        return with(wanted);
    }

    /// Elements of the same dtype that mean what they store; only [Flag#REQUIRES_GRAD] is kept.
    ElementType resolved() {
        return isResolved() ? this : with(flags.contains(Flag.REQUIRES_GRAD) ? Set.of(Flag.REQUIRES_GRAD) : Set.of());
    }

    /// Returns whether the elements mean what they store.
    boolean isResolved() {
        return lazy.areNone();
    }
}

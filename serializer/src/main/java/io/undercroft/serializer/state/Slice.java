package io.undercroft.serializer.state;

import io.undercroft.storage.CheckReturnValue;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.util.Arrays;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// A box of elements of a larger tensor, whose other parts are in other files.
///
/// Several writers save a large state together. Each writes a file, its *shard*, with its slices. In the file, a slice
/// is an ordinary tensor, the *local* tensor, under the name of the whole tensor. A
/// [ShardSet][io.undercroft.serializer.ShardSet] reads the whole tensors, or any boxes of them, from the shards.
///
/// ```java
/// // rank 1 of 4 has rows 256 to 511 of a matrix
/// state.put("weight", Slice.of(rows, Shape.of(1024, 4096), 256, 0));
/// // all ranks have the same bias, and one of them stores it
/// state.put("bias", Slice.whole(bias).replica(rank, ranks));
/// ```
///
/// **Replicas.** If several writers have the same slice, one of them stores the elements. The writer is chosen by the
/// name of the tensor, so that writers need not communicate, and all store about the same number of bytes. The shards
/// of the other writers have a tensor on the meta device.
///
/// Immutable, except for the elements. Slices are compared by identity.
public final class Slice {
    /// The type of the node of a slice in a tree.
    static final String TYPE = "undercroft.Slice";
    private static final String SHAPE = "shape";
    private static final String OFFSET = "offset";
    private static final String REPLICA = "replica";
    private static final String REPLICAS = "replicas";

    private final Tensor local;
    private final Shape shape;
    private final long[] offset;
    private final int replica;
    private final int replicas;

    private Slice(Tensor local, Shape shape, long[] offset, int replica, int replicas) {
        this.local = Objects.requireNonNull(local, "local");
        this.shape = Objects.requireNonNull(shape, "shape");
        this.offset = offset;
        this.replica = replica;
        this.replicas = replicas;
        check();
    }

    private void check() {
        if (local.dim() != shape.rank() || offset.length != shape.rank()) {
            throw new IllegalArgumentException("a slice with " + local.dim() + " dimensions and "
                    + offset.length + " offsets of a tensor of the shape " + shape);
        }
        for (int dim = 0; dim < offset.length; dim++) {
            if (offset[dim] < 0 || local.size(dim) > shape.size(dim)
                    || offset[dim] > shape.size(dim) - local.size(dim)) {
                throw new IllegalArgumentException("a slice of the shape " + local.shape() + " at "
                        + Arrays.toString(offset) + " is not inside a tensor of the shape " + shape);
            }
        }
        if (replica < 0 || replica >= replicas) {
            throw new IllegalArgumentException("a slice is replica " + replica + " of " + replicas
                    + "; they are counted from 0");
        }
    }

    /// Creates a slice of one writer.
    ///
    /// @param local the elements, in any strided tensor
    /// @param shape the shape of the whole tensor
    /// @param offset the index of its first element in the whole tensor, in each dimension
    /// @return the slice
    /// @throws IllegalArgumentException if it is not inside the whole tensor
    public static Slice of(Tensor local, Shape shape, long... offset) {
        return new Slice(local, shape, offset.clone(), 0, 1);
    }

    /// Creates a slice that is a whole tensor, for instance one that all writers have.
    ///
    /// @param tensor the tensor
    /// @return the slice
    public static Slice whole(Tensor tensor) {
        return of(tensor, tensor.shape(), new long[tensor.dim()]);
    }

    /// {@return this slice as a replica, which several writers have} The elements must be equal in all of them, which
    /// is not checked.
    ///
    /// @param number the number of this writer among those that have the slice, from 0
    /// @param count the number of writers that have the slice
    /// @throws IllegalArgumentException if the number is not from 0 to `count - 1`
    @CheckReturnValue
    public Slice replica(int number, int count) {
        return new Slice(local, shape, offset, number, count);
    }

    /// {@return the slice that a node of an opened state describes, or empty if it describes none}
    ///
    /// @param node a value of a state
    /// @throws IllegalArgumentException if parts of the node are missing or contradict each other
    public static Optional<Slice> of(@Nullable Object node) {
        if (!(node instanceof Typed typed) || !typed.type().equals(TYPE)) {
            return Optional.empty();
        }
        if (!(typed.value() instanceof Tensor local) || !(typed.attributes().get(SHAPE) instanceof Shape shape)
                || !(typed.attributes().get(OFFSET) instanceof Shape offset)) {
            throw new IllegalArgumentException("a slice without a tensor, or without the attributes " + SHAPE + " and "
                    + OFFSET);
        }
        return Optional.of(new Slice(local, shape, offset.toArray(), number(typed, REPLICA, 0),
                number(typed, REPLICAS, 1)));
    }

    private static int number(Typed typed, String name, long missing) {
        Object number = typed.attributes().getOrDefault(name, missing);
        if (!(number instanceof Long value) || value != value.intValue()) {
            throw new IllegalArgumentException("a slice with a " + name + " that is no small number");
        }
        return value.intValue();
    }

    /// {@return the node that describes this slice in a tree, on the same storage}
    public Typed node() {
        Typed node = new Typed(TYPE, local);
        node.attributes().put(SHAPE, shape);
        node.attributes().put(OFFSET, Shape.of(offset));
        if (replicas > 1) {
            node.attributes().put(REPLICA, (long) replica);
            node.attributes().put(REPLICAS, (long) replicas);
        }
        return node;
    }

    /// {@return the elements; a meta tensor if another writer stores them}
    public Tensor local() {
        return local;
    }

    /// {@return the shape of the whole tensor}
    public Shape shape() {
        return shape;
    }

    /// {@return the index of the first element in the whole tensor, in each dimension}
    public long[] offset() {
        return offset.clone();
    }

    /// {@return the number of this writer among those that have the slice, from 0}
    public int replica() {
        return replica;
    }

    /// {@return the number of writers that have the slice}
    public int replicas() {
        return replicas;
    }

    /// {@return whether another slice is the same box of a tensor of the same shape, and the same replica} The elements
    /// are not compared.
    ///
    /// @param other another slice
    public boolean isSameBox(Slice other) {
        return shape.equals(other.shape) && Arrays.equals(offset, other.offset) && replica == other.replica
                && replicas == other.replicas && local.shape().equals(other.local.shape());
    }

    /// {@return for instance `float32 [2, 3] at [2, 0] of [8, 3]`}
    @Override
    public String toString() {
        return local.dtype().name() + " " + local.shape() + " at " + Arrays.toString(offset) + " of " + shape
                + (replicas > 1 ? ", replica " + replica + " of " + replicas : "");
    }
}

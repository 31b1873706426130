package io.undercroft.properties.tensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.undercroft.mmap.SharedStorageHandle;
import io.undercroft.properties.ChainModel;
import io.undercroft.properties.states.JavaSource;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import net.jqwik.api.state.Action;
import net.jqwik.api.state.ActionChain;
import net.jqwik.api.state.ActionChainArbitrary;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.condition.OS;

/// Storages, slices and tensors, each with what it should be: arrays of bytes and counts of references.
///
/// Whatever is done is done to both. Where the model says that it cannot be done, the storage must throw, and stay as
/// it was.
final class StorageModel extends ChainModel {
    private static final int MAX_SIZE = 40;

    private final List<Twin> twins = new ArrayList<>();
    private final List<Window> windows = new ArrayList<>();

    /// A storage and what it should be.
    private static final class Twin {
        final Storage storage;
        final @Nullable Twin base;
        final int start;
        int size;
        int references = 1;
        /// Of a base alone.
        byte[] bytes;
        boolean isShared;

        Twin(Storage storage, @Nullable Twin base, int start, int size) {
            this.storage = storage;
            this.base = base;
            this.start = start;
            this.size = size;
            this.bytes = new byte[base == null ? size : 0];
        }

        Twin root() {
            return base == null ? this : base;
        }

        boolean isReadable() {
            return references > 0 && start + size <= root().bytes.length;
        }

        byte get(int index) {
            return root().bytes[start + index];
        }

        void set(int index, byte value) {
            root().bytes[start + index] = value;
        }

        byte[] copy() {
            return Arrays.copyOfRange(root().bytes, start, start + size);
        }

        void release() {
            references--;
            if (references == 0 && base != null) {
                base.release();
            }
        }
    }

    /// A tensor of bytes on a storage.
    private record Window(Tensor tensor, Twin twin, int offset, int count, int stride) {
        int end() {
            return count == 0 ? 0 : offset + (count - 1) * stride + 1;
        }
    }

    /// {@return whatever can be done to storages, one thing after the other}
    static ActionChainArbitrary<StorageModel> chains() {
        return ActionChain.startWith(StorageModel::new)
                .withAction(action(StorageModel::allocate))
                .withAction(2, onOne(StorageModel::slice))
                .withAction(2, onOne(StorageModel::resize))
                .withAction(onOne(StorageModel::fill))
                .withAction(onOne(StorageModel::set))
                .withAction(onOne(StorageModel::copyFrom))
                .withAction(onOne(StorageModel::copy))
                .withAction(onOne(StorageModel::retain))
                .withAction(onOne(StorageModel::release))
                .withAction(onOne(StorageModel::see))
                .withAction(2, onOne(StorageModel::asElements))
                .withAction(onOne(StorageModel::shareMemory))
                .withAction(onOne(StorageModel::outside));
    }

    /// {@return an action on one of the storages}
    private static Action.Independent<StorageModel> onOne(BiConsumer<StorageModel, Twin> step) {
        return action(model -> {
            if (model.twins.isEmpty()) {
                model.allocate();
            }
            step.accept(model, model.choices().of(model.twins));
        });
    }

    /// Compares everything with what it should be.
    void check() {
        twins.forEach(StorageModel::compare);
        windows.forEach(StorageModel::compare);
    }

    /// Frees what is shared, so that names in shared memory do not wait for the garbage collector.
    @Override
    public void close() {
        twins.stream().filter(twin -> twin.isShared).forEach(twin -> {
            while (twin.storage.referenceCount() > 0) {
                twin.storage.release();
            }
        });
    }

    /// Adds a call on a storage to the program.
    private void tell(Twin twin, String call) {
        program().line(name(twin) + "." + call);
    }

    private String name(Twin twin) {
        return program().use(twin.storage);
    }

    private void allocate() {
        int size = choices().below(MAX_SIZE);
        Storage storage = program().declare("s", Storage.allocate(size), "Storage.allocate(" + size + ")");
        twins.add(new Twin(storage, null, 0, size));
    }

    private void slice(Twin of) {
        int offset = choices().below(of.size + 1);
        int size = choices().below(of.size - offset + 1);
        if (of.references == 0) {
            tell(of, "slice(" + offset + ", " + size + ")");
            assertRefused(of, () -> of.storage.slice(offset, size));
            return;
        }
        addSlice(of, offset, size);
    }

    private Twin addSlice(Twin of, int offset, int size) {
        Storage made = program().declare("s", of.storage.slice(offset, size),
                name(of) + ".slice(" + offset + ", " + size + ")");
        Twin slice = new Twin(made, of.root(), of.start + offset, size);
        of.root().references++;
        assertThat(slice.storage.base()).contains(of.root().storage);
        twins.add(slice);
        return slice;
    }

    private void resize(Twin twin) {
        int size = choices().below(MAX_SIZE);
        tell(twin, "resize(" + size + ")");
        if (twin.references == 0) {
            assertRefused(twin, () -> twin.storage.resize(size));
            assertRefused(twin, () -> bytesOf(twin).resize(size));
        } else if (twin.base != null || twin.isShared) {
            assertThat(twin.storage.isResizable()).isFalse();
            assertThatThrownBy(() -> twin.storage.resize(size)).isInstanceOf(UnsupportedOperationException.class);
        } else {
            assertThat(twin.storage.isResizable()).isTrue();
            if (choices().yes()) {
                twin.storage.resize(size);
            } else {
                assertThat(bytesOf(twin).resize(size).size()).isEqualTo(size);
            }
            twin.bytes = Arrays.copyOf(twin.bytes, size);
            twin.size = size;
        }
    }

    private static TypedStorage bytesOf(Twin twin) {
        return new TypedStorage(twin.storage, DType.UINT8);
    }

    private void fill(Twin twin) {
        byte value = (byte) choices().below(256);
        tell(twin, "fill((byte) " + value + ")");
        if (!twin.isReadable()) {
            assertRefused(twin, () -> twin.storage.fill(value));
            return;
        }
        twin.storage.fill(value);
        for (int i = 0; i < twin.size; i++) {
            twin.set(i, value);
        }
    }

    private void set(Twin twin) {
        if (twin.size == 0) {
            return;
        }
        int index = choices().below(twin.size);
        byte value = (byte) choices().below(256);
        tell(twin, "set(" + index + ", (byte) " + value + ")");
        if (!twin.isReadable()) {
            assertRefused(twin, () -> twin.storage.set(index, value));
            return;
        }
        twin.storage.set(index, value);
        twin.set(index, value);
    }

    /// {@return a slice of the same size, somewhere in the same bytes}
    private Twin ofTheSameBytes(Twin twin) {
        Twin root = twin.root();
        int offset = choices().below(root.bytes.length - twin.size + 1);
        return addSlice(root, offset, twin.size);
    }

    private void copyFrom(Twin to) {
        Twin from = to.isReadable() && choices().yes() ? ofTheSameBytes(to) : choices().of(twins);
        tell(to, "copyFrom(" + name(from) + ")");
        if (to.size != from.size) {
            assertThatThrownBy(() -> to.storage.copyFrom(from.storage)).isInstanceOf(IllegalArgumentException.class);
        } else if (!to.isReadable() || !from.isReadable()) {
            assertThatThrownBy(() -> to.storage.copyFrom(from.storage)).isInstanceOf(IllegalStateException.class);
        } else {
            to.storage.copyFrom(from.storage);
            // They may overlap.
            System.arraycopy(from.root().bytes, from.start, to.root().bytes, to.start, to.size);
        }
    }

    private void copy(Twin of) {
        if (!of.isReadable()) {
            tell(of, "copy()");
            assertRefused(of, of.storage::copy);
            return;
        }
        Storage made = program().declare("s", of.storage.copy(), name(of) + ".copy()");
        Twin copy = new Twin(made, null, 0, of.size);
        System.arraycopy(of.root().bytes, of.start, copy.bytes, 0, of.size);
        twins.add(copy);
    }

    private void retain(Twin twin) {
        tell(twin, "retain()");
        if (twin.references == 0) {
            assertRefused(twin, twin.storage::retain);
            return;
        }
        twin.storage.retain();
        twin.references++;
    }

    /// A slice's reference to its base is not the program's to release.
    private void release(Twin twin) {
        long slices = twins.stream().filter(other -> other.base == twin && other.references > 0).count();
        if (twin.references == 0) {
            tell(twin, "release()");
            assertRefused(twin, twin.storage::release);
        } else if (twin.references > slices) {
            tell(twin, "release()");
            twin.storage.release();
            twin.release();
        }
    }

    private void asElements(Twin twin) {
        TypedStorage typed = new TypedStorage(twin.storage, choices().of(TypedOperations.DTYPES));
        if (!twin.isReadable()) {
            assertRefused(twin, () -> typed.getLong(0));
            assertRefused(twin, () -> typed.fill(1L));
            assertRefused(twin, () -> twin.storage.byteswap(DType.UINT8));
            return;
        }
        byte[] bytes = twin.copy();
        String typedStorage = "new TypedStorage(" + name(twin) + ", " + JavaSource.of(typed.dtype()) + ")";
        TypedOperations.apply(choices(), typed, call -> program().line(typedStorage + "." + call), bytes);
        System.arraycopy(bytes, 0, twin.root().bytes, twin.start, twin.size);
    }

    /// The bytes move to memory that others can open, under the same storage, and those that open it share them.
    private void shareMemory(Twin twin) {
        if (!OS.LINUX.isCurrentOs()) {
            return;
        }
        tell(twin, "shareMemory()");
        if (twin.references == 0) {
            assertRefused(twin, twin.storage::shareMemory);
            return;
        }
        assertThat(twin.storage.isShared()).isEqualTo(twin.root().isShared);
        if (choices().yes()) {
            assertThat(twin.storage.shareMemory()).isSameAs(twin.storage);
        } else {
            assertThat(bytesOf(twin).shareMemory()).isEqualTo(bytesOf(twin));
        }
        twin.root().isShared = true;
        assertThat(twin.storage.isShared()).isTrue();
        assertThat(twin.storage.filename().isPresent()).isEqualTo(twin.base == null);
        if (twin.size > 0 && twin.isReadable()) {
            Storage other = opened(twin.storage);
            int index = choices().below(twin.size);
            byte value = (byte) choices().below(256);
            program().line("SharedStorageHandle.of(" + name(twin) + ").open().set(" + index + ", (byte) " + value
                    + ")");
            other.set(index, value);
            twin.set(index, value);
            for (int i = 0; i < twin.size; i++) {
                assertThat(other.get(i)).isEqualTo(twin.get(i));
            }
            other.release();
        }
    }

    private static Storage opened(Storage storage) {
        try {
            return SharedStorageHandle.of(storage).open();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void see(Twin twin) {
        int count = choices().below(5);
        int stride = 1 + choices().below(3);
        int offset = choices().below(MAX_SIZE);
        String expression = "Tensor.of(" + name(twin) + ", DType.UINT8, " + offset + ", Shape.of(" + count + "), "
                + stride + ")";
        ThrowingCallable make = () -> {
            Tensor tensor = Tensor.of(twin.storage, DType.UINT8, offset, Shape.of(count), stride);
            program().declare("t", tensor, expression);
            windows.add(new Window(tensor, twin, offset, count, stride));
        };
        if (count > 0 && offset + (count - 1) * stride >= twin.size) {
            assertThatThrownBy(make).isInstanceOf(IllegalArgumentException.class);
        } else if (twin.references > 0) {
            assertThat(catchThrowable(make)).isNull();
        }
    }

    private void outside(Twin twin) {
        long[] wrong = {-1, twin.size, Long.MIN_VALUE, Long.MAX_VALUE};
        long index = wrong[choices().below(wrong.length)];
        if (twin.isReadable()) {
            tell(twin, "get(" + JavaSource.of(index) + ")");
            assertThatThrownBy(() -> twin.storage.get(index)).isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> twin.storage.set(index, (byte) 1)).isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> twin.storage.slice(index, 1)).isInstanceOf(IndexOutOfBoundsException.class);
        }
    }

    private static void assertRefused(Twin twin, ThrowingCallable use) {
        assertThatThrownBy(use).isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("storage #" + twin.storage.id() + " ");
    }

    private static void compare(Twin twin) {
        assertThat(twin.storage.referenceCount()).isEqualTo(twin.references);
        assertThat(twin.storage.nbytes()).isEqualTo(twin.size);
        assertThat(twin.storage.base()).isEqualTo(Optional.ofNullable(twin.base).map(base -> base.storage));
        if (!twin.isReadable()) {
            assertRefused(twin, twin.storage::segment);
            return;
        }
        for (int i = 0; i < twin.size; i++) {
            if (twin.storage.get(i) != twin.get(i)) {
                throw new AssertionError("byte " + i + " of " + twin.storage.describe() + " is " + twin.storage.get(i)
                        + " and not " + twin.get(i));
            }
        }
    }

    /// A tensor whose storage became too small may be refused as a whole, and never reads outside.
    private static void compare(Window window) {
        Twin twin = window.twin;
        for (int i = 0; i < window.count; i++) {
            int index = i;
            int place = window.offset + i * window.stride;
            if (twin.isReadable() && window.end() <= twin.size) {
                assertThat(window.tensor.getLong(i)).isEqualTo(Byte.toUnsignedInt(twin.get(place)));
            } else if (!twin.isReadable() || place >= twin.size) {
                assertThatThrownBy(() -> window.tensor.getLong(index)).isInstanceOf(IllegalStateException.class);
            }
        }
    }
}

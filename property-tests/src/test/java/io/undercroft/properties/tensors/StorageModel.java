package io.undercroft.properties.tensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.undercroft.mmap.SharedStorageHandle;
import io.undercroft.properties.Choices;
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
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.condition.OS;

/// Storages, slices and tensors, each with what it should be: arrays of bytes and counts of references.
///
/// Whatever is done is done to both. Where the model says that it cannot be done, the storage must throw, and stay as
/// it was.
final class StorageModel {
    private static final int MAX_SIZE = 40;

    private final Choices choices;
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

    StorageModel(Choices choices) {
        this.choices = choices;
        allocate();
    }

    /// Does one thing after the other for as long as there are choices, and compares everything after each.
    void live() {
        try {
            while (!choices.areUsedUp()) {
                step(choices.of(twins));
                twins.forEach(StorageModel::compare);
                windows.forEach(StorageModel::compare);
            }
        } finally {
            // So that names in shared memory do not wait for the garbage collector.
            twins.stream().filter(twin -> twin.isShared).forEach(twin -> {
                while (twin.storage.referenceCount() > 0) {
                    twin.storage.release();
                }
            });
        }
    }

    private void step(Twin twin) {
        switch (choices.below(16)) {
            case 0 -> allocate();
            case 1, 2 -> slice(twin);
            case 3, 4 -> resize(twin);
            case 5 -> fill(twin);
            case 6 -> set(twin);
            case 7 -> copyFrom(twin, choices.of(twins));
            case 8 -> copy(twin);
            case 9 -> retain(twin);
            case 10 -> release(twin);
            case 11 -> see(twin);
            case 12, 13 -> asElements(twin);
            case 14 -> shareMemory(twin);
            default -> outside(twin);
        }
    }

    private void allocate() {
        int size = choices.below(MAX_SIZE);
        twins.add(new Twin(Storage.allocate(size), null, 0, size));
    }

    private void slice(Twin of) {
        int offset = choices.below(of.size + 1);
        int size = choices.below(of.size - offset + 1);
        if (of.references == 0) {
            assertRefused(of, () -> of.storage.slice(offset, size));
            return;
        }
        Twin slice = new Twin(of.storage.slice(offset, size), of.root(), of.start + offset, size);
        of.root().references++;
        assertThat(slice.storage.base()).contains(of.root().storage);
        twins.add(slice);
    }

    private void resize(Twin twin) {
        int size = choices.below(MAX_SIZE);
        if (twin.references == 0) {
            assertRefused(twin, () -> twin.storage.resize(size));
            assertRefused(twin, () -> bytesOf(twin).resize(size));
        } else if (twin.base != null || twin.isShared) {
            assertThat(twin.storage.isResizable()).isFalse();
            assertThatThrownBy(() -> twin.storage.resize(size)).isInstanceOf(UnsupportedOperationException.class);
        } else {
            assertThat(twin.storage.isResizable()).isTrue();
            if (choices.yes()) {
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
        byte value = (byte) choices.below(256);
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
        int index = choices.below(twin.size);
        byte value = (byte) choices.below(256);
        if (!twin.isReadable()) {
            assertRefused(twin, () -> twin.storage.set(index, value));
            return;
        }
        twin.storage.set(index, value);
        twin.set(index, value);
    }

    private void copyFrom(Twin to, Twin from) {
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
            assertRefused(of, of.storage::copy);
            return;
        }
        Twin copy = new Twin(of.storage.copy(), null, 0, of.size);
        System.arraycopy(of.root().bytes, of.start, copy.bytes, 0, of.size);
        twins.add(copy);
    }

    private static void retain(Twin twin) {
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
            assertRefused(twin, twin.storage::release);
        } else if (twin.references > slices) {
            twin.storage.release();
            twin.release();
        }
    }

    private void asElements(Twin twin) {
        TypedStorage typed = new TypedStorage(twin.storage, choices.of(TypedOperations.DTYPES));
        if (!twin.isReadable()) {
            assertRefused(twin, () -> typed.getLong(0));
            assertRefused(twin, () -> typed.fill(1L));
            assertRefused(twin, () -> twin.storage.byteswap(DType.UINT8));
            return;
        }
        byte[] bytes = twin.copy();
        TypedOperations.apply(choices, typed, bytes);
        System.arraycopy(bytes, 0, twin.root().bytes, twin.start, twin.size);
    }

    /// The bytes move to memory that others can open, under the same storage, and those that open it share them.
    private void shareMemory(Twin twin) {
        if (!OS.LINUX.isCurrentOs()) {
            return;
        }
        if (twin.references == 0) {
            assertRefused(twin, twin.storage::shareMemory);
            return;
        }
        assertThat(twin.storage.isShared()).isEqualTo(twin.root().isShared);
        if (choices.yes()) {
            assertThat(twin.storage.shareMemory()).isSameAs(twin.storage);
        } else {
            assertThat(bytesOf(twin).shareMemory()).isEqualTo(bytesOf(twin));
        }
        twin.root().isShared = true;
        assertThat(twin.storage.isShared()).isTrue();
        assertThat(twin.storage.filename().isPresent()).isEqualTo(twin.base == null);
        if (twin.size > 0 && twin.isReadable()) {
            Storage other = opened(twin.storage);
            int index = choices.below(twin.size);
            byte value = (byte) choices.below(256);
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
        int count = choices.below(5);
        int stride = 1 + choices.below(3);
        int offset = choices.below(MAX_SIZE);
        ThrowingCallable make = () -> {
            Tensor tensor = Tensor.of(twin.storage, DType.UINT8, offset, Shape.of(count), stride);
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
        long index = wrong[choices.below(wrong.length)];
        if (twin.isReadable()) {
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

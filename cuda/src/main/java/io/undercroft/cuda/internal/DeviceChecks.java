package io.undercroft.cuda.internal;

import io.undercroft.cuda.CudaDevice;
import io.undercroft.cuda.CudaException;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.ByteRange;
import io.undercroft.mmap.FileStorage;
import io.undercroft.mmap.MapMode;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.StorageCopier;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;

/// Checks of storages and tensors on a device against the same ones on the host: `croft cuda-check` runs them on a GPU,
/// and the tests of this module with a stand-in for the driver.
public final class DeviceChecks {
    private static final long MIB = 1 << 20;
    /// More than a signed 32-bit number of bytes, and no multiple of anything.
    private static final long LARGE = (2L << 30) + 65_537;
    private static final int TENSORS_EACH = 100;
    private static final int STORAGES = 10;

    private final CudaDevice device;
    private final Device target;
    private final Path directory;
    private final RandomBytes random = new RandomBytes();
    private final List<Check> all = new ArrayList<>();
    private long copies = -1;

    /// A check.
    ///
    /// @param what its description
    /// @param omitted why it is not run on this machine; empty if it is
    /// @param body does it, and throws an exception if it fails
    public record Check(String what, String omitted, Body body) {}

    /// What a check does.
    @FunctionalInterface
    public interface Body {
        /// Runs it.
        ///
        /// @throws IOException if a file cannot be written or read
        /// @throws RuntimeException if the check fails
        void run() throws IOException;
    }

    /// The checks of a device.
    ///
    /// @param device the device
    /// @param directory the directory for a temporary file
    /// @param largest the size of the largest copies, in bytes
    public DeviceChecks(CudaDevice device, Path directory, long largest) {
        this.device = device;
        this.target = device.device();
        this.directory = directory;
        add("every dtype to the device and back", this::dtypes);
        add("every element type of typed storages", this::typedStorages);
        add("sizes from 0 bytes to several buffers", this::sizes);
        add("views: transposed, sliced, strided, expanded, reshaped", this::views);
        add("views: conjugated and negated", this::flags);
        add("ties, and slices of one storage", this::ties);
        add("sub-ranges, in all directions", this::subRanges);
        add("overlapping copies", this::overlaps);
        add("fills and zeroed allocations", this::fills);
        add("copies on the device", this::onDevice);
        add("copies to other devices and back", CudaDevice.count() == 1 ? "there is only one device" : "",
                this::otherDevices);
        add("pinned host memory", this::pinned);
        add("memory that is pinned in place", this::pinnedInPlace);
        add("memory of the heap, and of a mapped file", this::otherMemory);
        add("1000 tensors on 10 storages", this::thousandTensors);
        add("errors: no such device, too little memory", this::errors);
        add("copies of more than 2 GiB", largest < LARGE
                ? "--gib is less than 2.1"
                : device.freeMemory() < 2 * LARGE ? "less than 4.1 GiB are free on the device" : "", this::large);
    }

    private void add(String what, Body body) {
        add(what, "", body);
    }

    private void add(String what, String omitted, Body body) {
        all.add(new Check(what, omitted, body));
    }

    /// {@return all checks, in order}
    public List<Check> all() {
        return List.copyOf(all);
    }

    /// {@return the number of storages that were allocated for 1000 tensors on 10 storages; -1 if unknown}
    public long copies() {
        return copies;
    }

    /// Fails the check that runs, unless something is as it should be.
    ///
    /// @param isRight whether it is
    /// @param problem the problem otherwise
    /// @throws IllegalStateException if it is not
    public static void require(boolean isRight, String problem) {
        if (!isRight) {
            throw new IllegalStateException(problem);
        }
    }

    private void dtypes() {
        for (DType dtype : DType.values()) {
            Tensor host = random.tensor(dtype, 33, 64);
            Tensor there = host.to(target);
            require(there.device().equals(target), dtype + " is on " + there.device());
            requireSame(host, there, dtype.toString());
            there.storage().release();
        }
    }

    private void typedStorages() {
        for (DType dtype : DType.values()) {
            if (dtype.isByteSized()) {
                Storage host = random.tensor(dtype, 257).storage();
                TypedStorage typed = new TypedStorage(host, dtype).to(target);
                require(typed.dtype().equals(dtype) && typed.size() == 257, "the size of " + dtype);
                requireSame(host, typed.untyped(), dtype.toString());
                typed.untyped().release();
            }
        }
    }

    private void sizes() {
        for (long size : new long[]{0, 1, 63, 4095, 4097, 4 * MIB - 1, 4 * MIB, 4 * MIB + 1, 33 * MIB + 7}) {
            Storage host = random.storage(size);
            Storage there = host.to(target);
            requireSame(host, there, size + " bytes");
            there.release();
        }
    }

    private void views() {
        Tensor base = random.tensor(DType.FLOAT32, 24, 30, 8);
        requireSameViews(List.of(base, base.transpose(0, 2), base.permute(1, 2, 0), base.narrow(0, 5, 7),
                base.slice(1, 3, 29, 4), base.select(2, 3), base.narrow(2, 1, 1).expand(24, 30, 5), base.view(720, 8),
                base.view(DType.INT16), base.diagonal()));
    }

    private void flags() {
        Tensor complex = random.tensor(DType.COMPLEX64, 17, 19);
        Tensor real = random.tensor(DType.FLOAT64, 17, 19);
        requireSameViews(List.of(complex, complex.conj(), complex.t().conj(), complex.neg(), complex.conj().imag(),
                complex.viewAsReal()));
        requireSameViews(List.of(real, real.neg(), real.t().neg()));
    }

    /// Copies views of one storage together and one by one.
    private void requireSameViews(List<Tensor> views) {
        StorageCopier copy = StorageCopier.to(target);
        StorageCopier back = StorageCopier.to(Device.CPU);
        Storage storage = copy.copy(views.getFirst()).storage();
        for (Tensor host : views) {
            String what = "a view of " + host.shape() + " with strides " + Arrays.toString(host.stride());
            Tensor there = copy.copy(host);
            require(there.storage() == storage, what + " is on another storage");
            require(Arrays.equals(there.stride(), host.stride())
                    && there.storageOffset() == host.storageOffset() && there.flags().equals(host.flags()),
                    what + " has another geometry");
            requireSame(host, back.copy(there), what);
            requireSame(host, there, what);
            Tensor alone = host.to(target);
            requireSame(host, alone, what + ", copied alone");
            alone.storage().release();
        }
        storage.release();
    }

    private void ties() {
        Tensor host = random.tensor(DType.INT32, 40, 50);
        StorageCopier copy = StorageCopier.to(target);
        Tensor one = copy.copy(host);
        Tensor other = copy.copy(host.view(50, 40));
        Storage slice = copy.copy(host.storage().slice(100, 1000));
        require(one.storage() == other.storage(), "tied tensors are on two storages");
        one.storage().slice(100, 10).fill((byte) 7);
        host.storage().slice(100, 10).fill((byte) 7);
        requireSame(host.view(50, 40), other, "what was written through a tied tensor");
        requireSame(host.storage().slice(100, 1000), slice, "what was written through a slice");
        one.storage().release();
    }

    private void subRanges() {
        long size = 9 * MIB;
        Storage host = random.storage(size);
        Storage there = host.to(target);
        Storage expected = host.copy();
        for (long[] range : new long[][]{{0, 1}, {3, 17}, {4095, 4098}, {MIB + 1, 5 * MIB + 3}, {size - 5, 5}}) {
            long start = range[0];
            long length = range[1];
            Storage fresh = random.storage(length);
            there.slice(start, length).copyFrom(fresh);
            expected.slice(start, length).copyFrom(fresh);
            requireSame(expected, there, "bytes %s to %s from the host".formatted(start, start + length));
            Storage back = Storage.allocate(length + 2);
            back.slice(1, length).copyFrom(there.slice(start, length));
            requireSame(fresh, back.slice(1, length), "bytes %s to %s to the host".formatted(start, start + length));
            require(back.get(0) == 0 && back.get(length + 1) == 0, "bytes next to a copied range were written");
            Storage other = Storage.allocate(size, Allocator.on(target));
            other.slice(size - length, length).copyFrom(there.slice(start, length));
            requireSame(fresh, other.slice(size - length, length), "a range copied on the device");
            other.release();
        }
        there.release();
    }

    private void overlaps() {
        for (long size : new long[]{100, 40 * MIB}) {
            for (long distance : new long[]{1, 17 * MIB}) {
                if (distance < size) {
                    Storage host = random.storage(size + distance);
                    Storage there = host.to(target);
                    there.slice(distance, size).copyFrom(there.slice(0, size));
                    requireSame(host.slice(0, size), there.slice(distance, size), "moved up by " + distance);
                    there.copyFrom(host);
                    there.slice(0, size).copyFrom(there.slice(distance, size));
                    requireSame(host.slice(distance, size), there.slice(0, size), "moved down by " + distance);
                    there.copyFrom(there);
                    there.release();
                }
            }
        }
    }

    private void fills() {
        long size = 5 * MIB + 3;
        Storage expected = Storage.allocate(size);
        Storage there = Storage.allocate(size, Allocator.on(target));
        requireSame(expected, there, "a new storage is zeroed");
        requireSame(expected.fill((byte) 0xA5), there.fill((byte) 0xA5), "filled");
        expected.slice(3, 4099).fill((byte) 1);
        there.slice(3, 4099).fill((byte) 1);
        requireSame(expected, there, "a part filled");
        expected.resize(size + 100);
        there.resize(size + 100);
        requireSame(expected, there, "enlarged");
        there.release();
    }

    private void onDevice() {
        Storage host = random.storage(6 * MIB + 1);
        Storage there = host.to(target);
        Storage copy = there.copy();
        there.fill((byte) 0);
        requireSame(host, copy, "a copy on the device");
        there.release();
        copy.release();
    }

    private void otherDevices() {
        Storage host = random.storage(6 * MIB + 1);
        Storage there = host.to(target);
        for (CudaDevice other : CudaDevice.all()) {
            if (!other.equals(device)) {
                Storage elsewhere = there.to(other.device());
                requireSame(host, elsewhere, "to " + other);
                Storage again = elsewhere.to(target);
                requireSame(host, again, "back from " + other);
                elsewhere.release();
                again.release();
            }
        }
        there.release();
    }

    private void pinned() {
        Storage host = random.storage(3 * MIB + 5);
        Storage pinned = host.pinMemory();
        require(pinned.isPinned() && !host.isPinned(), "pinMemory() is not pinned");
        requireSame(host, pinned, "pinned");
        Storage there = pinned.to(target);
        requireSame(host, there, "copied from pinned memory");
        pinned.fill((byte) 0).copyFrom(there);
        requireSame(host, pinned, "copied to pinned memory");
        there.slice(1, 4097).fill((byte) 3);
        pinned.slice(1, 4097).copyFrom(there.slice(1, 4097));
        require(pinned.get(0) == host.get(0) && pinned.get(1) == 3 && pinned.get(4097) == 3
                && pinned.get(4098) == host.get(4098), "a part of pinned memory");
        pinned.release();
        there.release();
    }

    private void pinnedInPlace() throws IOException {
        Storage host = Storage.allocate(9 * MIB + 5, AnonymousMemory.allocator()).copyFrom(random.storage(9 * MIB + 5));
        Storage expected = host.copy();
        require(host.pinInPlace().isPinned(), "memory that was pinned in place is not pinned");
        Storage there = host.to(target);
        requireSame(expected, there, "copied from memory that was pinned in place");
        host.fill((byte) 0).copyFrom(there);
        requireSame(expected, host, "copied to memory that was pinned in place");
        host.resize(10);
        require(!host.isPinned(), "memory that was moved is still pinned");
        host.release();
        there.release();
        Path file = directory.resolve("pinned.bin");
        Files.write(file, expected.segment().toArray(ValueLayout.JAVA_BYTE));
        Storage mapped = FileStorage.open(file, MapMode.READ_ONLY, ByteRange.whole());
        boolean isPinned = isPinnedInPlace(mapped);
        Storage copy = mapped.to(target);
        requireSame(expected, copy, "from a mapped file that is " + (isPinned ? "pinned" : "not pinned"));
        mapped.release();
        copy.release();
        Files.delete(file);
    }

    /// Some drivers and systems do not pin files.
    private static boolean isPinnedInPlace(Storage mapped) {
        try {
            return mapped.pinInPlace().isPinned();
        } catch (CudaException _) {
            return false;
        }
    }

    private void otherMemory() throws IOException {
        Storage heap = random.storage(5 * MIB, Allocator.heap());
        Storage there = heap.to(target);
        requireSame(heap, there, "from the heap");
        there.release();
        Path file = directory.resolve("mapped.bin");
        Storage bytes = random.storage(9 * MIB + 9);
        Files.write(file, bytes.segment().toArray(ValueLayout.JAVA_BYTE));
        Storage mapped = FileStorage.open(file, MapMode.PRIVATE);
        Storage copy = mapped.to(target);
        requireSame(bytes, copy, "from a mapped file");
        mapped.release();
        copy.release();
        Files.delete(file);
    }

    private void thousandTensors() {
        List<Tensor> tensors = new ArrayList<>();
        for (int i = 0; i < STORAGES; i++) {
            Tensor base = random.tensor(DType.INT32, 1000);
            for (int k = 0; k < TENSORS_EACH; k++) {
                tensors.add(k % 2 == 0 ? base.narrow(0, k, 100) : base.view(10, 100).t().select(0, k));
            }
        }
        StorageCopier copy = StorageCopier.to(target);
        IdentityHashMap<Storage, Storage> made = new IdentityHashMap<>();
        for (Tensor tensor : tensors) {
            Tensor there = copy.copy(tensor);
            requireSame(tensor, there, "a tensor on a shared storage");
            Storage before = made.putIfAbsent(there.storage(), tensor.storage());
            require(before == null || before == tensor.storage(), "two storages became one");
        }
        copies = made.size();
        made.keySet().forEach(Storage::release);
        require(copies == STORAGES, "made " + copies + " copies");
    }

    private void errors() {
        requireError(CudaException.INVALID_DEVICE, () -> CudaDevice.of(CudaDevice.count()));
        long tooMuch = device.totalMemory() + (1L << 30);
        requireError(CudaException.OUT_OF_MEMORY, () -> Storage.allocate(tooMuch, Allocator.on(target)));
        Storage host = random.storage(1000);
        Storage there = host.to(target);
        requireSame(host, there, "a copy after an error");
        there.release();
        boolean isRefused = false;
        try {
            var _ = there.cpu();
        } catch (IllegalStateException _) {
            isRefused = true;
        }
        require(isRefused, "a storage that was released can be copied");
    }

    private static void requireError(int code, Runnable action) {
        int thrown = 0;
        try {
            action.run();
        } catch (CudaException e) {
            thrown = e.code();
        }
        require(thrown == code, "error " + code + " was expected, and " + (thrown == 0 ? "none" : thrown) + " came");
    }

    private void large() {
        Storage host = random.storage(LARGE);
        Storage there = host.to(target);
        Storage copy = there.copy();
        there.fill((byte) 9);
        requireSame(host, copy, LARGE + " bytes");
        require(there.slice(LARGE - 3, 3).cpu().toList().equals(List.of(9, 9, 9)), "the end of a large fill");
        there.release();
        copy.release();
    }

    private static void requireSame(Tensor host, Tensor there, String what) {
        Tensor back = there.cpu();
        require(back.shape().equals(host.shape()), what + " has another shape");
        require(back.contentEquals(host), what + " has other elements");
    }

    private static void requireSame(Storage host, Storage there, String what) {
        require(there.cpu().contentEquals(host), what + ": the bytes differ");
    }
}

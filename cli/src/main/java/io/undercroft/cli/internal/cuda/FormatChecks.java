package io.undercroft.cli.internal.cuda;

import static io.undercroft.cuda.internal.DeviceChecks.require;

import io.undercroft.cuda.CudaDevice;
import io.undercroft.cuda.internal.RandomBytes;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.ShardSet;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.StorageCopier;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// Checks of files of several formats that are opened on a device, and saved from it.
final class FormatChecks {
    private static final List<String> SUFFIXES = List.of(".croft", ".pt", ".safetensors", ".npz", ".gguf", ".t7");
    /// Formats that keep views and all dtypes; they also record which device a storage was on.
    private static final List<String> COMPLETE = List.of(".croft", ".pt");

    private final CheckList checks;
    private final Device target;
    private final Path directory;
    private final RandomBytes random = new RandomBytes();

    /// Checks with files in a directory.
    ///
    /// @param checks runs them
    /// @param target the device
    /// @param directory the directory for files
    FormatChecks(CheckList checks, Device target, Path directory) {
        this.checks = checks;
        this.target = target;
        this.directory = directory;
    }

    void run() {
        for (String suffix : SUFFIXES) {
            Map<String, Tensor> state = state(suffix);
            Path file = directory.resolve("host" + suffix);
            checks.run(suffix + " opened on the device, lazily", () -> {
                Checkpoint.save(file, state);
                requireSame(file, file, on(target));
            });
            checks.run(suffix + " loaded to the device at once", () -> requireSame(file, file, on(target).inMemory()));
            checks.run(suffix + " saved from the device", () -> savedFromDevice(suffix, file, state));
        }
        for (String suffix : COMPLETE) {
            checks.run(suffix + " with a device for each storage that a function chooses", () -> mapped(suffix));
        }
        checks.run("chosen tensors and rows of a file, without the rest", this::parts);
        checks.run("a set of files", this::set);
        String what = "one file loaded to all devices at once";
        if (CudaDevice.count() == 1) {
            checks.omit(what, "there is only one device");
        } else {
            checks.run(what, this::loadedToAllDevices);
        }
    }

    private void mapped(String suffix) throws IOException {
        Path file = directory.resolve("mapped" + suffix);
        Tensor host = random.tensor(DType.FLOAT32, 100, 7);
        Tensor there = random.tensor(DType.INT64, 33).to(target);
        Checkpoint.save(file, Map.of("host", host, "there", there));
        OpenOptions swapped = OpenOptions.defaults().devices(saved -> saved.equals(target) ? Device.CPU : target);
        try (Checkpoint opened = Checkpoint.open(file, swapped)) {
            require(opened.tensor("host").device().equals(target), "what was on the host is not on " + target);
            require(opened.tensor("there").device().equals(Device.CPU), "what was on " + target + " is not on the CPU");
            require(opened.tensor("host").cpu().contentEquals(host), "the bytes of the host differ");
            require(opened.tensor("there").contentEquals(there.cpu()), "the bytes of the device differ");
        }
        there.storage().release();
    }

    private void parts() throws IOException {
        Path file = directory.resolve("parts.croft");
        Tensor large = random.tensor(DType.FLOAT32, 1000, 500);
        Tensor small = random.tensor(DType.INT32, 77);
        Checkpoint.save(file, Map.of("large", large, "small", small));
        try (Checkpoint opened = Checkpoint.open(file, on(target).only("small").inMemory())) {
            require(List.copyOf(opened.names()).equals(List.of("small")), "more names than were chosen");
            long loaded = opened.storages().stream().filter(Storage::isMaterialized).mapToLong(Storage::nbytes).sum();
            require(loaded == small.storage().nbytes(), loaded + " bytes were loaded");
            require(opened.tensor("small").cpu().contentEquals(small), "the chosen tensor has other elements");
        }
        try (Checkpoint opened = Checkpoint.open(file, on(target))) {
            Tensor rows = opened.rows("large", 10, 20);
            require(rows.device().equals(target), "the rows are on " + rows.device());
            require(rows.cpu().contentEquals(large.narrow(0, 10, 10)), "the rows have other elements");
            require(opened.storages().stream().noneMatch(Storage::isMaterialized), "more than the rows was loaded");
            rows.storage().release();
        }
    }

    private void set() throws IOException {
        List<Path> files = List.of(directory.resolve("shard-1.croft"), directory.resolve("shard-2.croft"));
        List<Tensor> tensors = List.of(random.tensor(DType.FLOAT32, 500, 20), random.tensor(DType.INT16, 12_345));
        for (int i = 0; i < files.size(); i++) {
            Checkpoint.save(files.get(i), Map.of("tensor", tensors.get(i)));
        }
        Path manifest = directory.resolve("shards.croftset");
        ShardSet.save(manifest, files);
        try (ShardSet opened = ShardSet.open(manifest, on(target).inMemory())) {
            for (int i = 0; i < files.size(); i++) {
                Tensor there = opened.shards().get(i).tensor("tensor");
                require(there.device().equals(target), "a shard is on " + there.device());
                require(there.cpu().contentEquals(tensors.get(i)), "a shard has other elements");
            }
        }
    }

    private void loadedToAllDevices() throws IOException {
        Path file = directory.resolve("devices.croft");
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (CudaDevice each : CudaDevice.all()) {
            state.put(each.device().toString(), random.tensor(DType.INT32, 1 << 20).to(each.device()));
        }
        Checkpoint.save(file, state);
        try (Checkpoint loaded = Checkpoint.open(file, OpenOptions.defaults().devices(saved -> saved).inMemory())) {
            for (Map.Entry<String, Tensor> each : state.entrySet()) {
                Tensor there = loaded.tensor(each.getKey());
                require(there.device().toString().equals(each.getKey()), each.getKey() + " is on " + there.device());
                require(there.cpu().contentEquals(each.getValue().cpu()), "the bytes on " + each.getKey() + " differ");
                each.getValue().storage().release();
            }
        }
    }

    private void savedFromDevice(String suffix, Path file, Map<String, Tensor> state) throws IOException {
        Path saved = directory.resolve("device" + suffix);
        StorageCopier copy = StorageCopier.to(target);
        Map<String, Tensor> there = new LinkedHashMap<>();
        state.forEach((name, tensor) -> there.put(name, copy.copy(tensor)));
        Checkpoint.save(saved, there);
        requireSame(file, saved, on(Device.CPU));
        require(COMPLETE.contains(suffix) || Files.mismatch(file, saved) == -1,
                "the file differs from the one that was saved from the host");
    }

    private static OpenOptions on(Device device) {
        return OpenOptions.defaults().devices(_ -> device);
    }

    private Map<String, Tensor> state(String suffix) {
        Map<String, Tensor> state = new LinkedHashMap<>();
        Tensor embedding = random.tensor(DType.FLOAT32, 64, 48);
        state.put("embedding", embedding);
        state.put("head", embedding.view(64, 48));
        state.put("half", random.tensor(DType.FLOAT16, 32, 16));
        state.put("counts", random.tensor(DType.INT32, 101));
        state.put("double", random.tensor(DType.FLOAT64, 7, 9));
        state.put("large", random.tensor(DType.FLOAT32, 3, 700_001));
        if (COMPLETE.contains(suffix)) {
            state.put("transposed", embedding.t());
            state.put("part", embedding.narrow(0, 3, 5));
            state.put("conjugated", random.tensor(DType.COMPLEX64, 5, 6).conj());
            for (DType dtype : List.of(DType.BOOL, DType.BFLOAT16, DType.INT64, DType.UINT8, DType.FLOAT8_E4M3FN)) {
                state.put(dtype.name(), random.tensor(dtype, 13, 3));
            }
        }
        return state;
    }

    /// Compares a file that is opened on the CPU with one that is opened in another way: elements, geometry and which
    /// tensors share a storage.
    private static void requireSame(Path expected, Path file, OpenOptions options) throws IOException {
        try (Checkpoint host = Checkpoint.open(expected, on(Device.CPU));
                Checkpoint opened = Checkpoint.open(file, options)) {
            require(List.copyOf(host.names()).equals(List.copyOf(opened.names())), "the names differ");
            Device device = options.deviceFor(Device.CPU);
            IdentityHashMap<Storage, Storage> storages = new IdentityHashMap<>();
            IdentityHashMap<Storage, Storage> back = new IdentityHashMap<>();
            for (String name : host.names()) {
                Tensor wanted = host.tensor(name);
                Tensor found = opened.tensor(name);
                require(found.device().equals(device), name + " is on " + found.device());
                require(Arrays.equals(wanted.stride(), found.stride()) && wanted.flags().equals(found.flags())
                        && wanted.storageOffset() == found.storageOffset(), name + " has another geometry");
                require(found.cpu().contentEquals(wanted), name + " has other elements");
                Storage known = storages.putIfAbsent(wanted.storage(), found.storage());
                Storage knownBack = back.putIfAbsent(found.storage(), wanted.storage());
                require((known == null || known == found.storage())
                        && (knownBack == null || knownBack == wanted.storage()), name + " shares another storage");
            }
        }
    }
}

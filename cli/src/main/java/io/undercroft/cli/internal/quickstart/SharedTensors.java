package io.undercroft.cli.internal.quickstart;

import io.undercroft.cli.internal.Sha256;
import io.undercroft.mmap.SharedMemory;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/// Tensors on storages in shared memory, one segment a storage, and the list by which another process finds them.
final class SharedTensors implements AutoCloseable {
    private final List<String> segments = new ArrayList<>();
    private final List<Storage> storages = new ArrayList<>();
    private final Map<String, Tensor> tensors = new LinkedHashMap<>();
    private final Map<String, String> digests = new LinkedHashMap<>();

    private SharedTensors() {}

    /// Copies every storage of a checkpoint into a segment of its own, once, however many tensors stand on it.
    static SharedTensors copyOf(Checkpoint checkpoint, Workspace workspace) throws IOException {
        SharedTensors shared = new SharedTensors();
        for (Storage storage : checkpoint.storages()) {
            shared.add(workspace.share(storage.nbytes())).copyFrom(storage);
        }
        Sha256 sha256 = new Sha256();
        for (String name : checkpoint.names()) {
            Tensor tensor = checkpoint.tensor(name);
            int number = checkpoint.storages().indexOf(tensor.storage());
            shared.tensors.put(name,
                    tensor.set(shared.storages.get(number), tensor.storageOffset(), tensor.shape(), tensor.stride()));
            shared.digests.put(name, Objects.requireNonNull(sha256.of(tensor), name));
        }
        return shared;
    }

    /// Attaches to what another process has described.
    static SharedTensors attach(BufferedReader description) throws IOException {
        SharedTensors shared = new SharedTensors();
        for (String line = read(description); !line.isEmpty(); line = read(description)) {
            String[] field = line.split("\t", -1);
            if (field.length == 1) {
                shared.add(SharedMemory.attach(field[0]));
            } else {
                Storage storage = shared.storages.get(Integer.parseInt(field[1]));
                shared.tensors.put(field[0], Tensor.of(storage, DType.of(field[2]), Long.parseLong(field[3]),
                        Shape.of(numbers(field[4])), numbers(field[5])));
                shared.digests.put(field[0], field[6]);
            }
        }
        return shared;
    }

    /// One line a segment, one a tensor (name, storage number, dtype, offset, shape, stride, SHA-256), and an empty one.
    String describe() {
        StringBuilder text = new StringBuilder();
        segments.forEach(name -> text.append(name).append('\n'));
        tensors.forEach((name, tensor) -> text.append(String.join("\t", name,
                Integer.toString(storages.indexOf(tensor.storage())), tensor.dtype().name(),
                Long.toString(tensor.storageOffset()), words(tensor.shape().toArray()), words(tensor.stride()),
                Objects.requireNonNull(digests.get(name)))).append('\n'));
        return text.append('\n').toString();
    }

    Tensor tensor(String name) {
        return Objects.requireNonNull(tensors.get(name), name);
    }

    List<Storage> storages() {
        return storages;
    }

    /// How many tensors have the SHA-256 that the description gives.
    long countEqual() {
        Sha256 sha256 = new Sha256();
        return tensors.entrySet().stream()
                .filter(entry -> Objects.equals(sha256.of(entry.getValue()), digests.get(entry.getKey())))
                .count();
    }

    int size() {
        return tensors.size();
    }

    /// Unmaps the segments; their names stay.
    @Override
    public void close() {
        storages.forEach(Storage::release);
    }

    private Storage add(SharedMemory segment) {
        // The allocation holds the mapping, so the segment itself can be let go.
        try (segment) {
            Storage storage = Storage.over(segment.allocation());
            segments.add(segment.name());
            storages.add(storage);
            return storage;
        }
    }

    private static String read(BufferedReader in) throws IOException {
        String line = in.readLine();
        if (line == null) {
            throw new EOFException("the description of the shared tensors ends too early");
        }
        return line;
    }

    private static String words(long[] numbers) {
        return LongStream.of(numbers).mapToObj(Long::toString).collect(Collectors.joining(" "));
    }

    private static long[] numbers(String words) {
        return words.isEmpty() ? new long[0] : Arrays.stream(words.split(" ")).mapToLong(Long::parseLong).toArray();
    }
}

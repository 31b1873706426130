package io.undercroft.properties.processes;

import io.undercroft.mmap.ByteRange;
import io.undercroft.mmap.FileStorage;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.SharedTensorHandle;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.PublishedCheckpoint;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

/// The JVM that `.ci/shared_check.py` shares memory with, told line by line what to do: a command and its arguments,
/// separated by tabs. The answer is `ok` and what came of it, or `error` and why.
///
/// Elements are numbers as Java prints them; complex ones have their two parts separated by a comma.
public final class SharedPeer {
    private final Map<String, Tensor> tensors = new HashMap<>();

    private SharedPeer() {}

    /// Answers until nobody asks any more.
    ///
    /// @param arguments none
    @SuppressWarnings("SystemOut")
    public static void main(String... arguments) throws IOException {
        var peer = new SharedPeer();
        try (var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                System.out.println(peer.answer(Arrays.asList(line.split("\t", -1))));
            }
        }
    }

    private String answer(List<String> words) {
        try {
            return "ok\t" + String.join("\t", answer(words.getFirst(), words.subList(1, words.size())));
        } catch (IOException | RuntimeException e) {
            return "error\t" + e;
        }
    }

    private List<String> answer(String command, List<String> words) throws IOException {
        return switch (command) {
            case "share" -> share(words.get(0), words.get(1), words.subList(2, words.size()));
            case "attach" ->
                open(words.get(0), words.get(1), FileStorage.openSharedMemory(words.get(2), ByteRange.whole()));
            case "map" -> open(words.get(0), words.get(1), FileStorage.open(Path.of(words.get(2)), MapMode.SHARED));
            case "take" -> keep(words.get(0), SharedTensorHandle.parse(words.get(1)).open());
            case "read" -> read(tensors.get(words.get(0)));
            case "write" -> write(tensors.get(words.get(0)), words.subList(1, words.size()));
            case "drop" -> drop(words.get(0));
            case "publish" -> publish(words.get(0), Path.of(words.get(1)));
            case "unpublish" -> List.of(Boolean.toString(PublishedCheckpoint.unpublish(words.get(0))));
            default -> throw new IllegalArgumentException("no command is called " + command);
        };
    }

    /// Makes a tensor in memory of its own, and then shares it. The answer is its handle and its name.
    private List<String> share(String key, String dtype, List<String> elements) throws IOException {
        Tensor tensor = Tensor.zeros(DType.of(dtype), elements.size());
        write(tensor, elements);
        tensor.shareMemory();
        tensors.put(key, tensor);
        return List.of(SharedTensorHandle.of(tensor).toString(), tensor.storage().filename().orElseThrow());
    }

    private List<String> open(String key, String dtypeName, Storage storage) {
        DType dtype = DType.of(dtypeName);
        return keep(key, Tensor.of(storage, dtype, 0, Shape.of(storage.nbytes() * Byte.SIZE / dtype.bits()), 1));
    }

    private List<String> keep(String key, Tensor tensor) {
        tensors.put(key, tensor);
        return read(tensor);
    }

    private static List<String> read(Tensor tensor) {
        return LongStream.range(0, tensor.numel()).mapToObj(i -> element(tensor, i)).toList();
    }

    private static String element(Tensor tensor, long i) {
        return switch (tensor.dtype().kind()) {
            case COMPLEX -> {
                Complex value = tensor.getComplex(i);
                yield value.real() + "," + value.imaginary();
            }
            case FLOATING -> Double.toString(tensor.getDouble(i));
            default -> Long.toString(tensor.getLong(i));
        };
    }

    private static List<String> write(Tensor tensor, List<String> elements) {
        for (int i = 0; i < elements.size(); i++) {
            String[] parts = elements.get(i).split(",", 2);
            switch (tensor.dtype().kind()) {
                case COMPLEX -> tensor.setComplex(i,
                        new Complex(Double.parseDouble(parts[0]), Double.parseDouble(parts[1])));
                case FLOATING -> tensor.setDouble(i, Double.parseDouble(parts[0]));
                default -> tensor.setLong(i, Long.parseLong(parts[0]));
            }
        }
        return List.of();
    }

    private List<String> drop(String key) {
        tensors.remove(key).storage().release();
        return List.of();
    }

    private static List<String> publish(String name, Path path) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(path);
                PublishedCheckpoint published = PublishedCheckpoint.publish(name, checkpoint)) {
            return List.of(Long.toString(published.nbytes()));
        }
    }
}

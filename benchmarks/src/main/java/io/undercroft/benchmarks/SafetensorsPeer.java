package io.undercroft.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.github.tjake.jlama.safetensors.SafeTensorIndex;
import io.undercroft.serializer.Checkpoint;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;

/// A JVM that reads a `.safetensors` file of float32 by one library, see [Peer]. Requests are `names FILE`,
/// `one FILE TENSOR` (all elements as a `float[]`) and `all FILE` (the sum of all bytes, in words of eight). Each opens
/// the file; the reply is the seconds from there to the result, and a witness. Closing is not timed.
final class SafetensorsPeer {
    static final String UNDERCROFT = "Undercroft";
    static final String BY_HAND = "by hand";
    static final String JLAMA = "Jlama";
    static final String DJL = "DJL";
    private static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private SafetensorsPeer() {}

    /// Opens a file by one library.
    @FunctionalInterface
    private interface Opening {
        OpenFile open(Path path) throws IOException;
    }

    /// A file that one library has opened.
    ///
    /// @param names returns the names of its tensors
    /// @param bytes returns the bytes of a tensor, as the library makes them available
    /// @param elements returns the elements of a tensor
    /// @param file closes it
    private record OpenFile(Supplier<Collection<String>> names, Function<String, MemorySegment> bytes,
            Function<String, float[]> elements, AutoCloseable file) {}

    /// Runs until its input ends.
    ///
    /// @param arguments the name of the library
    /// @throws Exception if a file cannot be read
    public static void main(String... arguments) throws Exception {
        Opening library = switch (arguments[0]) {
            case UNDERCROFT -> SafetensorsPeer::undercroft;
            case BY_HAND -> SafetensorsPeer::byHand;
            case JLAMA -> SafetensorsPeer::jlama;
            default -> SafetensorsPeer::djl;
        };
        try (var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] request = line.split("\t", -1);
                long start = System.nanoTime();
                OpenFile opened = library.open(Path.of(request[1]));
                try (AutoCloseable _ = opened.file) {
                    double seconds;
                    long sum;
                    if (request[0].equals("one")) {
                        float[] elements = opened.elements.apply(request[2]);
                        seconds = Contender.since(start);
                        sum = Contender.sum(MemorySegment.ofArray(elements), Float.BYTES);
                    } else {
                        Stream<String> names = opened.names.get().stream();
                        sum = request[0].equals("names")
                                ? names.mapToInt(String::length).sum()
                                : names.mapToLong(name -> sum(opened.bytes.apply(name))).sum();
                        seconds = Contender.since(start);
                    }
                    System.out.println("ok\t" + seconds + "\t" + Contender.witness(sum));
                }
            }
        }
    }

    private static long sum(MemorySegment bytes) {
        long sum = 0;
        for (long at = 0; at < bytes.byteSize(); at += Long.BYTES) {
            sum += bytes.get(WORD, at);
        }
        return sum;
    }

    private static float[] floats(MemorySegment bytes) {
        return bytes.toArray(ValueLayout.JAVA_FLOAT_UNALIGNED);
    }

    private static OpenFile undercroft(Path path) throws IOException {
        Checkpoint checkpoint = Checkpoint.open(path);
        return new OpenFile(checkpoint::names, name -> checkpoint.tensor(name).bytes(),
                name -> checkpoint.tensor(name).toFloatArray(), checkpoint);
    }

    /// What a program writes that uses no library but a parser of JSON. It checks nothing.
    private static OpenFile byHand(Path path) throws IOException {
        Map<String, MemorySegment> tensors = new LinkedHashMap<>();
        Arena arena = Arena.ofConfined();
        try (FileChannel channel = FileChannel.open(path)) {
            MemorySegment file = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
            long data = Long.BYTES + file.get(WORD, 0);
            byte[] header = file.asSlice(Long.BYTES, data - Long.BYTES).toArray(ValueLayout.JAVA_BYTE);
            try (JsonParser json = new JsonFactory().createParser(header)) {
                json.nextToken();
                for (String name = json.nextFieldName(); name != null; name = json.nextFieldName()) {
                    json.nextToken();
                    if (name.equals("__metadata__")) {
                        json.skipChildren();
                    } else {
                        tensors.put(name, tensor(json, file, data));
                    }
                }
            }
        }
        Function<String, MemorySegment> bytes = name -> Objects.requireNonNull(tensors.get(name), name);
        return new OpenFile(tensors::keySet, bytes, bytes.andThen(SafetensorsPeer::floats), arena);
    }

    private static MemorySegment tensor(JsonParser json, MemorySegment file, long data) throws IOException {
        long begin = 0;
        long end = 0;
        while (json.nextToken() != JsonToken.END_OBJECT) {
            boolean isPlace = json.currentName().equals("data_offsets");
            json.nextToken();
            if (isPlace) {
                begin = json.nextLongValue(0);
                end = json.nextLongValue(0);
                json.nextToken();
            } else {
                json.skipChildren();
            }
        }
        return file.asSlice(data + begin, end - begin);
    }

    /// Maps the file; the mapping goes when the garbage collector finds it.
    private static OpenFile jlama(Path path) {
        SafeTensorIndex index = SafeTensorIndex.loadSingleFile(path.getParent(), path.getFileName().toString());
        Function<String, MemorySegment> bytes = name -> index.load(name).getMemorySegment();
        return new OpenFile(() -> index.tensorInfoMap().keySet(), bytes, bytes.andThen(SafetensorsPeer::floats), index);
    }

    /// Reads the whole file, and makes an array of ONNX Runtime of each tensor. Closing collects the garbage, or its
    /// collection would go on while the next library is measured.
    private static OpenFile djl(Path path) throws IOException {
        NDManager manager = NDManager.newBaseManager("OnnxRuntime");
        Map<String, NDArray> arrays = new HashMap<>();
        try (InputStream in = Files.newInputStream(path)) {
            NDList.decode(manager, in).forEach(array -> arrays.put(array.getName(), array));
        }
        Function<String, NDArray> array = name -> Objects.requireNonNull(arrays.get(name), name);
        return new OpenFile(arrays::keySet, array.andThen(found -> MemorySegment.ofBuffer(found.toByteBuffer())),
                array.andThen(NDArray::toFloatArray), () -> {
                    manager.close();
                    arrays.clear();
                    System.gc();
                });
    }
}

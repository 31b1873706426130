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
    private interface OpenFile extends AutoCloseable {
        Collection<String> names();

        /// Returns the bytes of a tensor, as the library makes them available.
        MemorySegment bytes(String name);

        default float[] elements(String name) {
            return bytes(name).toArray(ValueLayout.JAVA_FLOAT_UNALIGNED);
        }

        @Override
        void close() throws IOException;
    }

    /// Runs until its input ends.
    ///
    /// @param arguments the name of the library
    /// @throws IOException if a file cannot be read
    public static void main(String... arguments) throws IOException {
        Opening library = switch (arguments[0]) {
            case UNDERCROFT -> Undercroft::new;
            case BY_HAND -> ByHand::new;
            case JLAMA -> Jlama::new;
            default -> Djl::new;
        };
        try (var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] request = line.split("\t", -1);
                long start = System.nanoTime();
                try (OpenFile file = library.open(Path.of(request[1]))) {
                    double seconds;
                    long sum;
                    if (request[0].equals("one")) {
                        float[] elements = file.elements(request[2]);
                        seconds = Contender.since(start);
                        sum = Contender.sum(MemorySegment.ofArray(elements), Float.BYTES);
                    } else {
                        sum = request[0].equals("names")
                                ? file.names().stream().mapToInt(String::length).sum()
                                : file.names().stream().mapToLong(name -> sum(file.bytes(name))).sum();
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

    private record Undercroft(Checkpoint checkpoint) implements OpenFile {
        Undercroft(Path path) throws IOException {
            this(Checkpoint.open(path));
        }

        @Override
        public Collection<String> names() {
            return checkpoint.names();
        }

        @Override
        public MemorySegment bytes(String name) {
            return checkpoint.tensor(name).bytes();
        }

        @Override
        public float[] elements(String name) {
            return checkpoint.tensor(name).toFloatArray();
        }

        @Override
        public void close() throws IOException {
            checkpoint.close();
        }
    }

    /// What a program writes that uses no library but a parser of JSON. It checks nothing.
    private static final class ByHand implements OpenFile {
        private final Arena arena = Arena.ofConfined();
        private final Map<String, MemorySegment> tensors = new LinkedHashMap<>();

        ByHand(Path path) throws IOException {
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

        @Override
        public Collection<String> names() {
            return tensors.keySet();
        }

        @Override
        public MemorySegment bytes(String name) {
            return Objects.requireNonNull(tensors.get(name), name);
        }

        @Override
        public void close() {
            arena.close();
        }
    }

    /// Maps the file; the mapping goes when the garbage collector finds it.
    private record Jlama(SafeTensorIndex index) implements OpenFile {
        Jlama(Path path) {
            this(SafeTensorIndex.loadSingleFile(path.getParent(), path.getFileName().toString()));
        }

        @Override
        public Collection<String> names() {
            return index.tensorInfoMap().keySet();
        }

        @Override
        public MemorySegment bytes(String name) {
            return index.load(name).getMemorySegment();
        }

        @Override
        public void close() throws IOException {
            try {
                index.close();
            } catch (IOException e) {
                throw e;
            } catch (Exception e) {
                throw new IOException(e);
            }
        }
    }

    /// Reads the whole file, and makes an array of ONNX Runtime of each tensor.
    private static final class Djl implements OpenFile {
        private final NDManager manager = NDManager.newBaseManager("OnnxRuntime");
        private final Map<String, NDArray> arrays = new HashMap<>();

        Djl(Path path) throws IOException {
            try (InputStream in = Files.newInputStream(path)) {
                NDList.decode(manager, in).forEach(array -> arrays.put(array.getName(), array));
            }
        }

        @Override
        public Collection<String> names() {
            return arrays.keySet();
        }

        @Override
        public MemorySegment bytes(String name) {
            return MemorySegment.ofBuffer(array(name).toByteBuffer());
        }

        @Override
        public float[] elements(String name) {
            return array(name).toFloatArray();
        }

        private NDArray array(String name) {
            return Objects.requireNonNull(arrays.get(name), name);
        }

        /// Collects the garbage too, or its collection would go on while the next library is measured.
        @Override
        public void close() {
            manager.close();
            arrays.clear();
            System.gc();
        }
    }
}

package io.undercroft.adapters;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OnnxTensorLike;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtException.OrtErrorCode;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/// A session of ONNX Runtime whose initializers are tensors, in the memory of these tensors.
///
/// ```java
/// try (Checkpoint weights = PublishedCheckpoint.attach("weights");
///         OnnxSession model = OnnxSession.open(environment, Path.of("model.onnx"), weights.tensors(), options)) {
///     model.session().run(Map.of("x", x)).close();
/// }
/// ```
///
/// The tensors may be those of a file, of a published checkpoint or of a lease on one. Processes that map the same
/// pages have the weights in memory once. A tensor replaces the initializer of its name in the graph; the bytes that
/// the model has for it are not read, and need not exist. An initializer without a tensor is that of the model.
///
/// **Copies.** Weights are not prepacked (`session.disable_prepacking`), which would copy them to a layout that some
/// kernels multiply faster. Nodes that only have initializers as inputs, for instance the transposition of a weight,
/// are computed when the session is opened, from the tensors; their results are memory of this session. ONNX Runtime
/// may also combine the weights of adjacent nodes. With the log level `ORT_LOGGING_LEVEL_INFO`, it prints a line `Using
/// user supplied initializer` for each weight that it uses in place.
///
/// **Lifetime.** The session holds a reference to each storage until it is closed, so that the checkpoint or the lease
/// may be closed before. Do not write to the tensors: results computed from copies would not change.
///
/// **Threads.** Several threads may run the session at once. None may run it when it is closed.
public final class OnnxSession implements AutoCloseable {
    private static final String FOLDER = "session.model_external_initializers_file_folder_path";
    // Fields of onnx.proto.
    private static final int GRAPH = 7;
    private static final int NODE = 1;
    private static final int NODE_INPUT = 1;
    private static final int INITIALIZER = 5;
    private static final int DIMS = 1;
    private static final int DATA_TYPE = 2;
    private static final int NAME = 8;
    private static final int EXTERNAL_DATA = 13;
    private static final int KEY = 1;
    private static final int VALUE = 2;
    private static final int DATA_LOCATION = 14;
    private static final Map<Long, DType> DTYPES = Map.of(1L, DType.FLOAT32, 2L, DType.UINT8, 3L, DType.INT8, 5L,
            DType.INT16, 6L, DType.INT32, 7L, DType.INT64, 9L, DType.BOOL, 10L, DType.FLOAT16, 11L, DType.FLOAT64, 16L,
            DType.BFLOAT16);
    /// Tensors of at most so many elements are given to the optimizer in any case: constants, shapes, scales.
    private static final long SMALL_ELEMENTS = 1 << 14;
    private static final int MOST_NAMED = 3;

    private final Map<String, OnnxTensors.Wrapped> shared = new LinkedHashMap<>();
    private final Set<String> copied = new LinkedHashSet<>();
    private final Set<String> own = new LinkedHashSet<>();
    private final Set<String> unused;
    private final OrtSession session;
    private final AtomicBoolean closed = new AtomicBoolean();

    private OnnxSession(OrtEnvironment environment, Path model, MemorySegment file, Map<String, Tensor> weights,
            SessionOptions options) throws OrtException {
        unused = new LinkedHashSet<>(weights.keySet());
        try {
            byte[] graph = share(file, weights, environment, external(model, file.byteSize()));
            if (shared.isEmpty() && !weights.isEmpty()) {
                throw new IllegalArgumentException("none of the tensors has the name of an initializer of " + model
                        + ": the tensors are " + few(weights.keySet()) + ", and the initializers " + few(own)
                        + "; rename the tensors, for instance 'model.fc1.weight' to 'fc1.weight'");
            }
            Map<String, OnnxTensorLike> early = new LinkedHashMap<>();
            Map<String, OnnxTensorLike> late = new LinkedHashMap<>();
            for (Map.Entry<String, OnnxTensors.Wrapped> entry : shared.entrySet()) {
                String name = entry.getKey();
                OnnxTensor tensor = entry.getValue().tensor();
                options.addInitializer(name, tensor);
                boolean isSmall = tensor.getInfo().getNumElements() <= SMALL_ELEMENTS;
                (isSmall || copied.contains(name) ? early : late).put(name, tensor);
            }
            options.addExternalInitializers(early);
            session = create(environment, graph, options, late);
        } catch (OrtException | RuntimeException | Error e) {
            shared.values().forEach(OnnxTensors.Wrapped::close);
            throw e;
        }
    }

    private static String few(Set<String> names) {
        return names.isEmpty()
                ? "none"
                : names.stream().limit(MOST_NAMED).collect(Collectors.joining("', '", "'", "'"))
                        + (names.size() > MOST_NAMED ? ", …" : "");
    }

    private static OrtSession create(OrtEnvironment environment, byte[] graph, SessionOptions options,
            Map<String, OnnxTensorLike> late) throws OrtException {
        try {
            return environment.createSession(graph, options);
        } catch (OrtException e) {
            if (late.isEmpty()) {
                throw e;
            }
            // An optimization may need elements of other weights, for instance to multiply two of them.
            options.addExternalInitializers(late);
            return environment.createSession(graph, options);
        }
    }

    /// Opens a model with tensors as its initializers.
    ///
    /// @param environment the environment of ONNX Runtime
    /// @param model an ONNX file; external data of the initializers that it keeps is in the same directory
    /// @param weights tensors by the names of initializers, for instance `checkpoint.tensors()`
    /// @param options the options of this session and of no other, as this method adds the initializers to them. They
    ///     may be closed afterwards
    /// @return the session
    /// @throws IllegalArgumentException if tensors have another dtype or shape than the initializers of their names, or
    ///     cannot be used in place, as [OnnxTensors#wrap] describes; the message names all of them. Also if there are
    ///     tensors, and none has the name of an initializer; the message names some of both
    /// @throws UnsupportedOperationException if a tensor with the name of an initializer has more than 2^31-1 bytes;
    ///     without it in `weights`, ONNX Runtime maps the external data of the model
    /// @throws OrtException if the file is not an ONNX model, or ONNX Runtime does not accept it
    /// @throws IOException if the file is missing or cannot be read
    public static OnnxSession open(OrtEnvironment environment, Path model, Map<String, Tensor> weights,
            SessionOptions options) throws IOException, OrtException {
        options.addConfigEntry("session.disable_prepacking", "1");
        if (!options.getConfigEntries().containsKey(FOLDER)) {
            options.addConfigEntry(FOLDER, String.valueOf(model.toAbsolutePath().getParent()));
        }
        if (Files.isDirectory(model)) {
            throw new FileSystemException(model.toString(), null, "it is a directory; name a file in it");
        }
        if (Files.notExists(model)) {
            throw new NoSuchFileException(model.toString(), null, "there is no such file; check the path");
        }
        try (FileChannel channel = FileChannel.open(model, StandardOpenOption.READ);
                Arena arena = Arena.ofConfined()) {
            MemorySegment file = channel.map(MapMode.READ_ONLY, 0, channel.size(), arena);
            return new OnnxSession(environment, model, file, weights, options);
        } catch (OrtException e) {
            throw named(model, e);
        }
    }

    /// Adds the path of the model, which ONNX Runtime does not know, after the code with which a message begins.
    private static OrtException named(Path model, OrtException e) {
        String message = String.valueOf(e.getMessage());
        String code = String.valueOf(new OrtException(e.getCode(), "").getMessage());
        OrtException named = new OrtException(e.getCode(),
                model + ": " + (message.startsWith(code) ? message.substring(code.length()) : message));
        named.initCause(e);
        return named;
    }

    /// {@return the session, which must not be used after this object is closed}
    public OrtSession session() {
        return session;
    }

    /// {@return the names of the initializers that are tensors}
    public Set<String> sharedInitializers() {
        return Collections.unmodifiableSet(shared.keySet());
    }

    /// {@return the names of those shared initializers from which nodes are computed when the session is opened} The
    /// results are in memory of this session. These nodes have no other inputs than initializers.
    public Set<String> copiedInitializers() {
        return Collections.unmodifiableSet(copied);
    }

    /// {@return the names of the initializers of the graph without a tensor, which are those of the model}
    public Set<String> ownInitializers() {
        return Collections.unmodifiableSet(own);
    }

    /// {@return the names of the tensors without an initializer, which are not used}
    public Set<String> unusedTensors() {
        return Collections.unmodifiableSet(unused);
    }

    /// Closes the session and releases the storages. The second and later calls do nothing.
    ///
    /// @throws OrtException if ONNX Runtime cannot close the session
    @Override
    public void close() throws OrtException {
        if (closed.compareAndSet(false, true)) {
            try {
                session.close();
            } finally {
                shared.values().forEach(OnnxTensors.Wrapped::close);
            }
        }
    }

    /// Wraps the tensors that have the name of an initializer, and returns the model without the bytes of these
    /// initializers: ONNX Runtime takes tensors for external data only.
    private byte[] share(MemorySegment file, Map<String, Tensor> weights, OrtEnvironment environment,
            byte[] external) throws OrtException {
        List<String> mismatches = new ArrayList<>();
        List<Set<String>> nodes = new ArrayList<>();
        ByteArrayOutputStream model = new ByteArrayOutputStream();
        boolean hasGraph = false;
        for (Message part = new Message(file); part.next();) {
            if (part.number != GRAPH) {
                part.copyTo(model);
                continue;
            }
            ByteArrayOutputStream graph = new ByteArrayOutputStream();
            for (Message field = new Message(part.content()); field.next();) {
                if (field.number == NODE) {
                    nodes.add(inputs(new Message(field.content())));
                }
                if (field.number != INITIALIZER || !share(field, weights, environment, mismatches, graph, external)) {
                    field.copyTo(graph);
                }
            }
            Message.write(GRAPH, graph.toByteArray(), model);
            hasGraph = true;
        }
        if (!hasGraph) {
            throw Message.damaged(file.byteSize() == 0 ? "it is empty" : "it has no graph");
        }
        if (!mismatches.isEmpty()) {
            throw new IllegalArgumentException(
                    "tensors cannot be the initializers of their names: " + String.join("; ", mismatches));
        }
        unused.removeAll(shared.keySet());
        nodes.stream().filter(inputs -> inputs.stream().allMatch(name -> shared.containsKey(name)
                || own.contains(name))).forEach(copied::addAll);
        copied.retainAll(shared.keySet());
        return model.toByteArray();
    }

    /// Wraps the tensor that has the name of an initializer, and adds the initializer to the graph without its bytes.
    /// Returns whether there is one.
    private boolean share(Message initializer, Map<String, Tensor> weights, OrtEnvironment environment,
            List<String> mismatches, ByteArrayOutputStream graph, byte[] external) throws OrtException {
        String name = "";
        @Nullable
        DType dtype = null;
        LongStream.Builder dims = LongStream.builder();
        ByteArrayOutputStream replacement = new ByteArrayOutputStream();
        for (Message field = new Message(initializer.content()); field.next();) {
            switch (field.number) {
                case DIMS -> field.numbersTo(dims);
                case DATA_TYPE -> dtype = DTYPES.get(field.value);
                case NAME -> name = field.text();
                default -> {
                    continue;
                }
            }
            field.copyTo(replacement);
        }
        Tensor tensor = weights.get(name);
        if (tensor == null || shared.containsKey(name)) {
            own.add(name);
            return false;
        }
        try {
            shared.put(name, OnnxTensors.wrap(tensor, environment));
            long[] shape = dims.build().toArray();
            if (!Objects.equals(dtype, tensor.dtype()) || !Arrays.equals(shape, tensor.shape().toArray())) {
                mismatches.add(name + " is " + dtype + " of shape " + Arrays.toString(shape) + ", and the tensor "
                        + tensor.dtype() + " of shape " + tensor.shape());
            }
        } catch (IllegalArgumentException e) {
            mismatches.add(name + ": " + e.getMessage());
        }
        replacement.writeBytes(external);
        Message.write(INITIALIZER, replacement.toByteArray(), graph);
        return true;
    }

    /// The fields of an initializer whose bytes are behind the end of the model: that file exists, and has none there.
    private static byte[] external(Path model, long size) {
        ByteArrayOutputStream fields = new ByteArrayOutputStream();
        Map.of("location", String.valueOf(model.getFileName()), "offset", Long.toString(size)).forEach((key, value) -> {
            ByteArrayOutputStream entry = new ByteArrayOutputStream();
            Message.write(KEY, key.getBytes(StandardCharsets.UTF_8), entry);
            Message.write(VALUE, value.getBytes(StandardCharsets.UTF_8), entry);
            Message.write(EXTERNAL_DATA, entry.toByteArray(), fields);
        });
        fields.writeBytes(new byte[]{DATA_LOCATION << 3, 1});
        return fields.toByteArray();
    }

    private static Set<String> inputs(Message node) throws OrtException {
        Set<String> inputs = new LinkedHashSet<>();
        while (node.next()) {
            if (node.number == NODE_INPUT) {
                inputs.add(node.text());
            }
        }
        // Of optional inputs that are left out.
        inputs.remove("");
        return inputs;
    }

    /// The fields of a message of protobuf, one after the other.
    private static final class Message {
        private static final int VARINT = 0;
        private static final int FIXED_64 = 1;
        private static final int LENGTH = 2;
        private static final int FIXED_32 = 5;

        private final MemorySegment bytes;
        private long start;
        private long content;
        private long at;
        private int number;
        private long value;

        Message(MemorySegment bytes) {
            this.bytes = bytes;
        }

        /// Moves to the next field, and returns whether there is one.
        boolean next() throws OrtException {
            if (at == bytes.byteSize()) {
                return false;
            }
            start = at;
            long tag = varint();
            number = (int) (tag >>> 3);
            content = at;
            switch ((int) tag & 7) {
                case VARINT -> value = varint();
                case FIXED_64 -> skip(Long.BYTES);
                case FIXED_32 -> skip(Integer.BYTES);
                case LENGTH -> {
                    long length = varint();
                    content = at;
                    skip(length);
                }
                default -> throw damaged("a field has an unknown type");
            }
            return true;
        }

        MemorySegment content() {
            return bytes.asSlice(content, at - content);
        }

        String text() throws OrtException {
            return new String(array(content), StandardCharsets.UTF_8);
        }

        /// Adds the numbers of this field: one, or several that are packed.
        void numbersTo(LongStream.Builder numbers) throws OrtException {
            Message packed = new Message(content());
            while (packed.at < packed.bytes.byteSize()) {
                numbers.add(packed.varint());
            }
        }

        void copyTo(ByteArrayOutputStream out) throws OrtException {
            out.writeBytes(array(start));
        }

        private byte[] array(long from) throws OrtException {
            // Protobuf has no larger messages.
            if (at - from > Integer.MAX_VALUE - 8) {
                throw damaged("a field has " + (at - from) + " bytes");
            }
            return bytes.asSlice(from, at - from).toArray(ValueLayout.JAVA_BYTE);
        }

        static void write(int number, byte[] content, ByteArrayOutputStream out) {
            out.write((number << 3) | LENGTH);
            int length = content.length;
            for (; length > 127; length >>>= 7) {
                out.write((length & 127) | 128);
            }
            out.write(length);
            out.writeBytes(content);
        }

        private long varint() throws OrtException {
            long result = 0;
            for (int shift = 0; shift < Long.SIZE && at < bytes.byteSize(); shift += 7) {
                byte next = bytes.get(ValueLayout.JAVA_BYTE, at++);
                result |= (next & 127L) << shift;
                if (next >= 0) {
                    return result;
                }
            }
            throw damaged("a number has no end");
        }

        private void skip(long count) throws OrtException {
            if (count < 0 || count > bytes.byteSize() - at) {
                throw damaged("a field ends behind the end of its message");
            }
            at += count;
        }

        static OrtException damaged(String how) {
            return new OrtException(OrtErrorCode.ORT_INVALID_PROTOBUF, "not an ONNX model, or damaged: " + how
                    + "; name another file, or get a complete copy of the model");
        }
    }
}

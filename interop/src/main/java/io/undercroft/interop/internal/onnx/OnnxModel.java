package io.undercroft.interop.internal.onnx;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.UnreadParts;
import io.undercroft.interop.internal.onnx.OnnxType.Numbers;
import io.undercroft.interop.internal.onnx.ProtoInput.Field;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// The tensors and metadata of a model. Tensors are the initializers of its graph under their names, then the constants
/// among its nodes under the names of what they put out, and those of graphs in nodes and of functions, under the path
/// to them. The numbers of fields are those of `onnx.proto`.
final class OnnxModel {
    private static final int GRAPH = 7;
    /// As deep as protobuf itself reads: each graph is in an attribute of a node of another one.
    private static final int DEEPEST = 32;
    /// What the mapping of a further file takes.
    private static final long MEMORY_OF_FILE = 16 << 10;
    private static final int MOST_LOOKED_AT = 64;
    private static final int LARGEST_VERSION = 255;

    private final MappedFile file;
    private final ReadBudget budget;
    private final ProtoInput in;
    private final SequencedMap<String, OnnxTensor> tensors = new LinkedHashMap<>();
    private final SequencedMap<String, String> metadata = new LinkedHashMap<>();
    private final SequencedMap<String, SequencedMap<String, OnnxTensor>> files = new LinkedHashMap<>(
            Map.of("", new LinkedHashMap<>()));
    private final Deque<Scope> scopes = new ArrayDeque<>();
    private final UnreadParts texts = new UnreadParts("text tensor");
    private final UnreadParts sparse = new UnreadParts("sparse tensor");
    private final UnreadParts training = new UnreadParts("training graph");
    private long nodes;
    private long nodeBytes;
    private long firstNode;

    /// A tensor as the model describes it.
    ///
    /// @param dtype the type of its elements
    /// @param shape its sizes, in such elements
    /// @param location the file that its bytes are in, empty for that of the model
    /// @param offset where they are, if they are there as they are in memory
    /// @param nbytes its size in bytes
    /// @param numbers what it is decoded from otherwise
    /// @param fault what is wrong with it
    record OnnxTensor(DType dtype, Shape shape, String location, long offset, long nbytes, @Nullable Numbers numbers,
            @Nullable FormatException fault) {
        private OnnxTensor at(String location, long offset) {
            return new OnnxTensor(dtype, shape, location, offset, nbytes, null, null);
        }
    }

    /// A graph or the body of a function that is still to be read.
    ///
    /// @param isGraph whether it is a graph
    /// @param prefix what the names of its tensors begin with
    /// @param depth how many graphs it is in
    private record Scope(boolean isGraph, long start, long end, String prefix, int depth) {}

    private OnnxModel(MappedFile file, ReadBudget budget) {
        this.file = file;
        this.budget = budget;
        this.in = new ProtoInput(file, budget);
    }

    /// {@return whether a file is a model} There are no first bytes that all have. The first fields have to be fields of
    /// a model, and among them its version and the start of a graph.
    ///
    /// @param file any file
    static boolean startsIn(MappedFile file) throws IOException {
        ProtoInput in = new ProtoInput(file, ReadBudget.of(file.size()));
        boolean hasVersion = false;
        boolean hasGraph = false;
        long position = 0;
        try {
            for (int i = 0; position < file.size() && i < MOST_LOOKED_AT; i++) {
                Field field = in.at(position);
                if (field.wire() != (field.number() == 1 || field.number() == 5
                        ? ProtoInput.VARINT
                        : ProtoInput.BYTES)) {
                    return false;
                }
                switch (field.number()) {
                    case 1 -> hasVersion = field.value() > 0 && field.value() <= LARGEST_VERSION;
                    case GRAPH -> hasGraph = startsGraph(in, field);
                    case 2, 3, 4, 5, 6, 8, 14, 20, 25, 26 -> {}
                    default -> {
                        return false;
                    }
                }
                position = field.end();
            }
        } catch (FormatException _) {
            return false;
        }
        return hasVersion && hasGraph;
    }

    private static boolean startsGraph(ProtoInput in, Field graph) throws IOException {
        Field first = in.at(graph.start());
        return first.wire() == ProtoInput.BYTES && switch (first.number()) {
            case 1, 2, 5, 10, 11, 12, 13, 14, 15, 16 -> true;
            default -> false;
        };
    }

    /// Reads a model.
    ///
    /// @param file the file
    /// @param budget what reading it may cost
    /// @throws FormatException if it is malformed
    static OnnxModel read(MappedFile file, ReadBudget budget) throws IOException {
        OnnxModel model = new OnnxModel(file, budget);
        model.read();
        return model;
    }

    SequencedMap<String, OnnxTensor> tensors() {
        return tensors;
    }

    Map<String, String> metadata() {
        return metadata;
    }

    /// {@return the tensors by the files that they are in, that of the model first with an empty name}
    SequencedMap<String, SequencedMap<String, OnnxTensor>> files() {
        return files;
    }

    /// {@return what the state does not contain}
    List<UnreadPart> unread() {
        Stream<UnreadPart> graph = nodes == 0
                ? Stream.empty()
                : Stream.of(new UnreadPart(Kind.RECORD,
                        "the graph, which is not run: %,d node%s".formatted(nodes, nodes == 1 ? "" : "s"), firstNode,
                        nodeBytes));
        return Stream.concat(graph,
                Stream.of(texts, sparse, training).map(UnreadParts::part).flatMap(Optional::stream)).toList();
    }

    private void read() throws IOException {
        Map<String, String> own = new LinkedHashMap<>();
        in.forEach(0, file.size(), field -> {
            switch (field.number()) {
                case 1 -> own.put("onnx.ir_version", Long.toString(field.value()));
                case 2 -> own.put("onnx.producer_name", in.text(field));
                case 3 -> own.put("onnx.producer_version", in.text(field));
                case 4 -> own.put("onnx.domain", in.text(field));
                case 5 -> own.put("onnx.model_version", Long.toString(field.value()));
                case 6 -> own.put("onnx.doc_string", in.text(field));
                case GRAPH -> open(new Scope(true, field.start(), field.end(), "", 0));
                case 8 -> {
                    Pair version = pair(field);
                    own.put("onnx.opset." + (version.key.isEmpty() ? "ai.onnx" : version.key),
                            Long.toString(version.number));
                }
                case 14 -> {
                    Pair pair = pair(field);
                    metadata.put(pair.key, pair.value);
                }
                case 20 -> training.add("training_info", field.start(), field.nbytes());
                case 25 -> open(new Scope(false, field.start(), field.end(), text(field, 1), 0));
                default -> {}
            }
        });
        own.forEach(metadata::putIfAbsent);
        while (!scopes.isEmpty()) {
            read(scopes.remove());
        }
        // Models before version 4 list initializers as inputs, too.
        tensors.keySet().forEach(name -> metadata.remove("onnx.input." + name));
    }

    /// A message of two fields: a text, and a text or a number.
    private record Pair(String key, String value, long number) {}

    private Pair pair(Field message) throws IOException {
        Pair[] pair = {new Pair("", "", 0)};
        budget.takeMemory(ReadBudget.ENTRY);
        in.forEach(message.start(), message.end(), field -> {
            switch (field.number()) {
                case 1 -> pair[0] = new Pair(in.text(field), pair[0].value, pair[0].number);
                case 2 -> pair[0] = field.wire() == ProtoInput.VARINT
                        ? new Pair(pair[0].key, pair[0].value, field.value())
                        : new Pair(pair[0].key, in.text(field), 0);
                default -> {}
            }
        });
        return pair[0];
    }

    /// {@return a text of a message, or an empty one}
    private String text(Field message, int number) throws IOException {
        String[] text = {""};
        in.forEach(message.start(), message.end(), field -> {
            if (field.number() == number && text[0].isEmpty()) {
                text[0] = in.text(field);
            }
        });
        return text[0];
    }

    private void open(Scope scope) {
        if (scope.depth > DEEPEST) {
            throw ProtoInput.damaged("graphs nest more than " + DEEPEST + " deep", scope.start);
        }
        budget.takeMemory(ReadBudget.CONTAINER);
        budget.takeText(scope.prefix.length());
        scopes.add(scope.isGraph || scope.prefix.isEmpty()
                ? scope
                : new Scope(false, scope.start, scope.end, scope.prefix + '/', scope.depth));
    }

    private void read(Scope scope) throws IOException {
        List<Field> inner = new ArrayList<>();
        in.forEach(scope.start, scope.end, field -> {
            if (field.number() == (scope.isGraph ? 1 : 7)) {
                budget.takeMemory(ReadBudget.ENTRY);
                inner.add(field);
            } else if (scope.isGraph) {
                switch (field.number()) {
                    case 5 -> add(scope.prefix + text(field, 8), field);
                    case 15 -> addSparse(scope.prefix, field);
                    case 2, 11, 12 -> describe(scope, field);
                    default -> {}
                }
            }
        });
        for (Field node : inner) {
            firstNode = nodes++ == 0 ? node.start() : Math.min(firstNode, node.start());
            nodeBytes += scope.depth == 0 ? node.nbytes() : 0;
            readNode(scope, node, scope.prefix);
        }
    }

    private void describe(Scope graph, Field field) throws IOException {
        if (graph.depth > 0) {
            return;
        }
        switch (field.number()) {
            case 2 -> metadata.putIfAbsent("onnx.graph", in.text(field));
            default -> {
                budget.takeMemory(ReadBudget.ENTRY);
                metadata.putIfAbsent((field.number() == 11 ? "onnx.input." : "onnx.output.") + text(field, 1),
                        describe(field));
            }
        }
    }

    /// {@return the type of an input or output, for instance `float32 [batch, 3]`}
    private String describe(Field value) throws IOException {
        StringBuilder text = new StringBuilder();
        in.forEach(value.start(), value.end(), type -> within(type, 2, tensor -> within(tensor, 1, part -> {
            if (part.number() == 1) {
                text.append(OnnxType.name(part.value()));
            }
            within(part, 2, dim -> within(dim, 1, size -> text.append(text.indexOf("[") < 0 ? " [" : ", ")
                    .append(size.number() == 1 ? Long.toString(size.value()) : in.text(size))));
        })));
        return text.isEmpty() ? "no tensor" : text.append(text.indexOf("[") < 0 ? "" : "]").toString();
    }

    private void within(Field field, int number, ProtoInput.Action action) throws IOException {
        if (field.number() == number && field.wire() == ProtoInput.BYTES) {
            in.forEach(field.start(), field.end(), action);
        }
    }

    /// A constant is named by what it puts out, which is unique in a graph.
    private void readNode(Scope scope, Field node, String prefix) throws IOException {
        String output = text(node, 2);
        String path = prefix + (output.isEmpty() ? "node " + nodes : output);
        boolean isConstant = text(node, 4).equals("Constant");
        in.forEach(node.start(), node.end(), attribute -> {
            if (attribute.number() != 5) {
                return;
            }
            String name = path + '/' + text(attribute, 1);
            int[] count = {0};
            in.forEach(attribute.start(), attribute.end(), value -> {
                switch (value.number()) {
                    case 5 -> add(isConstant ? path : name, value);
                    case 10 -> add(name + '/' + count[0]++, value);
                    case 6 -> open(new Scope(true, value.start(), value.end(), name + '/', scope.depth + 1));
                    case 11 -> open(new Scope(true, value.start(), value.end(), name + '/' + count[0]++ + '/',
                            scope.depth + 1));
                    case 22, 23 -> addSparse(name + '/', value);
                    default -> {}
                }
            });
        });
    }

    private void addSparse(String prefix, Field tensor) throws IOException {
        in.forEach(tensor.start(), tensor.end(), part -> {
            if (part.number() == 1) {
                sparse.add(prefix + text(part, 8), tensor.start(), tensor.nbytes());
            }
        });
    }

    private void add(String name, Field message) throws IOException {
        budget.takeMemory(ReadBudget.TENSOR);
        budget.takeText(name.length());
        TensorFields fields = new TensorFields();
        in.forEach(message.start(), message.end(), fields::add);
        if (fields.type == OnnxType.STRING) {
            texts.add(name, message.start(), message.nbytes());
            return;
        }
        OnnxTensor tensor = fields.tensor(name, message);
        if (tensors.putIfAbsent(name, tensor) != null) {
            throw ProtoInput.damaged("the tensor " + FormatException.quote(name) + " is there twice",
                    message.start());
        }
        files.computeIfAbsent(tensor.location, _ -> {
            budget.takeMemory(MEMORY_OF_FILE);
            return new LinkedHashMap<>();
        }).put(name, tensor);
    }

    /// The fields of a `TensorProto`.
    private final class TensorFields {
        private long[] sizes = new long[4];
        private int rank;
        private long type;
        private boolean isSegment;
        private @Nullable Field raw;
        /// The bytes and pieces of the fields of numbers, and where the last piece is.
        private final long[] nbytes = new long[OnnxType.UINT64S + 1];
        private final int[] pieces = new int[OnnxType.UINT64S + 1];
        private final long[] last = new long[OnnxType.UINT64S + 1];
        private boolean isExternal;
        private final Map<String, String> external = new LinkedHashMap<>();

        private void add(Field field) throws IOException {
            switch (field.number()) {
                case 1 -> addSizes(field);
                case 2 -> type = field.value();
                case 3 -> isSegment = true;
                case OnnxType.FLOATS, OnnxType.INT32S, OnnxType.INT64S, OnnxType.DOUBLES, OnnxType.UINT64S -> {
                    nbytes[field.number()] += field.nbytes();
                    pieces[field.number()]++;
                    last[field.number()] = field.start();
                }
                case 9 -> raw = field;
                case 13 -> {
                    Pair pair = pair(field);
                    external.put(pair.key, pair.value);
                }
                case 14 -> isExternal = field.value() == 1;
                default -> {}
            }
        }

        private void addSizes(Field field) throws IOException {
            if (field.wire() == ProtoInput.VARINT) {
                addSize(field.value(), field.start());
                return;
            }
            ByteReader packed = in.within(field);
            while (packed.remaining() > 0) {
                addSize(ProtoInput.varint(packed), packed.position());
            }
        }

        private void addSize(long size, long position) {
            if (rank == Shape.MAX_RANK) {
                throw ProtoInput.damaged("a tensor has more than " + rank + " dimensions", position);
            }
            sizes = rank == sizes.length ? Arrays.copyOf(sizes, 2 * rank) : sizes;
            sizes[rank++] = size;
        }

        private OnnxTensor tensor(String name, Field message) {
            OnnxType known = OnnxType.of(type);
            Shape shape;
            try {
                shape = Shape.of(Arrays.copyOf(sizes, rank));
                shape.contiguousStride();
                return known == null
                        ? fault(shape, "its type has the number " + type + ", which is not known here", message)
                        : tensor(name, known, shape, known.dtype().nbytes(shape.numel()), message);
            } catch (IllegalArgumentException | ArithmeticException e) {
                return fault(Shape.of(1), "cannot be: " + e.getMessage(), message);
            }
        }

        private OnnxTensor tensor(String name, OnnxType known, Shape shape, long size, Field message) {
            boolean isOfPairs = known.isOfPairs(shape);
            if (isOfPairs) {
                sizes[rank - 1] /= 2;
            }
            OnnxTensor found = new OnnxTensor(isOfPairs ? DType.FLOAT4_E2M1FN_X2 : known.dtype(),
                    isOfPairs ? Shape.of(Arrays.copyOf(sizes, rank)) : shape, "", message.start(), size, null, null);
            long available = nbytes[known.field()];
            if (isSegment) {
                return fault(shape, "it is a segment of another tensor", message);
            } else if (isExternal) {
                return external(name, found, message);
            } else if (raw != null) {
                return raw.nbytes() == size
                        ? found.at("", raw.start())
                        : fault(shape, "its data has " + raw.nbytes() + " bytes and not " + size, message);
            } else if (known.width() == 0 && size > 0) {
                return fault(shape, "its elements of 6 bits are numbers and not raw_data", message);
            } else if (known.isFixed() ? available != size : available < size / Math.max(1, known.width())) {
                return fault(shape, "its numbers have " + available + " bytes, which is not what its " + size
                        + " bytes need", message);
            }
            return known.isFixed() && pieces[known.field()] == 1
                    ? found.at("", last[known.field()])
                    : new OnnxTensor(found.dtype, found.shape, "", message.start(), size,
                            new Numbers(known, message.start(), message.end()), null);
        }

        private OnnxTensor external(String name, OnnxTensor tensor, Field message) {
            String location = external.getOrDefault("location", "");
            location = location.startsWith("./") ? location.substring(2) : location;
            if (!Stream.of(location.split("/", -1)).allMatch(Draft::isPlainName)) {
                throw new FormatException("ONNX-EXTERNAL", "the tensor " + FormatException.quote(name)
                        + " is in the file " + FormatException.quote(location)
                        + ", which is no name of a file in the directory of the model", message.start(),
                        "Save the model again with its external data next to it");
            }
            long offset = number("offset", 0);
            if (offset < 0 || number("length", tensor.nbytes) != tensor.nbytes) {
                return fault(tensor.shape, "its external data has the offset "
                        + FormatException.quote(external.getOrDefault("offset", "0")) + " and the length "
                        + FormatException.quote(external.getOrDefault("length", "")) + ", and the tensor "
                        + tensor.nbytes + " bytes", message);
            }
            return tensor.at(location, offset);
        }

        private long number(String key, long absent) {
            try {
                return Long.parseLong(external.getOrDefault(key, Long.toString(absent)));
            } catch (NumberFormatException _) {
                return -1;
            }
        }

        private OnnxTensor fault(Shape shape, String what, Field message) {
            budget.takeMemory(ReadBudget.UNREADABLE);
            return new OnnxTensor(DType.UINT8, shape, "", message.start(), 0, null,
                    new FormatException("ONNX-TENSOR", what, message.start(),
                            "Check the model with onnx.checker, and export it again"));
        }
    }
}

package io.undercroft.interop.internal.onnx;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.UnreadParts;
import io.undercroft.interop.internal.onnx.ProtoMessage.Field;
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
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// The tensors and metadata of a model. Tensors are the initializers of its graph under their names, then the constants
/// among its nodes under the names of what they put out, and those of other attributes, of graphs in nodes and of
/// functions, under the path to them. The numbers of fields are those of `onnx.proto`.
final class OnnxModel {
    private static final int GRAPH = 7;
    private static final Set<Integer> FIELDS = Set.of(1, 2, 3, 4, 5, 6, GRAPH, 8, 14, 20, 25, 26);
    private static final Set<Integer> FIELDS_OF_GRAPHS = Set.of(1, 2, 5, 10, 11, 12, 13, 14, 15, 16);
    /// The fields of attributes that have tensors and graphs.
    private static final List<Integer> IN_ATTRIBUTES = List.of(5, 6, 10, 11, 22, 23);
    private static final int MOST_LOOKED_AT = 64;
    /// As deep as protobuf itself reads: each graph is in an attribute of a node of another one.
    private static final int DEEPEST = 32;
    /// What the mapping of a further file takes.
    private static final long MEMORY_OF_FILE = 16 << 10;

    private final ReadBudget budget;
    private final SequencedMap<String, OnnxTensor> tensors = new LinkedHashMap<>();
    private final SequencedMap<String, SequencedMap<String, OnnxTensor>> files = new LinkedHashMap<>(
            Map.of("", new LinkedHashMap<>()));
    private final SequencedMap<String, String> metadata = new LinkedHashMap<>();
    private final UnreadParts texts = new UnreadParts("text tensor");
    private final UnreadParts sparse = new UnreadParts("sparse tensor");
    private final UnreadParts training = new UnreadParts("training graph");
    private final Deque<Scope> scopes = new ArrayDeque<>();
    private @Nullable UnreadPart graph;

    /// A tensor as the model describes it.
    ///
    /// @param dtype the type of its elements
    /// @param shape its sizes, in such elements
    /// @param location the file that its bytes are in, empty for that of the model
    /// @param offset where they are, if they are there as they are in memory
    /// @param nbytes its size in bytes
    /// @param type what it is decoded as otherwise
    /// @param pieces what it is decoded from then
    /// @param fault what is wrong with it
    record OnnxTensor(DType dtype, Shape shape, String location, long offset, long nbytes, @Nullable OnnxType type,
            List<Field> pieces, @Nullable FormatException fault) {}

    /// A graph or the body of a function that is still to be read.
    ///
    /// @param body its message
    /// @param nodes the field of that with its nodes
    /// @param prefix what the names of its tensors begin with
    /// @param depth how many graphs it is in
    private record Scope(ProtoMessage body, int nodes, String prefix, int depth) {}

    /// Reads a model.
    ///
    /// @param file the file
    /// @param budget what reading it may cost
    /// @throws FormatException if it is malformed
    OnnxModel(MappedFile file, ReadBudget budget) throws IOException {
        this.budget = budget;
        ProtoMessage model = new ProtoMessage(file, budget, 0, file.size());
        for (ProtoMessage pair : model.messages(14)) {
            metadata.put(pair.text(1), pair.text(2));
        }
        describe("ir_version", Long.toString(model.number(1)));
        describe("producer_name", model.text(2));
        describe("producer_version", model.text(3));
        describe("domain", model.text(4));
        describe("model_version", model.all(5).isEmpty() ? "" : Long.toString(model.number(5)));
        describe("doc_string", model.text(6));
        for (ProtoMessage opset : model.messages(8)) {
            describe("opset." + (opset.text(1).isEmpty() ? "ai.onnx" : opset.text(1)), Long.toString(opset.number(2)));
        }
        for (ProtoMessage each : model.messages(GRAPH)) {
            scopes.add(new Scope(each, 1, "", 0));
        }
        for (ProtoMessage function : model.messages(25)) {
            scopes.add(new Scope(function, GRAPH, function.text(1) + '/', 0));
        }
        model.all(20).forEach(each -> training.add("training_info", each.start(), each.nbytes()));
        while (!scopes.isEmpty()) {
            read(scopes.remove());
        }
    }

    /// {@return whether a file is a model} There are no first bytes that all have. The first fields have to be fields
    /// of a model, and among them its version and the start of a graph.
    ///
    /// @param file any file
    static boolean startsIn(MappedFile file) throws IOException {
        Set<Integer> found = new HashSet<>();
        ByteReader in = ProtoMessage.reader(file, 0, file.size());
        try {
            for (int i = 0; in.position() < file.size() && i < MOST_LOOKED_AT; i++) {
                Field field = ProtoMessage.next(in);
                boolean isNumber = field.number() == 1 || field.number() == 5;
                if (!FIELDS.contains(field.number())
                        || field.wire() != (isNumber ? ProtoMessage.VARINT : ProtoMessage.BYTES)
                        || (field.number() == GRAPH && !startsGraph(in))) {
                    return false;
                }
                found.add(field.number());
                in.at(field.end());
            }
        } catch (FormatException _) {
            return false;
        }
        return found.containsAll(Set.of(1, GRAPH));
    }

    private static boolean startsGraph(ByteReader in) throws IOException {
        Field first = ProtoMessage.next(in);
        return FIELDS_OF_GRAPHS.contains(first.number()) && first.wire() == ProtoMessage.BYTES;
    }

    SequencedMap<String, OnnxTensor> tensors() {
        return tensors;
    }

    /// {@return the tensors by the files that they are in, that of the model first with an empty name}
    SequencedMap<String, SequencedMap<String, OnnxTensor>> files() {
        return files;
    }

    Map<String, String> metadata() {
        return metadata;
    }

    /// {@return what the state does not contain}
    List<UnreadPart> unread() {
        return Stream.concat(Optional.ofNullable(graph).stream(),
                Stream.of(texts, sparse, training).map(UnreadParts::part).flatMap(Optional::stream)).toList();
    }

    private void describe(String key, String value) {
        budget.takeText(key.length());
        if (!value.isEmpty()) {
            metadata.putIfAbsent("onnx." + key, value);
        }
    }

    private void read(Scope scope) throws IOException {
        List<ProtoMessage> nodes = scope.body.messages(scope.nodes);
        if (scope.nodes == 1) {
            for (ProtoMessage each : scope.body.messages(5)) {
                add(scope.prefix + each.text(8), each);
            }
            addSparse(scope.prefix, scope.body.messages(15));
            if (scope.prefix.isEmpty()) {
                describe(scope.body, nodes.size());
            }
        }
        for (int number = 0; number < nodes.size(); number++) {
            ProtoMessage node = nodes.get(number);
            List<Field> outputs = node.all(2);
            for (ProtoMessage attribute : node.messages(5)) {
                if (IN_ATTRIBUTES.stream().allMatch(field -> attribute.all(field).isEmpty())) {
                    continue;
                }
                // What a node puts out is unique in a graph.
                String path = scope.prefix + (outputs.isEmpty() ? "node " + number : node.text(outputs.getFirst()));
                String name = path + '/' + attribute.text(1);
                budget.takeText(name.length());
                for (ProtoMessage each : attribute.messages(5)) {
                    add(node.text(4).equals("Constant") ? path : name, each);
                }
                int count = 0;
                for (ProtoMessage each : attribute.messages(10)) {
                    add(name + '/' + count++, each);
                }
                open(scope, name + '/', attribute.messages(6));
                for (ProtoMessage each : attribute.messages(11)) {
                    open(scope, name + '/' + count++ + '/', List.of(each));
                }
                addSparse(name + '/', attribute.messages(22));
                addSparse(name + '/', attribute.messages(23));
            }
        }
    }

    private void open(Scope outer, String prefix, List<ProtoMessage> graphs) {
        for (ProtoMessage each : graphs) {
            if (outer.depth == DEEPEST) {
                throw ProtoMessage.damaged("graphs nest more than " + DEEPEST + " deep", each.start());
            }
            budget.takeText(prefix.length());
            scopes.add(new Scope(each, 1, prefix, outer.depth + 1));
        }
    }

    private void describe(ProtoMessage main, int nodes) throws IOException {
        describe("graph", main.text(2));
        // Models before version 4 list initializers as inputs, too.
        for (ProtoMessage input : main.messages(11)) {
            if (!tensors.containsKey(input.text(1))) {
                describe("input." + input.text(1), typeOf(input));
            }
        }
        for (ProtoMessage output : main.messages(12)) {
            describe("output." + output.text(1), typeOf(output));
        }
        if (nodes > 0) {
            graph = new UnreadPart(Kind.RECORD,
                    String.format(Locale.ROOT, "the graph, which is not run, of %,d node%s", nodes,
                            nodes == 1 ? "" : "s"),
                    main.all(1).getFirst().start(), main.nbytes(1));
        }
    }

    /// {@return the type of an input or output, for instance `float32 [batch, 3]`}
    private static String typeOf(ProtoMessage value) throws IOException {
        List<String> texts = new ArrayList<>();
        for (ProtoMessage type : value.messages(2)) {
            for (ProtoMessage tensor : type.messages(1)) {
                texts.add(tensor.number(1) == OnnxType.STRING
                        ? "string"
                        : OnnxType.of(tensor.number(1)).map(known -> known.dtype().name()).orElse("unknown"));
                for (ProtoMessage shape : tensor.messages(2)) {
                    List<String> sizes = new ArrayList<>();
                    for (ProtoMessage size : shape.messages(1)) {
                        sizes.add(size.all(1).isEmpty() ? size.text(2) : Long.toString(size.number(1)));
                    }
                    texts.add(sizes.toString());
                }
            }
        }
        return texts.isEmpty() ? "no tensor" : String.join(" ", texts);
    }

    private void addSparse(String prefix, List<ProtoMessage> all) throws IOException {
        for (ProtoMessage each : all) {
            for (ProtoMessage values : each.messages(1)) {
                sparse.add(prefix + values.text(8), each.start(), each.nbytes());
            }
        }
    }

    private void add(String name, ProtoMessage message) throws IOException {
        budget.takeMemory(ReadBudget.TENSOR);
        budget.takeText(name.length());
        if (message.number(2) == OnnxType.STRING) {
            texts.add(name, message.start(), message.nbytes());
            return;
        }
        OnnxTensor tensor = tensor(name, message);
        if (tensors.putIfAbsent(name, tensor) != null) {
            throw ProtoMessage.damaged("the tensor " + FormatException.quote(name) + " is there twice",
                    message.start());
        }
        files.computeIfAbsent(tensor.location, _ -> {
            budget.takeMemory(MEMORY_OF_FILE);
            return new LinkedHashMap<>();
        }).put(name, tensor);
    }

    private OnnxTensor tensor(String name, ProtoMessage message) throws IOException {
        Optional<OnnxType> known = OnnxType.of(message.number(2));
        Shape shape = Shape.of(1);
        try {
            shape = Shape.of(message.numbers(1).stream().mapToLong(Long::longValue).toArray());
            shape.contiguousStride();
            if (known.isPresent()) {
                return tensor(name, message, known.get(), shape, known.get().dtype().nbytes(shape.numel()));
            }
        } catch (IllegalArgumentException | ArithmeticException e) {
            return fault(Shape.of(1), "cannot be: " + e.getMessage(), message);
        }
        return fault(shape, "its type has the number " + message.number(2) + ", which is not known here", message);
    }

    private OnnxTensor tensor(String name, ProtoMessage message, OnnxType type, Shape shape, long nbytes)
            throws IOException {
        List<Field> pieces = message.all(type.field());
        String location = "";
        long offset = message.start();
        long available = message.nbytes(type.field());
        if (message.number(14) == 1) {
            Map<String, String> data = new HashMap<>();
            for (ProtoMessage pair : message.messages(13)) {
                data.put(pair.text(1), pair.text(2));
            }
            location = location(name, data.getOrDefault("location", ""), message);
            offset = number(data, "offset", 0);
            available = offset < 0 ? -1 : number(data, "length", nbytes);
            pieces = List.of();
        } else if (!message.all(9).isEmpty() || (type.isFixed() && pieces.size() == 1)) {
            Field bytes = message.all(9).isEmpty() ? pieces.getFirst() : message.all(9).getLast();
            offset = bytes.start();
            available = bytes.nbytes();
            pieces = List.of();
        } else if (nbytes == 0) {
            pieces = List.of();
        } else if (!type.isFixed()) {
            // How many numbers there are is known when they are decoded.
            available = type.width() > 0 && available >= nbytes / type.width() ? nbytes : -1;
        }
        return available == nbytes && message.all(3).isEmpty()
                ? new OnnxTensor(type.dtype(shape), type.shape(shape), location, offset, nbytes,
                        pieces.isEmpty() ? null : type, pieces, null)
                : fault(shape, "its data are not there as the " + nbytes + " bytes that its type and its shape "
                        + shape + " need", message);
    }

    private static String location(String name, String given, ProtoMessage message) {
        String location = given.startsWith("./") ? given.substring(2) : given;
        if (!Stream.of(location.split("/", -1)).allMatch(Draft::isPlainName)) {
            throw new FormatException("ONNX-EXTERNAL", "the tensor " + FormatException.quote(name)
                    + " is in the file " + FormatException.quote(location)
                    + ", which is no name of a file in the directory of the model", message.start(),
                    "Save the model again with its external data next to it");
        }
        return location;
    }

    /// {@return a number of external data; negative if it is none}
    private static long number(Map<String, String> data, String key, long absent) {
        try {
            return Long.parseLong(data.getOrDefault(key, Long.toString(absent)));
        } catch (NumberFormatException _) {
            return -1;
        }
    }

    private OnnxTensor fault(Shape shape, String what, ProtoMessage message) {
        budget.takeMemory(ReadBudget.UNREADABLE);
        return new OnnxTensor(DType.UINT8, shape, "", message.start(), 0, null, List.of(),
                new FormatException("ONNX-TENSOR", what, message.start(),
                        "Check the model with onnx.checker, and export it again"));
    }
}

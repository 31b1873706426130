package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.JsonReader;
import io.undercroft.interop.internal.StorageFilter;
import io.undercroft.interop.internal.TensorsByName;
import io.undercroft.interop.internal.UnreadParts;
import io.undercroft.interop.internal.ZipDirectory;
import io.undercroft.interop.internal.ZipRecord;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.internal.tree.Unreadable;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/// What `torch.export.save` writes: a zip archive of programs and their tensors. The state of a program is an
/// `OrderedDict` of what `ExportedProgram.state_dict` has; its constants are a map in the attribute `constants`. An
/// archive of several programs has a map of their states by their names. A program is described by the metadata and
/// never run.
///
/// The tensors are raw bytes that JSON describes (since PyTorch 2.9), or files of `torch.save` in the archive.
/// Made for one archive and one thread.
final class ExportArchive {
    private static final String FORMAT = "/archive_format";
    /// The program of an archive before PyTorch 2.8, which has no folder.
    private static final String OLD_PROGRAM = "serialized_exported_program.json";
    private static final String MODELS = "models/";
    private static final String JSON = ".json";
    private static final String CONSTANTS = "constants";
    private static final List<String> SMALL_RECORDS = List.of("version", "archive_version", "byteorder",
            ".format_version", ".storage_alignment");
    private static final int STRIDED = 7;
    private static final long LARGEST_JSON = 1L << 30;
    /// The dtypes by their numbers in the schema of `torch.export`.
    private static final Map<Long, DType> DTYPES = Map.ofEntries(Map.entry(1L, DType.UINT8), Map.entry(2L, DType.INT8),
            Map.entry(3L, DType.INT16), Map.entry(4L, DType.INT32), Map.entry(5L, DType.INT64),
            Map.entry(6L, DType.FLOAT16), Map.entry(7L, DType.FLOAT32), Map.entry(8L, DType.FLOAT64),
            Map.entry(9L, DType.COMPLEX32), Map.entry(10L, DType.COMPLEX64), Map.entry(11L, DType.COMPLEX128),
            Map.entry(12L, DType.BOOL), Map.entry(13L, DType.BFLOAT16), Map.entry(28L, DType.UINT16),
            Map.entry(29L, DType.FLOAT8_E4M3FN), Map.entry(30L, DType.FLOAT8_E5M2),
            Map.entry(31L, DType.FLOAT8_E4M3FNUZ), Map.entry(32L, DType.FLOAT8_E5M2FNUZ),
            Map.entry(33L, DType.FLOAT8_E8M0FNU), Map.entry(34L, DType.UINT32), Map.entry(35L, DType.UINT64));

    private final MappedFile file;
    private final ZipDirectory zip;
    private final OpenOptions opening;
    private final StorageFilter filter;
    private final ReadBudget budget;
    /// The folder of all records with a slash, or empty as in archives before PyTorch 2.8.
    private final String folder;
    private final ByteOrderStorages elements;
    /// The records that are read or reported as what they are.
    private final Set<String> known = new HashSet<>();
    private final Map<String, String> metadata = new LinkedHashMap<>();
    private final Map<String, ForeignClass> classes = new LinkedHashMap<>();
    private final List<UnreadPart> unread = new ArrayList<>();
    private final UnreadParts objects = new UnreadParts("object of a custom class");

    ExportArchive(MappedFile file, ZipDirectory zip, OpenOptions opening, StorageFilter filter) throws IOException {
        this.file = file;
        this.zip = zip;
        this.opening = opening;
        this.filter = filter;
        this.budget = ReadBudget.of(file.size());
        this.folder = zip.records().stream().map(ZipRecord::name).filter(ExportArchive::isRecord).findFirst()
                .map(name -> name.substring(0, name.lastIndexOf('/') + 1)).orElse("");
        this.elements = new ByteOrderStorages(file, opening, TorchZipFormat.byteOrder(zip, folder + "byteorder"));
    }

    /// {@return whether only an archive of `torch.export` has a record of this name}
    static boolean isRecord(String name) {
        return name.equals(OLD_PROGRAM)
                || (name.endsWith(FORMAT) && name.indexOf('/') == name.length() - FORMAT.length());
    }

    /// {@return the contents of the archive}
    ///
    /// @throws FormatException if it is damaged, or has no program
    TreeContents contents() throws IOException {
        List<ZipRecord> programs = zip.records().stream().filter(record -> isProgram(record.name())).toList();
        if (programs.isEmpty()) {
            throw new FormatException("TORCH-UNSUPPORTED", "an archive of compiled code (.pt2) without a program of"
                    + " torch.export", FormatException.NO_OFFSET,
                    "Save the program that the code was compiled from with torch.export.save");
        }
        SequencedMap<String, @Nullable Object> states = new LinkedHashMap<>();
        for (ZipRecord program : programs) {
            String name = program.name();
            String model = folder.isEmpty()
                    ? ""
                    : name.substring(folder.length() + MODELS.length(), name.length() - JSON.length());
            describe(json(program), "torch.export." + (programs.size() == 1 ? "" : model + "."));
            states.put(model, folder.isEmpty()
                    ? state(tensorsOf("serialized_state_dict"), tensorsOf("serialized_constants"))
                    : state(tensors("data/weights/", model, "_weights_config.json"),
                            tensors("data/constants/", model, "_constants_config.json")));
        }
        String shown = programs.stream().limit(TorchZipFormat.SHOWN).map(ZipRecord::name).map(FormatException::quote)
                .collect(Collectors.joining(", "));
        unread.addFirst(new UnreadPart(Kind.RECORD, (programs.size() == 1
                ? "a program of torch.export, which is not run: "
                : String.format(Locale.ROOT, "%,d programs of torch.export, which are not run: ", programs.size()))
                + shown,
                programs.getFirst().header(), programs.stream().mapToLong(ZipRecord::size).sum()));
        objects.part().ifPresent(unread::add);
        unread.addAll(zip.besides(record -> known.contains(record.name()) || isRecord(record.name())
                || record.name().startsWith(folder + ".data/")
                || SMALL_RECORDS.contains(record.name().substring(folder.length()))));
        return TorchZipFormat.contents(zip, opening.progress(),
                states.size() == 1 ? states.firstEntry().getValue() : states, metadata, budget)
                .withUnread(unread).withForeignClasses(List.copyOf(classes.values()));
    }

    private boolean isProgram(String name) {
        return folder.isEmpty()
                ? name.equals(OLD_PROGRAM)
                : name.startsWith(folder + MODELS) && name.endsWith(JSON)
                        && name.length() > folder.length() + MODELS.length() + JSON.length();
    }

    private static TypedMap state(Map<?, ?> weights, Map<?, ?> constants) {
        TypedMap state = new TypedMap(Globals.ORDERED_DICT);
        state.putAll(weights);
        if (weights instanceof TypedMap dict) {
            state.attributes().putAll(dict.attributes());
        }
        if (!constants.isEmpty()) {
            state.attributes().put(CONSTANTS, constants);
        }
        return state;
    }

    /// {@return the tensors of an archive before PyTorch 2.8}
    private Map<?, ?> tensorsOf(String name) throws IOException {
        // PyTorch 2.1 called a pickle JSON.
        return dict(zip.find(name + ".pt").orElseGet(() -> record(name + JSON)));
    }

    private Map<?, ?> dict(ZipRecord pickle) throws IOException {
        known.add(pickle.name());
        // PyTorch writes no bytes if there is nothing.
        Object made = pickle.size() == 0 ? Map.of() : pickled(pickle);
        if (made instanceof Map<?, ?> map) {
            return map;
        }
        throw refused("record " + FormatException.quote(pickle.name()) + " builds " + CallArguments.describe(made)
                + " and no dict of tensors", pickle.header());
    }

    /// {@return the weights or constants of a program, which are bytes that a record of JSON describes; those of
    /// PyTorch 2.8 are a pickle}
    private Map<?, ?> tensors(String directory, String model, String config) throws IOException {
        String payloads = folder + directory;
        Optional<ZipRecord> pickle = zip.find(payloads + model + ".pt");
        if (pickle.isPresent()) {
            return dict(pickle.get());
        }
        TorchStorages storages = TorchZipFormat.storages(zip, zip.headers(), payloads, known, elements, opening,
                filter.in(directory));
        Map<String, @Nullable Object> tensors = new LinkedHashMap<>();
        for (Map.Entry<String, Payload> each : payloads(record(payloads + model + config)).entrySet()) {
            String name = each.getKey();
            Payload payload = each.getValue();
            ZipRecord record = record(payloads + payload.path);
            known.add(record.name());
            if (!payload.isPickled) {
                Tensor tensor = tensor(name, payload, record, storages);
                tensors.put(name, payload.isParameter ? new Typed(TensorRebuilder.PARAMETER, tensor) : tensor);
            } else if (payload.isTensor) {
                tensors.put(name, pickled(record));
            } else {
                objects.add(name, record.header(), record.size());
            }
        }
        return tensors;
    }

    /// {@return what a file of `torch.save` in the archive has}
    private @Nullable Object pickled(ZipRecord record) throws IOException {
        if (!record.isStored()) {
            throw new FormatException("TORCH-UNSUPPORTED", "record " + FormatException.quote(record.name())
                    + " is a file of torch.save that is compressed", record.header(),
                    "Unpack the archive, and pack it again without compression (zip -0)");
        }
        long start = zip.dataOffset(record);
        TreeContents made = TorchZipFormat.read(file, ZipDirectory.read(file, start, start + record.size()), opening,
                filter.in(record.name()), budget);
        // What is before and behind it is the archive that it is in.
        made.unread().stream().filter(part -> part.kind() != Kind.BYTES).forEach(unread::add);
        ForeignNames.merge(classes, made.foreignClasses());
        return made.state();
    }

    private Tensor tensor(String name, Payload payload, ZipRecord record, TorchStorages storages) {
        budget.takeMemory(ReadBudget.ENTRY + ReadBudget.TENSOR);
        Storage bytes;
        try {
            bytes = storages.storage(payload.path, payload.device, Globals.UNTYPED, record.size());
        } catch (PickleFault fault) {
            throw fault.at("", record.header());
        }
        DType dtype = DTYPES.get(payload.dtype);
        try {
            if (dtype == null || payload.layout != STRIDED || payload.isSymbolic) {
                throw PickleFault.because("TORCH-UNSUPPORTED", "the tensor " + FormatException.quote(name)
                        + " has the type " + payload.dtype + ", the layout " + payload.layout
                        + (payload.isSymbolic ? " and a size that is not known" : ""),
                        "Only strided tensors of the types of PyTorch 2.13 are read from programs of torch.export");
            }
            storages.use(bytes, dtype);
            Shape shape = TensorRebuilder.shape(payload.sizes);
            // PyTorch saves fake tensors without bytes.
            Storage storage = record.size() > 0 || Arrays.stream(payload.sizes).anyMatch(size -> size == 0)
                    ? bytes
                    : Storage.meta(TensorRebuilder.extent(dtype, shape, payload.strides));
            return TensorsByName.withGrad(
                    TensorRebuilder.checked(storage, dtype, payload.offset, shape, payload.strides), payload.hasGrad);
        } catch (PickleFault fault) {
            budget.takeMemory(ReadBudget.UNREADABLE);
            return Unreadable.tensor(fault.at("", record.header()).withFile(zip.file()));
        }
    }

    private ZipRecord record(String name) {
        return zip.find(name).orElseThrow(
                () -> refused("record " + FormatException.quote(name) + " is missing", FormatException.NO_OFFSET));
    }

    private static FormatException refused(String what, long offset) {
        return new FormatException("TORCH-EXPORT", what, offset, PickleFault.DAMAGED);
    }

    private JsonReader json(ZipRecord record) throws IOException {
        known.add(record.name());
        if (record.size() > LARGEST_JSON) {
            throw refused("record " + FormatException.quote(record.name()) + " has " + record.size() + " bytes",
                    record.header());
        }
        budget.takeMemory(record.size());
        budget.takeSteps(record.size());
        try (Arena arena = Arena.ofConfined()) {
            return new JsonReader(zip.read(record, arena).toArray(ValueLayout.JAVA_BYTE),
                    record.isStored() ? zip.dataOffset(record) : record.header());
        }
    }

    /// Adds what the JSON of a program says of it to the metadata.
    private void describe(JsonReader json, String prefix) {
        json.object(member -> {
            switch (member) {
                case "torch_version" -> put(prefix + "torch_version", json.string());
                case "schema_version", "opset_version" -> {
                    // Before PyTorch 2.3, the version of the schema was one number.
                    if (json.isLiteral()) {
                        put(prefix + member, json.literal());
                    } else {
                        json.object(part -> put(prefix + member + "." + part, json.literal()));
                    }
                }
                case "graph_module" -> json.object(part -> {
                    if (part.equals("signature")) {
                        signature(json, prefix);
                    } else {
                        json.skip();
                    }
                });
                default -> json.skip();
            }
        });
        json.end();
    }

    private void put(String key, String value) {
        budget.takeMemory(ReadBudget.ENTRY);
        budget.takeText(key.length() + (long) value.length());
        metadata.put(key, value);
    }

    /// Adds the names of the tensors that are passed to a program, and of those that it returns.
    private void signature(JsonReader json, String prefix) {
        json.object(list -> {
            List<String> names = new ArrayList<>();
            json.array(() -> json.object(kind -> {
                if (kind.equals("user_input") || kind.equals("user_output")) {
                    json.object(_ -> json.object(type -> {
                        if (type.equals("as_tensor")) {
                            json.object(_ -> names.add(json.string()));
                        } else {
                            json.skip();
                        }
                    }));
                } else {
                    json.skip();
                }
            }));
            put(prefix + (list.equals("input_specs") ? "inputs" : "outputs"), String.join(", ", names));
        });
    }

    /// What the JSON says of a tensor or object.
    private static final class Payload {
        private String path = "";
        private boolean isParameter;
        private boolean isPickled;
        private boolean isTensor;
        private boolean isSymbolic;
        private boolean hasGrad;
        private long dtype;
        private long layout;
        private long offset;
        private long[] sizes = {};
        private long[] strides = {};
        private String device = "";

        private Payload read(JsonReader json, ReadBudget budget) {
            json.object(member -> {
                switch (member) {
                    case "path_name" -> path = json.string();
                    case "is_param" -> isParameter = json.literal().equals("true");
                    case "use_pickle" -> isPickled = json.literal().equals("true");
                    case "tensor_meta" -> {
                        isTensor = !json.takeNull();
                        if (isTensor) {
                            json.object(part -> meta(part, json, budget));
                        }
                    }
                    default -> json.skip();
                }
            });
            return this;
        }

        private void meta(String member, JsonReader json, ReadBudget budget) {
            switch (member) {
                case "dtype" -> dtype = json.natural();
                case "layout" -> layout = json.natural();
                case "requires_grad" -> hasGrad = json.literal().equals("true");
                case "sizes" -> sizes = integers(json, budget);
                case "strides" -> strides = integers(json, budget);
                case "storage_offset" -> offset = integer(json);
                case "device" -> {
                    String[] parts = {"", ""};
                    json.object(part -> {
                        if (part.equals("type")) {
                            parts[0] = json.string();
                        } else if (!json.takeNull()) {
                            parts[1] = ":" + json.natural();
                        }
                    });
                    device = parts[0] + parts[1];
                }
                default -> json.skip();
            }
        }

        private long[] integers(JsonReader json, ReadBudget budget) {
            List<Long> integers = new ArrayList<>();
            json.array(() -> {
                budget.takeMemory(ReadBudget.SLOT + ReadBudget.NUMBER);
                integers.add(integer(json));
            });
            return integers.stream().mapToLong(Long::longValue).toArray();
        }

        private long integer(JsonReader json) {
            long[] integer = new long[1];
            json.object(kind -> {
                if (kind.equals("as_int")) {
                    integer[0] = json.natural();
                } else {
                    isSymbolic = true;
                    json.skip();
                }
            });
            return integer[0];
        }
    }

    private SequencedMap<String, Payload> payloads(ZipRecord config) throws IOException {
        SequencedMap<String, Payload> payloads = new LinkedHashMap<>();
        JsonReader json = json(config);
        json.object(member -> {
            if (!member.equals("config")) {
                json.skip();
                return;
            }
            json.object(name -> {
                budget.takeMemory(ReadBudget.CONTAINER + ReadBudget.ENTRY);
                budget.takeText(name.length());
                if (payloads.put(name, new Payload().read(json, budget)) != null) {
                    throw refused("the tensor " + FormatException.quote(name) + " is described twice",
                            json.position());
                }
            });
        });
        json.end();
        return payloads;
    }
}

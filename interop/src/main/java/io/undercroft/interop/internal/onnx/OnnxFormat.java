package io.undercroft.interop.internal.onnx;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.onnx.OnnxModel.OnnxTensor;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.Unreadable;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.FileSet;
import io.undercroft.serializer.spi.FileStorages;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.SequencedSet;
import java.util.Set;

/// Models of ONNX, with external data or without.
///
/// The state is a map of the initializers by their names, then of the other tensors of the model. Bytes that are in the
/// file as they are in memory are mapped if they are aligned, which protobuf does not provide for and external data do;
/// numbers that are written as varints are decoded when they are first touched. The graph is described by the metadata
/// and never run. There are no checksums; verifying decodes what has to be decoded.
public final class OnnxFormat implements CheckpointFormat {
    /// For the service loader.
    public OnnxFormat() {}

    @Override
    public String name() {
        return "onnx";
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        return OnnxModel.startsIn(file);
    }

    @Override
    public SequencedSet<String> companionNames(MappedFile file) throws IOException {
        SequencedSet<String> names = new LinkedHashSet<>(
                new OnnxModel(file, ReadBudget.of(file.size())).files().keySet());
        names.remove("");
        return names;
    }

    @Override
    public Set<Capability> capabilities() {
        return Set.of(Capability.METADATA);
    }

    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        ReadBudget budget = ReadBudget.of(file.size());
        OnnxModel model = new OnnxModel(file, budget);
        Members members = new Members(model, options, budget);
        List<String> locations = List.copyOf(model.files().keySet());
        return locations.size() == 1
                ? members.open(file, "")
                : FileSet.open(file, locations, options, (number, part) -> members.open(part, locations.get(number)),
                        members::union);
    }

    /// Bytes of a file that one or more tensors are.
    private record Range(long offset, long nbytes, DType dtype) {
        Range(OnnxTensor tensor) {
            this(tensor.offset(), tensor.nbytes(), tensor.dtype());
        }
    }

    /// The files of a model.
    private record Members(OnnxModel model, OpenOptions options, ReadBudget budget) {
        /// Tensors of the same bytes share a storage.
        private TreeContents open(MappedFile file, String location) {
            SequencedMap<String, OnnxTensor> here = Objects.requireNonNull(model.files().get(location));
            checkLayout(file, here);
            Set<Range> chosen = new HashSet<>();
            here.forEach((name, tensor) -> {
                if (isChosen(name)) {
                    chosen.add(new Range(tensor));
                }
            });
            FileStorages storages = new FileStorages(file, options);
            Map<Range, Storage> made = new HashMap<>();
            SequencedMap<String, Tensor> state = LinkedHashMap.newLinkedHashMap(here.size());
            here.forEach((name, tensor) -> {
                FormatException fault = tensor.fault();
                state.put(name, fault != null
                        ? Unreadable.tensor(fault.withFile(file.location()), tensor.shape())
                        : Tensor.of(made.computeIfAbsent(new Range(tensor), range -> chosen.contains(range)
                                ? storage(file, tensor, storages)
                                : Storage.meta(range.nbytes)), tensor.dtype(), 0, tensor.shape(),
                                tensor.shape().contiguousStride()));
            });
            return TreeContents.of(state, location.isEmpty() ? model.metadata() : Map.of(),
                    pulse -> check(file, here, pulse), budget)
                    .withUnverified(made.size(), made.keySet().stream().mapToLong(Range::nbytes).sum())
                    .withUnread(location.isEmpty() ? model.unread() : List.of()).only(options);
        }

        private boolean isChosen(String name) {
            return options.isChosen(StateIndex.escape(name));
        }

        private static Storage storage(MappedFile file, OnnxTensor tensor, FileStorages storages) {
            OnnxType type = tensor.type();
            return type == null
                    ? storages.stored(tensor.offset(), tensor.nbytes(), tensor.dtype(), ByteOrder.LITTLE_ENDIAN)
                    : storages.decoded(tensor.nbytes(), into -> type.decode(file, tensor.pieces(), into));
        }

        private static void checkLayout(MappedFile file, SequencedMap<String, OnnxTensor> tensors) {
            String before = "";
            Range last = new Range(0, 0, DType.UINT8);
            for (Map.Entry<String, OnnxTensor> each : tensors.entrySet().stream()
                    .filter(tensor -> tensor.getValue().nbytes() > 0 && tensor.getValue().type() == null)
                    .sorted(Comparator.comparingLong(tensor -> tensor.getValue().offset())).toList()) {
                Range range = new Range(each.getValue());
                if (range.nbytes > file.size() - range.offset) {
                    throw external("the tensor " + FormatException.quote(each.getKey()) + " of " + range.nbytes
                            + " bytes at byte " + range.offset + " reaches past the end of the file", file.size());
                }
                if (range.offset < last.offset + last.nbytes && !range.equals(last)) {
                    throw external("the tensors " + FormatException.quote(before) + " and "
                            + FormatException.quote(each.getKey()) + " overlap", range.offset);
                }
                before = each.getKey();
                last = range;
            }
        }

        private static FormatException external(String what, long offset) {
            return new FormatException("ONNX-EXTERNAL", what, offset,
                    "The file is incomplete, or of another model; get it again from its source");
        }

        private static List<Damage> check(MappedFile file, Map<String, OnnxTensor> tensors, Runnable pulse)
                throws IOException {
            List<Damage> damages = new ArrayList<>();
            for (Map.Entry<String, OnnxTensor> each : tensors.entrySet()) {
                OnnxType type = each.getValue().type();
                pulse.run();
                try (Arena arena = Arena.ofConfined()) {
                    if (type != null) {
                        type.decode(file, each.getValue().pieces(), arena.allocate(each.getValue().nbytes()));
                    }
                } catch (FormatException e) {
                    damages.add(Damage.of("tensor " + FormatException.quote(each.getKey()), 0, e));
                }
            }
            return damages;
        }

        private FileSet.Model union(List<Contents> parts) {
            Map<Object, Object> all = new HashMap<>();
            parts.forEach(part -> all.putAll((Map<?, ?>) Objects.requireNonNull(part.state())));
            SequencedMap<String, Object> state = LinkedHashMap.newLinkedHashMap(all.size());
            model.tensors().keySet().forEach(name -> state.put(name, Objects.requireNonNull(all.get(name))));
            return new FileSet.Model(state, model.metadata(), List.of());
        }
    }
}

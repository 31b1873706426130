package io.undercroft.serializer.internal.planning;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.DTypeRecord;
import io.undercroft.format.internal.IndexBuilder;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Span;
import io.undercroft.format.internal.TensorRecord;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.internal.ElementPositions;
import io.undercroft.serializer.internal.ElementLimit;
import io.undercroft.serializer.internal.extents.CodingPlan;
import io.undercroft.serializer.internal.TensorFlags;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.spi.SparseSource;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Everything that a snapshot records of a state except the offsets of its bytes in the file: its tree, its tensors and
/// their names, its storages.
///
/// It is made before any bulk byte is read or written, so that a state which cannot be saved is refused at once; later
/// changes of the maps, lists and tensors of the state do not change it. Immutable.
public final class StatePlan {
    private final byte[] tree;
    private final List<DTypeRecord> dtypes;
    private final List<TensorRecord> tensors;
    private final List<Name> names;
    private final List<PlannedStorage> storages;
    private final long identity;
    private final List<SaveReport.Loss> leftOut;
    private final Set<String> sources;

    /// @param text the name
    /// @param tensor the number of its tensor
    private record Name(String text, int tensor) {}

    private StatePlan(byte[] tree, List<DTypeRecord> dtypes, List<TensorRecord> tensors,
            List<Name> names, List<PlannedStorage> storages, long identity,
            List<SaveReport.Loss> leftOut, Set<String> sources) {
        this.sources = sources;
        this.tree = tree;
        this.dtypes = dtypes;
        this.tensors = tensors;
        this.names = names;
        this.storages = storages;
        this.identity = identity;
        this.leftOut = leftOut;
    }

    /// Plans a snapshot.
    ///
    /// @param state the root of the tree
    /// @param options the other options of the save
    /// @return the plan
    /// @throws IllegalArgumentException if the state holds something that cannot be saved; the message has its path
    /// @throws IllegalStateException if it holds a tensor whose storage was freed; the message has its name
    public static StatePlan of(@Nullable Object state, SaveOptions options) {
        ReadableState readable = Replicas
                .leaveToOthers(ReadableState.of(state, options.classes(), options));
        StateIndex names = readable.names();
        Map<Storage, List<Span>> zeros = zeros(names, options);
        options.largest().ifPresent(most -> checkSize(names, zeros, most));
        names.storages().stream()
                .filter(storage -> Span.sum(zeros.getOrDefault(storage, List.of())) < Math.max(1, storage.nbytes()))
                .forEach(storage -> readable.checkBytes(storage, true));
        checkMeta(names);
        Planning planning = new Planning(names, zeros);
        return planning.plan(readable, planning.reach(options));
    }

    /// Returns the runs of storages that are known to be zeros, before their bytes are there: then they may be written
    /// to.
    private static Map<Storage, List<Span>> zeros(StateIndex names, SaveOptions options) {
        Map<Storage, List<Span>> zeros = new HashMap<>();
        for (Storage storage : names.storages()) {
            if (options.omitsZeros(storage.nbytes()) && storage.source().orElse(null) instanceof SparseSource source) {
                zeros.put(storage, source.zeros().stream().map(run -> new Span(run.start(), run.end())).toList());
            }
        }
        return zeros;
    }

    /// Refuses storages that have more bytes than the options allow, without zeros that are not saved.
    private static void checkSize(StateIndex names, Map<Storage, List<Span>> zeros, long most) {
        long sum = 0;
        for (Storage storage : names.storages()) {
            long nbytes = storage.isMeta() ? 0 : storage.nbytes() - Span.sum(zeros.getOrDefault(storage, List.of()));
            if (nbytes > most - sum) {
                throw ElementLimit.exceeded(ReadableState.holder(storage, names)
                        + " and those before it would be saved as more than " + most + " bytes");
            }
            sum += nbytes;
        }
    }

    /// They take no bytes of the file, and readers limit the size of storages compared with that of the file.
    private static void checkMeta(StateIndex names) {
        long left = Limits.DEFAULT.maxExpansion();
        for (Storage storage : names.storages()) {
            if (storage.isMeta() && storage.nbytes() > left) {
                throw new IllegalArgumentException(
                        "cannot save " + ReadableState.holder(storage, names) + ": its storage on the meta device has "
                                + storage.nbytes() + " bytes, and readers accept up to " + Limits.DEFAULT.maxExpansion()
                                + " on the meta device in all; leave it out");
            }
            left -= storage.isMeta() ? storage.nbytes() : 0;
        }
    }

    /// {@return the same plan with a copy of the bytes, so that another thread can save it while the caller changes the
    /// state}
    ///
    /// @param chunkSize the size of chunks in the file, in bytes: what is saved of a storage is whole chunks
    /// @param staging the memory for copies
    /// @param control informed of the bytes read of the copy
    /// @param resources receives what is to be closed when the copy was read, also if this fails
    /// @throws IOException if there is no memory for the copies
    public StatePlan staged(long chunkSize, Staging staging, SaveControl control, ResourceStack resources)
            throws IOException {
        return new StatePlan(tree, dtypes, tensors, names,
                StateCopy.of(storages, chunkSize, staging, control, resources), identity, leftOut, sources);
    }

    /// {@return the number of tensors; one in two places counts once}
    public int tensorCount() {
        return tensors.size();
    }

    /// {@return the number of names of these tensors}
    public int nameCount() {
        return names.size();
    }

    /// {@return the [locations][Storage#location] of the storages of the state}
    public Set<String> sources() {
        return sources;
    }

    /// {@return its storages in the order of their numbers}
    public List<PlannedStorage> storages() {
        return storages;
    }

    /// {@return the size of all storages but those on the meta device, in bytes; at most [Long#MAX_VALUE]}
    public long nbytes() {
        return storages.stream().filter(storage -> !storage.device().isMeta()).mapToLong(PlannedStorage::nbytes)
                .reduce(0, (sum, nbytes) -> Long.MAX_VALUE - sum < nbytes ? Long.MAX_VALUE : sum + nbytes);
    }

    /// {@return the number of bytes that sharing saves; see [Reach#identity]}
    public long identity() {
        return identity;
    }

    /// {@return what the state has and the snapshot has not: see [ReadableState], and bytes that no tensor reaches}
    ///
    /// @param written what was written
    public List<SaveReport.Loss> losses(DedupReport written) {
        if (written.unreached() == 0) {
            return leftOut;
        }
        List<SaveReport.Loss> losses = new ArrayList<>(leftOut);
        losses.add(new SaveReport.Loss(SaveReport.Kind.UNREACHED, written.unreached(), names.stream()
                .filter(name -> !storages.get(tensors.get(name.tensor).storage()).isReachedWhole())
                .map(Name::text).toList()));
        return losses;
    }

    /// Adds the storages to a plan of how they are compressed.
    ///
    /// @param coding an empty plan
    public void addTo(CodingPlan coding) {
        for (Name name : names) {
            TensorRecord tensor = tensors.get(name.tensor);
            coding.add(tensor.storage(), storages.get(tensor.storage()).nbytes(), name.text,
                    dtypes.get(tensor.dtype()));
        }
    }

    /// Adds the parts before the storages to an index.
    ///
    /// @param index a new index
    public void addTreeTo(IndexBuilder index) {
        dtypes.forEach(index::addDType);
        index.setTree(tree);
    }

    /// Adds the tensors and their names to an index.
    ///
    /// @param index one that has the storages
    public void addTensorsTo(IndexBuilder index) {
        tensors.forEach(index::addTensor);
        names.forEach(name -> index.addName(name.text, name.tensor));
    }

    /// The numbers of everything while the plan is made.
    private static final class Planning implements StateEncoder.Numbers {
        private final StateIndex names;
        private final Map<Storage, List<Span>> zeros;
        private final Numbered<Storage> storages;
        private final Numbered<Tensor> tensors;
        private final SequencedMap<DTypeRecord, Integer> dtypes = new LinkedHashMap<>();
        private final Map<DType, Integer> numbersOfDTypes = new HashMap<>();

        Planning(StateIndex names, Map<Storage, List<Span>> zeros) {
            this.names = names;
            this.zeros = zeros;
            this.storages = new Numbered<>(names.storages());
            this.tensors = new Numbered<>(names.tensors().values());
        }

        /// Objects, by identity, each once and with its number in the order in which they first come.
        private static final class Numbered<T> {
            private final List<T> objects;
            private final IdentityHashMap<T, Integer> numbers;

            Numbered(Collection<T> objects) {
                this.objects = new ArrayList<>(objects.size());
                this.numbers = new IdentityHashMap<>(objects.size());
                for (T object : objects) {
                    if (numbers.putIfAbsent(object, this.objects.size()) == null) {
                        this.objects.add(object);
                    }
                }
            }

            int of(T object) {
                Integer number = numbers.get(object);
                if (number == null) {
                    throw new IllegalArgumentException(object + " was added to the state while it was being saved");
                }
                return number;
            }
        }

        Reach reach(SaveOptions options) {
            Reach reach = Reach.of(names, tensors.objects, storages.objects);
            if (options.savesWholeStorages()) {
                reach.addUnused(storages.objects);
            }
            return reach;
        }

        /// The tree precedes the tensors, since it numbers its element types first.
        StatePlan plan(ReadableState state, Reach reach) {
            byte[] tree = StateEncoder.encode(state.tree(), this, names::pathOf);
            List<TensorRecord> records = tensors.objects.stream().map(this::record).toList();
            List<Name> named = new ArrayList<>(names.tensors().size());
            names.tensors().forEach((name, tensor) -> named.add(new Name(name, tensors.of(tensor))));
            return new StatePlan(tree, List.copyOf(dtypes.sequencedKeySet()), records, named, planned(reach),
                    reach.identity(), state.leftOut(), state.sources());
        }

        private List<PlannedStorage> planned(Reach reach) {
            List<PlannedStorage> planned = new ArrayList<>(storages.objects.size());
            for (Storage storage : storages.objects) {
                planned.add(PlannedStorage.of(planned.size(), storage, reach.spans(storage),
                        zeros.getOrDefault(storage, List.of())));
            }
            return Collections.unmodifiableList(planned);
        }

        private TensorRecord record(Tensor tensor) {
            DType dtype = tensor.dtype();
            return new TensorRecord(of(dtype), storages.of(tensor.storage()), byteOffset(tensor),
                    ElementPositions.bitOf(tensor.storageOffset(), dtype.bits()),
                    TensorFlags.toFile(tensor.flags()), tensor.shape().toArray(), tensor.stride());
        }

        /// Only a tensor without elements may start so far away.
        private long byteOffset(Tensor tensor) {
            try {
                return ElementPositions.byteOf(tensor.storageOffset(), tensor.dtype().bits());
            } catch (ArithmeticException e) {
                throw new IllegalArgumentException("cannot save "
                        + FormatException.quote(String.valueOf(names.nameOf(tensor)))
                        + ": it has no elements and starts at element "
                        + tensor.storageOffset()
                        + " of its storage, which is byte 2^63 or a later one, and no file counts so far;"
                        + " give it an offset of 0", e);
            }
        }

        @Override
        public int of(Tensor tensor) {
            return tensors.of(tensor);
        }

        @Override
        public int of(Storage storage) {
            return storages.of(storage);
        }

        @Override
        public int of(DType dtype) {
            return numbersOfDTypes.computeIfAbsent(dtype, _ -> dtypes.computeIfAbsent(
                    new DTypeRecord(dtype.name(), dtype.bits()), _ -> dtypes.size()));
        }
    }
}

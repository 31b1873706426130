package io.undercroft.serializer.internal.writing;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Span;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.internal.ElementLimit;
import io.undercroft.serializer.internal.Formats;
import io.undercroft.serializer.internal.SourceCheck;
import io.undercroft.serializer.internal.analysis.Sizes;
import io.undercroft.serializer.internal.analysis.TensorBlocks;
import io.undercroft.serializer.internal.disk.Target;
import io.undercroft.serializer.internal.planning.Reach;
import io.undercroft.serializer.internal.planning.ReadableState;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.spi.Backing;
import io.undercroft.storage.spi.SparseSource;
import java.io.IOException;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/// The files of another format than `.croft` that a state is written to.
///
/// @param format its format
/// @param index the tensors of the state
/// @param draft the file to be
/// @param nbytes the estimated number of bytes of all files
/// @param losses what the files do not keep
record FormatPlan(CheckpointFormat format, StateIndex index, Draft draft, long nbytes, List<SaveReport.Loss> losses) {
    /// Plans the files of a state.
    ///
    /// A format that writes elements can write any number of bytes for a small storage: a tensor of shape 2^50 and
    /// stride 0 has one stored element. So the planned size is compared with what the storages store. The limit is
    /// [ElementLimit#most] unless the options have another one.
    ///
    /// @param target the file that is named
    /// @param state the state
    /// @param format a format for writing
    /// @param options the other options of the save
    /// @return the plan
    /// @throws IllegalArgumentException if the format cannot hold the state, or would write far more bytes than it has
    static FormatPlan of(Target target, ReadableState state, CheckpointFormat format, SaveOptions options) {
        StateIndex index = state.names();
        Draft draft;
        long nbytes;
        try {
            draft = Formats.draft(format, state.tree(), options, target.fileName());
            nbytes = sum(draft, Draft::nbytes);
        } catch (ArithmeticException e) {
            IllegalArgumentException refusal = tooLarge(index, target, "more than 2^63-1 bytes", Long.MAX_VALUE);
            refusal.initCause(e);
            throw refusal;
        }
        long most = options.largest().orElseGet(() -> ElementLimit.most(stored(index)));
        if (nbytes > most) {
            throw tooLarge(index, target, nbytes + " bytes", most);
        }
        return new FormatPlan(format, index, draft, nbytes, Losses.of(state, draft, format, options));
    }

    private static long sum(Draft draft, ToLongFunction<Draft> size) {
        return Stream.concat(draft.companions().values().stream(), Stream.of(draft)).mapToLong(size)
                .reduce(0, Math::addExact);
    }

    private static long stored(StateIndex state) {
        return Sizes.sum(state.storages().stream().filter(storage -> !storage.isMeta()).mapToLong(FormatPlan::stored));
    }

    private static long stored(Storage storage) {
        return storage.source().orElse(null) instanceof SparseSource source
                ? storage.nbytes() - source.zeros().stream().mapToLong(run -> run.end() - run.start()).sum()
                : storage.nbytes();
    }

    /// Names the tensor that takes the most bytes.
    private static IllegalArgumentException tooLarge(StateIndex state, Target target, String size, long most) {
        String largest = state.tensors().entrySet().stream()
                .max(Comparator.comparingLong(entry -> TensorBlocks.nbytes(entry.getValue())))
                .map(FormatPlan::described).orElse("");
        return ElementLimit.exceeded(target.location() + ": the state would become " + size + ", and " + most
                + " are allowed for what is stored of it" + largest);
    }

    private static String described(Map.Entry<String, Tensor> entry) {
        Tensor tensor = entry.getValue();
        String name = entry.getKey().isEmpty()
                ? ""
                : "; its largest tensor is " + FormatException.quote(entry.getKey());
        return TensorBlocks.nbytes(tensor) <= tensor.storage().nbytes()
                ? name
                : name + "; " + tensor.storage().nbytes() + " bytes of its storage are repeated to the shape "
                        + tensor.shape() + ", and the format writes each element, while .croft, .pt and .t7 files keep"
                        + " strides";
    }

    /// {@return the least number of bytes of all files}
    long leastBytes() {
        return sum(draft, Draft::leastBytes);
    }

    /// {@return the further files of a set} A format may be of a third party, so their names are checked.
    ///
    /// @param target the file that is named
    /// @throws IllegalArgumentException if one has no plain name, or that of the file itself
    /// @throws IOException as [Target#sibling]
    SequencedMap<Target, Draft> companions(Target target) throws IOException {
        SequencedMap<Target, Draft> companions = new LinkedHashMap<>();
        for (Map.Entry<String, Draft> each : draft.companions().entrySet()) {
            String name = each.getKey();
            if (!Draft.isPlainName(name) || name.equalsIgnoreCase(target.fileName())) {
                throw new IllegalArgumentException(target.location() + ": its format names a further file "
                        + FormatException.quote(name) + ", which is no plain name of another file");
            }
            companions.put(target.sibling(name), each.getValue());
        }
        return companions;
    }

    /// Compares the source files of a state, which may be damaged, with their checksums.
    ///
    /// @param index its tensors
    /// @throws FormatException if they are damaged
    static void checkSources(StateIndex index) throws IOException {
        Reach reach = Reach.of(index);
        Map<Storage, List<Span>> spans = new HashMap<>();
        for (Storage storage : index.storages()) {
            storage.backing().ifPresent(Backing::checkNotCut);
            spans.put(storage, reach.spans(storage));
        }
        SourceCheck.run(spans);
    }
}

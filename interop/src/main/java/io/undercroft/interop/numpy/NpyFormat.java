package io.undercroft.interop.numpy;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.TensorsByName;
import io.undercroft.interop.internal.PickleReader.Pickles;
import io.undercroft.interop.internal.PickleReader;
import io.undercroft.interop.internal.numpy.ArrayNodes.Allowance;
import io.undercroft.interop.internal.numpy.ArrayNodes;
import io.undercroft.interop.internal.numpy.FileArray;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.FileStorages;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.spi.Setting;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// What `numpy.save` writes: one array. The state is the tensor itself, whose name is empty, or the node of an array
/// of texts, dates or records.
///
/// Versions 1.0 to 3.0 are read. Bytes that follow the array are not read, as NumPy does not; if they are a further
/// array the file is refused, as its state would be one of several. A tensor in column-major order is written so, any
/// other one that is not contiguous row by row. There are no checksums, so verifying finds nothing.
public final class NpyFormat implements CheckpointFormat {
    private static final String DTYPE = "npy.dtype";

    /// For the service loader.
    public NpyFormat() {}

    @Override
    public String name() {
        return "npy";
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        return file.startsWith(NpyHeader.MAGIC);
    }

    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        ReadBudget budget = ReadBudget.of(file.size());
        NpyHeader header = NpyHeader.read(count -> ByteReader.bytes(file, 0, count), file.size(), 0, budget);
        if (header.isPickled()) {
            Pickles pickles = PickleReader.in(file, options, budget);
            Object state = pickles.read(header.length(), file.size());
            return TreeContents.of(state, Map.of(), _ -> List.of(), budget)
                    .withUnverified(1, file.size() - header.length())
                    .withForeignClasses(pickles.classes()).only(options);
        }
        List<UnreadPart> unread = following(file, header);
        FileStorages storages = new FileStorages(file, options);
        return TreeContents.of(node(file, options, header, storages, budget), Map.of(), _ -> List.of(), budget)
                .withUnverified(1, header.layout().nbytes()).withUnread(unread)
                .only(options);
    }

    private static DType dtype(String name) {
        return DType.find(name).orElseThrow(() -> new IllegalArgumentException("the setting " + DTYPE
                + " is the name of a type, for instance float32, not " + FormatException.quote(name)));
    }

    /// {@return the bytes that follow the array, if there are any}
    ///
    /// @throws io.undercroft.format.FormatException if they are a further array
    private static List<UnreadPart> following(MappedFile file, NpyHeader header) throws IOException {
        long end = header.length() + header.layout().nbytes();
        long left = file.size() - end;
        int start = (int) Math.min(left, NpyHeader.MAGIC.length);
        if (Arrays.equals(ByteReader.bytes(file, end, start), NpyHeader.MAGIC)) {
            header.requireEnd(file.size(), 0);
        }
        return left == 0 ? List.of() : List.of(new UnreadPart(Kind.BYTES, "what follows the array", end, left));
    }

    private static Object node(MappedFile file, OpenOptions options, NpyHeader header, FileStorages storages,
            ReadBudget budget) throws IOException {
        try {
            return new ArrayNodes(header.layout(),
                    new FileArray(file, header.length(), header.layout().nbytes(), storages),
                    options::isChosen, new Allowance(budget)).node("");
        } catch (ArithmeticException | IllegalArgumentException e) {
            throw NpyHeader.impossible(e, 0);
        }
    }

    @Override
    public Set<Capability> capabilities() {
        return Set.of(Capability.SAVE);
    }

    @Override
    public List<Setting> settings() {
        return List.of(Setting.ofWriting(DTYPE, "that of the tensor, or another one, for instance float32"));
    }

    @Override
    public Draft draft(@Nullable Object state, SaveOptions options) {
        Tensor tensor = TensorsByName.tensorIn(state);
        Optional<DType> dtype = options.setting(DTYPE).map(NpyFormat::dtype);
        if (tensor != null) {
            Tensor array = TensorsByName.withGrad(tensor, false);
            return dtype.isPresent() ? ArrayDraft.of("", array, dtype.get()) : ArrayDraft.of("", array);
        }
        if (dtype.isPresent()) {
            throw new IllegalArgumentException("the setting " + DTYPE + " is for a state that is one tensor");
        }
        if (state == null || !ArrayDraft.isArray(state)) {
            throw new IllegalArgumentException("the state is not one tensor, nor an array of NumPy, and an npy file "
                    + "holds nothing else; write tensors by name as npz");
        }
        return ArrayDraft.of("", state);
    }
}

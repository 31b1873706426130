package io.undercroft.interop.torch;

import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.PickleReader;
import io.undercroft.interop.internal.StorageFilter;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.ReadBudget;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// The pickles in a file of another format, which refer to nothing outside of them.
final class PicklesInFile implements PickleReader.Pickles {
    private final MappedFile file;
    private final ArrayStorages arrays;
    private final ForeignNames names = ForeignNames.all();
    private final ReadBudget budget;

    PicklesInFile(MappedFile file, OpenOptions options, ReadBudget budget) {
        this.file = file;
        this.arrays = ArrayStorages.of(new Elements(file, options, ByteOrder.LITTLE_ENDIAN), options,
                StorageFilter.all());
        this.budget = budget;
    }

    @Override
    public @Nullable Object read(long start, long end) throws IOException {
        return run(PickleInput.of(file, new ByteReader(file, start, end, PickleInput::tooShort), arrays));
    }

    @Override
    public @Nullable Object read(MemorySegment pickle) throws IOException {
        return run(PickleInput.of(pickle, file.location(), arrays));
    }

    private @Nullable Object run(PickleInput input) throws IOException {
        Object state = new Unpickler(input, _ -> {
            throw PickleFault.malformed("a persistent id where there is nothing to refer to");
        }, names, budget).run();
        StateCheck.check(state, false, _ -> {});
        return state;
    }

    @Override
    public List<ForeignClass> classes() {
        return names.classes();
    }
}

package io.undercroft.properties.threads;

import io.undercroft.mmap.MapBudget;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.spi.RangeSource;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/// An object in a store, of which nothing is read. It is opened before threads use it, since Lincheck refuses calls of
/// files.
///
/// @param location its name
/// @param current whether it is the newest of that name
record StoreFile(String location, BooleanSupplier current) implements RangeSource {
    /// {@return the open file}
    MappedFile open() throws IOException {
        return MappedFile.open(this, MapMode.READ_ONLY, new MapBudget(), Optional.empty());
    }

    @Override
    public long size() {
        return 1;
    }

    @Override
    public MemorySegment start() {
        return MemorySegment.NULL;
    }

    @Override
    public void read(long offset, MemorySegment into) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void confirm() {}

    @Override
    public boolean isCurrent() {
        return current.getAsBoolean();
    }

    @Override
    public RangeSource sibling(String path) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() {}
}

package io.undercroft.interop.torch;

import io.undercroft.interop.internal.StorageFilter;
import io.undercroft.interop.internal.numpy.ArrayBytes;
import io.undercroft.interop.internal.numpy.FileArray;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.FileStorages;
import io.undercroft.serializer.spi.FileStorages.Decoder;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/// The storages of the arrays of NumPy in the pickles of a file. The filter knows an array by its number, in the order
/// in which they come. For use by one thread.
final class ArrayStorages {
    private final StorageFilter filter;
    /// Returns null if storages are known by their sizes only. Not called before the first array: the program is not
    /// asked for the device of arrays that a file does not have.
    private final Supplier<@Nullable FileStorages> source;
    private @Nullable FileStorages storages;
    private boolean isSourceCalled;
    private long count;

    private ArrayStorages(StorageFilter filter, Supplier<@Nullable FileStorages> source) {
        this.filter = filter;
        this.source = source;
    }

    /// {@return storages in a file}
    ///
    /// @param elements makes them
    /// @param opening how the file is opened
    /// @param filter which storages are loaded
    static ArrayStorages of(ByteOrderStorages elements, OpenOptions opening, StorageFilter filter) {
        return new ArrayStorages(filter, () -> {
            // NumPy has arrays in the memory of the host only.
            Device device = opening.deviceFor(Device.CPU);
            return device.isMeta() ? null : elements.on(device);
        });
    }

    /// {@return storages without bytes}
    static ArrayStorages ofSizes() {
        return new ArrayStorages(StorageFilter.all(), () -> null);
    }

    private @Nullable FileStorages storages() {
        if (!isSourceCalled) {
            storages = source.get();
            isSourceCalled = true;
        }
        return storages;
    }

    /// {@return the elements of an array that is stored uncompressed}
    ArrayBytes inFile(MappedFile file, long offset, long nbytes) {
        return new Array("array " + count++) {
            @Override
            public Storage stored(int alignment) {
                // Bytes that are not aligned are copied to where they are aligned for all types.
                return made(offset % alignment == 0, nbytes, target -> target.stored(offset, nbytes, alignment));
            }

            @Override
            public void forEachPart(Part part) throws IOException {
                FileArray.forEachPart(file, offset, nbytes, part);
            }
        };
    }

    /// {@return the elements of an array that are in memory, as they are compressed in the file or written otherwise}
    ArrayBytes inMemory(byte[] bytes) {
        return inMemory(Storage.wrap(MemorySegment.ofArray(bytes)));
    }

    /// {@return the elements of an array that are in memory, which is not written to}
    ArrayBytes inMemory(Storage memory) {
        return new Array("array " + count++) {
            @Override
            public Storage stored(int alignment) {
                return decoded(true, memory.nbytes(), into -> into.copyFrom(memory.segment()));
            }

            @Override
            public void forEachPart(Part part) {
                part.accept(0, memory.segment());
            }
        };
    }

    /// The elements of all arrays that have the same bytes: they are on one storage, or one of each form.
    private abstract class Array implements ArrayBytes {
        private final String key;
        private final Map<Object, Storage> forms = new HashMap<>();

        Array(String key) {
            this.key = key;
        }

        @Override
        public Storage decoded(Object form, long nbytes, Decoder decoder) {
            return made(form, nbytes, target -> target.decoded(nbytes, decoder));
        }

        Storage made(Object form, long nbytes, Function<FileStorages, Storage> maker) {
            return forms.computeIfAbsent(form, _ -> filter.make(key, nbytes, () -> {
                FileStorages target = storages();
                return target == null ? Storage.meta(nbytes) : maker.apply(target);
            }));
        }
    }
}

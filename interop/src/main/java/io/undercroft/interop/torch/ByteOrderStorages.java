package io.undercroft.interop.torch;

import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.FileStorages;
import io.undercroft.serializer.spi.FileStorages.Checksum;
import io.undercroft.serializer.spi.FileStorages.Decoder;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import java.nio.ByteOrder;
import java.util.OptionalLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/// Storages of a file whose elements have one byte order. In the byte order of this machine they are mapped
/// in place; otherwise their bytes are swapped in memory.
final class ByteOrderStorages {
    /// The widest element, or part of one, that is read in one piece.
    private static final int WIDEST = 8;

    private final FileStorages storages;
    private final boolean isForeign;

    /// @param file the file
    /// @param options how it is opened; where storages go has been decided
    /// @param order the byte order of the elements
    ByteOrderStorages(MappedFile file, OpenOptions options, ByteOrder order) {
        this.storages = new FileStorages(file, options.devices(device -> device));
        this.isForeign = order != ByteOrder.nativeOrder();
    }

    /// {@return a storage that is read when it is first touched}
    ///
    /// @param offset the offset of its bytes in the file, if they are stored uncompressed
    /// @param nbytes its size in bytes
    /// @param type supplies the type of its elements as known by then; null if only its bytes are known
    /// @param device the target device
    /// @param checksum the checksum of all its bytes as they are in the file, which the decoder compares itself; null
    ///     if there is none
    /// @param decoder reads the bytes, as they are in the file
    Storage open(OptionalLong offset, long nbytes, Supplier<@Nullable DType> type, Device device,
            @Nullable Checksum checksum, Decoder decoder) {
        FileStorages target = storages.savedFrom(device);
        int unit = unit(type.get());
        if (offset.isPresent() && (!isForeign || unit == 1)) {
            return target.stored(offset.getAsLong(), nbytes, unit, checksum);
        }
        return target.decoded(nbytes, into -> {
            decoder.decode(into);
            DType known = type.get();
            if (isForeign && known != null) {
                // A storage of bytes need not be one of whole elements.
                Storage.wrap(into.asSlice(0, nbytes - nbytes % known.itemsize())).byteswap(known);
            }
        });
    }

    /// {@return the maker of storages of bytes that are not in the byte order of the file}
    ///
    /// @param device the target device
    FileStorages on(Device device) {
        return storages.savedFrom(device);
    }

    /// {@return whether the bytes of elements are swapped}
    boolean isForeign() {
        return isForeign;
    }

    /// {@return the size of the unit that has a byte order, in bytes: a complex number has two units}
    private static int unit(@Nullable DType dtype) {
        if (dtype == null) {
            return WIDEST;
        }
        int size = dtype.kind() == DType.Kind.COMPLEX ? dtype.itemsize() / 2 : dtype.itemsize();
        return Math.min(size, WIDEST);
    }
}

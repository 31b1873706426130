package io.undercroft.storage.internal;

import io.undercroft.storage.Storage;
import java.lang.foreign.MemorySegment;
import java.util.HexFormat;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/// Prints storages as PyTorch does: an element on each line, then what it is. Of more than 1000 elements only the first
/// and last 3 are shown, where PyTorch shows them all.
public final class StoragePrinter {
    private static final long SUMMARY_THRESHOLD = 1000;
    private static final long EDGE_ITEMS = 3;

    private StoragePrinter() {}

    /// {@return an untyped storage as PyTorch prints it}
    ///
    /// @param storage the storage to print
    public static String print(Storage storage) {
        String elements = lines(storage, storage.nbytes(), index -> Integer.toString(storage.getUnsigned(index)));
        return elements + "\n[torch.storage.UntypedStorage(device=" + storage.device() + ") of size " + storage.nbytes()
                + "]";
    }

    /// {@return the reason why there are no bytes, in a word or two; null if there are}
    ///
    /// @param storage the storage that would contain them
    static @Nullable String missing(Storage storage) {
        Storage base = storage.base().orElse(storage);
        if (storage.referenceCount() == 0 || base.referenceCount() == 0) {
            return "freed";
        }
        return storage.sliceOffset() > base.nbytes() - storage.nbytes() ? "too small" : null;
    }

    /// {@return the elements of a storage, each on a line; dots if the host cannot read them}
    ///
    /// @param storage the storage that contains them
    /// @param size their number
    /// @param text the text of the one at an index
    public static String lines(Storage storage, long size, LongFunction<String> text) {
        if (!storage.device().isCpu() || missing(storage) != null) {
            return "...";
        }
        StringBuilder lines = new StringBuilder(" ");
        for (long index = 0; index < size; index++) {
            lines.append(index == 0 ? "" : "\n ");
            if (size > SUMMARY_THRESHOLD && index == EDGE_ITEMS) {
                lines.append("...\n ");
                index = size - EDGE_ITEMS;
            }
            lines.append(text.apply(index));
        }
        return lines.toString();
    }

    /// {@return the bits of an element, the highest first}
    ///
    /// @param bytes the bytes of the element
    public static String hex(MemorySegment bytes) {
        StringBuilder digits = new StringBuilder("0x");
        for (long i = bytes.byteSize() - 1; i >= 0; i--) {
            digits.append(HexFormat.of().toHexDigits(bytes.get(Layouts.BYTE, i)));
        }
        return digits.toString();
    }
}

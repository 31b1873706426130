package io.undercroft.mmap;

import io.undercroft.storage.Storage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/// Run in a JVM that denies native access: what of pages still works, and how the rest is refused.
final class PagesWithoutNativeAccess {
    private PagesWithoutNativeAccess() {}

    @SuppressWarnings("SystemOut")
    public static void main(String[] args) throws IOException {
        Storage storage = FileStorage.open(Path.of(args[0]), MapMode.SHARED, ByteRange.bytes(10_000));
        MemorySegment segment = storage.segment();
        storage.fill((byte) 1);
        Pages.advise(segment, ReadAdvice.SEQUENTIAL);
        Pages.probe(segment);
        Pages.force(segment);
        System.out.println(Pages.size() + " " + Pages.residentBytes(segment) + " " + Pages.guard(segment, () -> 1));
        try {
            Pages.lock(segment);
        } catch (UnsupportedOperationException e) {
            System.out.println(e.getMessage());
        }
        try {
            Pages.force(Storage.allocate(10).segment());
        } catch (UnsupportedOperationException e) {
            System.out.println(e.getMessage());
        }
    }
}

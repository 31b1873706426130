package io.undercroft.mmap;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.undercroft.storage.Allocation;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/// Run in a JVM that denies native access: what still works, and how the rest is refused.
final class NativeAccessDenied {
    private NativeAccessDenied() {}

    @SuppressWarnings("SystemOut")
    public static void main(String[] args) throws IOException {
        Path path = Path.of(args[0]);
        StringBuilder contents = new StringBuilder();
        for (MapMode mode : MapMode.values()) {
            try (MappedFile file = MappedFile.open(path, mode)) {
                byte[] bytes = file.map(0, Files.size(path)).toArray(JAVA_BYTE);
                contents.append(new String(bytes, StandardCharsets.UTF_8));
            }
        }
        System.out.println(contents);
        Allocation memory = AnonymousMemory.allocator().allocate(2 << 20);
        System.out.println(memory.segment().byteSize());
        System.out.println(AnonymousMemory.freezableAllocator().allocate(2 << 20).origin());
        try {
            SharedMemory.create("undercroft-denied", 10).close();
        } catch (SharedMemoryException e) {
            System.out.println(e.reason() + " " + e.getMessage() + " " + e.getCause());
        }
    }
}

package io.undercroft.mmap;

import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.io.IOException;

/// The other process: attaches, tells what it reads, adds one to it, and waits to be told to read again.
final class SharedMemoryPeer {
    private SharedMemoryPeer() {}

    @SuppressWarnings("SystemOut")
    public static void main(String[] args) throws IOException {
        try (SharedMemory memory = SharedMemory.attach(args[0])) {
            long last = memory.nbytes() - Long.BYTES;
            long first = memory.segment().get(JAVA_LONG_UNALIGNED, last);
            memory.segment().set(JAVA_LONG_UNALIGNED, last, first + 1);
            System.out.println(memory.nbytes() + " " + first);
            int go = System.in.read();
            System.out.println(go + " " + memory.segment().get(JAVA_LONG_UNALIGNED, last));
        }
    }
}

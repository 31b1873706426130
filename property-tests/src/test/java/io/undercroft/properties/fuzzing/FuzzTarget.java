package io.undercroft.properties.fuzzing;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.util.List;

/// A reader of bytes that anybody may have made. It reads any input, or refuses it with its own exception, and
/// allocates in proportion to the size of the input.
///
/// @param name what is read
/// @param seeds makes inputs from which a fuzzer starts
/// @param reader reads an input
record FuzzTarget(String name, Seeds seeds, Reader reader) {
    /// What may be allocated on the heap for each byte of an input, and at least: the hooks of a fuzzer allocate a
    /// hundred times what the reader does.
    private static final long PER_BYTE = 64;
    private static final long AT_LEAST = 128 << 20;
    private static final int TRIES = 4;

    /// Makes inputs.
    @FunctionalInterface
    interface Seeds {
        /// {@return the inputs, a new list}
        List<byte[]> get() throws IOException;
    }

    /// Reads an input.
    @FunctionalInterface
    interface Reader {
        /// Returns if the input is valid, or if it is refused as it should be.
        ///
        /// @param input any bytes
        void read(byte[] input) throws IOException;
    }

    /// {@return the name as one of a file}
    String fileName() {
        return name.replaceAll("\\W+", "-");
    }

    /// Reads an input. Whatever is thrown is a finding.
    ///
    /// @throws AssertionError if more is allocated than the size of the input justifies
    void read(byte[] input) throws IOException {
        long memory = AT_LEAST + PER_BYTE * input.length;
        long least = Long.MAX_VALUE;
        // Again without the classes that may have been loaded, and changed by the fuzzer, by this thread.
        for (int i = 0; i < TRIES && least >= memory; i++) {
            least = Math.min(least, allocated(input));
        }
        assertThat(least).as("bytes allocated on the heap").isLessThan(memory);
    }

    private long allocated(byte[] input) throws IOException {
        long before = Proc.allocatedByThisThread();
        reader.read(input);
        return Proc.allocatedByThisThread() - before;
    }
}

package io.undercroft.mmap.internal;

/// Bytes that are one after the other: in a file, or zeros in none.
public sealed interface ByteRun {
    /// {@return how many bytes, more than 0}
    long length();

    /// {@return whether another run would continue here}
    ///
    /// @param before the other one
    boolean continues(ByteRun before);

    /// {@return the run with more bytes after it}
    ///
    /// @param more how many
    ByteRun longer(long more);

    /// Bytes of a file.
    ///
    /// @param file which file
    /// @param offset where in the file they start
    /// @param length how many
    record FileRun(HostFile file, long offset, long length) implements ByteRun {
        /// {@return where in the file they end}
        long end() {
            return offset + length;
        }

        @Override
        public boolean continues(ByteRun before) {
            return before instanceof FileRun other && other.file == file && other.end() == offset;
        }

        @Override
        public ByteRun longer(long more) {
            return new FileRun(file, offset, length + more);
        }
    }

    /// Zeros.
    ///
    /// @param length how many
    record ZeroRun(long length) implements ByteRun {
        @Override
        public boolean continues(ByteRun before) {
            return before instanceof ZeroRun;
        }

        @Override
        public ByteRun longer(long more) {
            return new ZeroRun(length + more);
        }
    }
}

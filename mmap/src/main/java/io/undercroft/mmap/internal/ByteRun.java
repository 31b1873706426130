package io.undercroft.mmap.internal;

/// A run of bytes: of a file, or zeros.
public sealed interface ByteRun {
    /// {@return the number of bytes, more than 0}
    long length();

    /// {@return whether this run continues another one}
    ///
    /// @param before the other one
    boolean continues(ByteRun before);

    /// {@return the run with more bytes after it}
    ///
    /// @param more the number of bytes to add
    ByteRun longer(long more);

    /// Bytes of a file.
    ///
    /// @param file the file
    /// @param offset the offset of the first byte in the file
    /// @param length the number of bytes
    record FileRun(HostFile file, long offset, long length) implements ByteRun {
        /// {@return the offset of the end in the file}
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
    /// @param length the number of bytes
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

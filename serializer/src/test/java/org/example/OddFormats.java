package org.example;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Output;
import io.undercroft.serializer.spi.TreeContents;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Formats as somebody may write them who has not read what is asked of one.
public final class OddFormats {
    private OddFormats() {}

    /// Takes no file, writes its own name, and finds nothing in any file.
    public abstract static class Plain implements CheckpointFormat {
        private final String name;
        private final List<String> suffixes;

        Plain(String name, String... suffixes) {
            this.name = name;
            this.suffixes = List.of(suffixes);
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public List<String> suffixes() {
            return suffixes;
        }

        @Override
        public Set<Capability> capabilities() {
            return Set.of(Capability.SAVE);
        }

        @Override
        public boolean matches(MappedFile file) throws IOException {
            return false;
        }

        @Override
        public @Nullable Contents open(MappedFile file, OpenOptions options) throws IOException {
            return TreeContents.of(Map.of(), Map.of(), _ -> List.of());
        }

        @Override
        public @Nullable Draft draft(@Nullable Object state, SaveOptions options) {
            byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
            return new Draft() {
                @Override
                public long nbytes() {
                    return bytes.length;
                }

                @Override
                public void writeTo(Output output) throws IOException {
                    output.write(MemorySegment.ofArray(bytes));
                }
            };
        }
    }

    /// Fails to look at a file.
    public static final class Throwing extends Plain {
        /// For the service loader.
        public Throwing() {
            super("throwing");
        }

        @Override
        public boolean matches(MappedFile file) {
            throw new IndexOutOfBoundsException("fault of the provider");
        }
    }

    /// Fails to say why it takes no file.
    public static final class ThrowingRefusal extends Plain {
        /// For the service loader.
        public ThrowingRefusal() {
            super("throwing-refusal");
        }

        @Override
        public Optional<FormatException> refusal(MappedFile file) {
            throw new IndexOutOfBoundsException("fault of the refusal");
        }
    }

    /// Takes every file, and fails to list the files of a set.
    public static final class ThrowingIndex extends Plain {
        /// For the service loader.
        public ThrowingIndex() {
            super("throwing-index");
        }

        @Override
        public boolean matches(MappedFile file) {
            return true;
        }

        @Override
        public SequencedSet<String> companionNames(MappedFile index) {
            throw new IndexOutOfBoundsException("fault of the index");
        }
    }

    /// Takes every file.
    public static final class Greedy extends Plain {
        /// For the service loader.
        public Greedy() {
            super("greedy");
        }

        @Override
        public boolean matches(MappedFile file) {
            return true;
        }
    }

    /// Takes every file, under a name that another format has.
    public static final class Impostor extends Plain {
        /// For the service loader.
        public Impostor() {
            super("raw");
        }

        @Override
        public boolean matches(MappedFile file) {
            return true;
        }
    }

    /// Cannot be made.
    public static final class Unmade extends Plain {
        /// Fails.
        public Unmade() {
            super("unmade");
            throw new IllegalStateException("fault of the provider");
        }
    }

    /// Does not say what its files are called.
    public static final class Speechless extends Plain {
        /// For the service loader.
        public Speechless() {
            super("speechless");
        }

        @Override
        public List<String> suffixes() {
            throw new IllegalStateException("fault of the provider");
        }
    }

    /// Gives nothing where something is asked for.
    public static final class Giveless extends Plain {
        /// For the service loader.
        public Giveless() {
            super("giveless", ".giveless");
        }

        @Override
        public @Nullable Contents open(MappedFile file, OpenOptions options) {
            return null;
        }

        @Override
        public @Nullable Draft draft(@Nullable Object state, SaveOptions options) {
            return null;
        }
    }

    /// Says that it can be written, and cannot.
    public static final class Undrafted implements CheckpointFormat {
        /// For the service loader.
        public Undrafted() {}

        @Override
        public String name() {
            return "undrafted";
        }

        @Override
        public Set<Capability> capabilities() {
            return Set.of(Capability.SAVE);
        }

        @Override
        public List<String> suffixes() {
            return List.of(".undrafted");
        }

        @Override
        public boolean matches(MappedFile file) {
            return false;
        }

        @Override
        public Contents open(MappedFile file, OpenOptions options) {
            return TreeContents.of(Map.of(), Map.of(), _ -> List.of());
        }
    }

    /// Refuses every file.
    public static final class Refusing extends Plain {
        /// For the service loader.
        public Refusing() {
            super("refusing");
        }

        @Override
        public Contents open(MappedFile file, OpenOptions options) {
            throw new FormatException("REFUSED", "this is none of ours", 0, "Take another");
        }
    }

    /// A longer suffix than that of another format, and the whole name of a file.
    public static final class Longer extends Plain {
        /// For the service loader.
        public Longer() {
            super("longer", ".longer.raw", "weights.bin");
        }
    }
}

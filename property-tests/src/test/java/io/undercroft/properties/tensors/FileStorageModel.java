package io.undercroft.properties.tensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.mmap.ByteRange;
import io.undercroft.mmap.FileStorage;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappingException;
import io.undercroft.properties.Choices;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// A file and the storages that are opened on it, each with what it should be: the file an array of bytes, a storage a
/// window on it, of which a copy-on-write one has a copy from its first write on.
final class FileStorageModel {
    /// All in one page, which a copy-on-write mapping copies as a whole.
    private static final int MAX_SIZE = 600;

    private final Choices choices;
    private final Path path;
    private byte @Nullable [] file;
    private final List<View> views = new ArrayList<>();

    private static final class View {
        final Storage storage;
        final MapMode mode;
        final int offset;
        final int size;
        byte @Nullable [] copy;
        boolean isReleased;

        View(Storage storage, MapMode mode, int offset, int size) {
            this.storage = storage;
            this.mode = mode;
            this.offset = offset;
            this.size = size;
        }
    }

    FileStorageModel(Choices choices, Path path) {
        this.choices = choices;
        this.path = path;
    }

    /// Does one thing after the other for as long as there are choices, and compares everything after each.
    void live() throws IOException {
        while (!choices.areUsedUp()) {
            step();
            compare();
        }
        for (View view : views) {
            if (!view.isReleased) {
                view.storage.release();
            }
        }
        views.clear();
        compare();
    }

    private void step() throws IOException {
        switch (choices.below(views.isEmpty() ? 4 : 10)) {
            case 0, 1, 2 -> open();
            case 3 -> writeFile();
            case 4 -> release(choices.of(views));
            case 5 -> resize(choices.of(views));
            default -> write(choices.of(views));
        }
    }

    private void open() throws IOException {
        MapMode mode = choices.of(List.of(MapMode.values()));
        int offset = choices.yes() ? 0 : choices.below(MAX_SIZE);
        boolean isWhole = choices.below(3) == 0;
        int size = choices.below(MAX_SIZE);
        ByteRange range = (isWhole ? ByteRange.whole() : ByteRange.bytes(size)).from(offset);
        boolean creates = mode == MapMode.SHARED && !isWhole && size > 0;
        byte[] before = file;
        if (before == null && !creates) {
            assertThatThrownBy(() -> FileStorage.open(path, mode, range)).isInstanceOf(NoSuchFileException.class);
            return;
        }
        int length = before == null ? 0 : before.length;
        int end = isWhole ? Math.max(offset, length) : offset + size;
        if (end > length && !creates) {
            assertThatThrownBy(() -> FileStorage.open(path, mode, range)).isInstanceOf(MappingException.class);
            return;
        }
        Storage storage = FileStorage.open(path, mode, range);
        if (creates) {
            file = Arrays.copyOf(before == null ? new byte[0] : before, Math.max(length, end));
        }
        assertThat(storage.filename()).contains(path.toString());
        assertThat(storage.isShared()).isEqualTo(mode == MapMode.SHARED);
        assertThat(storage.isReadOnly()).isEqualTo(mode == MapMode.READ_ONLY);
        assertThat(storage.isResizable()).isFalse();
        views.add(new View(storage, mode, offset, end - offset));
    }

    /// As another process does.
    private void writeFile() throws IOException {
        byte[] there = file;
        if (there == null) {
            there = new byte[choices.below(MAX_SIZE)];
            Files.write(path, there);
            file = there;
        } else if (there.length > 0) {
            int at = choices.below(there.length);
            there[at] = (byte) choices.below(256);
            try (var channel = Files.newByteChannel(path, StandardOpenOption.WRITE)) {
                channel.position(at).write(ByteBuffer.wrap(there, at, 1));
            }
        }
    }

    private static void release(View view) {
        if (view.isReleased) {
            assertThatThrownBy(view.storage::release).isInstanceOf(IllegalStateException.class);
        } else {
            view.storage.release();
            view.isReleased = true;
        }
    }

    private void resize(View view) {
        int size = choices.below(MAX_SIZE);
        assertThatThrownBy(() -> view.storage.resize(size)).isInstanceOf(
                view.isReleased ? IllegalStateException.class : UnsupportedOperationException.class);
    }

    private void write(View view) {
        if (view.size == 0) {
            return;
        }
        int at = choices.below(view.size);
        byte value = (byte) choices.below(256);
        if (view.isReleased) {
            assertThatThrownBy(() -> view.storage.set(at, value)).isInstanceOf(IllegalStateException.class);
        } else if (view.mode == MapMode.READ_ONLY) {
            assertThatThrownBy(() -> view.storage.set(at, value)).isInstanceOf(UnsupportedOperationException.class);
        } else {
            view.storage.set(at, value);
            bytesForWriting(view)[view.offset + at] = value;
        }
    }

    private byte[] bytesForWriting(View view) {
        byte[] all = Objects.requireNonNull(file);
        if (view.mode == MapMode.PRIVATE && view.copy == null) {
            view.copy = all.clone();
        }
        return view.copy == null ? all : view.copy;
    }

    private void compare() throws IOException {
        byte[] expected = file;
        if (expected == null) {
            assertThat(path).doesNotExist();
            return;
        }
        assertThat(Files.readAllBytes(path)).isEqualTo(expected);
        for (View view : views) {
            assertThat(view.storage.nbytes()).isEqualTo(view.size);
            assertThat(view.storage.referenceCount()).isEqualTo(view.isReleased ? 0 : 1);
            byte[] all = view.copy == null ? expected : view.copy;
            for (int i = 0; i < view.size && !view.isReleased; i++) {
                assertThat(view.storage.get(i)).as("byte %s", i).isEqualTo(all[view.offset + i]);
            }
            if (view.isReleased && view.size > 0) {
                assertThatThrownBy(() -> view.storage.get(0)).isInstanceOf(IllegalStateException.class);
            }
        }
    }
}

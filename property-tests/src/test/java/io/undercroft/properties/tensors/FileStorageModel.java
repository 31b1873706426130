package io.undercroft.properties.tensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.mmap.ByteRange;
import io.undercroft.mmap.FileStorage;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappingException;
import io.undercroft.properties.ChainModel;
import io.undercroft.properties.Scratch;
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
import java.util.function.BiConsumer;
import net.jqwik.api.state.Action;
import net.jqwik.api.state.ActionChain;
import net.jqwik.api.state.ActionChainArbitrary;
import org.jspecify.annotations.Nullable;

/// A file and the storages that are opened on it, each with what it should be: the file an array of bytes, a storage a
/// window on it, of which a copy-on-write one has a copy from its first write on.
final class FileStorageModel extends ChainModel {
    /// All in one page, which a copy-on-write mapping copies as a whole.
    private static final int MAX_SIZE = 600;

    private final Scratch scratch;
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

    private FileStorageModel() {
        this.scratch = makeScratch();
        this.path = scratch.file("bytes");
    }

    /// {@return whatever can be done to a file and the storages on it, one thing after the other}
    static ActionChainArbitrary<FileStorageModel> chains() {
        return ActionChain.startWith(FileStorageModel::new)
                .withAction(4, action(FileStorageModel::open))
                .withAction(2, action(FileStorageModel::writeFile))
                .withAction(onOne(FileStorageModel::release))
                .withAction(onOne(FileStorageModel::resize))
                .withAction(4, onOne(FileStorageModel::write));
    }

    /// {@return an action on one of the storages, if there is one}
    private static Action.Independent<FileStorageModel> onOne(BiConsumer<FileStorageModel, View> step) {
        return action(model -> {
            if (model.views.isEmpty()) {
                model.open();
            }
            if (!model.views.isEmpty()) {
                step.accept(model, model.choices().of(model.views));
            }
        });
    }

    /// Releases all storages, after which the file must be as it was, and deletes it.
    @Override
    public void close() throws IOException {
        try (scratch) {
            views.stream().filter(view -> !view.isReleased).forEach(view -> view.storage.release());
            views.clear();
            check();
        }
    }

    private String name(View view) {
        return program().use(view.storage);
    }

    private void open() throws IOException {
        MapMode mode = choices().of(List.of(MapMode.values()));
        int offset = choices().yes() ? 0 : choices().below(MAX_SIZE);
        boolean isWhole = choices().below(3) == 0;
        int size = choices().below(MAX_SIZE);
        ByteRange range = (isWhole ? ByteRange.whole() : ByteRange.bytes(size)).from(offset);
        boolean creates = mode == MapMode.SHARED && !isWhole && size > 0;
        byte[] before = file;
        String expression = "FileStorage.open(path, MapMode." + mode + ", ByteRange."
                + (isWhole ? "whole()" : "bytes(" + size + ")") + ".from(" + offset + "))";
        String name = program().declare("s", expression);
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
        Storage storage = program().name(name, FileStorage.open(path, mode, range));
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
            there = new byte[choices().below(MAX_SIZE)];
            program().line("Files.write(path, new byte[" + there.length + "])");
            Files.write(path, there);
            file = there;
        } else if (there.length > 0) {
            int at = choices().below(there.length);
            there[at] = (byte) choices().below(256);
            program().line("Files.newByteChannel(path, WRITE).position(" + at + ").write(ByteBuffer.wrap(new byte[]{"
                    + there[at] + "}))");
            try (var channel = Files.newByteChannel(path, StandardOpenOption.WRITE)) {
                channel.position(at).write(ByteBuffer.wrap(there, at, 1));
            }
        }
    }

    private void release(View view) {
        program().line(name(view) + ".release()");
        if (view.isReleased) {
            assertThatThrownBy(view.storage::release).isInstanceOf(IllegalStateException.class);
        } else {
            view.storage.release();
            view.isReleased = true;
        }
    }

    private void resize(View view) {
        int size = choices().below(MAX_SIZE);
        program().line(name(view) + ".resize(" + size + ")");
        assertThatThrownBy(() -> view.storage.resize(size)).isInstanceOf(
                view.isReleased ? IllegalStateException.class : UnsupportedOperationException.class);
    }

    private void write(View view) {
        if (view.size == 0) {
            return;
        }
        int at = choices().below(view.size);
        byte value = (byte) choices().below(256);
        program().line(name(view) + ".set(" + at + ", (byte) " + value + ")");
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

    /// Compares everything with what it should be.
    void check() throws IOException {
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

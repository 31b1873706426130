package io.undercroft.properties.laws;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Scratch;
import io.undercroft.properties.states.TrainingObjects;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PretendDevice;
import io.undercroft.testsupport.Sameness;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/// What holds of every state that is saved.
enum Law {
    WHAT_IS_OPENED_IS_WHAT_WAS_SAVED("what is opened is what was saved: tree, bytes, sharing") {
        @Override
        void check(Object state, Scratch scratch) throws IOException {
            try (Checkpoint opened = saveWhole(state, scratch, "a.croft")) {
                Sameness.check(state, opened.state());
            }
        }
    },
    NAMES_ARE_THOSE_OF_THE_STATE("tensors have the names that the state gives them, and storages its order") {
        @Override
        void check(Object state, Scratch scratch) throws IOException {
            var index = StateIndex.of(state);
            try (Checkpoint opened = save(state, scratch, "a.croft")) {
                assertThat(opened.names()).containsExactlyElementsOf(index.tensors().keySet());
                var reopened = StateIndex.of(opened.state());
                opened.names().forEach(name -> assertThat(opened.tensor(name)).isSameAs(reopened.tensors().get(name)));
                assertThat(opened.storages()).hasSameSizeAs(index.storages());
                for (int i = 0; i < index.storages().size(); i++) {
                    assertThat(opened.storages().get(i)).isSameAs(reopened.storages().get(i));
                }
            }
        }
    },
    A_SOUND_FILE_VERIFIES("a file that was just saved has no damage") {
        @Override
        void check(Object state, Scratch scratch) throws IOException {
            try (Checkpoint opened = save(state, scratch, "a.croft")) {
                assertThat(opened.verify().damages()).isEmpty();
            }
        }
    },
    BYTES_ARE_CANONICAL("the same state saved twice gives the same bytes") {
        @Override
        void check(Object state, Scratch scratch) throws IOException {
            save(state, scratch, "a.croft").close();
            save(state, scratch, "b.croft").close();
            assertSameBytes(scratch);
        }
    },
    SAVING_WHAT_WAS_OPENED_GIVES_THE_SAME_BYTES("saving what was opened gives the same bytes again") {
        @Override
        void check(Object state, Scratch scratch) throws IOException {
            try (Checkpoint opened = save(state, scratch, "a.croft")) {
                save(opened.state(), scratch, "b.croft").close();
            }
            assertSameBytes(scratch);
        }
    },
    A_DEVICE_KEEPS_WHAT_WAS_SAVED(
            "what is loaded to a device is what was saved, and is saved from there as from the CPU") {
        @Override
        void check(Object state, Scratch scratch) throws IOException {
            save(state, scratch, "a.croft").close();
            PretendDevice.Memory device = PretendDevice.fresh();
            OpenOptions there = OpenOptions.defaults().classes(TrainingObjects.CLASSES).device(device.device());
            for (OpenOptions options : List.of(there, there.inMemory())) {
                try (Checkpoint onDevice = Checkpoint.open(scratch.file("a.croft"), options)) {
                    save(onDevice.state(), scratch, "there.croft").close();
                }
                try (Checkpoint back = Checkpoint.open(scratch.file("there.croft"), there.device(Device.CPU))) {
                    save(back.state(), scratch, "b.croft").close();
                }
                assertSameBytes(scratch);
            }
            assertThat(device.live).hasValue(0);
        }
    },
    WRITES_SHOW_IN_ALIASES_AND_NOT_IN_THE_FILE(
            "what is written shows in every tensor on the storage and never in the file") {
        @Override
        void check(Object state, Scratch scratch) throws IOException {
            try (Checkpoint opened = saveWhole(state, scratch, "a.croft")) {
                byte[] before = Files.readAllBytes(opened.path());
                for (Storage storage : opened.storages()) {
                    invert(storage);
                }
                var originals = StateIndex.of(state).tensors();
                opened.names().forEach(name -> assertInverted(name, originals.get(name), opened.tensor(name)));
                assertThat(Files.readAllBytes(opened.path())).isEqualTo(before);
            }
            try (Checkpoint again = Checkpoint.open(scratch.file("a.croft"))) {
                Sameness.check(state, again.state());
            }
        }
    };

    private final String text;

    Law(String text) {
        this.text = text;
    }

    /// {@return the laws of states of Java objects too} The others ask the state itself for names, which only its tree
    /// has.
    static Set<Law> ofObjects() {
        return EnumSet
                .complementOf(EnumSet.of(NAMES_ARE_THOSE_OF_THE_STATE, WRITES_SHOW_IN_ALIASES_AND_NOT_IN_THE_FILE));
    }

    /// Throws an [AssertionError] if the law does not hold of a state.
    abstract void check(Object state, Scratch scratch) throws IOException;

    /// {@return the law in words}
    @Override
    public String toString() {
        return text;
    }

    private static Checkpoint save(Object state, Scratch scratch, String name) throws IOException {
        return save(state, scratch, name, SaveOptions.defaults());
    }

    /// Saves all bytes of the storages, those included that no tensor reaches.
    private static Checkpoint saveWhole(Object state, Scratch scratch, String name) throws IOException {
        return save(state, scratch, name, SaveOptions.defaults().wholeStorages());
    }

    private static Checkpoint save(Object state, Scratch scratch, String name, SaveOptions options)
            throws IOException {
        Path path = scratch.file(name);
        Checkpoint.save(path, state, options.classes(TrainingObjects.CLASSES));
        return Checkpoint.open(path, OpenOptions.defaults().classes(TrainingObjects.CLASSES));
    }

    private static void assertSameBytes(Scratch scratch) throws IOException {
        assertThat(Files.mismatch(scratch.file("a.croft"), scratch.file("b.croft"))).isEqualTo(-1);
    }

    private static void invert(Storage storage) {
        if (!storage.device().isMeta()) {
            for (long i = 0; i < storage.nbytes(); i++) {
                storage.set(i, (byte) ~storage.get(i));
            }
        }
    }

    /// Compares stored bytes through the tensor's own geometry, so that each view is seen to be where it should.
    private static void assertInverted(String name, Tensor original, Tensor written) {
        if (original.device().isMeta() || !original.dtype().isByteSized()) {
            return;
        }
        byte[] wanted = elements(original);
        for (int i = 0; i < wanted.length; i++) {
            wanted[i] = (byte) ~wanted[i];
        }
        assertThat(elements(written)).as(name).isEqualTo(wanted);
    }

    /// Negation and conjugation are computed, not stored; without these flags a copy is of what is stored.
    private static byte[] elements(Tensor tensor) {
        return tensor.withFlags(Set.of()).copy().bytes().toArray(ValueLayout.JAVA_BYTE);
    }

}

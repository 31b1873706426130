package io.undercroft.properties.damage;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.FormatException;
import io.undercroft.properties.Scratch;
import io.undercroft.properties.states.TrainingObjects;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/// Opens files whose trees say of Java objects what no save would. Each gives a state or a [FormatException], in little
/// memory and with few operations, and loads no class that is not registered.
public final class ObjectFuzz {
    /// What opening may allocate for each byte of the file beyond its data, and at least.
    private static final long PER_BYTE = 2000;
    /// A key of the file may be refused only after 65 536 of its parts were counted, at some 270 bytes each.
    private static final long AT_LEAST = 32 << 20;

    private ObjectFuzz() {}

    /// What came of a file.
    public enum Outcome {
        STATE, REFUSED,
        /// No file could be made.
        UNSAVABLE
    }

    /// Has a class initializer that tells if a file ever gets it to run.
    static final class Tripwire {
        static {
            Witness.tripped = true;
        }

        private Tripwire() {}
    }

    static final class Witness {
        static volatile boolean tripped;

        private Witness() {}
    }

    /// {@return the file of a state}
    static byte[] save(Object state, Scratch scratch) throws IOException {
        Path path = scratch.file("a.croft");
        Checkpoint.save(path, state, SaveOptions.defaults().classes(TrainingObjects.CLASSES));
        return Files.readAllBytes(path);
    }

    /// Damages the bytes of a tree, and opens the file.
    public static Outcome ofBytes(Object state, byte[] strikes, Scratch scratch) throws IOException {
        byte[] hostile = TreeFile.change(save(state, scratch), tree -> Vandal.damage(tree, strikes));
        return open(scratch.write("b.croft", hostile));
    }

    /// Mixes up the nodes of a tree, saves it as it is, and opens the file.
    public static Outcome ofNodes(Object state, byte[] strikes, Scratch scratch) throws IOException {
        save(state, scratch);
        Path hostile = scratch.file("b.croft");
        try (Checkpoint sound = Checkpoint.open(scratch.file("a.croft"))) {
            Checkpoint.save(hostile, TreeVandal.mixUp(sound.tree(), strikes), SaveOptions.defaults());
        } catch (IllegalArgumentException _) {
            return Outcome.UNSAVABLE;
        }
        return open(hostile);
    }

    /// Opens a file. Whatever is thrown but [FormatException] is the caller's to see.
    static Outcome open(Path path) throws IOException {
        long memory = AT_LEAST + PER_BYTE * TreeFile.tree(Files.readAllBytes(path)).length;
        return Outcome.valueOf((String) Operations.bounded(path, memory, ObjectFuzz.class, "outcomeName",
                path.toString()));
    }

    /// Called in the copy whose operations are counted, which has its own [Tripwire].
    static String outcomeName(String path) throws IOException {
        Outcome outcome = outcome(Path.of(path));
        assertThat(Witness.tripped).isFalse();
        return outcome.name();
    }

    private static Outcome outcome(Path path) throws IOException {
        try (Checkpoint opened = Checkpoint.open(path,
                OpenOptions.defaults().classes(TrainingObjects.CLASSES))) {
            try {
                opened.state();
                return Outcome.STATE;
            } catch (FormatException e) {
                checkText(e, path);
                // The tensors stay readable.
                opened.names().forEach(name -> assertThat(opened.tensor(name)).isNotNull());
                return Outcome.REFUSED;
            }
        } catch (FormatException e) {
            checkText(e, path);
            return Outcome.REFUSED;
        }
    }

    private static void checkText(FormatException e, Path path) {
        assertThat(e.getMessage()).contains(path.toString()).contains(e.code()).doesNotContain("\n", "\r");
        assertThat(e.remedy().toString()).isNotBlank();
    }
}

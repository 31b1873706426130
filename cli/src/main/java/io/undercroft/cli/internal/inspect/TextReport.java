package io.undercroft.cli.internal.inspect;

import static io.undercroft.cli.internal.Table.left;
import static io.undercroft.cli.internal.Table.right;
import static io.undercroft.cli.internal.Table.whole;

import io.undercroft.cli.internal.Sha256;
import io.undercroft.cli.internal.StandardInput;
import io.undercroft.cli.internal.Table;
import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.BaseFile;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.internal.analysis.TensorBlocks;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;

/// A file's contents for people: what it is, one line a tensor, and which tensors share a storage.
public final class TextReport {
    /// The maximum number of entries of the state, and of sharing groups, that are listed.
    private static final int SHOWN = 12;
    private static final int SHOWN_DIGITS = 16;
    private static final int SHOWN_PATH = 80;
    private static final int SHOWN_VALUES = 60;
    /// The maximum length of a shape, of strides and of the name of another tensor: one tensor may be on many lines.
    private static final int SHOWN_CELL = 120;

    private final Inspection inspection;
    private final TextOutput out;

    private TextReport(Inspection inspection, TextOutput out) {
        this.inspection = inspection;
        this.out = out;
    }

    /// Writes the report.
    ///
    /// @param inspection the open file
    /// @param out the destination
    /// @throws IOException if the file cannot be read
    public static void print(Inspection inspection, TextOutput out) throws IOException {
        new TextReport(inspection, out).print();
    }

    private void print() throws IOException {
        printSummary();
        printState();
        if (!inspection.tensors().isEmpty()) {
            out.line("");
            printTensors();
        }
        printSharing();
    }

    private void printSummary() throws IOException {
        Checkpoint checkpoint = inspection.checkpoint();
        out.line(StandardInput.shown(checkpoint.location()));
        out.line("format    " + checkpoint.format() + ", " + Text.size(checkpoint));
        checkpoint.snapshot().ifPresent(snapshot -> out.line("snapshot  " + SnapshotList.line(snapshot)));
        out.line("tensors   " + Text.number(inspection.tensors().size()) + ", "
                + Text.bytes(inspection.tensorBytes()));
        out.line("storages  " + Text.number(inspection.storages().size()) + ", " + Text.bytes(inspection.nbytes())
                + onDisk(inspection.onDisk()));
        if (!inspection.absentDevices().isEmpty()) {
            out.line("devices   saved from " + String.join(", ", inspection.absentDevices()));
        }
        List<ForeignClass> foreign = checkpoint.foreignClasses();
        foreign.stream().sorted(Comparator.comparing(ForeignClass::isDangerous).reversed()).limit(SHOWN)
                .forEach(each -> out.line("class     " + describe(each)));
        printMore(foreign.size(), "classes that are not known here");
        checkpoint.unread().forEach(part -> out.line("besides   " + Text.unread(part)));
        checkpoint.bases().forEach(base -> out.line("needs     " + describe(base)));
        checkpoint.metadata().forEach(
                (key, value) -> out.line("metadata  " + key + " = " + StateOutline.of(value)));
    }

    /// A class that is not known here, of which nothing was loaded.
    private static String describe(ForeignClass foreign) {
        return FormatException.printable(foreign.name())
                + (foreign.objects() == 0 ? "" : ", " + Text.count(foreign.objects(), "object"))
                + (foreign.isDangerous() ? ", dangerous" : "");
    }

    /// Another file that has bytes of this one, and where it is.
    private static String describe(BaseFile base) {
        String what = base.uuid().map("the .croft file %s"::formatted).orElse("an adopted file");
        String where = base.isFound()
                ? base.file().map("found: %s"::formatted).orElse("found")
                : "not found: " + base.problem().orElse("it is not there");
        return "%s, %s, %s".formatted(base.path(), what, where);
    }

    private void printState() {
        Object state = inspection.checkpoint().tree();
        out.line("state     " + StateOutline.of(state));
        StateValues values = new StateValues(state, SHOWN, SHOWN_VALUES);
        values.lines().forEach(line -> out.line("          "
                + Text.shortened(FormatException.printable(StateIndex.rawName(line.path())), SHOWN_PATH) + ": "
                + StateOutline.of(line.value())));
        if (values.leftOut() > 0) {
            out.line("          … and " + Text.number(values.leftOut()) + " more values; croft extract prints each");
        }
    }

    private void printTensors() {
        Table table = new Table(left("name"), whole("dtype"), whole("shape"), right("storage"), right("offset"),
                left("notes"), left("shares storage with"),
                whole("sha-256"));
        table.print(out, rows -> inspection.tensors().forEach((name, tensor) -> rows.accept(row(name, tensor))));
    }

    private String[] row(String name, Tensor tensor) {
        return new String[]{shown(name), Text.shortened(tensor.dtype().name(), SHOWN_CELL),
                Text.shortened(tensor.shape().toString(), SHOWN_CELL), number(tensor.storage()),
                Long.toString(tensor.storageOffset()), Text.shortened(notes(name, tensor), SHOWN_CELL),
                companions(name, tensor), digest(tensor)};
    }

    /// Returns the unusual properties of a tensor, and its other names.
    private String notes(String name, Tensor tensor) {
        List<String> aliases = inspection.aliases(name);
        if (aliases.isEmpty() && tensor.isContiguous() && tensor.device().isCpu() && tensor.flags().isEmpty()) {
            return "";
        }
        List<String> notes = new ArrayList<>();
        if (!aliases.isEmpty()) {
            notes.add("as " + FormatException.printable(String.join(", ", aliases)));
        }
        if (!tensor.isContiguous()) {
            notes.add("stride " + Arrays.toString(tensor.stride()));
        }
        if (!tensor.device().isCpu()) {
            notes.add("on " + tensor.device());
        }
        Set<Tensor.Flag> flags = tensor.flags();
        flags.stream().filter(flag -> flag != Tensor.Flag.REQUIRES_GRAD)
                .forEach(flag -> notes.add(flag.name().toLowerCase(Locale.ROOT)));
        return String.join(", ", notes);
    }

    /// Returns the other names on the storage: the first one, and how many more there are.
    private String companions(String name, Tensor tensor) {
        List<String> users = inspection.users(tensor.storage());
        if (users.size() < 2) {
            return "";
        }
        String other = Text.shortened(shown(users.get(users.getFirst().equals(name) ? 1 : 0)), SHOWN_CELL);
        return users.size() == 2 ? other : other + " and " + (users.size() - 2) + " more";
    }

    private String digest(Tensor tensor) {
        Sha256 digests = inspection.digests();
        String digest = digests == null ? null : digests.of(tensor).digest();
        return digest == null ? "" : digest.substring(0, SHOWN_DIGITS) + "…";
    }

    private void printSharing() {
        List<Storage> shared = inspection.storages().stream().filter(storage -> inspection.users(storage).size() > 1)
                .toList();
        out.line("");
        if (shared.isEmpty()) {
            out.line("No storage is shared: every tensor has its own.");
            return;
        }
        out.line((shared.size() == 1 ? "1 storage is" : shared.size() + " storages are")
                + " shared by several tensors:");
        shared.stream().limit(SHOWN).forEach(this::printUsers);
        printMore(shared.size(), "storages");
    }

    /// Returns the name by which a user can select a tensor: its keys without escapes, unless another tensor has the
    /// same.
    private String shown(String name) {
        return inspection.typed(name);
    }

    private String number(Storage storage) {
        return String.valueOf(inspection.idOf(storage));
    }

    /// Prints a storage and, as its branches, the tensors on it.
    private void printUsers(Storage storage) {
        List<String> users = inspection.users(storage);
        List<Tensor> tensors = users.stream().map(inspection.tensors()::get).filter(Objects::nonNull).toList();
        out.line("  storage " + number(storage) + ": " + Text.bytes(storage.nbytes()) + ", "
                + Text.count(users.size(), "tensor") + " of " + Text.bytes(TensorBlocks.nbytes(tensors))
                + onDisk(inspection.onDisk(storage)));
        int shown = Math.min(users.size(), SHOWN);
        Table branches = new Table(left(""), whole(""), whole(""));
        for (int i = 0; i < shown; i++) {
            Tensor tensor = tensors.get(i);
            String start = tensor.storageOffset() == 0 ? "" : ", from element " + tensor.storageOffset();
            branches.row((i + 1 < users.size() ? "  ├─ " : "  └─ ") + shown(users.get(i)),
                    Text.shortened(tensor.dtype().name(), SHOWN_CELL),
                    Text.shortened(tensor.shape().toString(), SHOWN_CELL) + start);
        }
        branches.printRows(out);
        if (users.size() > shown) {
            out.line("  └─ … and " + Text.number(users.size() - shown) + " more");
        }
    }

    private static String onDisk(OptionalLong nbytes) {
        return nbytes.isEmpty() ? "" : ", " + Text.bytes(nbytes.getAsLong()) + " on disk";
    }

    private void printMore(int count, String what) {
        if (count > SHOWN) {
            out.line("          … and " + (count - SHOWN) + " more " + what);
        }
    }
}

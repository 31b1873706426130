package io.undercroft.cli.internal.inspect;

import io.undercroft.cli.internal.Json;
import io.undercroft.cli.internal.JsonFiles;
import io.undercroft.cli.internal.Sha256;
import io.undercroft.cli.internal.StandardInput;
import io.undercroft.cli.internal.Text;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.BaseFile;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.Verification;
import io.undercroft.serializer.internal.analysis.Sizes;
import io.undercroft.serializer.internal.tree.Unreadable;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// A file's contents as one JSON object, as `docs/inspect-json.md` describes it. Written while it is read, so that
/// memory does not grow with the number of tensors; a storage or tensor a line, so that lines can be compared.
public final class JsonReport {
    /// The maximum length of a report in characters, and that for each byte of its files.
    private static final long LEAST_LONG = 64L << 20;
    private static final long LONG_FACTOR = 64;

    private final Inspection inspection;
    private final Set<Object> written;
    private final int longestText;
    private final int mostAliases;

    private JsonReport(Inspection inspection, Set<Object> written) {
        this(inspection, written, Integer.MAX_VALUE, Integer.MAX_VALUE);
    }

    private JsonReport(Inspection inspection, Set<Object> written, int longestText, int mostAliases) {
        this.inspection = inspection;
        this.written = written;
        this.longestText = longestText;
        this.mostAliases = mostAliases;
    }

    /// {@return the writer of single entries, with shortened texts}
    ///
    /// @param inspection the open file
    /// @param longestText the maximum number of characters of a text
    /// @param mostAliases the maximum number of aliases of a tensor; one more text says how many are left out
    static JsonReport shortened(Inspection inspection, int longestText, int mostAliases) {
        return new JsonReport(inspection, Set.of(), longestText, mostAliases);
    }

    /// Writes the report.
    ///
    /// @param inspection the open file
    /// @param files the destination
    /// @throws IOException if the file cannot be read
    public static void print(Inspection inspection, JsonFiles files) throws IOException {
        // Used for both passes, as a set of very many containers grows for long.
        Set<Object> written = Collections.newSetFromMap(new IdentityHashMap<>());
        Json.write(bounded(inspection), new JsonReport(inspection.withoutDigests(), written)::write);
        written.clear();
        files.print(json -> {
            if (files.areSeveral()) {
                json.member("file", StandardInput.shown(inspection.checkpoint().location()));
            }
            new JsonReport(inspection, written).write(json);
        });
    }

    /// Writes a value of the state as in the report, on one line.
    ///
    /// @param inspection the open file
    /// @param value the value
    /// @param path its path, for an object with the path and the value; null for the value alone
    /// @param out the destination; stays open
    /// @throws IOException if writing fails
    public static void writeValue(Inspection inspection, @Nullable Object value, @Nullable String path, Writer out)
            throws IOException {
        Json.Members members = json -> {
            if (path != null) {
                json.generator().writeStartObject();
                json.member("name", path).generator().writeFieldName("value");
            }
            new StateJson(inspection, json.generator(), Collections.newSetFromMap(new IdentityHashMap<>()))
                    .write(value);
            if (path != null) {
                json.generator().writeEndObject();
            }
        };
        Json.writeValue(bounded(inspection), members);
        Json.writeValue(out, members);
        out.write('\n');
    }

    /// Returns a writer that refuses a report that is much longer than the file, or all files of a set, before anything
    /// is printed: a short file can refer to one long text very often, and JSON has no references to texts.
    private static Writer bounded(Inspection inspection) {
        long most = longest(inspection.checkpoint().fileSizes().values());
        return new BoundedWriter(most, () -> new FormatException("COST-REPORT",
                "the report in JSON would have more than " + (most >> 20)
                        + " MiB, since the file refers to the same long texts again and again",
                FormatException.NO_OFFSET, "Print a part of the state with croft extract, or read it in Java"));
    }

    /// {@return the maximum number of characters of the report of a file or set}
    ///
    /// @param sizes the size of the file, or of all files of the set, in bytes
    static long longest(Collection<Long> sizes) {
        long sum = Sizes.sum(sizes.stream().mapToLong(Long::longValue));
        return LEAST_LONG + LONG_FACTOR * Math.min(sum, (Long.MAX_VALUE - LEAST_LONG) / LONG_FACTOR);
    }

    private void write(Json json) throws IOException {
        Checkpoint checkpoint = inspection.checkpoint();
        json.member("format", checkpoint.format()).object("nbytes", sizes -> sizes
                .member("tensors", inspection.tensorBytes())
                .member("storages", inspection.nbytes()).member("disk", orNull(inspection.onDisk())))
                .list("storages", inspection.storages(), this::write);
        if (!inspection.absentDevices().isEmpty()) {
            json.values("saved_from", inspection.absentDevices());
        }
        if (!checkpoint.bases().isEmpty()) {
            json.list("bases", checkpoint.bases(), this::writeBase);
        }
        json.list("tensors", inspection.tensors().entrySet(), this::write);
        json.generator().writeFieldName("state");
        new StateJson(inspection, json.generator(), written).write(checkpoint.tree());
        json.texts("metadata", checkpoint.metadata());
        if (!checkpoint.foreignClasses().isEmpty()) {
            json.list("foreign_classes", checkpoint.foreignClasses(), this::write);
        }
        if (!checkpoint.unread().isEmpty()) {
            json.list("unread", checkpoint.unread(), this::writeUnread);
        }
    }

    void write(Json json, Storage storage) throws IOException {
        json.member("id", inspection.idOf(storage)).member("nbytes", storage.nbytes())
                .member("disk_nbytes", orNull(inspection.onDisk(storage)))
                .member("device", storage.device().toString());
        Sha256 digests = inspection.digests();
        if (digests != null) {
            write(json, inspection.isReadable(storage) ? digests.of(storage) : Sha256.Outcome.NONE);
        }
    }

    static @Nullable Long orNull(OptionalLong number) {
        return number.isEmpty() ? null : number.getAsLong();
    }

    void writeBase(Json json, BaseFile base) throws IOException {
        write(json, base, this::text);
    }

    static void write(Json json, BaseFile base) throws IOException {
        write(json, base, text -> text);
    }

    private static void write(Json json, BaseFile base, UnaryOperator<String> shown) throws IOException {
        json.member("kind", base.kind().name().toLowerCase(Locale.ROOT)).member("path", shown.apply(base.path()))
                .member("uuid", base.uuid().map(UUID::toString).orElse(null))
                .member("file", base.file().map(Path::toString).map(shown).orElse(null))
                .member("problem", base.problem().map(shown).orElse(null));
    }

    void write(Json json, ForeignClass foreign) throws IOException {
        json.member("class", text(foreign.name())).member("objects", foreign.objects()).member("dangerous",
                foreign.isDangerous());
    }

    void writeUnread(Json json, UnreadPart part) throws IOException {
        write(json, part, this::text);
    }

    static void write(Json json, UnreadPart part) throws IOException {
        write(json, part, text -> text);
    }

    private static void write(Json json, UnreadPart part, UnaryOperator<String> shown) throws IOException {
        json.member("kind", part.kind().name().toLowerCase(Locale.ROOT)).member("what", shown.apply(part.what()))
                .member("offset", part.offset()).member("nbytes", part.nbytes());
        if (part.setting() != null) {
            json.member("setting", part.setting());
        }
    }

    void write(Json json, Map.Entry<String, Tensor> named) throws IOException {
        Tensor tensor = named.getValue();
        json.member("name", text(named.getKey())).member("dtype", text(tensor.dtype().name()))
                .numbers("shape", tensor.shape().toArray()).numbers("stride", tensor.stride())
                .member("offset", tensor.storageOffset()).member("storage", inspection.idOf(tensor.storage()))
                .member("requires_grad", tensor.is(Tensor.Flag.REQUIRES_GRAD));
        if (tensor.is(Tensor.Flag.CONJ)) {
            json.member("conj", true);
        }
        if (tensor.is(Tensor.Flag.NEG)) {
            json.member("neg", true);
        }
        List<String> aliases = inspection.aliases(named.getKey());
        if (!aliases.isEmpty()) {
            Stream<String> shown = aliases.stream().limit(mostAliases).map(this::text);
            json.values("aliases", aliases.size() > mostAliases
                    ? Stream.concat(shown, Stream.of("and " + (aliases.size() - mostAliases) + " more")).toList()
                    : shown.toList());
        }
        FormatException unreadable = Unreadable.why(tensor).orElse(null);
        if (unreadable != null) {
            json.object("unreadable",
                    why -> why.member("code", unreadable.code()).member("what", text(unreadable.what())));
        }
        Sha256 digests = inspection.digests();
        if (digests != null) {
            write(json, digests.of(tensor));
        }
    }

    private void write(Json json, Sha256.Outcome outcome) throws IOException {
        json.member("sha256", outcome.digest());
        if (outcome.problem() != null) {
            json.member("sha256_problem", text(outcome.problem()));
        }
    }

    private String text(String text) {
        return text.length() <= longestText ? text : Text.shortened(text, longestText);
    }

    /// Writes the result of a verification as one JSON object, as `docs/inspect-json.md` describes it.
    ///
    /// @param checkpoint the file that was verified
    /// @param verification the result
    /// @param files the destination
    /// @throws IOException never, as the destination throws its own exceptions
    public static void printVerification(Checkpoint checkpoint, Verification verification, JsonFiles files)
            throws IOException {
        files.print(all -> all.member("file", StandardInput.shown(checkpoint.location()))
                .member("format", checkpoint.format()).member("complete", verification.isComplete())
                .list("damages", verification.damages(), JsonReport::write)
                .member("unverified_nbytes", verification.unverifiedBytes())
                .list("missing_bases", verification.missingBases(), JsonReport::write)
                .list("unread", checkpoint.unread(), JsonReport::write));
    }

    /// Writes the members that describe one damage.
    ///
    /// @param json the object
    /// @param damage what is damaged
    /// @throws IOException if writing fails
    public static void write(Json json, Damage damage) throws IOException {
        json.member("code", damage.code()).member("where", damage.where()).member("offset", damage.offset())
                .member("nbytes", damage.length()).member("what", damage.what());
    }
}

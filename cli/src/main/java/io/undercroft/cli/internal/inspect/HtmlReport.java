package io.undercroft.cli.internal.inspect;

import io.undercroft.cli.internal.Json;
import io.undercroft.cli.internal.Text;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.FileRegion;
import io.undercroft.serializer.ProgressListener;
import io.undercroft.serializer.SnapshotInfo;
import io.undercroft.serializer.internal.analysis.DiskBytes;
import io.undercroft.serializer.internal.analysis.Sizes;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.StatePart;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.LongStream;

/// A self-contained page about a file: the entries of [JsonReport] in a fixed page whose script shows them.
///
/// No content of the file becomes markup. All text from the file is in one element that browsers do not run, as JSON
/// without any `<`; and the page's Content Security Policy allows only its own script and style, by their digests, and
/// no connection.
///
/// The size of the page is limited, so that browsers can open it: to 100 000 tensors, and about 48 MiB of text. The
/// page says what is left out.
public final class HtmlReport {
    private static final int MOST_TENSORS = 100_000;
    /// After this number of characters no tensor is added, and after twice this number no storage.
    private static final long MOST_CHARACTERS = 24L << 20;
    /// The maximum number of entries of each short list, such as the metadata.
    private static final int MOST_NOTES = 1000;
    private static final int MOST_RUNS = 10_000;
    private static final int LONGEST_TEXT = 500;
    private static final int MOST_ALIASES = 20;
    /// Compressed extents that follow one another with at most so many bytes between them are one run.
    private static final int MOST_PADDING = 63;
    private static final String DATA = "{{data}}";

    private final Inspection inspection;
    private final JsonReport entries;
    private final ScriptWriter out;
    private final Set<Storage> used = Collections.newSetFromMap(new IdentityHashMap<>());
    private final Map<String, Integer> bits = new TreeMap<>();
    private final LeftOut leftOut = new LeftOut();
    private final ProgressListener progress;
    private final long total;
    private final StateValues values;
    private long done;
    private int tensors;
    private int storages;
    private int leftOutRegions;
    /// Where each file begins if they follow one another.
    private final long[] starts;

    private HtmlReport(Inspection inspection, Writer out, ProgressListener progress) {
        this.inspection = inspection;
        this.progress = progress;
        this.total = Math.min(inspection.tensors().size(), MOST_TENSORS) + (long) inspection.storages().size();
        this.values = new StateValues(inspection.checkpoint().tree(), MOST_NOTES, MOST_NOTES);
        this.starts = sizes(inspection.checkpoint()).toArray();
        long start = 0;
        for (int i = 0; i < starts.length; i++) {
            long size = starts[i];
            starts[i] = start;
            start += size;
        }
        this.entries = JsonReport.shortened(inspection, LONGEST_TEXT, MOST_ALIASES);
        this.out = new ScriptWriter(out);
    }

    /// The numbers of tensors and storages of a file that a page contains.
    ///
    /// @param tensors the number of tensors
    /// @param storages the number of storages
    public record Extract(int tensors, int storages) {}

    /// Writes the page.
    ///
    /// @param inspection the open file
    /// @param file the name of the file, as the page shows it
    /// @param modified when the file was modified, in milliseconds since 1970; empty if that is unknown
    /// @param out the destination; stays open
    /// @param progress called with the numbers of tensors and storages that were processed, and of all
    /// @return the numbers of tensors and storages in it
    /// @throws IOException if the file cannot be read, or writing fails
    public static Extract write(Inspection inspection, String file, OptionalLong modified, Writer out,
            ProgressListener progress) throws IOException {
        String page = page();
        int data = page.indexOf(DATA);
        out.write(page, 0, data);
        HtmlReport report = new HtmlReport(inspection, out, progress);
        Json.write(report.out, json -> report.write(json, file, modified));
        out.write(page, data + DATA.length(), page.length() - data - DATA.length());
        return new Extract(report.tensors, report.storages);
    }

    /// {@return the page with its script and style, without data}
    private static String page() throws IOException {
        String style = resource("page.css");
        String script = resource("statistics.js") + resource("page.js");
        return resource("page.html").replace("{{style-digest}}", digest(style))
                .replace("{{script-digest}}", digest(script)).replace("{{style}}", style)
                .replace("{{script}}", script);
    }

    private static String resource(String name) throws IOException {
        try (InputStream in = Objects.requireNonNull(HtmlReport.class.getResourceAsStream(name), name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private static String digest(String text) {
        try {
            return "sha256-" + Base64.getEncoder().encodeToString(
                    MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    private void write(Json json, String file, OptionalLong modified) throws IOException {
        Checkpoint checkpoint = inspection.checkpoint();
        json.object("file", about -> {
            about.member("name", shortened(file)).member("nbytes", Sizes.sum(sizes(checkpoint)))
                    .list("files", checkpoint.fileSizes().entrySet(), (each, one) -> each
                            .member("name", shortened(starts.length == 1
                                    ? file
                                    : one.getKey().substring(one.getKey().lastIndexOf('/') + 1)))
                            .member("nbytes", one.getValue()));
            if (modified.isPresent()) {
                about.member("modified", modified.getAsLong());
            }
        });
        json.member("format", checkpoint.format());
        writeSnapshot(json, checkpoint);
        writeRegions(json, checkpoint);
        writeTensors(json);
        writeStorages(json);
        json.member("disk_nbytes", JsonReport.orNull(inspection.onDisk()));
        json.object("bits", each -> {
            for (Map.Entry<String, Integer> dtype : bits.entrySet()) {
                each.member(dtype.getKey(), dtype.getValue());
            }
        });
        writeNotes(json, checkpoint);
        json.object("left_out", each -> each.member("tensors", inspection.tensors().size() - tensors)
                .member("storages", inspection.storages().size() - storages).member("regions", leftOutRegions)
                .member("values", values.leftOut() + Math.max(0, values.lines().size() - MOST_NOTES))
                .member("metadata", Math.max(0, checkpoint.metadata().size() - MOST_NOTES))
                .member("foreign_classes", Math.max(0, checkpoint.foreignClasses().size() - MOST_NOTES))
                .member("unread", Math.max(0, checkpoint.unread().size() - MOST_NOTES))
                .member("bases", Math.max(0, checkpoint.bases().size() - MOST_NOTES)));
        writeRows(json, "left_out_ranges", leftOut.ranges());
    }

    private static void writeSnapshot(Json json, Checkpoint checkpoint) throws IOException {
        SnapshotInfo snapshot = checkpoint.snapshot().orElse(null);
        if (snapshot != null) {
            json.member("snapshot", SnapshotList.line(snapshot));
        }
    }

    /// Writes no regions if an earlier commit is damaged, so that the open one can be inspected.
    private void writeRegions(Json json, Checkpoint checkpoint) throws IOException {
        List<FileRegion> regions = List.of();
        try {
            regions = checkpoint.regions();
        } catch (FormatException e) {
            json.member("regions_problem", shortened(e.what()));
        }
        leftOutRegions = Math.max(0, regions.size() - MOST_TENSORS);
        json.list("regions", regions.stream().limit(MOST_TENSORS).toList(),
                (each, region) -> each.member("kind", region.kind().name().toLowerCase(Locale.ROOT))
                        .member("offset", region.offset()).member("nbytes", region.nbytes()));
    }

    private void writeTensors(Json json) throws IOException {
        json.generator().writeArrayFieldStart("tensors");
        for (Map.Entry<String, Tensor> named : inspection.tensors().entrySet()) {
            if (tensors == MOST_TENSORS || out.written() >= MOST_CHARACTERS) {
                break;
            }
            json.generator().writeStartObject();
            entries.write(json, named);
            json.generator().writeEndObject();
            DType dtype = named.getValue().dtype();
            bits.put(shortened(dtype.name()), dtype.bits());
            used.add(named.getValue().storage());
            tensors++;
            progress.onProgress(++done, total);
        }
        done = total - inspection.storages().size();
        json.generator().writeEndArray();
    }

    /// Writes the storages of the tensors in the page, and those without a tensor.
    private void writeStorages(Json json) throws IOException {
        json.generator().writeArrayFieldStart("storages");
        for (Storage storage : inspection.storages()) {
            progress.onProgress(++done, total);
            int users = inspection.users(storage).size();
            boolean isListed = (users == 0 || used.contains(storage)) && storages < MOST_TENSORS
                    && out.written() < 2 * MOST_CHARACTERS;
            if (!isListed) {
                leftOut.add(extents(storage));
                continue;
            }
            json.generator().writeStartObject();
            entries.write(json, storage);
            json.member("tensors", users);
            writeExtents(json, storage);
            json.generator().writeEndObject();
            storages++;
        }
        json.generator().writeEndArray();
    }

    /// Writes `[start, nbytes, place, offset]` for each run of bytes, and how many bytes of the file they are if they
    /// are compressed; chunks that follow one another are one run.
    private void writeExtents(Json json, Storage storage) throws IOException {
        List<Extent> extents = extents(storage);
        List<long[]> runs = new ArrayList<>();
        for (Extent extent : extents) {
            if (!runs.isEmpty() && continues(runs.getLast(), extent)) {
                long[] run = runs.getLast();
                run[1] += extent.length();
                if (extent.isCompressed()) {
                    run[4] = extent.offset() + extent.stored() - run[3];
                }
            } else {
                long[] run = {extent.start(), extent.length(), placeOf(extent), extent.offset(), extent.stored()};
                runs.add(extent.isCompressed() ? run : Arrays.copyOf(run, 4));
            }
        }
        if (runs.size() > MOST_RUNS) {
            leftOut.add(extents);
            json.member("scattered", runs.size());
        } else {
            writeRows(json, "extents", runs);
        }
    }

    private static LongStream sizes(Checkpoint checkpoint) {
        return checkpoint.fileSizes().values().stream().mapToLong(Long::longValue);
    }

    /// Returns the extents of a storage with their offsets in all files, as if these followed one another.
    private List<Extent> extents(Storage storage) {
        return DiskBytes.extents(inspection.checkpoint(), storage).stream()
                .map(extent -> extent.file() == 0
                        ? extent
                        : new Extent(extent.start(), extent.length(), extent.place(), 0,
                                starts[extent.file()] + extent.offset(), extent.stored(), extent.digest()))
                .toList();
    }

    /// Returns the number of a place in the page.
    private static int placeOf(Extent extent) {
        return switch (extent.place()) {
            case FILE -> 0;
            case BASE -> 1;
            case NOWHERE -> 2;
        };
    }

    private static boolean continues(long[] run, Extent extent) {
        boolean isCompressed = run.length == 5;
        if (run[2] != placeOf(extent) || isCompressed != extent.isCompressed()) {
            return false;
        }
        long gap = extent.offset() - run[3] - run[isCompressed ? 4 : 1];
        return extent.place() == Extent.Place.NOWHERE || (gap >= 0 && gap <= (isCompressed ? MOST_PADDING : 0));
    }

    private static void writeRows(Json json, String name, List<long[]> rows) throws IOException {
        json.generator().writeArrayFieldStart(name);
        for (long[] row : rows) {
            json.generator().writeArray(row, 0, row.length);
        }
        json.generator().writeEndArray();
    }

    private void writeNotes(Json json, Checkpoint checkpoint) throws IOException {
        json.values("saved_from", inspection.absentDevices().stream().limit(MOST_NOTES).map(HtmlReport::shortened)
                .toList());
        json.list("bases", few(checkpoint.bases()), entries::writeBase);
        json.list("foreign_classes", few(checkpoint.foreignClasses()), entries::write);
        json.list("unread", few(checkpoint.unread()), entries::writeUnread);
        json.list("values", few(values.lines()), HtmlReport::writeValue);
        json.list("metadata", few(checkpoint.metadata().entrySet()), (each, entry) -> each
                .member("key", shortened(entry.getKey())).member("value", shortened(entry.getValue())));
    }

    private static void writeValue(Json json, StatePart part) throws IOException {
        json.member("path", shortened(StateIndex.rawName(part.path()))).member("value", StateOutline.of(part.value()));
    }

    private static <T> Iterable<T> few(Collection<T> all) {
        return all.stream().limit(MOST_NOTES).toList();
    }

    private static String shortened(String text) {
        return Text.shortened(text, LONGEST_TEXT);
    }
}

package io.undercroft.properties.damage;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.cli.internal.JsonFiles;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.cli.internal.inspect.Inspection;
import io.undercroft.cli.internal.inspect.JsonReport;
import io.undercroft.cli.internal.inspect.TextReport;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.TensorSpec;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/// Opens a file that may be damaged, reads all of it and reports what is in it, in little memory and with few
/// operations. It gives a state or a [FormatException], and nothing else.
public final class ForeignReading {
    /// What opening, reading and reporting may allocate on the heap for each byte of the file, and at least.
    private static final long PER_BYTE = 2;
    private static final long AT_LEAST = 64 << 20;
    /// What may be read from files and printed for each byte of the file, and at least as much as may be allocated.
    private static final long WORK_PER_BYTE = 64;
    private static final Path COUNTERS = Path.of("/proc/thread-self/io");
    /// Of what is deflated, a byte gives 1032 at most.
    private static final long INFLATED = 1100;
    /// More elements are not copied: a few bytes may stand for any number of elements.
    private static final long COPIED = 1 << 22;
    /// More numbers are not converted, which takes operations for each.
    private static final long CONVERTED = 1 << 18;
    private static final int PAGE = 4096;
    private static final int WAYS = 6;
    /// Of so many glances, one has a report.
    private static final int REPORTED = 32;

    private ForeignReading() {}

    /// What came of a file.
    public enum Outcome {
        OPENED, REFUSED
    }

    /// Reads a file in one of the ways in which files are opened.
    ///
    /// @param way a number that chooses it
    /// @throws AssertionError if reading takes too much, or a refusal does not say what it should
    public static Outcome of(Path path, int way) throws IOException {
        long read = bytesRead();
        Object outcome = Operations.bounded(path, memory(path), ForeignReading.class, "outcomeName", path.toString(),
                way);
        assertThat(bytesRead() - read).as("bytes read from files")
                .isLessThan(AT_LEAST + WORK_PER_BYTE * Files.size(path));
        return Outcome.valueOf((String) outcome);
    }

    /// Called in the copy whose operations are counted.
    static String outcomeName(String path, int way) throws IOException {
        return outcome(Path.of(path), options(way), List.of(Report.values())).name();
    }

    /// Reads a file as [#of], without counting what that takes, and without the reports that take most of it for most
    /// numbers.
    ///
    /// @param way any number, which chooses one of the ways in which files are opened
    /// @throws AssertionError if a refusal does not say what it should
    public static Outcome glance(Path path, int way) throws IOException {
        Report[] reports = Report.values();
        int report = Math.floorMod(way, REPORTED * reports.length);
        return outcome(path, options(Math.floorMod(way, WAYS)), report < reports.length
                ? List.of(reports[report])
                : List.of());
    }

    /// {@return how many bytes the system has copied for this thread so far, from the disk or not; 0 where it does not
    /// say}
    private static long bytesRead() throws IOException {
        if (!Files.isReadable(COUNTERS)) {
            return 0;
        }
        String first = Files.readString(COUNTERS).lines().findFirst().orElseThrow();
        return Long.parseLong(first.substring("rchar: ".length()));
    }

    /// What `croft inspect` prints of a file, and what `croft verify` finds.
    enum Report {
        TEXT, JSON, VERIFICATION
    }

    /// Opens a file and reports what is in it, as `croft inspect` and `croft verify` do.
    ///
    /// @param format the format of the file; empty to let the file show it
    /// @return the code of the refusal, or an empty text
    /// @throws AssertionError if that takes too much, or a refusal does not say what it should
    static String inspect(Path path, String format, Report report) throws IOException {
        return (String) Operations.bounded(path, memory(path), ForeignReading.class, "inspection", path.toString(),
                format, report.name());
    }

    private static long memory(Path path) throws IOException {
        return AT_LEAST + PER_BYTE * Files.size(path);
    }

    @SuppressWarnings("UnusedMethod") // Called by its name in another process.
    private static String inspection(String file, String format, String report) throws IOException {
        Path path = Path.of(file);
        OpenOptions options = format.isEmpty() ? OpenOptions.defaults() : OpenOptions.defaults().format(format);
        try (Checkpoint checkpoint = Checkpoint.open(path, options)) {
            print(checkpoint, Report.valueOf(report));
            return "";
        } catch (FormatException e) {
            Reading.checkText(e, refused(e, path));
            return e.code();
        }
    }

    private static void print(Checkpoint checkpoint, Report report) throws IOException {
        Counter counter = new Counter();
        TextOutput out = new TextOutput(counter);
        switch (report) {
            case TEXT -> TextReport.print(new Inspection(checkpoint, null, List.of()), out);
            case JSON -> JsonReport.print(new Inspection(checkpoint, null, List.of()), new JsonFiles(out, 1));
            case VERIFICATION -> checkpoint.verify().damages().forEach(damage -> {
                assertThat(damage.what()).isNotBlank();
                out.line(damage.what());
            });
        }
        out.flush();
        assertThat(counter.count).as("bytes printed")
                .isLessThan(AT_LEAST + WORK_PER_BYTE * Files.size(checkpoint.path()));
    }

    /// Counts what is printed: the work that a report is.
    private static final class Counter extends OutputStream {
        private long count;

        @Override
        public void write(int value) {
            count++;
        }

        @Override
        public void write(byte[] bytes, int from, int length) {
            count += length;
        }
    }

    private static OpenOptions options(int way) {
        OpenOptions options = OpenOptions.defaults();
        return switch (way % WAYS) {
            case 0 -> options.inMemory();
            case 1 -> options.onMeta();
            case 2 -> options.only(name -> name.hashCode() % 2 == 0);
            default -> options;
        };
    }

    private static Outcome outcome(Path path, OpenOptions options, List<Report> reports) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(path, options)) {
            assertThat(checkpoint.state() == null || !checkpoint.state().getClass().getName().isEmpty()).isTrue();
            assertThat(checkpoint.metadata()).doesNotContainKey(null);
            checkSizes(checkpoint.storages(), Files.size(path));
            long copied = 0;
            long converted = 0;
            for (String name : checkpoint.names()) {
                Tensor tensor = checkpoint.tensor(name);
                assertThat(TensorSpec.of(tensor).shape()).isEqualTo(tensor.shape());
                copied += read(tensor, COPIED - copied);
                converted += convert(tensor, CONVERTED - converted);
            }
            checkpoint.storages().forEach(ForeignReading::read);
            for (Report report : reports) {
                print(checkpoint, report);
            }
            return Outcome.OPENED;
        } catch (FormatException e) {
            Path refused = refused(e, path);
            Reading.checkText(e, refused);
            assertThat(e.offset()).as("offset").isBetween(FormatException.NO_OFFSET, Files.size(refused));
            return Outcome.REFUSED;
        }
    }

    /// {@return the file, or the shard next to it that the exception names instead}
    private static Path refused(FormatException e, Path path) {
        Path named = e.file() == null ? path : Path.of(e.file());
        return path.getParent().equals(named.getParent()) ? named : path;
    }

    /// Storages must not be larger than what the file can hold.
    private static void checkSizes(List<Storage> storages, long fileSize) {
        long nbytes = 0;
        for (Storage storage : storages) {
            if (!storage.isMeta()) {
                nbytes = Math.addExact(nbytes, storage.nbytes());
            }
        }
        assertThat(nbytes).as("bytes of all storages").isLessThanOrEqualTo(INFLATED * fileSize);
    }

    /// Copies a tensor, if there is space for it.
    ///
    /// @return how many elements were copied
    private static long read(Tensor tensor, long space) {
        boolean readable = !tensor.device().isMeta() && tensor.numel() <= space && tensor.dtype().isByteSized();
        if (readable && tensor.numel() > 0) {
            assertThat(tensor.copy().numel()).isEqualTo(tensor.numel());
        }
        return readable ? tensor.numel() : 0;
    }

    /// Converts the elements of a tensor to floats if they are numbers, which reads each of them, and blocks of them.
    ///
    /// @return how many numbers there are, if they were converted
    private static long convert(Tensor tensor, long space) {
        DType dtype = tensor.dtype();
        boolean numbers = dtype.kind() != DType.Kind.BITS || dtype.blockSize() > 1;
        if (!numbers || tensor.device().isMeta() || tensor.numel() > space / dtype.blockSize()) {
            return 0;
        }
        long numel = tensor.numel() * dtype.blockSize();
        assertThat(tensor.to(DType.FLOAT32).numel()).isEqualTo(numel);
        if (dtype.blockSize() > 1) {
            assertThat(tensor.to(DType.BFLOAT16).shape()).isEqualTo(tensor.shapeAs(DType.BFLOAT16));
        }
        return numel;
    }

    private static void read(Storage storage) {
        if (!storage.isMeta()) {
            for (long i = 0; i < storage.nbytes(); i += PAGE) {
                storage.get(i);
            }
        }
    }
}

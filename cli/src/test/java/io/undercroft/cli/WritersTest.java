package io.undercroft.cli;

import static io.undercroft.cli.Invocation.TRAINING;
import static io.undercroft.cli.Invocation.torch;
import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.cli.internal.TextOutput;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.serializer.internal.disk.WriterLock;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/// What the commands that write refuse, each in one line and with the file as it was; and what they write elsewhere
/// than to a file.
class WritersTest {
    private static final Path TIED = torch("tied.pt");

    @TempDir
    Path folder;
    private Path file;
    private byte[] before;

    @BeforeEach
    void aFileOfTwoSnapshots() throws IOException {
        file = folder.resolve("model.croft");
        Invocation.of("convert", TIED, file);
        Invocation.of("append", file, TIED);
        before = Files.readAllBytes(file);
    }

    @Test
    void aLockedFileIsNotWrittenAndItsHolderNamed() throws IOException {
        try (WriterLock _ = WriterLock.of(file)) {
            String holder = "it is being written by this process, 'pid " + ProcessHandle.current().pid() + " on ";
            assertRefused(Invocation.of("append", file, TIED), file + ": " + holder);
            assertRefused(Invocation.of("compact", file), holder);
            assertRefused(Invocation.of("convert", TIED, file), holder);
            assertThat(Invocation.of("verify", file).code()).isZero();
        }
        assertThat(Invocation.of("append", file, TIED).code()).isZero();
    }

    @Test
    void aDamagedNewestSnapshotIsNotWrittenOver() throws IOException {
        // In the directory of its index, which is checked when the file is opened.
        Snapshot newest = Snapshot.open(ByteSource.of(MemorySegment.ofArray(before)), Limits.DEFAULT);
        before[Math.toIntExact(newest.commit().indexOffset()) + 40] ^= 1;
        Files.write(file, before);

        assertRefused(Invocation.of("append", file, TIED), file.toString(), "the newest snapshot is damaged");
        assertRefused(Invocation.of("compact", file), file.toString(), "the newest snapshot is damaged");
        assertRefused(Invocation.of("convert", file, folder.resolve("out.croft")), "is damaged");
    }

    @ParameterizedTest
    @ValueSource(strings = {"inspect", "verify"})
    void aSnapshotThatIsNotThere(String command) throws IOException {
        assertRefused(Invocation.of(command, file, "--at", 3), file.toString(), "there is no snapshot 3");
        assertRefused(Invocation.of(command, file, "--at", 0), file.toString(), "there is no 0");
        assertRefused(Invocation.of(command, TIED, "--at", 1), "no snapshot 1", "torch-zip");
    }

    @Test
    void aSnapshotThatCannotBeCopied() throws IOException {
        Path out = folder.resolve("out.croft");

        assertRefused(Invocation.of("convert", file, out, "--at", 3), "there is no snapshot 3");
        assertRefused(Invocation.of("append", file, file, "--at", 3), "there is no snapshot 3");
        assertRefused(Invocation.of("convert", "--keep-bases", file, out, "--at", 3), "there is no snapshot 3");
        assertRefused(Invocation.of("convert", "--self-contained", file, out, "--at", 3), "there is no snapshot 3");
        assertRefused(Invocation.of("salvage", file, out, "--at", 3), "there is no snapshot 3");
        assertRefused(Invocation.of("compact", file, "--keep", 0), "at least 1 snapshot");
        assertThat(out).doesNotExist();
    }

    @Test
    void aFileIsNotReplacedByOneOfItsSnapshots() throws IOException {
        Path link = Files.createSymbolicLink(folder.resolve("link.croft"), file);

        for (String command : new String[]{"convert --keep-bases", "convert --self-contained", "salvage"}) {
            assertRefused(Invocation.of(command, file, file), "the same file");
            assertRefused(Invocation.of(command, file, link), "the same file");
        }
        assertRefused(Invocation.of("convert", file, file), "it would lose its other snapshots");
    }

    @ParameterizedTest
    @ValueSource(strings = {"models/tiny-gpt2.pt", "models/tiny-gpt2-legacy.pt", "pytorch/tar_format.tar.pt",
            "safetensors/tied.safetensors", "numpy/deflated.npz", "numpy/fortran.npy", "gguf/all.gguf",
            "numpy/pickles/state.2.pkl"})
    void aFileIsReplacedByWhatItIsConvertedToWhenThatIsAllowedOnly(String fixture) throws IOException {
        Path original = Invocation.FIXTURES.resolve(fixture);
        Path source = Files.copy(original, folder.resolve(original.getFileName()));
        Path link = Files.createSymbolicLink(folder.resolve("link-" + source.getFileName()), source);
        Path hard = Files.createLink(folder.resolve("hard-" + source.getFileName()), source);
        for (Path target : List.of(source, link, hard, folder.resolve("../" + folder.getFileName()).resolve(source
                .getFileName()))) {
            for (String to : List.of("--to croft", "--to safetensors", "--to npz")) {
                assertRefused(Invocation.of("convert " + to, source, target), target + ": ", "--in-place");
                assertRefused(Invocation.of("convert " + to, target, source), source + ": ", "--in-place");
            }
            assertThat(source).hasSameBinaryContentAs(original);
        }
        assertThat(Invocation.of("convert --to croft --in-place", source, source).code()).isZero();
        assertThat(Invocation.of("inspect", source).out()).contains("format    croft, ");
    }

    /// Nothing of the state is in a storage.
    @Test
    void aFileWithoutTensorsIsNotReplacedByItsState() throws IOException {
        byte[] pickle = "\u0080\u0002}X\u0004\0\0\0stepK\u0003s.".getBytes(StandardCharsets.ISO_8859_1);
        Path source = Files.write(folder.resolve("step.pkl"), pickle);

        assertRefused(Invocation.of("convert --to croft", source, source), source + ": ", "--in-place");
        assertThat(source).hasBinaryContent(pickle);
        assertThat(Invocation.of("convert --to croft --in-place", source, source).code()).isZero();
    }

    @Test
    void theIndexOfASetIsReplacedByItsStateWhenThatIsAllowedOnly() throws IOException {
        Path set = Files.createDirectory(folder.resolve("set"));
        Path index = set.resolve("model.safetensors.index.json");
        assertThat(Invocation.of("convert --to-set safetensors.shard=100KB",
                Invocation.FIXTURES.resolve("models/tiny-gpt2.pt"), index).code()).isZero();
        List<Path> before = files(set);
        for (Path source : List.of(set, index)) {
            for (Path target : before) {
                Invocation refused = Invocation.of("convert", source, target);
                assertThat(refused.code()).as(target.toString()).isEqualTo(CommandRunner.USAGE);
                assertThat(refused.err()).hasLineCount(1);
            }
        }
        assertThat(files(set)).isEqualTo(before);
        assertThat(Invocation.of("convert", set, index, "--in-place", "--delete-old-shards").code()).isZero();
        assertThat(Invocation.of("diff", Invocation.FIXTURES.resolve("models/tiny-gpt2.pt"), index).code()).isZero();
    }

    private static List<Path> files(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.sorted().toList();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"convert --keep-bases", "convert --self-contained", "salvage"})
    void aTargetThatIsNotCroft(String command) throws IOException {
        assertRefused(Invocation.of(command, file, folder.resolve("out.pt")), "ends in .croft");
    }

    @ParameterizedTest
    @ValueSource(strings = {"convert --keep-bases", "convert --self-contained", "salvage"})
    void aTargetInAFolderThatIsNotThere(String command) throws IOException {
        Path nowhere = folder.resolve("no/such/out.croft");

        assertRefused(Invocation.of(command, file, nowhere), nowhere.getParent().toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"snapshots", "compact"})
    void aFileOfAnotherFormatHasNoSnapshots(String command) throws IOException {
        assertRefused(Invocation.of(command, TIED), TIED.toString(), "torch-zip", "croft convert");
    }

    @Test
    void whatCannotBeAppended() throws IOException {
        Path sealed = Files.copy(Path.of("../format-spec/src/test/resources/golden/sealed.croft"),
                folder.resolve("sealed.croft"));

        assertRefused(Invocation.of("append", sealed, TIED), "the file is sealed");
        assertRefused(Invocation.of("compact", sealed), "the file is sealed");
        assertRefused(Invocation.of("append", folder.resolve("no.croft"), TIED), "no.croft: ", "no such file");
        assertRefused(Invocation.of("append", file, folder.resolve("no.pt")), "no.pt: ", "no such file");
        assertRefused(Invocation.of("append", TIED, file), "format torch-zip", "croft convert");
        assertRefused(Invocation.of("append", file, TIED, "--message", "x".repeat(509)), "508 bytes");
    }

    @ParameterizedTest
    @CsvSource({"--chunk,5,power of two", "--chunk,5X,is no size", "--chunk,2G,power of two",
            "--sharing,most,by content", "--compress,most,compressed alone or against-base",
            "--at,x,is no whole number", "--at,99999999999999999999,has more digits than any number"})
    void aBadOption(String option, String value, String words) throws IOException {
        assertRefused(Invocation.of("convert", TIED, folder.resolve("out.croft"), option, value), words);
    }

    @Test
    void whatIsSavedAndHowCanBeChosen() throws IOException {
        Path out = folder.resolve("out.croft");
        Invocation converted = Invocation.of("convert", TRAINING, out, "--chunk", "64K", "--sharing", "identity",
                "--whole-storages", "--report");

        assertThat(converted.err()).isEmpty();
        assertThat(converted.out()).contains("not written: tensors share a storage", "%  written")
                .doesNotContain("already");
        assertThat(Invocation.of("verify", out).code()).isZero();
    }

    @Test
    void compressedFilesAreSmallerAndHaveTheSameTensors() throws IOException {
        Path plain = folder.resolve("plain.croft");
        Path out = folder.resolve("out.croft");
        Invocation.of("convert", TRAINING, plain);
        Invocation converted = Invocation.of("convert", TRAINING, out, "--compress", "alone", "--report");

        assertThat(converted.err()).isEmpty();
        assertThat(converted.out()).contains("not written: others are coded in fewer bytes");
        assertThat(Files.size(out)).isLessThan(Files.size(plain) * 95 / 100);
        assertThat(Invocation.of("diff", plain, out).code()).isZero();
        assertThat(Invocation.of("verify", out).code()).isZero();
        assertThat(Invocation.of("inspect", out).out()).contains(" on disk");
    }

    @Test
    void olderSnapshotsAreCompressedWhenAFileIsCompacted() throws IOException {
        Path grown = folder.resolve("grown.croft");
        Invocation.of("convert", TRAINING, grown);
        Invocation.of("append", grown, TIED);
        long before = Files.size(grown);

        Invocation compacted = Invocation.of("compact", grown, "--compress", "against-base");

        assertThat(compacted.err()).isEmpty();
        assertThat(Files.size(grown)).isLessThan(before * 95 / 100);
        assertThat(Invocation.of("inspect", "--json", "--hash", "--at", "1", grown).json().get("tensors"))
                .isEqualTo(Invocation.of("inspect", "--json", "--hash", TRAINING).json().get("tensors"));
        assertThat(Invocation.of("diff", grown, TIED).code()).isZero();
    }

    @Test
    void aSealedFileGoesToStandardOutput() throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        StringWriter err = new StringWriter();

        int code = Croft.execute(new TextOutput(out), new PrintWriter(err, true), "convert", TRAINING.toString(), "-");

        assertThat(err.toString()).isEmpty();
        assertThat(code).isZero();
        Path sealed = Files.write(folder.resolve("sealed.croft"), out.toByteArray());
        assertThat(Invocation.of("inspect", "--json", "--hash", sealed).json().get("tensors"))
                .isEqualTo(Invocation.of("inspect", "--json", "--hash", TRAINING).json().get("tensors"));
        assertRefused(Invocation.of("append", sealed, TIED), "the file is sealed");
    }

    @Test
    void theReportDoesNotGetIntoTheFile() throws IOException {
        assertRefused(Invocation.of("convert", TIED, "-", "--report"), "standard output");
    }

    private void assertRefused(Invocation refused, String... words) throws IOException {
        assertThat(refused.code()).as(refused.err()).isBetween(1, 4);
        assertThat(refused.out()).isEmpty();
        assertThat(refused.err()).startsWith("croft: ").doesNotContain("\tat ", "Exception").hasLineCount(1)
                .contains(words);
        assertThat(file).hasBinaryContent(before);
    }
}

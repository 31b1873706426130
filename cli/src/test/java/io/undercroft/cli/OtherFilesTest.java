package io.undercroft.cli;

import static io.undercroft.cli.Invocation.TRAINING;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Files of which bytes are in other files.
class OtherFilesTest {
    @TempDir
    Path folder;
    private Path torch;
    private Path base;
    private Path file;

    @BeforeEach
    void aBase() throws IOException {
        torch = Files.copy(TRAINING, folder.resolve("model.pt"));
        base = folder.resolve("base.croft");
        file = folder.resolve("model.croft");
        Invocation.of("convert", torch, base);
    }

    @Test
    void whatABaseHasIsNotWrittenAgain() throws IOException {
        Invocation converted = Invocation.of("convert", torch, file, "--base", base, "--report");

        assertThat(converted.out()).contains("not written: equal storages are stored already", "written: the index")
                .doesNotContain("%  written");
        assertThat(Files.size(file)).isLessThan(Files.size(base) / 10);
        assertThat(Invocation.of("verify", file).out()).endsWith("113 tensors on 112 storages)\n");
        assertThat(hashes(file)).isEqualTo(hashes(torch));
    }

    @Test
    void severalBasesAreAllUsed() throws IOException {
        Path model = folder.resolve("small.croft");
        Invocation.of("convert", Invocation.FIXTURES.resolve("models/tiny-gpt2.pt"), model);

        assertThat(Invocation.of("convert", torch, file, "--base", model, "--base", base).code()).isZero();

        Files.delete(model);
        assertThat(Invocation.of("verify", file).err()).contains("'small.croft': it is not there");
    }

    @Test
    void anAdoptedFileIsReadWhereItIs() throws IOException {
        Invocation adopted = Invocation.of("convert", torch, file, "--base", torch);

        assertThat(adopted.err()).isEmpty();
        assertThat(adopted.out()).contains("1.6 MiB are read from " + torch, "Open " + file + " with --root DIR")
                .doesNotContain("were written");
        assertThat(Files.size(file)).isLessThan(Files.size(torch) / 10);
        assertThat(Invocation.of("inspect", "--json", "--hash", "--root", folder, file).json().get("tensors"))
                .isEqualTo(hashes(torch));
    }

    @Test
    void adoptingACroftFileWritesNothingEither() throws IOException {
        assertThat(Invocation.of("convert", base, file, "--base", base).out())
                .contains("1.6 MiB are read from " + base);

        assertThat(hashes(file)).isEqualTo(hashes(torch));
    }

    @Test
    void whatCannotBeAdoptedIsWrittenAndSaid() throws IOException {
        Path swapped = Files.copy(Invocation.torch("zip_bigendian.pt"), folder.resolve("zip_bigendian.pt"));

        assertThat(Invocation.of("convert", swapped, file, "--base", swapped).out())
                .contains("were written, as " + swapped + " does not have them as they are in memory")
                .doesNotContain("are read from");
        assertThat(Invocation.of("verify", file).out()).endsWith("storage)\n");
    }

    @Test
    void whatHasToBeToldOfAFileIsToldOfTheBaseToo() throws IOException {
        Path told = Files.copy(Invocation.FIXTURES.resolve("torch7/tensors-sharing-storage.long4.t7"),
                folder.resolve("model.t7"));
        Files.write(told, new byte[7], StandardOpenOption.APPEND);
        assertOneLine(Invocation.of("convert", told, file, "--base", told), told + ": ", "torch7.longs");

        Invocation adopted = Invocation.of("convert", told, file, "--base", told, "--format", "torch7", "--set",
                "torch7.longs=4",
                "--set", "torch7.object=1");

        assertThat(adopted.err()).contains("not in the state: no object of Torch7");
        assertThat(adopted.out()).contains("are read from " + told).doesNotContain("were written");
        assertThat(Invocation.of("inspect", "--json", "--hash", "--root", folder, file).json().get("tensors"))
                .isEqualTo(Invocation.of("inspect", "--json", "--hash", "--set", "torch7.longs=4", told).json()
                        .get("tensors"));
    }

    @Test
    void ofABigEndianFileOfTorch7NumbersAreWritten() throws IOException {
        Path swapped = Files.copy(Invocation.FIXTURES.resolve("torch7/tensors-sharing-storage.be.t7"),
                folder.resolve("model.t7"));

        assertThat(Invocation.of("convert", swapped, file, "--base", swapped).out())
                .contains("were written, as " + swapped + " does not have them as they are in memory")
                .doesNotContain("are read from");
        assertThat(hashes(file)).isEqualTo(hashes(swapped));
    }

    @Test
    void verifyingSaysWhatItCouldNotLookAt() {
        Invocation.of("convert", torch, file, "--base", torch);

        Invocation verified = Invocation.of("verify", file);

        assertThat(verified.code()).isEqualTo(3);
        assertThat(verified.out()).contains("what was checked is not damaged")
                .endsWith("; not checked: 1.6 MiB in other files\n").doesNotContain("no damage found");
        assertThat(verified.err()).hasLineCount(1).contains("'model.pt'", "--root", "--base");
        Invocation whole = Invocation.of("verify", "--root", folder, file);
        assertThat(whole.code()).isZero();
        assertThat(whole.out()).contains("no damage found").endsWith("113 tensors on 112 storages)\n");
    }

    @Test
    void verifyingAFileWhoseAdoptedFileIsGoneIsNoSuccess() throws IOException {
        Invocation.of("convert", torch, file, "--base", torch);
        Files.delete(torch);

        for (Invocation verified : List.of(Invocation.of("verify", file),
                Invocation.of("verify", file, "--root", folder))) {
            assertThat(verified.code()).isEqualTo(3);
            assertThat(verified.out() + verified.err()).contains("'model.pt'", "--root")
                    .doesNotContain("no damage found");
        }
    }

    @Test
    void aFileThatWasRenamedIsNamedInEveryCommand() throws IOException {
        Path moved = folder.resolve("else").resolve("renamed");
        Files.createDirectory(moved.getParent());
        for (Path source : List.of(torch, base)) {
            Invocation.of("convert", source, file, "--base", source);
            JsonNode expected = hashes(base);
            Files.move(source, moved);

            assertThat(Invocation.of("inspect", "--json", "--hash", file, "--base", moved).json().get("tensors"))
                    .isEqualTo(expected);
            assertThat(Invocation.of("verify", file, "--base", moved).code()).isZero();
            assertThat(Invocation.of("convert", "--self-contained", file, folder.resolve("flat.croft"), "--base", moved)
                    .code()).isZero();
            assertThat(hashes(folder.resolve("flat.croft"))).isEqualTo(expected);
            Path converted = folder.resolve("converted.safetensors");
            assertThat(Invocation.of("convert", "--part", "model", file, converted, "--base", moved).code()).isZero();
            assertOneLine(Invocation.of("convert", "--part", "model", moved, converted, "--base", moved),
                    "--base is for .croft files");
            Path other = folder.resolve("other.croft");
            assertThat(Invocation.of("convert", file, other, "--base", moved, "--root", folder).code()).isZero();
            assertThat(Invocation.of("inspect", "--json", "--hash", other, "--root", folder).json().get("tensors"))
                    .isEqualTo(expected);
            assertThat(Invocation.of("salvage", file, folder.resolve("left.croft"), "--base", moved).code()).isZero();
            Files.move(moved, source);
        }
    }

    /// What is adopted is read from where it is now.
    @Test
    void aFileWhoseBaseWasRenamedIsAdoptedTogetherWithIt() throws IOException {
        Path moved = Files.createDirectory(folder.resolve("else")).resolve("renamed");
        Path adopting = folder.resolve("adopting.croft");
        JsonNode expected = hashes(torch);
        for (Path source : List.of(torch, base)) {
            Invocation.of("convert", source, file, "--base", source);
            Files.move(source, moved);
            assertThat(Invocation.of("convert", file, adopting, "--base", file).code()).isEqualTo(3);
            assertThat(adopting).doesNotExist();

            Invocation adopted = Invocation.of("convert", file, adopting, "--base", file, "--base", moved);

            assertThat(adopted.err()).isEmpty();
            assertThat(adopted.out())
                    .contains("1.6 MiB are read from " + file + " and the other files that --base names")
                    .doesNotContain("were written");
            assertThat(Invocation.of("inspect", "--json", "--hash", adopting, "--root", folder).json().get("tensors"))
                    .isEqualTo(expected);
            Files.delete(adopting);
            Files.move(moved, source);
        }
    }

    /// The other files of a file are never looked at for its snapshots.
    @Test
    void theListOfSnapshotsNeedsNoOtherFile() throws IOException {
        Invocation.of("convert", torch, file, "--base", torch);
        Files.delete(torch);

        Invocation listed = Invocation.of("snapshots", file);

        assertThat(listed.code()).isZero();
        assertThat(listed.err()).isEmpty();
        assertOneLine(Invocation.of("snapshots", file, "--base", torch), "--base", "croft snapshots --help");
    }

    @Test
    void inspectSaysWhichOtherFilesAFileNeedsAndWhichAreThere() throws IOException {
        Invocation.of("convert", torch, file, "--base", torch);

        assertThat(Invocation.of("inspect", file, "--root", folder).out())
                .contains("needs     model.pt, an adopted file, found: " + torch.toRealPath());
        assertThat(Invocation.of("inspect", file).out())
                .contains("needs     model.pt, an adopted file, not found: a base of another format");
        JsonNode found = Invocation.of("inspect", "--json", file, "--root", folder).json().get("bases");
        assertThat(found).hasSize(1);
        assertThat(found.get(0).get("kind").asText()).isEqualTo("adopted");
        assertThat(found.get(0).get("file").asText()).isEqualTo(torch.toRealPath().toString());
        assertThat(found.get(0).get("problem").isNull()).isTrue();

        Invocation.of("convert", base, file, "--base", base);
        Files.delete(base);
        JsonNode missing = Invocation.of("inspect", "--json", file).json().get("bases").get(0);
        assertThat(missing.get("kind").asText()).isEqualTo("croft");
        assertThat(missing.get("path").asText()).isEqualTo("base.croft");
        assertThat(missing.get("uuid").asText()).hasSize(36);
        assertThat(missing.get("file").isNull()).isTrue();
        assertThat(missing.get("problem").asText()).startsWith("it is not there, as there is no '/");
        assertThat(Invocation.of("inspect", "--json", torch).json().has("bases")).isFalse();
    }

    @Test
    void aChangedAdoptedFileIsFound() throws IOException {
        Invocation.of("convert", torch, file, "--base", torch);
        byte[] bytes = Files.readAllBytes(torch);
        bytes[bytes.length / 2] ^= 1;
        Files.write(torch, bytes);

        Invocation verified = Invocation.of("verify", "--root", folder, file);

        assertThat(verified.code()).isEqualTo(4);
        assertThat(verified.err()).contains("'model.pt' has other bytes than those that were meant");
    }

    @Test
    void aFlattenedFileNeedsNoOther() throws IOException {
        Path flat = folder.resolve("flat.croft");
        JsonNode expected = hashes(torch);
        Invocation.of("convert", torch, file, "--base", torch);

        assertThat(Invocation.of("convert", "--self-contained", file, flat, "--root", folder).err()).isEmpty();

        Files.delete(torch);
        assertThat(hashes(flat)).isEqualTo(expected);
    }

    @Test
    void anExportedFileStillNeedsItsBase() throws IOException {
        Path exported = folder.resolve("exported.croft");
        Invocation.of("convert", torch, file, "--base", base);

        assertThat(Invocation.of("convert", "--keep-bases", file, exported).code()).isZero();

        assertThat(Invocation.of("verify", exported).code()).isZero();
        Files.delete(base);
        Invocation hashed = Invocation.of("inspect", "--hash", exported);
        assertThat(hashed.code()).isEqualTo(3);
        assertThat(hashed.err()).contains("'base.croft': it is not there", "--root").doesNotContain("damaged part");
    }

    @Test
    void aBaseThatIsGoneIsNamedAndNotCalledDamage() throws IOException {
        Invocation.of("convert", torch, file, "--base", base);
        Files.delete(base);

        Invocation verified = Invocation.of("verify", file);

        assertThat(verified.code()).isEqualTo(3);
        assertThat(verified.err().lines()).hasSize(2).allMatch(line -> line.startsWith("croft: " + file + ": "));
        assertThat(verified.err()).contains("'base.croft': it is not there", "1 other file cannot be used", "--root")
                .contains("what was checked is not damaged");
        assertOneLine(Invocation.of("convert", file, folder.resolve("out.croft")), "'base.croft': it is not there");
        assertOneLine(Invocation.of("convert", "--self-contained", file, folder.resolve("out.croft")),
                "'base.croft': it is not there");
    }

    @Test
    void anotherFileInThePlaceOfTheBaseIsRefused() throws IOException {
        Invocation.of("convert", torch, file, "--base", base);
        Path other = folder.resolve("other.croft");
        Invocation.of("convert", Invocation.torch("tied.pt"), other);
        Files.move(other, base, StandardCopyOption.REPLACE_EXISTING);

        assertThat(Invocation.of("verify", file).err()).contains("V18-BASE", "1 other file cannot be used");
    }

    @Test
    void aBaseOutsideTheRootIsRefused() throws IOException {
        Path below = Files.createDirectory(folder.resolve("below")).resolve("model.croft");

        assertOneLine(Invocation.of("convert", torch, below, "--base", base), "is not below", "set a root above both");
        assertThat(below).doesNotExist();

        assertThat(Invocation.of("convert", torch, below, "--base", base, "--root", folder).code()).isZero();
        assertThat(Invocation.of("verify", below, "--root", folder).code()).isZero();
        assertThat(Invocation.of("verify", below).err()).contains("'base.croft': it is not there");
    }

    @Test
    void aBadBaseIsNamed() throws IOException {
        Path notes = Files.writeString(folder.resolve("notes.txt"), "hello, world");

        assertOneLine(Invocation.of("convert", torch, file, "--base", folder.resolve("no.croft")),
                "no.croft: there is no such file");
        assertOneLine(Invocation.of("convert", torch, file, "--base", notes), notes + ": ", "known format");
        assertOneLine(Invocation.of("convert", torch, base, "--base", base), "cannot be its own base");
        assertOneLine(Invocation.of("convert", base, base, "--base", base), "opened from this file");
        assertOneLine(Invocation.of("convert", base, base, "--base", base, "--in-place"), "cannot be its own base");
        assertOneLine(Invocation.of("convert", torch, file, "--base", base, "--sharing", "identity"), "--sharing");
        assertThat(file).doesNotExist();
    }

    @Test
    void aRootThatIsNotThereIsNamed() {
        Path nowhere = folder.resolve("nowhere");

        assertOneLine(Invocation.of("convert", torch, file, "--base", base, "--root", nowhere),
                nowhere + ": there is no");
    }

    private static void assertOneLine(Invocation refused, String... words) {
        assertThat(refused.code()).isBetween(1, 4);
        assertThat(refused.out()).isEmpty();
        assertThat(refused.err()).startsWith("croft: ").hasLineCount(1).contains(words);
    }

    private static JsonNode hashes(Path file) throws IOException {
        return Invocation.of("inspect", "--json", "--hash", file).json().get("tensors");
    }
}

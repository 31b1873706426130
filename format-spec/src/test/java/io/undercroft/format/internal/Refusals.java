package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.FormatException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.List;

/// Opening, verifying and refusing files that are made in memory.
final class Refusals {
    private Refusals() {}

    static Snapshot open(byte[] file) throws IOException {
        return Snapshot.open(source(file), Limits.DEFAULT);
    }

    /// {@return the newest commit of a file}
    static CommitRecord newest(byte[] file) {
        try {
            return open(file).commit();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static Header header(byte[] file) {
        return Header.decode(MemorySegment.ofArray(file).asSlice(0, FileLayout.HEADER_BYTES));
    }

    static List<Finding> verify(byte[] file) throws IOException {
        return verify(file, BaseFiles.none()).findings();
    }

    static Verifier.Result verify(byte[] file, BaseFiles bases) throws IOException {
        return Verifier.verify(source(file), open(file), bases);
    }

    static void refused(Rule rule, byte[] file) {
        refused(rule, file, Limits.DEFAULT);
    }

    static void accepted(byte[] file, Limits limits) throws IOException {
        assertThat(Verifier.verify(source(file), Snapshot.open(source(file), limits), BaseFiles.none()).findings())
                .isEmpty();
    }

    /// At opening, or as the first thing that verifying finds.
    static void refused(Rule rule, byte[] file, Limits limits) {
        try {
            assertThat(Verifier.verify(source(file), Snapshot.open(source(file), limits), BaseFiles.none()).findings())
                    .extracting(Finding::rule)
                    .startsWith(rule);
        } catch (FormatException e) {
            assertThat(e.code()).isEqualTo(rule.code());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static ByteSource source(byte[] file) {
        return ByteSource.of(MemorySegment.ofArray(file));
    }
}

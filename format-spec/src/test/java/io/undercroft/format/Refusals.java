package io.undercroft.format;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;

/// Opening, verifying and refusing files that are made in memory.
final class Refusals {
    private Refusals() {}

    static Snapshot open(byte[] file) throws IOException {
        return Snapshot.open(source(file), Limits.DEFAULT);
    }

    static List<Damage> verify(byte[] file) throws IOException {
        return Verifier.verify(source(file), open(file));
    }

    static void refused(Rule rule, byte[] file) {
        refused(rule, file, Limits.DEFAULT);
    }

    static void refused(Rule rule, byte[] file, Limits limits) {
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Snapshot.open(source(file), limits))
                .extracting(FormatException::code).isEqualTo(rule.code());
    }

    private static ByteSource source(byte[] file) {
        return ByteSource.of(MemorySegment.ofArray(file));
    }
}

package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Set;
import net.openhft.chronicle.bytes.Bytes;
import org.junit.jupiter.api.Test;

/// What a reader makes of each record, written as a writer does, is the record again.
class IndexDumpTest {
    @Test
    void readerAndWriterAgreeOnEverySection() throws IOException {
        assertReadAndWrittenAgain(Golden.resource(Golden.FILE));
        assertReadAndWrittenAgain(Features.everySection().toByteArray());
    }

    @Test
    void whatNobodyKnowsIsWrittenAsItIs() throws IOException {
        Set<SectionType> some = EnumSet.of(SectionType.EXTN, SectionType.TENS, SectionType.NAMS);
        assertReadAndWrittenAgain(Future.of(Golden.resource(Golden.FILE), some, Future.UNSAFE, Future.SAFE));
    }

    private static void assertReadAndWrittenAgain(byte[] file) throws IOException {
        Snapshot snapshot = Refusals.open(file);
        Bytes<?> out = Bytes.allocateElasticOnHeap();
        IndexDump.write(new ChronicleWriter(out), snapshot);
        assertThat(MemorySegment.ofArray(out.toByteArray()).mismatch(snapshot.index().bytes())).isEqualTo(-1);
    }
}

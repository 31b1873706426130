package io.undercroft.hadoop;

import io.undercroft.mmap.spi.RangeSource;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntConsumer;

/// A source that counts what is read of another one.
final class CountedSource implements RangeSource {
    final AtomicInteger reads = new AtomicInteger();
    final AtomicInteger confirmations = new AtomicInteger();
    final AtomicLong bytes = new AtomicLong();
    /// Receives the number of the read that begins.
    volatile IntConsumer onRead = _ -> {};
    private final RangeSource source;

    CountedSource(RangeSource source) {
        this.source = source;
    }

    @Override
    public String location() {
        return source.location();
    }

    @Override
    public long size() {
        return source.size();
    }

    @Override
    public MemorySegment start() {
        MemorySegment start = source.start();
        if (start.byteSize() > 0) {
            reads.incrementAndGet();
            bytes.addAndGet(start.byteSize());
        }
        return start;
    }

    @Override
    public void read(long offset, MemorySegment into) throws IOException {
        onRead.accept(reads.incrementAndGet());
        bytes.addAndGet(into.byteSize());
        source.read(offset, into);
    }

    @Override
    public void confirm() throws IOException {
        confirmations.incrementAndGet();
        source.confirm();
    }

    @Override
    public boolean isCurrent() throws IOException {
        return source.isCurrent();
    }

    @Override
    public RangeSource sibling(String path) throws IOException {
        return source.sibling(path);
    }

    @Override
    public void close() {
        source.close();
    }
}

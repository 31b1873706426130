package io.undercroft.http.internal;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/// Receives the body of a response. It may be detached at any time, after which nothing is written any more.
final class Body implements BodySubscriber<Long> {
    private final CompletableFuture<Long> done = new CompletableFuture<>();
    private final long limit;
    private final boolean isSkipped;
    private MemorySegment into;
    private Flow.@Nullable Subscription subscription;
    private long count;
    private boolean isDetached;

    /// The body is longer than its limit.
    static final class TooLongException extends IOException {
        private static final long serialVersionUID = 1L;
    }

    private Body(MemorySegment into, long limit, boolean isSkipped) {
        this.into = into;
        this.limit = limit;
        this.isSkipped = isSkipped;
    }

    /// {@return a body of at most the size of a segment, which is written to it}
    ///
    /// @param into the destination
    static Body into(MemorySegment into) {
        return new Body(into, into.byteSize(), false);
    }

    /// {@return a body of limited size, in memory that grows with it}
    ///
    /// @param limit how many bytes
    static Body upTo(long limit) {
        return new Body(MemorySegment.ofArray(new byte[0]), limit, false);
    }

    /// {@return a body that is not read}
    static Body skipped() {
        return new Body(MemorySegment.NULL, 0, true);
    }

    @Override
    public CompletionStage<Long> getBody() {
        return done;
    }

    @Override
    public void onSubscribe(Flow.Subscription arriving) {
        synchronized (this) {
            subscription = arriving;
        }
        if (isSkipped) {
            arriving.cancel();
            done.complete(0L);
        } else {
            arriving.request(Long.MAX_VALUE);
        }
    }

    @Override
    public void onNext(List<ByteBuffer> buffers) {
        for (ByteBuffer buffer : buffers) {
            if (!add(buffer)) {
                done.completeExceptionally(new TooLongException());
                cancel();
                return;
            }
        }
    }

    private synchronized boolean add(ByteBuffer buffer) {
        if (isDetached) {
            return false;
        }
        long end = count + buffer.remaining();
        if (end > limit) {
            return false;
        }
        if (end > into.byteSize()) {
            MemorySegment grown = MemorySegment.ofArray(new byte[(int) Math.min(limit, Math.max(2 * end, 1 << 12))]);
            MemorySegment.copy(into, 0, grown, 0, count);
            into = grown;
        }
        MemorySegment.copy(MemorySegment.ofBuffer(buffer), 0, into, count, buffer.remaining());
        count = end;
        return true;
    }

    private void cancel() {
        Flow.Subscription arriving;
        synchronized (this) {
            arriving = subscription;
        }
        if (arriving != null) {
            arriving.cancel();
        }
    }

    @Override
    public void onError(Throwable failure) {
        done.completeExceptionally(failure);
    }

    @Override
    public void onComplete() {
        done.complete(count());
    }

    /// {@return how many bytes have arrived}
    synchronized long count() {
        return count;
    }

    /// Ends writing.
    ///
    /// @return how many bytes have arrived
    synchronized long detach() {
        isDetached = true;
        return count;
    }

    /// {@return the bytes that have arrived}
    synchronized MemorySegment bytes() {
        return into.asSlice(0, count);
    }
}

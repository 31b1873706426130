package io.undercroft.hadoop;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.model.UploadPartRequest;

/// Stops the thread that sends the first part of one upload between its test for interruption and its read of the
/// buffer, as the system may at any time. Aborting the upload does not end such a thread. If S3A has given the buffer
/// to another upload meanwhile, as it does with `fs.s3a.fast.upload.buffer=bytebuffer`, the read moves the position of
/// the other upload.
public final class SlowUpload implements ExecutionInterceptor {
    private static volatile CountDownLatch stopped = new CountDownLatch(0);
    private static volatile CountDownLatch goingOn = new CountDownLatch(0);
    private static volatile CountDownLatch read = new CountDownLatch(0);

    /// Makes the next part that is sent the one that stops.
    static void stopNext() {
        goingOn = new CountDownLatch(1);
        read = new CountDownLatch(1);
        stopped = new CountDownLatch(1);
    }

    static void awaitStop() throws InterruptedException {
        stopped.await();
    }

    /// Lets the thread go on, until it has read.
    static void goOn() throws InterruptedException {
        goingOn.countDown();
        read.await();
    }

    @Override
    public Optional<RequestBody> modifyHttpContent(Context.ModifyHttpRequest context, ExecutionAttributes attributes) {
        Optional<RequestBody> body = context.requestBody();
        return context.request() instanceof UploadPartRequest part && part.partNumber() == 1 && stopped.getCount() > 0
                ? body.map(SlowUpload::slow)
                : body;
    }

    private static RequestBody slow(RequestBody body) {
        return RequestBody.fromContentProvider(
                () -> new StoppedStream(body.contentStreamProvider().newStream()),
                body.optionalContentLength().orElseThrow(), body.contentType());
    }

    private static final class StoppedStream extends FilterInputStream {
        StoppedStream(InputStream in) {
            super(in);
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            stopped.countDown();
            boolean isInterrupted = false;
            while (goingOn.getCount() > 0) {
                try {
                    goingOn.await();
                } catch (InterruptedException _) {
                    isInterrupted = true;
                }
            }
            try {
                return super.read(bytes, offset, length);
            } finally {
                if (isInterrupted) {
                    Thread.currentThread().interrupt();
                }
                read.countDown();
            }
        }
    }
}

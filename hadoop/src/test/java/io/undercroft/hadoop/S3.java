package io.undercroft.hadoop;

import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.gaul.s3proxy.AuthenticationType;
import org.gaul.s3proxy.PutOptions2;
import org.gaul.s3proxy.S3Proxy;
import org.jclouds.ContextBuilder;
import org.jclouds.blobstore.BlobStore;
import org.jclouds.blobstore.BlobStoreContext;
import org.jclouds.blobstore.domain.Blob;
import org.jclouds.blobstore.domain.MultipartPart;
import org.jclouds.blobstore.domain.MultipartUpload;
import org.jclouds.blobstore.options.GetOptions;
import org.jclouds.blobstore.options.PutOptions;
import org.jclouds.blobstore.util.ForwardingBlobStore;
import org.jclouds.http.HttpResponse;
import org.jclouds.http.HttpResponseException;
import org.jclouds.io.Payload;
import org.jspecify.annotations.Nullable;

/// An endpoint of S3 that keeps objects in memory, one for all tests of a JVM.
final class S3 {
    static final String BUCKET = "models";
    static final int PART = 5 << 20;

    /// The number of requests for bytes of objects that the endpoint has served, and the number of their bytes.
    static final AtomicInteger READS = new AtomicInteger();
    static final AtomicLong BYTES = new AtomicLong();

    /// The names of objects of which the endpoint takes no further parts.
    static final Set<String> FAILING = ConcurrentHashMap.newKeySet();

    private static final BlobStoreContext CONTEXT = ContextBuilder.newBuilder("transient")
            .credentials("local", "local").build(BlobStoreContext.class);
    private static final S3Proxy SERVER = start();

    private S3() {}

    private static S3Proxy start() {
        CONTEXT.getBlobStore().createContainerInLocation(null, BUCKET);
        try {
            S3Proxy server = S3Proxy.builder().blobStore(new Counted(CONTEXT.getBlobStore()))
                    .endpoint(URI.create("http://127.0.0.1:0"))
                    .awsAuthentication(AuthenticationType.AWS_V2_OR_V4, "user", "secret").build();
            server.start();
            return server;
        } catch (Exception e) {
            throw new IllegalStateException("the server does not start", e);
        }
    }

    private static final class Counted extends ForwardingBlobStore {
        Counted(BlobStore store) {
            super(store);
        }

        @Override
        public @Nullable Blob getBlob(String bucket, String name, GetOptions options) {
            Blob blob = super.getBlob(bucket, name, options);
            if (blob != null) {
                READS.incrementAndGet();
                BYTES.addAndGet(blob.getMetadata().getContentMetadata().getContentLength());
            }
            return blob;
        }

        @Override
        public synchronized String putBlob(String bucket, Blob blob, PutOptions options) {
            check(bucket, blob.getMetadata().getName(), options);
            return super.putBlob(bucket, blob, options);
        }

        @Override
        public MultipartPart uploadMultipartPart(MultipartUpload upload, int number, Payload payload) {
            if (FAILING.contains(upload.blobName())) {
                throw new HttpResponseException("the store is out of order", null,
                        HttpResponse.builder().statusCode(HttpURLConnection.HTTP_UNAVAILABLE).build());
            }
            return super.uploadMultipartPart(upload, number, payload);
        }

        @Override
        public synchronized String completeMultipartUpload(MultipartUpload upload, List<MultipartPart> parts) {
            check(upload.containerName(), upload.blobName(), upload.putOptions());
            return super.completeMultipartUpload(upload, parts);
        }

        /// Checks the conditions of a write, as real stores do. The server checks them, too, but another writer may be
        /// between its check and its write.
        private void check(String bucket, String name, PutOptions options) {
            boolean isThere = blobExists(bucket, name);
            if (options instanceof PutOptions2 conditions
                    && (isThere ? conditions.getIfNoneMatch() : conditions.getIfMatch()) != null) {
                throw new HttpResponseException("the condition is not met", null,
                        HttpResponse.builder().statusCode(HttpURLConnection.HTTP_PRECON_FAILED).build());
            }
        }
    }

    static Configuration configuration() {
        Configuration configuration = new Configuration(false);
        configuration.set("fs.s3a.endpoint", "http://127.0.0.1:" + SERVER.getPort());
        configuration.set("fs.s3a.endpoint.region", "us-east-1");
        configuration.set("fs.s3a.path.style.access", "true");
        configuration.set("fs.s3a.access.key", "user");
        configuration.set("fs.s3a.secret.key", "secret");
        configuration.set("fs.s3a.multipart.size", String.valueOf(PART));
        // Not bytebuffer: see SlowUpload.
        configuration.set("fs.s3a.fast.upload.buffer", "array");
        configuration.set("fs.s3a.attempts.maximum", "2");
        configuration.set("fs.s3a.retry.limit", "2");
        configuration.set("fs.s3a.retry.interval", "50ms");
        configuration.set("fs.s3a.bucket.probe", "0");
        return configuration;
    }

    static FileSystem fileSystem(Configuration configuration) throws IOException {
        Configuration all = new Configuration();
        configuration.forEach(entry -> all.set(entry.getKey(), entry.getValue()));
        return FileSystem.newInstance(uri("/"), all);
    }

    static URI uri(String path) {
        return URI.create("s3a://" + BUCKET + path);
    }
}

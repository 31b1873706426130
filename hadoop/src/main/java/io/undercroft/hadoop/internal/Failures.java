package io.undercroft.hadoop.internal;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.net.UnknownHostException;
import java.nio.file.AccessDeniedException;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.UnsupportedFileSystemException;
import org.apache.hadoop.security.AccessControlException;
import org.jspecify.annotations.Nullable;

/// Descriptions of what the client of Hadoop throws. Its exceptions differ from store to store, and those of its
/// connectors are in jars that need not be there, so that some are recognised by their names.
final class Failures {
    /// The remedy for a store that fails.
    static final String REMEDY = "check the network, the store and the configuration, or try again later";

    private static final String CHANGED = "RemoteFileChangedException";
    private static final int NOT_FOUND = 404;
    private static final int PRECONDITION_FAILED = 412;
    private static final int NOT_SATISFIABLE = 416;
    private static final int MOST_CAUSES = 20;
    private static final int LONGEST = 300;

    private Failures() {}

    /// {@return the exception for a failure to connect to a store, or to open a file}
    ///
    /// @param location the file
    /// @param failure what was thrown
    static RemoteFileException opening(String location, Throwable failure) {
        return definite(location, failure, "there is no such file or bucket (" + message(failure)
                + "); check the URI", Kind.NOT_FOUND)
                .orElseGet(() -> unavailable(location, failure, ""));
    }

    /// {@return the exception for a failure that will be the same next time, while an open file is read; nothing for
    /// others}
    ///
    /// @param location the file
    /// @param failure what was thrown
    static Optional<RemoteFileException> reading(String location, Throwable failure) {
        if (has(failure, EOFException.class) || named(failure, Set.of(CHANGED))
                || hasStatus(failure, PRECONDITION_FAILED) || hasStatus(failure, NOT_SATISFIABLE)) {
            return Optional.of(changed(location, "replaced", failure));
        }
        return definite(location, failure, "it was removed from the store after it was opened; open it again",
                Kind.CHANGED);
    }

    /// {@return the exception for a file that is not the one that was opened any more}
    ///
    /// @param location the file
    /// @param how what happened to it
    /// @param cause what was thrown, or null
    static RemoteFileException changed(String location, String how, @Nullable Throwable cause) {
        return new RemoteFileException(location, Kind.CHANGED,
                "it was " + how + " in the store after it was opened; open it again", cause);
    }

    /// {@return the exception for a failure to write}
    ///
    /// @param location the file
    /// @param failure what was thrown
    static RemoteFileException writing(String location, Throwable failure) {
        if (failure instanceof RemoteFileException told) {
            return told;
        }
        if (has(failure, FileAlreadyExistsException.class) || named(failure, Set.of(CHANGED))
                || hasStatus(failure, PRECONDITION_FAILED)) {
            return conflict(location, failure);
        }
        return definite(location, failure, "its directory or bucket is not there (" + message(failure) + ")",
                Kind.NOT_FOUND)
                .orElseGet(() -> unavailable(location, failure, "; nothing of it is visible"));
    }

    /// {@return the exception for a file that another writer has made or replaced}
    ///
    /// @param location the file
    /// @param cause what was thrown, or null
    static RemoteFileException conflict(String location, @Nullable Throwable cause) {
        return new RemoteFileException(location, Kind.CONFLICT, "another writer has made or replaced it meanwhile; "
                + "nothing of this save is visible. Look at the file, and save again or under another name", cause);
    }

    /// {@return the exception for a store that failed at every attempt}
    ///
    /// @param location the file
    /// @param failure what was thrown last
    /// @param more what else is to be said
    static RemoteFileException unavailable(String location, Throwable failure, String more) {
        return new RemoteFileException(location, Kind.UNAVAILABLE, failed(failure) + more + "; " + REMEDY, failure);
    }

    /// {@return what happened when the store failed, for a message}
    ///
    /// @param failure what was thrown
    static String failed(Throwable failure) {
        return (has(failure, UnknownHostException.class)
                ? "the host of the store is not known"
                : "the store failed, after the retries that the client of Hadoop is configured to make")
                + " (" + message(failure) + ")";
    }

    private static Optional<RemoteFileException> definite(String location, Throwable failure, String absent,
            Kind kindOfAbsent) {
        if (failure instanceof RemoteFileException told) {
            return Optional.of(told);
        }
        if (has(failure, FileNotFoundException.class) || hasStatus(failure, NOT_FOUND)) {
            return Optional.of(new RemoteFileException(location, kindOfAbsent, absent, failure));
        }
        if (has(failure, AccessDeniedException.class) || has(failure, AccessControlException.class)
                || named(failure, Set.of("SaslException", "NoAuthWithAWSException", "KeyProviderException"))) {
            return Optional.of(new RemoteFileException(location, Kind.NOT_PERMITTED, "credentials are missing or do "
                    + "not permit it (" + message(failure) + "); check the configuration of the client of Hadoop, for "
                    + "instance fs.s3a.aws.credentials.provider or fs.azure.account.key, or kinit", failure));
        }
        if (has(failure, UnsupportedFileSystemException.class) || has(failure, ClassNotFoundException.class)
                || has(failure, NoClassDefFoundError.class)) {
            return Optional.of(new RemoteFileException(location, Kind.UNSUPPORTED, "a jar of the client of Hadoop is "
                    + "missing (" + message(failure) + "); add that of the store to the class path, for instance "
                    + "hadoop-aws with the SDK of AWS, hadoop-azure, or gcs-connector", failure));
        }
        return Optional.empty();
    }

    private static boolean has(Throwable failure, Class<? extends Throwable> type) {
        return find(failure, type::isInstance);
    }

    private static boolean named(Throwable failure, Set<String> names) {
        return find(failure, cause -> names.contains(cause.getClass().getSimpleName()));
    }

    /// Returns whether a response had a status of HTTP, by the messages of the SDK of AWS, and of the client of Azure,
    /// which have the status before the method.
    private static boolean hasStatus(Throwable failure, int status) {
        Pattern told = Pattern.compile("Status Code: " + status + "|, " + status + ", [A-Z]+, http");
        return find(failure, cause -> told.matcher(String.valueOf(cause.getMessage())).find());
    }

    private static boolean find(Throwable failure, Predicate<Throwable> test) {
        Throwable cause = failure;
        for (int i = 0; cause != null && i < MOST_CAUSES; i++) {
            if (test.test(cause)) {
                return true;
            }
            cause = cause.getCause();
        }
        return false;
    }

    /// {@return the first line of a message, which may have many, and repeat what a store has sent}
    ///
    /// @param failure what was thrown
    static String message(Throwable failure) {
        String text = String.valueOf(failure.getMessage()).lines().findFirst().orElse("").strip();
        String line = text.length() > LONGEST ? text.substring(0, LONGEST) + "…" : text;
        return failure.getClass().getSimpleName() + (line.isEmpty() ? "" : ": " + FormatException.printable(line));
    }
}

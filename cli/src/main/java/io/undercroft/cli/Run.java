package io.undercroft.cli;

import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.Text;
import io.undercroft.format.FormatException;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/// Runs the body of a command and turns every way in which it can fail into one line and an exit code.
final class Run {
    static final int OK = 0;
    /// croft itself failed.
    static final int FAILED = 1;
    /// The command line or a file is bad.
    static final int BAD_INPUT = 2;
    /// What a shell reports of a program that a closed pipe ended.
    static final int BROKEN_PIPE = 141;

    private static final boolean DEBUG = "1".equals(System.getenv("CROFT_DEBUG"));

    private final Output out;
    private final PrintWriter err;

    Run(Output out, PrintWriter err) {
        this.out = out;
        this.err = err;
    }

    int of(Callable<Integer> body) {
        return of(null, body);
    }

    /// Runs a body; messages that name no file themselves get the name of the file in hand.
    int of(@Nullable Path file, Callable<Integer> body) {
        try {
            int code = body.call();
            out.flush();
            return code;
        } catch (Output.Failure e) {
            return e.isBrokenPipe() ? BROKEN_PIPE : explain(e, e.getMessage(), BAD_INPUT);
        } catch (FileSystemException e) {
            return explain(e, describe(e, file), BAD_INPUT);
        } catch (FormatException | IllegalArgumentException | IOException | UncheckedIOException e) {
            return explain(e, named(file, e.getMessage()), BAD_INPUT);
        } catch (InternalError e) {
            // So says the JVM when a page of a mapped file is gone.
            return explain(e,
                    named(file, "its bytes could not be read: it was cut, or its disk failed, while it was in use. "
                            + "Try again on a complete copy"),
                    BAD_INPUT);
        } catch (OutOfMemoryError e) {
            return explain(e,
                    named(file, "out of memory (" + e.getMessage() + "). Give Java more with JAVA_TOOL_OPTIONS=-Xmx…"),
                    FAILED);
        } catch (Throwable e) {
            return explain(e, "this is a fault in croft, please report it: " + e, FAILED);
        }
    }

    /// Prints one line.
    int complain(String message) {
        err.println("croft: " + Text.printable(message));
        return BAD_INPUT;
    }

    private int explain(Throwable failure, @Nullable String message, int code) {
        complain(String.valueOf(message));
        if (DEBUG) {
            failure.printStackTrace(err);
        }
        return code;
    }

    private static String named(@Nullable Path file, @Nullable String message) {
        String text = String.valueOf(message);
        return file == null || text.contains(file.toString()) ? text : file + ": " + text;
    }

    /// The JDK's messages are often no more than a file's name, and that of a temporary file at that.
    private static String describe(FileSystemException e, @Nullable Path file) {
        return (file == null ? e.getFile() : file) + ": " + (e.getReason() != null ? e.getReason() : switch (e) {
            case NoSuchFileException _ -> "there is no such file; check the path";
            case AccessDeniedException _ -> "permission denied; ask its owner, or run as a user who may use it";
            default -> "the system refuses it (" + e.getClass().getSimpleName() + ")";
        });
    }
}

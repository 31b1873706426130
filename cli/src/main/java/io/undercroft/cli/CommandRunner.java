package io.undercroft.cli;

import io.undercroft.cli.internal.Json;
import io.undercroft.cli.internal.JsonFiles;
import io.undercroft.cli.internal.StandardInput;
import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.format.FormatException;
import io.undercroft.format.Remedy;
import io.undercroft.mmap.FileReadException;
import io.undercroft.mmap.MappingException;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.SharedMemoryException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.ReferencedFileException;
import io.undercroft.serializer.SnapshotInfo;
import io.undercroft.serializer.SourceFileException;
import io.undercroft.serializer.internal.analysis.SourceChecks;
import io.undercroft.storage.internal.support.Faults;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.SequencedMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.ToIntBiFunction;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/// Runs the body of a command and turns every way in which it can fail into one line and an exit code.
final class CommandRunner {
    static final int OK = 0;
    /// Something else failed: the output cannot be written, memory is short, a check of a device failed, croft has a
    /// fault.
    static final int FAILED = 1;
    /// The command line is wrong, or requires something impossible.
    static final int USAGE = 2;
    /// Something that is needed is missing or cannot be read: a file, another file that has bytes of it, a device.
    static final int MISSING = 3;
    /// A file is not what its format requires.
    static final int DAMAGED = 4;
    /// Two files were compared, and they differ.
    static final int DIFFERENT = 5;
    /// The exit code that a shell reports for a program that was ended by a closed pipe.
    static final int BROKEN_PIPE = 141;

    /// The meaning of each exit code, for the help.
    static final SequencedMap<String, String> CODES = new LinkedHashMap<>();

    static {
        CODES.put("0", "The command succeeded and found no damage.");
        CODES.put("1",
                "Another failure: the output cannot be written, there is not enough memory, or croft has a bug.");
        CODES.put("2", "The command line is wrong, or the command is not possible with these files.");
        CODES.put("3",
                "An input is missing or cannot be read: a file, another file that it references, a device; or its "
                        + "format or version is unknown. No damage was found in what could be read.");
        CODES.put("4", "A file is damaged: it breaks a rule of its format.");
        CODES.put("5", "The two files that were compared differ.");
    }

    /// The less severe before the more severe.
    private static final List<Integer> SEVERITY = List.of(OK, DIFFERENT, USAGE, MISSING, DAMAGED, FAILED, BROKEN_PIPE);
    /// What messages of the library advise, and what does the same on the command line.
    static final Map<String, String> WORDS = Map.of("SaveOptions.replacingSource", "--in-place", "SaveOptions.largest",
            Arguments.LARGE, "OpenOptions.temporaryDirectory", "JAVA_TOOL_OPTIONS=-Djava.io.tmpdir=DIR",
            "to the class path", "to the class path with CROFT_CLASSPATH",
            "Open it with OpenOptions.inMemory(), or copy it", "Copy it", "Tensor.to(DType.FLOAT32)",
            "croft extract -o OUT.npy --dtype float32", "SaveOptions.dtype(DType.FLOAT32)",
            Arguments.DTYPE + " float32");
    private static final boolean DEBUG = "1".equals(System.getenv("CROFT_DEBUG"));

    private final TextOutput out;
    private final PrintWriter err;
    private @Nullable Failure failure;

    /// Why the last body failed.
    ///
    /// @param exitCode the exit code
    /// @param code the fault for programs, if the cause has a code
    /// @param message the message
    private record Failure(int exitCode, @Nullable String code, String message) {}

    CommandRunner(TextOutput out, PrintWriter err) {
        this.out = out;
        this.err = err;
    }

    int of(Callable<Integer> body) {
        return of(null, body);
    }

    /// Runs a body; messages that name no file themselves get the name of the file in hand.
    int of(@Nullable Path file, Callable<Integer> body) {
        return of(file, MISSING, body);
    }

    private int of(@Nullable Path file, int whereInputOrOutputFails, Callable<Integer> body) {
        try {
            int code = body.call();
            out.flush();
            return code;
        } catch (TextOutput.Failure e) {
            return e.isBrokenPipe() ? BROKEN_PIPE : explain(e, e.getMessage(), FAILED);
        } catch (SharedMemoryException e) {
            return explain(e, e.getMessage(), switch (e.reason()) {
                case BAD_NAME -> USAGE;
                case NOT_FOUND -> MISSING;
                default -> FAILED;
            });
        } catch (ReferencedFileException | SourceFileException e) {
            return explain(e, describe(e, file), USAGE);
        } catch (FileReadException e) {
            return explain(e, e.getMessage(), MISSING);
        } catch (FileSystemException e) {
            return explain(e, describe(e, file), whereInputOrOutputFails);
        } catch (FormatException e) {
            String message = e.message(CommandRunner::onTheCommandLine);
            return explain(e, e.file() != null ? message : named(file, message), code(e));
        } catch (IllegalArgumentException | NoSuchElementException e) {
            return explain(e, named(file, e.getMessage()), USAGE);
        } catch (MappingException e) {
            // It names an input, also while an output is written.
            return explain(e, e.getMessage(), MISSING);
        } catch (UncheckedIOException e) {
            return of(file, whereInputOrOutputFails, () -> {
                throw e.getCause();
            });
        } catch (IOException e) {
            return e.getCause() instanceof MappingException input
                    ? explain(input, input.getMessage(), MISSING)
                    : explain(e, named(file, e.getMessage()), whereInputOrOutputFails);
        } catch (InternalError e) {
            return ofJvm(e, whereInputOrOutputFails == MISSING ? file : null);
        } catch (OutOfMemoryError e) {
            // That of a device has another error as its cause, and its message has a remedy.
            String message = e.getCause() == null
                    ? "out of memory (" + e.getMessage() + "). Give Java more with JAVA_TOOL_OPTIONS=-Xmx…"
                    : String.valueOf(e.getMessage());
            return explain(e, named(file, message), FAILED);
        } catch (Throwable e) {
            return explain(e, "this is a fault in croft, please report it: " + e, FAILED);
        }
    }

    /// Tells faults of mapped memory from other errors of the JVM, for instance if it cannot open a file of its own.
    private int ofJvm(InternalError e, @Nullable Path input) {
        if (Faults.isFault(e)) {
            return explain(e, named(input, "bytes of a mapped file could not be read: it was cut, or its disk failed, "
                    + "while it was in use. Try again on a complete copy"), MISSING);
        }
        return explain(e, String.valueOf(e.getMessage()).contains("Too many open files")
                ? "too many files are open. Raise the limit (ulimit -n)"
                : "this is a fault in croft, please report it: " + e, FAILED);
    }

    /// Runs a body that writes a file. If the process receives a signal to end meanwhile, the body ends first, and
    /// removes what it began.
    int writing(Path file, Callable<Integer> body) {
        try (Interruptible _ = Interruptible.begin()) {
            return of(file, FAILED, body);
        }
    }

    /// Runs a body for each of several files or other things.
    ///
    /// @return the most severe of their codes
    <T> int ofEach(List<T> all, ToIntFunction<T> body) {
        int worst = OK;
        for (T each : all) {
            int code = body.applyAsInt(each);
            worst = worse(worst, code);
            if (worst == BROKEN_PIPE) {
                break;
            }
        }
        return worst;
    }

    /// Runs a body for each file of the command line. What it prints as JSON for several files is one object, in which
    /// a file that cannot be read has an error.
    ///
    /// @param body prints to its second argument with `--json`
    /// @return the most severe of their codes
    int ofFiles(Arguments arguments, ToIntBiFunction<Path, JsonFiles> body) {
        List<Path> files = arguments.paths(0);
        if (!arguments.has(Arguments.JSON)) {
            return ofEach(files, file -> body.applyAsInt(file, new JsonFiles(out, 1)));
        }
        JsonFiles json = new JsonFiles(out, files.size());
        int code = ofEach(files, file -> {
            failure = null;
            int ended = body.applyAsInt(file, json);
            Failure why = failure;
            return why == null || ended == BROKEN_PIPE ? ended : worse(ended, of(() -> {
                json.printError(Inputs.shown(file), why.exitCode, why.code, why.message);
                return OK;
            }));
        });
        return code == BROKEN_PIPE ? code : worse(code, of(() -> {
            json.end();
            return OK;
        }));
    }

    /// {@return the more severe of two codes}
    int worse(int one, int other) {
        return SEVERITY.indexOf(other) > SEVERITY.indexOf(one) ? other : one;
    }

    /// {@return the exit code of a command for this fault}
    static int code(FormatException fault) {
        return switch (fault.code()) {
            // A file that takes no commit; a state that the file does not have.
            case "CROFT-READ-ONLY", "TORCH7-OBJECT", "TORCH-SAVE" -> USAGE;
            case String code when SourceChecks.isUnreadable(code) -> MISSING;
            default -> DAMAGED;
        };
    }

    /// Prints one line that is a result.
    void say(String line) {
        out.line(StandardInput.shown(line));
    }

    /// Prints a result as text, or as one JSON object with `--json`.
    void say(Arguments arguments, String line, Json.Members object) throws IOException {
        if (arguments.has(Arguments.JSON)) {
            Json.printLine(out, object);
        } else {
            say(line);
        }
    }

    /// Prints a result of several lines as text, or as one JSON object with `--json`.
    void print(Arguments arguments, Json.Members object, Consumer<TextOutput> text) throws IOException {
        if (arguments.has(Arguments.JSON)) {
            Json.print(out, object);
        } else {
            text.accept(out);
        }
    }

    /// Prints one line about what is wrong with the command line.
    int complain(String message) {
        return fail(USAGE, message);
    }

    /// Prints one line about what is wrong.
    ///
    /// @return the code
    int fail(int code, String message) {
        note(message);
        return code;
    }

    /// Prints one line that is no result, on standard error.
    void note(String message) {
        err.println("croft: " + FormatException.printable(StandardInput.shown(message)));
    }

    /// Prints a note if the opened snapshot is not the last one that was saved.
    void noteSkippedCommit(Checkpoint checkpoint) {
        checkpoint.skippedCommit()
                .ifPresent(why -> noteSkippedCommit(checkpoint.location(), checkpoint.snapshot().orElseThrow(), why));
    }

    /// Prints which snapshot was opened, and why it is not the newest.
    void noteSkippedCommit(Object file, SnapshotInfo opened, FormatException why) {
        note("%s: a newer snapshot cannot be opened, so this is %d: %s".formatted(file, opened.commit(), why.what()));
    }

    /// Prints which parts of the file the state does not contain.
    void noteUnread(Checkpoint checkpoint) {
        checkpoint.unread().forEach(
                part -> note("%s: not in the state: %s".formatted(checkpoint.location(), Text.unread(part))));
    }

    /// Prints that `--root` has no effect, if the file references no other file.
    void noteUnusedRoot(Checkpoint checkpoint, Arguments arguments) {
        if (arguments.rootDirectory().isPresent() && checkpoint.snapshot().isEmpty()
                && checkpoint.fileSizes().size() == 1) {
            note("%s: --root has no effect: a file of the format %s references no other".formatted(
                    checkpoint.location(),
                    checkpoint.format()));
        }
    }

    private int explain(Throwable cause, @Nullable String message, int code) {
        String said = StandardInput.shown(String.valueOf(message));
        for (Map.Entry<String, String> each : WORDS.entrySet()) {
            said = said.replace(each.getKey(), each.getValue());
        }
        failure = new Failure(code, cause instanceof FormatException fault ? fault.code() : null, said);
        note(failure.message);
        if (DEBUG) {
            StringWriter trace = new StringWriter();
            cause.printStackTrace(new PrintWriter(trace));
            trace.toString().lines().map(line -> line.replace("\t", "    ")).map(FormatException::printable)
                    .forEach(err::println);
        }
        return code;
    }

    /// {@return the name of an option of the library on the command line}
    static String onTheCommandLine(Remedy.Option option) {
        return switch (option.name()) {
            case "OpenOptions.root" -> Arguments.ROOT;
            case "OpenOptions.base" -> Arguments.BASE;
            case "CroftFile.salvage" -> Arguments.SALVAGE;
            case "OpenOptions.format" -> Arguments.FORMAT;
            case "OpenOptions.setting" -> Arguments.SETTING;
            case "OpenOptions.device" -> Arguments.LOCATION + " cpu";
            default -> option.toString();
        };
    }

    private static String named(@Nullable Path file, @Nullable String message) {
        String text = StandardInput.shown(String.valueOf(message));
        return file == null || text.contains(Inputs.shown(file)) ? text : Inputs.shown(file) + ": " + text;
    }

    /// The JDK's messages are often no more than a file's name, and that of a temporary file at that.
    private static String describe(FileSystemException e, @Nullable Path file) {
        Object subject = file == null || e instanceof RemoteFileException ? e.getFile() : Inputs.shown(file);
        if (e.getReason() != null) {
            return subject + ": " + e.getReason();
        }
        return switch (e) {
            // A directory perhaps; what is not there is no temporary file.
            case NoSuchFileException _ -> e.getFile() + ": there is no such file; check the path";
            case AccessDeniedException _ ->
                subject + ": permission denied; ask its owner for access, or run as a user with access";
            default -> subject + ": the system refuses it (" + e.getClass().getSimpleName() + ")";
        };
    }

    /// A write in progress, until this is closed. If the process receives a signal to end meanwhile, Ctrl-C for
    /// instance, the thread that writes is interrupted and has a moment to undo what it began: a temporary file, a
    /// lock.
    static final class Interruptible implements AutoCloseable {
        private static final int PATIENCE_SECONDS = 10;

        private final Thread writer = Thread.currentThread();
        private final CountDownLatch ended = new CountDownLatch(1);
        private final Thread hook = new Thread(this::interrupt, "croft-interrupt");

        private Interruptible() {}

        /// Begins in the calling thread.
        ///
        /// @throws IllegalStateException if the process is ending
        static Interruptible begin() {
            Interruptible writing = new Interruptible();
            Runtime.getRuntime().addShutdownHook(writing.hook);
            return writing;
        }

        private void interrupt() {
            writer.interrupt();
            try {
                ended.await(PATIENCE_SECONDS, TimeUnit.SECONDS);
            } catch (InterruptedException _) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public void close() {
            ended.countDown();
            try {
                Runtime.getRuntime().removeShutdownHook(hook);
            } catch (IllegalStateException _) {
                // The process is ending, and the hook runs.
            }
        }
    }
}

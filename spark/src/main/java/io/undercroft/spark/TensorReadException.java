package io.undercroft.spark;

import io.undercroft.format.FormatException;
import java.io.IOException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// Thrown by tasks in the mode `FAILFAST` if a file or a tensor of it cannot be read. Spark reports it as the cause of
/// the failed job.
public final class TensorReadException extends IOException {
    private static final long serialVersionUID = 1;

    private final String file;
    private final @Nullable String tensor;

    /// Creates an exception.
    ///
    /// @param file the URI of the file
    /// @param tensor the name of the tensor; null if the file is not readable
    /// @param cause the cause
    public TensorReadException(String file, @Nullable String tensor, Throwable cause) {
        super((tensor == null ? "the file " : "the tensor " + tensor + " in ") + file + " cannot be read: "
                + describe(cause) + ". Remove the file from the paths, or read with the option mode=PERMISSIVE, which"
                + " gives a row with the error", cause);
        this.file = file;
        this.tensor = tensor;
    }

    /// {@return the URI of the file}
    public String file() {
        return file;
    }

    /// {@return the name of the tensor that cannot be read; empty if the whole file cannot}
    public Optional<String> tensor() {
        return Optional.ofNullable(tensor);
    }

    /// {@return the message of an exception as one line, in which the options of Spark have their names}
    ///
    /// @param cause the exception
    public static String describe(Throwable cause) {
        String message = cause instanceof FormatException fault
                ? fault.message(option -> option.name().equals("OpenOptions.root")
                        ? "the option root"
                        : option.toString())
                : cause.getMessage();
        return message == null ? cause.getClass().getSimpleName() : message;
    }
}

package io.undercroft.cuda;

import java.io.Serializable;
import java.util.OptionalLong;

/// A call of NVIDIA's driver failed, or there is no such device. The message is one line: which call, for which device,
/// the error, and what to do.
public final class CudaException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    /// Too little memory is free on the device, or no more host memory can be pinned.
    public static final int OUT_OF_MEMORY = 2;
    /// There is no CUDA device, or no driver for it.
    public static final int NO_DEVICE = 100;
    /// There is no device of this index.
    public static final int INVALID_DEVICE = 101;

    private final int code;
    private final String name;
    private final String call;
    private final Sizes sizes;
    private final String remedy;

    /// Describes a failure.
    ///
    /// @param code the driver's number of the error
    /// @param name the driver's name of the error
    /// @param call the function of the driver that failed
    /// @param what what was to be done, and on which device, without a full stop
    /// @param sizes the bytes that were involved
    /// @param remedy what to do about it, without a full stop
    public CudaException(int code, String name, String call, String what, Sizes sizes, String remedy) {
        super(what + " failed: " + name + " (" + code + ") of " + call + sizes.text() + "; " + remedy);
        this.code = code;
        this.name = name;
        this.call = call;
        this.sizes = sizes;
        this.remedy = remedy;
    }

    /// The bytes that a call was about.
    ///
    /// @param wanted how many bytes were to be allocated or copied, or -1
    /// @param free how many bytes were free, or -1 if that is unknown
    /// @param total how many bytes the device has, or -1 if that is unknown
    public record Sizes(long wanted, long free, long total) implements Serializable {
        /// No bytes were involved.
        public static final Sizes NONE = new Sizes(-1, -1, -1);

        private String text() {
            String bytes = wanted < 0 ? "" : ", for " + wanted + " bytes";
            return free < 0 ? bytes : bytes + ", when " + free + " of " + total + " bytes were free";
        }
    }

    /// {@return the driver's number of the error, for instance 2}
    public int code() {
        return code;
    }

    /// {@return the driver's name of the error, for instance `CUDA_ERROR_OUT_OF_MEMORY`}
    public String name() {
        return name;
    }

    /// {@return the function of the driver that failed, for instance `cuMemAllocAsync`}
    public String call() {
        return call;
    }

    /// {@return how many bytes were to be allocated or copied, if any}
    public OptionalLong wanted() {
        return known(sizes.wanted);
    }

    /// {@return how many bytes were free, if that was queried}
    public OptionalLong free() {
        return known(sizes.free);
    }

    /// {@return how many bytes the device has, if that was queried}
    public OptionalLong total() {
        return known(sizes.total);
    }

    /// {@return what to do about it}
    public String remedy() {
        return remedy;
    }

    private static OptionalLong known(long bytes) {
        return bytes < 0 ? OptionalLong.empty() : OptionalLong.of(bytes);
    }
}

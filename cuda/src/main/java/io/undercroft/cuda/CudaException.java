package io.undercroft.cuda;

import java.io.Serializable;
import java.util.OptionalLong;

/// Thrown if a call of NVIDIA's driver fails, or there is no such device. The message is one line: the call, the
/// device, the error, and a remedy.
public final class CudaException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    /// The device does not have enough free memory, or no more host memory can be pinned.
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

    /// Creates an exception.
    ///
    /// @param code the number of the error in the driver
    /// @param name the name of the error in the driver
    /// @param call the function of the driver that failed
    /// @param what the operation and the device, without a full stop
    /// @param sizes the sizes of the operation
    /// @param remedy the remedy, without a full stop
    public CudaException(int code, String name, String call, String what, Sizes sizes, String remedy) {
        super(what + " failed: " + name + " (" + code + ") of " + call + sizes.text() + "; " + remedy);
        this.code = code;
        this.name = name;
        this.call = call;
        this.sizes = sizes;
        this.remedy = remedy;
    }

    /// The sizes of a failed operation.
    ///
    /// @param wanted the number of bytes to allocate or copy, or -1
    /// @param free the number of free bytes, or -1 if it is unknown
    /// @param total the number of bytes of the device, or -1 if it is unknown
    public record Sizes(long wanted, long free, long total) implements Serializable {
        /// No sizes.
        public static final Sizes NONE = new Sizes(-1, -1, -1);

        private String text() {
            String bytes = wanted < 0 ? "" : ", for " + wanted + " bytes";
            return free < 0 ? bytes : bytes + ", when " + free + " of " + total + " bytes were free";
        }
    }

    /// {@return the number of the error in the driver, for instance 2}
    public int code() {
        return code;
    }

    /// {@return the name of the error in the driver, for instance `CUDA_ERROR_OUT_OF_MEMORY`}
    public String name() {
        return name;
    }

    /// {@return the function of the driver that failed, for instance `cuMemAllocAsync`}
    public String call() {
        return call;
    }

    /// {@return the number of bytes to allocate or copy, if any}
    public OptionalLong wanted() {
        return known(sizes.wanted);
    }

    /// {@return the number of free bytes, if it is known}
    public OptionalLong free() {
        return known(sizes.free);
    }

    /// {@return the number of bytes of the device, if it is known}
    public OptionalLong total() {
        return known(sizes.total);
    }

    /// {@return the remedy}
    public String remedy() {
        return remedy;
    }

    private static OptionalLong known(long bytes) {
        return bytes < 0 ? OptionalLong.empty() : OptionalLong.of(bytes);
    }
}

package io.undercroft.cuda.internal;

import io.undercroft.cuda.CudaException.Sizes;
import io.undercroft.cuda.CudaException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.IntSupplier;
import java.util.stream.IntStream;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdevice_attribute;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUevent_flags;
import jcuda.driver.CUipcEventHandle;
import jcuda.driver.CUipcMemHandle;
import jcuda.driver.CUipcMem_flags;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;

/// NVIDIA's driver. The only class that uses jcuda; it checks all results.
///
/// If the driver is missing, initializing jcuda's class throws, and the class is unusable for the rest of the process.
/// So the library of the driver is first looked up without jcuda. A context is current to a platform thread only during
/// a call, since a virtual thread may continue on another one, and other libraries of the process have contexts too.
public final class Driver {
    /// The oldest CUDA version, in the driver's notation. jcuda is linked with functions of 12.0.
    private static final int OLDEST = 12_000;
    /// Functions that an older driver may lack.
    private static final List<String> NEEDED = List.of("cuMemAllocAsync", "cuMemHostRegister_v2", "cuCtxGetId");
    private static final int NAME_LENGTH = 256;
    /// The size of a handle to memory or an event for other processes.
    static final int HANDLE_BYTES = 64;

    /// After these, every call in the process fails.
    private static final List<Integer> LOST = List.of(CUresult.CUDA_ERROR_ECC_UNCORRECTABLE,
            CUresult.CUDA_ERROR_NVLINK_UNCORRECTABLE, CUresult.CUDA_ERROR_ILLEGAL_ADDRESS,
            CUresult.CUDA_ERROR_LAUNCH_TIMEOUT, CUresult.CUDA_ERROR_ASSERT, CUresult.CUDA_ERROR_HARDWARE_STACK_ERROR,
            CUresult.CUDA_ERROR_ILLEGAL_INSTRUCTION, CUresult.CUDA_ERROR_MISALIGNED_ADDRESS,
            CUresult.CUDA_ERROR_INVALID_ADDRESS_SPACE, CUresult.CUDA_ERROR_INVALID_PC,
            CUresult.CUDA_ERROR_LAUNCH_FAILED);

    private final int version;
    private final List<CUdevice> devices;

    private Driver(int version, List<CUdevice> devices) {
        this.version = version;
        this.devices = devices;
    }

    /// The result of looking for the driver, which is done once.
    private record Probe(@Nullable Driver driver, String reason, String remedy, @Nullable Throwable cause) {
        static final Probe RESULT = make();

        private static Probe make() {
            try {
                return new Probe(open(), "", "", null);
            } catch (Unavailable e) {
                return new Probe(null, String.valueOf(e.getMessage()), e.remedy, e.getCause());
            }
        }
    }

    /// The reason why there is no device.
    private static final class Unavailable extends Exception {
        private static final long serialVersionUID = 1L;
        private final String remedy;

        Unavailable(String reason, String remedy, @Nullable Throwable cause) {
            super(reason, cause);
            this.remedy = remedy;
        }

        Unavailable(int result, String call) {
            this("the driver cannot be used: " + CUresult.stringFor(result) + " (" + result + ") of " + call,
                    Driver.remedy(result), null);
        }
    }

    /// {@return the reason why there is no device, and a remedy; nothing if there is one} Never throws.
    public static Optional<String> unavailability() {
        Probe probe = Probe.RESULT;
        return probe.driver == null ? Optional.of(probe.reason + "; " + probe.remedy) : Optional.empty();
    }

    /// {@return the driver}
    ///
    /// @throws CudaException if there is no device
    public static Driver get() {
        return get("using CUDA");
    }

    /// {@return the driver, which has a device of an index}
    ///
    /// @param index from 0 to `deviceCount() - 1`
    /// @throws CudaException if there is none
    public static Driver of(int index) {
        Driver driver = get("using cuda:" + index);
        driver.checkIndex(index);
        return driver;
    }

    private static Driver get(String what) {
        Probe probe = Probe.RESULT;
        if (probe.driver == null) {
            CudaException error = new CudaException(CudaException.NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "cuInit", what,
                    Sizes.NONE, probe.reason + "; " + probe.remedy);
            error.initCause(probe.cause);
            throw error;
        }
        return probe.driver;
    }

    // ---- finding the driver ----

    private static Driver open() throws Unavailable {
        checkSystem();
        checkLibrary();
        loadJcuda();
        int[] number = new int[1];
        int result = JCudaDriver.cuDriverGetVersion(number);
        if (result == CUresult.CUDA_SUCCESS && number[0] < OLDEST) {
            throw tooOld("it supports CUDA " + text(number[0]));
        }
        int version = number[0];
        result = result == CUresult.CUDA_SUCCESS ? JCudaDriver.cuInit(0) : result;
        if (result == CUresult.CUDA_SUCCESS) {
            result = JCudaDriver.cuDeviceGetCount(number);
        }
        if (result == CUresult.CUDA_ERROR_NO_DEVICE || (result == CUresult.CUDA_SUCCESS && number[0] == 0)) {
            throw new Unavailable("NVIDIA's driver is installed, but there is no CUDA device",
                    remedy(CUresult.CUDA_ERROR_NO_DEVICE), null);
        } else if (result != CUresult.CUDA_SUCCESS) {
            throw new Unavailable(result, "cuInit");
        }
        CUdevice[] devices = new CUdevice[number[0]];
        for (int i = 0; i < devices.length; i++) {
            devices[i] = new CUdevice();
            result = JCudaDriver.cuDeviceGet(devices[i], i);
            if (result != CUresult.CUDA_SUCCESS) {
                throw new Unavailable(result, "cuDeviceGet");
            }
        }
        return new Driver(version, List.of(devices));
    }

    private static void checkSystem() throws Unavailable {
        String system = System.getProperty("os.name");
        String processor = System.getProperty("os.arch");
        if (!system.equals("Linux") || !processor.equals("amd64")) {
            throw new Unavailable(
                    "CUDA devices are supported on Linux on x86-64, not on " + system + " on " + processor,
                    "use the CPU", null);
        }
    }

    private static void checkLibrary() throws Unavailable {
        SymbolLookup library;
        try {
            library = NativeLibraries.loadDriver(NativeLibraries.FOLDERS)
                    .orElseThrow(() -> new Unavailable(
                            "NVIDIA's driver is not installed: there is no " + NativeLibraries.DRIVER,
                            "install the driver, or in a container run it with --gpus all; if it is in a directory "
                                    + "that the dynamic linker does not search, set LD_LIBRARY_PATH",
                            null));
        } catch (IllegalCallerException e) {
            throw new Unavailable("this JVM denies native access", "run it with --enable-native-access="
                    + (Driver.class.getModule().isNamed() ? "io.undercroft.cuda,jcuda" : "ALL-UNNAMED"), e);
        }
        for (String function : NEEDED) {
            if (library.find(function).isEmpty()) {
                throw tooOld("it has no " + function);
            }
        }
    }

    private static void loadJcuda() throws Unavailable {
        try {
            NativeLibraries.loadJcuda(() -> JCudaDriver.setExceptionsEnabled(false));
        } catch (IOException | RuntimeException | LinkageError e) {
            String first = String.valueOf(e.getMessage()).lines().findFirst().orElse("");
            throw new Unavailable("jcuda cannot be loaded (" + first + ")",
                    "see that jcuda and jcuda-natives of linux-x86_64 are on the class path, and that "
                            + System.getProperty("java.io.tmpdir")
                            + " is there, can be written to and is not mounted with noexec; or set -Djava.io.tmpdir",
                    e);
        }
    }

    private static Unavailable tooOld(String found) {
        return new Unavailable("NVIDIA's driver is too old: " + found,
                "install one that supports CUDA " + text(OLDEST) + " or newer (525 or newer)", null);
    }

    private static String text(int version) {
        return version / 1000 + "." + version % 1000 / 10;
    }

    // ---- errors ----

    private static void check(int result, String call, String what, Sizes sizes) {
        if (result != CUresult.CUDA_SUCCESS) {
            throw failure(result, call, what, sizes, remedy(result));
        }
    }

    private static CudaException failure(int result, String call, String what, Sizes sizes, String remedy) {
        return new CudaException(result, CUresult.stringFor(result), call, what, sizes, remedy);
    }

    private static String remedy(int result) {
        if (LOST.contains(result)) {
            return "a kernel or the device has failed, and the CUDA context of this process is lost with all bytes on "
                    + "the device; start the process again, and look into the kernel's log for NVRM: Xid";
        }
        return switch (result) {
            case CudaException.OUT_OF_MEMORY ->
                "release storages that are not needed, load less at a time, or use another device";
            case CUresult.CUDA_ERROR_DEINITIALIZED -> "the process is ending";
            case CUresult.CUDA_ERROR_STUB_LIBRARY ->
                "the CUDA toolkit's stub of " + NativeLibraries.DRIVER
                        + " was found first; take its directory from LD_LIBRARY_PATH";
            case CUresult.CUDA_ERROR_DEVICE_UNAVAILABLE ->
                "another process uses the device exclusively; see nvidia-smi";
            case CudaException.NO_DEVICE ->
                "see what nvidia-smi lists, CUDA_VISIBLE_DEVICES, and in a container whether it was given the devices";
            case CUresult.CUDA_ERROR_SYSTEM_NOT_READY -> "start nvidia-fabricmanager";
            case CUresult.CUDA_ERROR_SYSTEM_DRIVER_MISMATCH -> "the driver was updated; start the machine again";
            default -> "see the kernel's log for NVRM: Xid, and NVIDIA's documentation of the error";
        };
    }

    // ---- devices ----

    /// {@return the CUDA version of the driver}
    public String version() {
        return text(version);
    }

    /// {@return the number of devices}
    public int deviceCount() {
        return devices.size();
    }

    private void checkIndex(int index) {
        if (index < 0 || index >= devices.size()) {
            String all = devices.size() == 1
                    ? "one CUDA device, cuda:0"
                    : devices.size()
                            + " CUDA devices, cuda:0 to cuda:" + (devices.size() - 1);
            throw failure(CudaException.INVALID_DEVICE, "cuDeviceGet", "using cuda:" + index, Sizes.NONE,
                    "there is no cuda:" + index + " here, but " + all);
        }
    }

    /// {@return the name of the product}
    ///
    /// @param index the number of the device
    public String name(int index) {
        byte[] name = new byte[NAME_LENGTH];
        check(JCudaDriver.cuDeviceGetName(name, name.length, devices.get(index)), "cuDeviceGetName", asking(index),
                Sizes.NONE);
        int end = 0;
        while (end < name.length && name[end] != 0) {
            end++;
        }
        return new String(name, 0, end, StandardCharsets.UTF_8);
    }

    /// {@return the memory of a device in bytes}
    ///
    /// @param index the number of the device
    public long totalMemory(int index) {
        long[] bytes = new long[1];
        check(JCudaDriver.cuDeviceTotalMem(bytes, devices.get(index)), "cuDeviceTotalMem", asking(index), Sizes.NONE);
        return bytes[0];
    }

    /// {@return the compute capability}
    ///
    /// @param index the number of the device
    public String computeCapability(int index) {
        return attribute(index, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) + "."
                + attribute(index, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    }

    /// {@return the address on the PCI bus}
    ///
    /// @param index the number of the device
    public String pciId(int index) {
        String[] text = new String[1];
        check(JCudaDriver.cuDeviceGetPCIBusId(text, NAME_LENGTH, devices.get(index)), "cuDeviceGetPCIBusId",
                asking(index), Sizes.NONE);
        return text[0].toLowerCase(Locale.ROOT);
    }

    /// {@return the device that has an address on the PCI bus}
    ///
    /// @param pciId the address
    /// @param what a noun for the memory on the device, for the message
    /// @throws CudaException if this process does not see it
    int indexOf(String pciId, String what) {
        List<String> all = IntStream.range(0, devices.size()).mapToObj(this::pciId).toList();
        int index = all.indexOf(pciId);
        if (index < 0) {
            throw failure(CudaException.INVALID_DEVICE, "cuDeviceGetByPCIBusId", "opening " + what, Sizes.NONE,
                    "it is on the device " + pciId + ", and this process sees " + String.join(", ", all)
                            + "; see CUDA_VISIBLE_DEVICES");
        }
        return index;
    }

    private int attribute(int index, int attribute) {
        int[] value = new int[1];
        check(JCudaDriver.cuDeviceGetAttribute(value, attribute, devices.get(index)), "cuDeviceGetAttribute",
                asking(index), Sizes.NONE);
        return value[0];
    }

    private static String asking(int index) {
        return "reading a property of cuda:" + index;
    }

    /// {@return the primary context of a device} It is kept until the process ends.
    ///
    /// @param index the number of the device
    Context context(int index) {
        boolean pools = attribute(index, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0;
        CUcontext handle = new CUcontext();
        check(JCudaDriver.cuDevicePrimaryCtxRetain(handle, devices.get(index)), "cuDevicePrimaryCtxRetain",
                "using cuda:" + index, Sizes.NONE);
        return new Context(index, pciId(index), handle, pools);
    }

    /// A queue of work on a device, which is executed in order.
    static final class Stream {
        /// The stream that other libraries use by default. Not a constant of [Driver], which works without the classes
        /// of jcuda until it is clear that they are there.
        private static final Stream DEFAULT = new Stream();

        private final CUstream handle = new CUstream();

        private Stream() {}
    }

    /// A point in the work of a device, for which other processes can wait.
    static final class Event {
        private final CUevent handle = new CUevent();

        private Event() {}
    }

    /// An address of the host.
    private static final class HostPointer extends Pointer {
        private static final long serialVersionUID = 1L;

        HostPointer(long address) {
            super(address);
        }

        long address() {
            return getNativePointer();
        }
    }

    /// The bytes of handles for other processes, which jcuda does not expose.
    private static final class IpcBytes {
        private static final VarHandle OF_MEMORY = field(CUipcMemHandle.class);
        private static final VarHandle OF_EVENT = field(CUipcEventHandle.class);

        private static VarHandle field(Class<?> type) {
            try {
                return MethodHandles.privateLookupIn(type, MethodHandles.lookup()).findVarHandle(type, "reserved",
                        byte[].class);
            } catch (ReflectiveOperationException e) {
                throw new LinkageError("this is not the jcuda that the library was made with", e);
            }
        }

        static byte[] of(CUipcMemHandle handle) {
            return ((byte[]) OF_MEMORY.get(handle)).clone();
        }

        static byte[] of(CUipcEventHandle handle) {
            return ((byte[]) OF_EVENT.get(handle)).clone();
        }

        static CUipcMemHandle set(CUipcMemHandle handle, byte[] bytes) {
            OF_MEMORY.set(handle, bytes.clone());
            return handle;
        }

        static CUipcEventHandle set(CUipcEventHandle handle, byte[] bytes) {
            OF_EVENT.set(handle, bytes.clone());
            return handle;
        }
    }

    /// An address that the driver returns.
    private static final class Result extends CUdeviceptr {
        private static final long serialVersionUID = 1L;

        long address() {
            return getNativePointer() + getByteOffset();
        }
    }

    /// The primary context of one device. Work on a stream is executed some time after the call, and host memory has to
    /// be pinned and must not be freed until then.
    static final class Context {
        private final int index;
        private final String pciId;
        private final CUcontext handle;
        private final boolean pools;

        private Context(int index, String pciId, CUcontext handle, boolean pools) {
            this.index = index;
            this.pciId = pciId;
            this.handle = handle;
            this.pools = pools;
        }

        /// {@return the free memory and the total memory of the device, in bytes}
        Sizes memory() {
            long[] free = new long[1];
            long[] total = new long[1];
            call("cuMemGetInfo", "reading the free memory of %s", -1, () -> JCudaDriver.cuMemGetInfo(free, total));
            return new Sizes(-1, free[0], total[0]);
        }

        /// Creates a stream whose work is executed after the work that was submitted to the default stream before.
        /// Other libraries of the process may use the memory that is copied or freed there.
        Stream newStream() {
            return newStream(CUstream_flags.CU_STREAM_DEFAULT);
        }

        /// Creates a stream that does not wait for others, nor others for it.
        Stream newIndependentStream() {
            return newStream(CUstream_flags.CU_STREAM_NON_BLOCKING);
        }

        private Stream newStream(int flags) {
            Stream made = new Stream();
            call("cuStreamCreate", "making a stream on %s", -1, () -> JCudaDriver.cuStreamCreate(made.handle, flags));
            return made;
        }

        void destroy(Stream stream) {
            call("cuStreamDestroy", "ending a stream on %s", -1, () -> JCudaDriver.cuStreamDestroy(stream.handle));
        }

        /// Waits until all work of a stream is done. A wait that fails may have ended before the work, whose memory
        /// will be used for something else, and so is repeated.
        void synchronize(Stream stream) {
            try {
                synchronizeOnce(stream);
            } catch (CudaException e) {
                CudaMemory.quietly(() -> synchronizeOnce(stream));
                throw e;
            }
        }

        private void synchronizeOnce(Stream stream) {
            call("cuStreamSynchronize", "waiting for work on %s", -1,
                    () -> JCudaDriver.cuStreamSynchronize(stream.handle));
        }

        /// Allocates device memory, which later work of the stream may use.
        long allocate(long nbytes, Stream stream) {
            if (!pools) {
                return allocateUnpooled(nbytes);
            }
            Result result = new Result();
            call("cuMemAllocAsync", "an allocation on %s", nbytes,
                    () -> JCudaDriver.cuMemAllocAsync(result, nbytes, stream.handle));
            return result.address();
        }

        /// Frees what [#allocate] returned, after the work that is on the stream.
        void free(long address, Stream stream) {
            if (pools) {
                call("cuMemFreeAsync", "freeing memory of %s", -1,
                        () -> JCudaDriver.cuMemFreeAsync(device(address), stream.handle));
            } else {
                freeUnpooled(address);
            }
        }

        // ---- other processes ----

        /// {@return the address of the device on the PCI bus}
        String pciId() {
            return pciId;
        }

        /// Allocates device memory that can be shared with other processes, which that of pools cannot.
        long allocateUnpooled(long nbytes) {
            Result result = new Result();
            call("cuMemAlloc", "an allocation on %s", nbytes, () -> JCudaDriver.cuMemAlloc(result, nbytes));
            return result.address();
        }

        /// Frees what [#allocateUnpooled] returned, after all work of the device.
        void freeUnpooled(long address) {
            call("cuMemFree", "freeing memory of %s", -1, () -> JCudaDriver.cuMemFree(device(address)));
        }

        /// {@return a handle by which other processes open an allocation that is in no pool}
        byte[] handle(long address) {
            CUipcMemHandle result = new CUipcMemHandle();
            call("cuIpcGetMemHandle", "sharing memory of %s", -1,
                    () -> JCudaDriver.cuIpcGetMemHandle(result, device(address)));
            return IpcBytes.of(result);
        }

        /// {@return the address of memory of another process}
        ///
        /// @param memory its handle
        /// @param nbytes the minimum number of bytes
        long open(byte[] memory, long nbytes) {
            Result result = new Result();
            call("cuIpcOpenMemHandle", "opening memory of %s that another process shares", nbytes,
                    () -> JCudaDriver.cuIpcOpenMemHandle(result, IpcBytes.set(new CUipcMemHandle(), memory),
                            CUipcMem_flags.CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
            long address = result.address();
            try {
                long[] size = new long[1];
                call("cuMemGetAddressRange", "opening memory of %s that another process shares", nbytes,
                        () -> JCudaDriver.cuMemGetAddressRange(new CUdeviceptr(), size, device(address)));
                if (size[0] < nbytes) {
                    throw new IllegalStateException("another process shares " + size[0] + " bytes of cuda:" + index
                            + " as " + nbytes + "; ask for a new handle");
                }
                return address;
            } catch (IllegalStateException e) {
                CudaMemory.quietly(() -> close(address));
                throw e;
            }
        }

        /// Closes what [#open(byte\[\], long)] returned.
        void close(long address) {
            call("cuIpcCloseMemHandle", "closing memory of %s that another process shares", -1,
                    () -> JCudaDriver.cuIpcCloseMemHandle(device(address)));
        }

        Event newEvent() {
            Event made = new Event();
            call("cuEventCreate", "making an event on %s", -1, () -> JCudaDriver.cuEventCreate(made.handle,
                    CUevent_flags.CU_EVENT_DISABLE_TIMING | CUevent_flags.CU_EVENT_INTERPROCESS));
            return made;
        }

        /// {@return a handle by which other processes open an event}
        byte[] handle(Event event) {
            CUipcEventHandle result = new CUipcEventHandle();
            call("cuIpcGetEventHandle", "sharing an event of %s", -1,
                    () -> JCudaDriver.cuIpcGetEventHandle(result, event.handle));
            return IpcBytes.of(result);
        }

        Event open(byte[] event) {
            Event opened = new Event();
            call("cuIpcOpenEventHandle", "opening an event of %s that another process shares", -1,
                    () -> JCudaDriver.cuIpcOpenEventHandle(opened.handle,
                            IpcBytes.set(new CUipcEventHandle(), event)));
            return opened;
        }

        void destroy(Event event) {
            call("cuEventDestroy", "ending an event of %s", -1, () -> JCudaDriver.cuEventDestroy(event.handle));
        }

        /// Records an event after all work that other libraries submitted to the default stream, and to streams that it
        /// waits for.
        void record(Event event) {
            call("cuEventRecord", "recording an event on %s", -1,
                    () -> JCudaDriver.cuEventRecord(event.handle, Stream.DEFAULT.handle));
        }

        /// Waits for the event of [#record].
        void synchronizeDefault() {
            synchronize(Stream.DEFAULT);
        }

        /// Makes later work of a stream wait for an event.
        void waitFor(Event event, Stream stream) {
            call("cuStreamWaitEvent", "waiting for an event on %s", -1,
                    () -> JCudaDriver.cuStreamWaitEvent(stream.handle, event.handle, 0));
        }

        /// {@return whether all work of a stream is done}
        boolean isDone(Stream stream) {
            boolean[] isDone = new boolean[1];
            call("cuStreamQuery", "waiting for work on %s", -1, () -> {
                int result = JCudaDriver.cuStreamQuery(stream.handle);
                isDone[0] = result == CUresult.CUDA_SUCCESS;
                return result == CUresult.CUDA_ERROR_NOT_READY ? CUresult.CUDA_SUCCESS : result;
            });
            return isDone[0];
        }

        // ---- pinned memory and copies ----

        /// Allocates pinned memory of the host, for all contexts. Up to 2 GiB: jcuda makes a buffer of it.
        long allocateHost(int nbytes) {
            HostPointer result = new HostPointer(0);
            call("cuMemHostAlloc", "pinning host memory for %s", nbytes,
                    () -> JCudaDriver.cuMemHostAlloc(result, nbytes, JCudaDriver.CU_MEMHOSTALLOC_PORTABLE));
            return result.address();
        }

        void freeHost(long address) {
            call("cuMemFreeHost", "freeing host memory pinned for %s", -1,
                    () -> JCudaDriver.cuMemFreeHost(new HostPointer(address)));
        }

        /// Pins memory of the host, for all contexts. Memory that the host may only read is pinned for devices that
        /// only read it, where the driver can do so; others refuse it.
        void register(MemorySegment host) {
            boolean isForReading = host.isReadOnly() && get().attribute(index,
                    CUdevice_attribute.CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED) != 0;
            int flags = JCudaDriver.CU_MEMHOSTREGISTER_PORTABLE
                    | (isForReading ? JCudaDriver.CU_MEMHOSTREGISTER_READ_ONLY : 0);
            call("cuMemHostRegister", "pinning host memory for %s", host.byteSize(),
                    () -> JCudaDriver.cuMemHostRegister(host(host), host.byteSize(), flags));
        }

        void unregister(MemorySegment host) {
            call("cuMemHostUnregister", "freeing host memory pinned for %s", -1,
                    () -> JCudaDriver.cuMemHostUnregister(host(host)));
        }

        void toDevice(MemorySegment host, long target, Stream stream) {
            call("cuMemcpyHtoDAsync", "a copy to %s", host.byteSize(), () -> JCudaDriver
                    .cuMemcpyHtoDAsync(device(target), host(host), host.byteSize(), stream.handle));
        }

        void toHost(MemorySegment source, MemorySegment host, Stream stream) {
            call("cuMemcpyDtoHAsync", "a copy from %s", source.byteSize(),
                    () -> JCudaDriver.cuMemcpyDtoHAsync(host(host),
                            device(source.address()), source.byteSize(), stream.handle));
        }

        void copy(MemorySegment source, MemorySegment target, Stream stream) {
            call("cuMemcpyDtoDAsync", "a copy within %s", target.byteSize(),
                    () -> JCudaDriver.cuMemcpyDtoDAsync(device(target.address()), device(source.address()),
                            target.byteSize(), stream.handle));
        }

        /// Lets this device read the memory of another without the host, if the machine supports that. Otherwise the
        /// driver copies through memory of the host. This does not apply to memory of pools: jcuda has no function for
        /// their access.
        void accessDirectly(Context other) {
            int[] can = new int[1];
            call("cuDeviceCanAccessPeer", "accessing cuda:" + other.index + " from %s", -1,
                    () -> JCudaDriver.cuDeviceCanAccessPeer(can, get().devices.get(index),
                            get().devices.get(other.index)));
            if (can[0] != 0) {
                call("cuCtxEnablePeerAccess", "accessing cuda:" + other.index + " from %s", -1,
                        () -> JCudaDriver.cuCtxEnablePeerAccess(other.handle, 0));
            }
        }

        void copyFrom(Context other, MemorySegment source, MemorySegment target, Stream stream) {
            call("cuMemcpyPeerAsync", "a copy from cuda:" + other.index + " to %s", target.byteSize(),
                    () -> JCudaDriver.cuMemcpyPeerAsync(device(target.address()), handle, device(source.address()),
                            other.handle, target.byteSize(), stream.handle));
        }

        void fill(MemorySegment target, byte value, Stream stream) {
            call("cuMemsetD8Async", "filling memory of %s", target.byteSize(), () -> JCudaDriver
                    .cuMemsetD8Async(device(target.address()), value, target.byteSize(), stream.handle));
        }

        /// Calls the driver with this context.
        ///
        /// @param what a description of the call; `%s` is replaced by the device
        private void call(String call, String what, long nbytes, IntSupplier function) {
            int result = JCudaDriver.cuCtxPushCurrent(handle);
            if (result != CUresult.CUDA_SUCCESS) {
                throw failed(result, "cuCtxPushCurrent", what, new Sizes(nbytes, -1, -1));
            }
            Sizes sizes;
            try {
                result = function.getAsInt();
                sizes = isFull(result, call) ? sizes(nbytes) : new Sizes(nbytes, -1, -1);
            } finally {
                JCudaDriver.cuCtxPopCurrent(new CUcontext());
            }
            if (result != CUresult.CUDA_SUCCESS) {
                throw failed(result, call, what, sizes);
            }
        }

        private CudaException failed(int result, String call, String what, Sizes sizes) {
            boolean cannotPin = result == CudaException.OUT_OF_MEMORY && !isFull(result, call);
            String remedy = cannotPin ? "release pinned storages, or use memory that is not pinned" : remedy(result);
            if (call.startsWith("cuIpc")) {
                remedy = ipcRemedy(result, remedy);
            } else if (call.equals("cuMemHostRegister")) {
                remedy = registerRemedy(result, remedy);
            }
            return failure(result, call, what.formatted("cuda:" + index), sizes, remedy);
        }

        private static String registerRemedy(int result, String otherwise) {
            return switch (result) {
                case CUresult.CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED ->
                    "some of these pages are pinned already; use the bytes as they are, which are copied through "
                            + "pinned buffers";
                case CUresult.CUDA_ERROR_INVALID_VALUE, CUresult.CUDA_ERROR_NOT_SUPPORTED,
                        CUresult.CUDA_ERROR_NOT_PERMITTED, CUresult.CUDA_ERROR_OPERATING_SYSTEM ->
                    "this memory cannot be pinned where it is (of files, only read-only mappings can be on some "
                            + "systems); use it as it is, and it is copied through pinned buffers";
                default -> otherwise;
            };
        }

        private static String ipcRemedy(int result, String otherwise) {
            return switch (result) {
                case CUresult.CUDA_ERROR_NOT_SUPPORTED, CUresult.CUDA_ERROR_PEER_ACCESS_UNSUPPORTED ->
                    "this system cannot share device memory between processes, as WSL and some virtual GPUs; copy it "
                            + "with cpu() and share the copy";
                case CUresult.CUDA_ERROR_INVALID_HANDLE, CUresult.CUDA_ERROR_INVALID_VALUE,
                        CUresult.CUDA_ERROR_MAP_FAILED, CUresult.CUDA_ERROR_INVALID_CONTEXT ->
                    "the process that shared it has ended, or is in another container; ask for a new handle";
                default -> otherwise;
            };
        }

        /// Returns whether there is too little memory on the device, and not too little that can be pinned.
        private static boolean isFull(int result, String call) {
            return result == CudaException.OUT_OF_MEMORY && !call.startsWith("cuMemHost");
        }

        private static Sizes sizes(long wanted) {
            long[] free = {-1};
            long[] total = {-1};
            JCudaDriver.cuMemGetInfo(free, total);
            return new Sizes(wanted, free[0], total[0]);
        }

        private static Pointer host(MemorySegment segment) {
            return new HostPointer(segment.address());
        }

        private static CUdeviceptr device(long address) {
            return new CUdeviceptr().withByteOffset(address);
        }
    }
}

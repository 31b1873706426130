package io.undercroft.cuda.internal;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.undercroft.mmap.SharedMemoryException;
import io.undercroft.mmap.SharedMemoryException.Reason;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/// The record in shared memory that describes memory of a device that a process shares. Little-endian:
///
/// | offset | bytes | |
/// |---|---|---|
/// | 0 | 8 | `UCCUDAIP` |
/// | 8 | 4 | version, 1 |
/// | 12 | 4 | 1 once the storage was released, else 0 |
/// | 16 | 8 | number of the process |
/// | 24 | 8 | when it started, in milliseconds since 1970 |
/// | 32 | 8 | size of the storage in bytes |
/// | 40 | 24 | address of the device on the PCI bus, ASCII, filled up with zeros |
/// | 64 | 64 | the driver's handle of the memory |
/// | 128 | 64 | the driver's handle of the event that is recorded when a handle is made |
///
/// @param pid the number of the process
/// @param startMillis the time at which it started
/// @param nbytes the size of the storage
/// @param pciId the device
/// @param memory the driver's handle of the memory; zeros if the storage has no bytes
/// @param event the driver's handle of the event
@SuppressWarnings("ArrayRecordComponent")
record SharedRecord(long pid, long startMillis, long nbytes, String pciId, byte[] memory, byte[] event) {
    static final long BYTES = 192;

    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle STATE = INT.varHandle();

    private static final long MAGIC = 0x5049_4144_5543_4355L;
    private static final int VERSION = 1;
    private static final long VERSION_AT = 8;
    private static final long STATE_AT = 12;
    private static final int RELEASED = 1;
    private static final long PID_AT = 16;
    private static final long START_AT = 24;
    private static final long NBYTES_AT = 32;
    private static final long PCI_AT = 40;
    private static final int PCI_BYTES = 24;
    private static final long MEMORY_AT = 64;
    private static final long EVENT_AT = 128;

    void write(MemorySegment target) {
        target.set(INT, VERSION_AT, VERSION);
        target.set(LONG, PID_AT, pid);
        target.set(LONG, START_AT, startMillis);
        target.set(LONG, NBYTES_AT, nbytes);
        byte[] pci = pciId.getBytes(StandardCharsets.US_ASCII);
        MemorySegment.copy(pci, 0, target, JAVA_BYTE, PCI_AT, Math.min(pci.length, PCI_BYTES));
        MemorySegment.copy(memory, 0, target, JAVA_BYTE, MEMORY_AT, memory.length);
        MemorySegment.copy(event, 0, target, JAVA_BYTE, EVENT_AT, event.length);
        target.set(LONG, 0, MAGIC);
    }

    /// {@return the record; nothing if it is not one of CUDA memory}
    ///
    /// @throws SharedMemoryException if it is one of another version
    static Optional<SharedRecord> read(MemorySegment source) throws SharedMemoryException {
        if (source.byteSize() < BYTES || source.get(LONG, 0) != MAGIC) {
            return Optional.empty();
        }
        int version = source.get(INT, VERSION_AT);
        if (version != VERSION) {
            throw new SharedMemoryException(Reason.UNSUPPORTED, "CUDA memory was shared by another version of this "
                    + "library (record " + version + ", not " + VERSION + "); use the same one in both processes",
                    null);
        }
        byte[] pci = bytes(source, PCI_AT, PCI_BYTES);
        return Optional.of(new SharedRecord(source.get(LONG, PID_AT), source.get(LONG, START_AT),
                source.get(LONG, NBYTES_AT), new String(pci, StandardCharsets.US_ASCII).replaceAll("[^0-9a-f:.]", ""),
                bytes(source, MEMORY_AT, Driver.HANDLE_BYTES), bytes(source, EVENT_AT, Driver.HANDLE_BYTES)));
    }

    private static byte[] bytes(MemorySegment source, long start, int count) {
        return source.asSlice(start, count).toArray(JAVA_BYTE);
    }

    /// Notes that the storage was released, for later openers of a handle to it.
    static void release(MemorySegment record) {
        STATE.setVolatile(record, STATE_AT, RELEASED);
    }

    static boolean isReleased(MemorySegment record) {
        return (int) STATE.getVolatile(record, STATE_AT) == RELEASED;
    }
}

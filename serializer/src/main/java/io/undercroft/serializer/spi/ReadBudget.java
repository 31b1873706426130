package io.undercroft.serializer.spi;

import io.undercroft.format.FormatException;

/// What reading a file may cost, in proportion to its size: bytes of memory and steps of work. A reader charges what it
/// is about to make or do, so that a short file that would require much is refused first.
///
/// Of memory up to 1 MiB of a file may take twice its size and 64 MiB, larger ones 64 times their size. What a file
/// holds that was made by a program and not by hand takes a small part of that.
///
/// The sizes of Java objects are estimates, on the large side. Belongs to one thread.
public final class ReadBudget {
    /// What a container takes with what is known about it while it is checked and named, in bytes, without its
    /// elements.
    public static final long CONTAINER = 256;
    /// What an entry of a map or an element of a set takes, in bytes.
    public static final long ENTRY = 56;
    /// What an element of a list, or a value on a stack, takes, in bytes.
    public static final long SLOT = 8;
    /// What a number takes, in bytes.
    public static final long NUMBER = 24;
    /// What a tensor or storage takes, in bytes.
    public static final long TENSOR = 320;
    /// The size in bytes of the substitute for an unreadable tensor, with its exceptions and their stack traces.
    public static final long UNREADABLE = 28 << 10;

    private static final long TEXT = 56;
    private static final long NAME = 128;
    private static final long LEAST_MEMORY = 64L << 20;
    private static final long SMALL_FACTOR = 2;
    private static final long SMALL = 1 << 20;
    private static final long FACTOR = 64;
    private static final long LEAST_STEPS = 1L << 25;
    private static final long STEPS_PER_BYTE = 64;

    private final long nbytes;
    private final long mostMemory;
    private final long mostSteps;
    private long memory;
    private long steps;

    private ReadBudget(long nbytes, long factor) {
        this.nbytes = nbytes;
        this.mostMemory = LEAST_MEMORY + Math.max(SMALL_FACTOR * nbytes, factor * (nbytes - SMALL));
        this.mostSteps = LEAST_STEPS + STEPS_PER_BYTE * nbytes;
    }

    /// {@return the budget of a file of which nothing was read}
    ///
    /// @param nbytes the size in bytes of the file, or of the part of it that is read: 0 to 2^50
    public static ReadBudget of(long nbytes) {
        return of(nbytes, FACTOR);
    }

    /// {@return the budget of a file of which nothing was read, in a format whose values take fewer bytes}
    ///
    /// @param nbytes the size in bytes of the file, or of the part of it that is read: 0 to 2^50
    /// @param factor how many bytes of memory each byte behind the first MiB may take: 2 to 1024
    public static ReadBudget of(long nbytes, long factor) {
        if (nbytes < 0 || nbytes > 1L << 50 || factor < SMALL_FACTOR || factor > 1024) {
            throw new IllegalArgumentException("no budget for " + nbytes + " bytes, " + factor + " times");
        }
        return new ReadBudget(nbytes, factor);
    }

    /// Charges memory.
    ///
    /// @param bytes how many bytes will be taken, 0 or more
    /// @throws FormatException if that is more than is left
    public void takeMemory(long bytes) {
        if (bytes > mostMemory - memory) {
            throw new FormatException("COST-MEMORY", "reading it would take more than " + (mostMemory >> 20)
                    + " MiB of memory, which is out of proportion to its " + nbytes + " bytes",
                    FormatException.NO_OFFSET,
                    "The file was made to be costly, or its header is compressed; if you trust it, save it again"
                            + " uncompressed, with large data in tensors");
        }
        memory += bytes;
    }

    /// Charges the memory of texts, in Java's form and in that of the file.
    ///
    /// @param length characters or bytes, 0 or more
    /// @throws FormatException if that is more than is left
    public void takeText(long length) {
        takeMemory(TEXT + 2 * length);
    }

    /// Charges the memory of a tensor's name.
    ///
    /// @param length characters, 0 or more
    /// @throws FormatException if that is more than is left
    public void takeName(long length) {
        takeMemory(NAME + 2 * length);
    }

    /// Charges work.
    ///
    /// @param count how many steps will be done, 0 or more
    /// @throws FormatException if that is more than is left
    public void takeSteps(long count) {
        if (count > mostSteps - steps) {
            throw new FormatException("COST-WORK", "reading it is slow: it would take more than " + mostSteps
                    + " steps, which is out of proportion to its " + nbytes + " bytes", FormatException.NO_OFFSET,
                    "The file was made to be slow; if you trust it, save it again with fewer references to the same"
                            + " large values");
        }
        steps += count;
    }
}

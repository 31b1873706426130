package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.StateToken;
import io.undercroft.format.internal.StateTreeReader;
import io.undercroft.serializer.spi.ReadBudget;
import java.util.BitSet;

/// The memory that a state tree takes while it is read, named and reported, garbage included. Charged token by token,
/// before anything is made of a token: by readers, and by the writer, so that it writes nothing that they would refuse.
/// Belongs to one tree and one thread.
///
/// Up to 1 MiB a tree may take twice its size and 64 MiB. Beyond that each byte may take 256: a list of small maps
/// takes 90 for each, one of empty lists 70.
public final class TreeCost {
    private static final long FACTOR = 256;

    // Measured for each kind of value, in bytes, without the charge of its container.
    private static final long LIST = 112;
    private static final long TUPLE = 232;
    private static final long SET = 376;
    private static final long MAP = 272;
    private static final long OBJECT = 336;
    private static final long FIRST_ELEMENT = 96;
    private static final long ELEMENT = 24;
    private static final long ENTRY = 192;
    private static final long EMPTY_TEXT = 96;
    private static final long TEXT = 112;
    private static final long FLOAT = 168;
    private static final long SHAPE = 64;
    private static final long FIRST_SIZE = 200;
    private static final long STORAGE = 64;
    /// For the path of a container that holds others or many values.
    private static final long PLACE = 480;
    /// For the path of any other container, if the tree refers to a container.
    private static final long SMALL_PLACE = 224;
    private static final int FEW = 8;

    private final ReadBudget budget;
    /// By depth, whether the path of the open container was charged.
    private final BitSet placed = new BitSet();
    private long containers;
    private boolean isReferred;

    /// Creates the cost of a tree of which nothing was read.
    ///
    /// @param nbytes the size of the tree in bytes
    public TreeCost(long nbytes) {
        this.budget = ReadBudget.of(nbytes, FACTOR);
    }

    /// Charges a token.
    ///
    /// @param in the tree, at the token
    /// @param token its kind
    /// @throws FormatException if that is more than is left of the budget
    public void take(StateTreeReader in, StateToken token) {
        budget.takeSteps(1);
        switch (token) {
            case LIST -> open(in, LIST + elements(in.count()), in.count());
            case TUPLE -> open(in, TUPLE + elements(in.count()), in.count());
            case SET -> open(in, SET + ENTRY * in.count(), in.count());
            case MAP -> open(in, MAP + ENTRY * in.count(), in.count());
            case OBJECT -> open(in, OBJECT + text(in), 0);
            case STRING -> budget.takeMemory(in.length() == 0 ? 0 : text(in));
            case SYMBOL, DEVICE, BYTES, BIG_INTEGER -> budget.takeMemory(text(in));
            case FLOAT, FLOAT32 -> budget.takeMemory(FLOAT);
            case COMPLEX -> budget.takeMemory(2 * FLOAT);
            case SHAPE -> budget.takeMemory(SHAPE + (in.length() == 0 ? 0 : FIRST_SIZE + 4 * Long.BYTES * in.length()));
            case STORAGE -> budget.takeMemory(STORAGE);
            case REFERENCE -> refer();
            case NULL, BOOLEAN, INTEGER, INT8, INT16, INT32, TENSOR, DTYPE, END, DONE -> {
                // Paid for by the container, or by the record that the token names.
            }
        }
    }

    /// Charges the placeholder for a tensor that cannot be read.
    ///
    /// @throws FormatException if that is more than is left of the budget
    void takeUnreadable() {
        budget.takeMemory(ReadBudget.UNREADABLE);
    }

    private static long elements(int count) {
        return count == 0 ? 0 : FIRST_ELEMENT + ELEMENT * count;
    }

    private static long text(StateTreeReader in) {
        return in.length() == 0 ? EMPTY_TEXT : TEXT + 3 * in.length();
    }

    private void open(StateTreeReader in, long bytes, int count) {
        budget.takeMemory(bytes + (isReferred ? SMALL_PLACE : 0));
        int depth = in.depth();
        placed.clear(depth);
        place(depth - 1);
        if (count > FEW) {
            place(depth);
        }
        containers++;
    }

    private void place(int depth) {
        if (!placed.get(depth)) {
            placed.set(depth);
            budget.takeMemory(PLACE);
        }
    }

    private void refer() {
        if (!isReferred) {
            isReferred = true;
            budget.takeMemory(containers * SMALL_PLACE);
        }
    }
}

package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.format.Remedy;
import java.io.Serial;

/// The reason why an opcode cannot be run, thrown by code without its offset in the file; [Unpickler] adds that.
final class PickleFault extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1;

    /// The remedy for a pickle that no version of PyTorch would have written.
    static final String DAMAGED = "The file is damaged or made to mislead; get it again from its source";

    private final String code;
    private final String what;
    private final Remedy remedy;

    private PickleFault(String code, String what, Remedy remedy) {
        // Without a stack trace: it is only a way to carry three strings a few frames up.
        super(what, null, false, false);
        this.code = code;
        this.what = what;
        this.remedy = remedy;
    }

    /// {@return a refusal of something that the pickle should not hold}
    static PickleFault malformed(String what) {
        return because("TORCH-PICKLE", what, DAMAGED);
    }

    /// {@return a refusal of something that means well but is not supported}
    static PickleFault because(String code, String what, String remedy) {
        return new PickleFault(code, what, Remedy.of(remedy));
    }

    /// {@return a refusal of something that means well but is not supported}
    static PickleFault because(String code, String what, Remedy remedy) {
        return new PickleFault(code, what, remedy);
    }

    /// {@return a refusal of a name outside the table of what a pickle may call}
    static PickleFault global(String name) {
        return because("TORCH-GLOBAL",
                "the file refers to " + FormatException.quote(name) + ", which would run code in Python",
                "Only tensors and plain values are read; if you trust the file, load it in Python and save its"
                        + " state_dict() again");
    }

    /// {@return the same with its place}
    ///
    /// @param place what is behind the description, for instance the opcode
    /// @param offset byte in the file, or [FormatException#NO_OFFSET]
    FormatException at(String place, long offset) {
        return new FormatException(code, what + place, offset, remedy);
    }
}

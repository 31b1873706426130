package io.undercroft.format.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.Remedy;
import java.util.Arrays;

/// The validation rules of `SPEC.md`. Each has a code that [FormatException#code] carries.
public enum Rule {
    /// A number, or a sum or product of numbers, exceeds 2^63-1.
    V1_ARITHMETIC("V1-ARITHMETIC", Remedies.DISTRUST),
    /// A range is outside its file or storage, overlaps another, or starts at an offset that is not allowed.
    V2_RANGE("V2-RANGE", Remedies.DISTRUST),
    /// A byte that nothing covers is not zero.
    V3_GAP("V3-GAP", Remedies.DAMAGED),
    /// The extents of a storage do not add up to it.
    V4_EXTENT_SUM("V4-EXTENT-SUM", Remedies.DISTRUST),
    /// A tensor is not inside its storage, or a stride is negative without the flag for that.
    V5_STRIDE_RANGE("V5-STRIDE-RANGE", Remedies.DISTRUST),
    /// A text is not UTF-8, or names are not sorted and unique.
    V6_NAME("V6-NAME", Remedies.DISTRUST),
    /// The storages are together much larger than the file.
    V7_EXPANSION("V7-EXPANSION", Remedies.LIMIT),
    /// A count or size is over a limit.
    V8_LIMIT("V8-LIMIT", Remedies.LIMIT),
    /// A reserved field or padding is not zero.
    V9_RESERVED("V9-RESERVED", Remedies.NEWER),
    /// An index is not below the count of what it points into, or points at the wrong thing.
    V10_INDEX("V10-INDEX", Remedies.DISTRUST),
    /// The file is shorter than its records require.
    V11_TRUNCATED("V11-TRUNCATED", Remedies.DAMAGED),
    /// The file does not begin with the signature of `.croft` files.
    V12_SIGNATURE("V12-SIGNATURE", "Check that this is the file you meant and that it was transferred as binary"),
    /// The file needs a version, feature or kind unknown to this reader.
    V13_UNSUPPORTED("V13-UNSUPPORTED", Remedies.NEWER),
    /// A checksum or digest does not match.
    V14_CHECKSUM("V14-CHECKSUM", Remedies.DAMAGED),
    /// A table or fixed field is malformed.
    V15_STRUCTURE("V15-STRUCTURE", Remedies.DISTRUST),
    /// The state tree or the metadata is malformed.
    V16_TREE("V16-TREE", Remedies.DISTRUST),
    /// A required commit record of this file is missing.
    V17_COMMIT("V17-COMMIT",
            Remedy.naming("No save of this file was ever finished, or it is damaged: save it again, restore a copy, or "
                    + "try to save what is intact with {}", Remedies.SALVAGE)),
    /// Another file that is needed is missing, is not below the root, or is not the right one.
    V18_BASE("V18-BASE", "Bring the other file as it was when this one was saved, and say where it is when opening"),
    /// The commit before is not at its offset, or is another one.
    V19_CHAIN("V19-CHAIN", Remedies.DISTRUST),
    /// A sealed file has a commit record after its header, or its commit record is not at the end.
    V20_SEAL("V20-SEAL", Remedies.DISTRUST),
    /// A file of a set is missing, or is not the right one.
    V21_SHARD("V21-SHARD", "Fetch the whole set: all its files as they were when it was saved"),
    /// The slices of a tensor in a set do not make up that tensor.
    V22_SLICE("V22-SLICE", "Save the set again with all its shards, each of the same run and each once");

    private final String code;
    /// Immutable, with no annotation that says so.
    @SuppressWarnings("ImmutableEnumChecker")
    private final Remedy remedy;

    Rule(String code, String remedy) {
        this(code, Remedy.of(remedy));
    }

    Rule(String code, Remedy remedy) {
        this.code = code;
        this.remedy = remedy;
    }

    /// {@return the code in messages and in `SPEC.md`}
    public String code() {
        return code;
    }

    /// Returns an exception for a file that breaks this rule.
    ///
    /// @param what the problem, without a full stop
    /// @param offset the byte of the file that breaks the rule, or [FormatException#NO_OFFSET]
    /// @return the exception, to be thrown
    public FormatException broken(String what, long offset) {
        return new FormatException(code, what, offset, remedy);
    }

    /// Returns an exception for a file that breaks this rule.
    ///
    /// @param what the problem, without a full stop
    /// @param offset the byte of the file that breaks the rule, or [FormatException#NO_OFFSET]
    /// @param other the remedy, if it is not the usual one
    /// @return the exception, to be thrown
    public FormatException broken(String what, long offset, Remedy other) {
        return new FormatException(code, what, offset, other);
    }

    FormatException broken(String what, long offset, Throwable cause) {
        return new FormatException(code, what, offset, remedy, cause);
    }

    /// {@return whether a fault is a sign of accident, such as a torn write or a lost tail, from which an older commit
    /// of the same file may save the reader}
    static boolean isDamage(FormatException fault) {
        return of(fault) == V11_TRUNCATED || of(fault) == V14_CHECKSUM;
    }

    /// {@return the rule that a fault found by this package breaks}
    static Rule of(FormatException fault) {
        return Arrays.stream(values()).filter(rule -> rule.code.equals(fault.code())).findFirst().orElseThrow();
    }

    private static final class Remedies {
        static final String SALVAGE = "CroftFile.salvage";
        static final Remedy DAMAGED = Remedy.naming("The file is damaged: fetch it again, restore a copy, or save what "
                + "is intact with {}", SALVAGE);
        static final String DISTRUST = "The checksums match, so the program that wrote the file has a bug: "
                + "do not trust it, save it again from its source";
        static final String LIMIT = "Raise the limit if you trust the file";
        static final String NEWER = "Read it with a newer version of this program";
    }
}

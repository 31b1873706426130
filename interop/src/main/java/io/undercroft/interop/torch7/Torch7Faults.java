package io.undercroft.interop.torch7;

import io.undercroft.format.FormatException;
import io.undercroft.format.Remedy;

/// The exceptions for files that cannot be read.
final class Torch7Faults {
    private static final Remedy REMEDY = Remedy.naming("The file is damaged, or encoded in another way: {} sets "
            + "torch7.encoding, torch7.order, torch7.longs and torch7.references", "OpenOptions.setting");

    private static final String CLASS_REMEDY = "If the class writes its objects in a way of its own, "
            + "in Torch7 save what they hold as a table";

    private Torch7Faults() {}

    /// {@return the refusal of something that Torch7 does not write}
    ///
    /// @param code what programs may compare, without `TORCH7-`
    /// @param what what is wrong
    /// @param offset where
    static FormatException of(String code, String what, long offset) {
        return new FormatException("TORCH7-" + code, what, offset, REMEDY);
    }

    /// {@return the refusal of a text whose lines do not end as Torch7 ends them}
    ///
    /// @param isReturn whether a carriage return is there
    /// @param offset where the line feed is due
    static FormatException ofLines(boolean isReturn, long offset) {
        return new FormatException("TORCH7-LINES", isReturn
                ? "a line ends with CR and LF, where Torch7 writes LF alone and bytes follow"
                : "a line does not end where bytes follow", offset,
                "The file was changed by an editor, or copied as text: get it again as it was written");
    }

    /// {@return the refusal of a file that is too short}
    ///
    /// @param offset its end
    static FormatException ends(long offset) {
        return of("END", "the file ends in the middle of an object", offset);
    }

    /// {@return the refusal of a file that is too short, for [io.undercroft.interop.internal.ByteReader]}
    static FormatException tooShort(long due, long position, long left) {
        return ends(position + left);
    }

    /// {@return the refusal of an object that a function of its class wrote}
    ///
    /// @param why what shows that
    /// @param offset where
    static FormatException ofOwnWay(String className, String why, long offset) {
        return new FormatException("TORCH7-CLASS", "an object of class " + FormatException.quote(className) + " " + why
                + ", so a function of the class wrote it in a way of its own", offset,
                "In Torch7, load it with the package of the class, and save what the object holds as a table");
    }

    /// {@return the same refusal of something in an object of a class}
    ///
    /// @param e what is wrong with it
    /// @param isBody whether all of the object is at fault, so that it may well have been written by a function of its
    ///     class
    static FormatException in(String className, FormatException e, boolean isBody) {
        if (e.code().equals("TORCH7-CLASS")) {
            return e;
        }
        String place = ", in an object of class " + FormatException.quote(className);
        return isBody
                ? new FormatException("TORCH7-CLASS", e.what() + place, e.offset(), CLASS_REMEDY, e)
                : new FormatException(e.code(), e.what() + place, e.offset(), e.remedy(), e);
    }

    /// {@return the same refusal of something directly behind an object of a class}
    static FormatException after(String className, FormatException e) {
        return new FormatException(e.code(), e.what() + ", behind an object of class "
                + FormatException.quote(className), e.offset(), CLASS_REMEDY, e);
    }
}

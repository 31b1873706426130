package io.undercroft.interop.torch;

import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.Symbol;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// The names in a pickle that are not in the table [Globals]: classes, and functions that a pickle calls. They are
/// labels. No class is ever looked up by one.
///
/// A name is the module, a dot and the name in it; for a class in a class `module:Outer.Inner`, as the dots do not show
/// where the module ends. Made for one pickle and one thread.
final class ForeignNames {
    /// What precedes the name of a class in a class.
    static final char NESTED = ':';
    /// The module of the classes that a pickle names by a number.
    private static final String EXTENSION = "extension:";
    /// The longest name, in characters.
    private static final int LONGEST = 256;
    /// How Python 3 calls modules that Python 2 called otherwise, of which protocol 2 writes the old names.
    private static final Map<String, String> RENAMED = Map.of("__builtin__", "builtins", "copy_reg", "copyreg");
    /// What a name in a class begins with in other kinds of types of nodes.
    private static final List<String> RESERVED = List.of("java", "torch7", "python", "extension");

    private final boolean isStrict;
    private final Map<String, Known> known = new LinkedHashMap<>();

    private ForeignNames(boolean isStrict) {
        this.isStrict = isStrict;
    }

    /// A name, and what was made with it.
    private static final class Known {
        private final Symbol symbol;
        /// The type of its objects.
        private final String type;
        private long objects;

        Known(String name) {
            this.symbol = new Symbol(name);
            this.type = InertObject.TYPE + name;
        }
    }

    /// {@return the names of a pickle that may name anything}
    static ForeignNames all() {
        return new ForeignNames(false);
    }

    /// {@return the names of a pickle that may name classes of tensors, and nothing else}
    static ForeignNames ofTensors() {
        return new ForeignNames(true);
    }

    /// {@return the names of a pickle}
    ///
    /// @param isStrict whether it may name classes of tensors only
    static ForeignNames of(boolean isStrict) {
        return new ForeignNames(isStrict);
    }

    /// {@return whether the pickle may name classes of tensors only}
    boolean isStrict() {
        return isStrict;
    }

    /// {@return the constant that a name is in a state}
    ///
    /// @throws PickleFault if no class can be called so
    Symbol symbol(String module, String name, ReadBudget budget) {
        String in = RENAMED.getOrDefault(module, module);
        String full = in + (name.indexOf('.') < 0 ? '.' : NESTED) + name;
        boolean isReserved = name.indexOf('.') >= 0 && RESERVED.contains(in);
        if (module.indexOf(NESTED) >= 0 || name.indexOf(NESTED) >= 0 || isReserved || !isName(full)) {
            throw PickleFault.global(module + "." + name);
        }
        return known(full, budget).symbol;
    }

    /// {@return the constant for a class that the pickle names by a number of `copyreg.add_extension`}
    Symbol extension(long code, ReadBudget budget) {
        return known(EXTENSION + code, budget).symbol;
    }

    /// {@return the type of an object of a class, which is counted}
    ///
    /// @param name the full name of the class, of the table [Globals] or not
    String typeOf(String name, ReadBudget budget) {
        Known there = known(name, budget);
        there.objects++;
        return there.type;
    }

    private Known known(String name, ReadBudget budget) {
        Known there = known.get(name);
        if (there == null) {
            budget.takeMemory(ReadBudget.CONTAINER + ReadBudget.ENTRY);
            budget.takeText(2L * name.length());
            there = new Known(name);
            known.put(name, there);
        }
        return there;
    }

    /// {@return the names, in the order in which they come first}
    List<ForeignClass> classes() {
        return known.entrySet().stream().map(entry -> new ForeignClass(entry.getKey(), entry.getValue().objects,
                DangerousNames.contains(entry.getKey()))).toList();
    }

    /// {@return whether a text may be the full name of a class}
    static boolean isName(String full) {
        int nested = full.indexOf(NESTED);
        return full.length() <= LONGEST && hasDot(full.substring(nested + 1))
                && (nested < 0 || isPath(full.substring(0, nested)));
    }

    private static boolean hasDot(String text) {
        return text.indexOf('.') >= 0 && isPath(text);
    }

    /// {@return whether these are words with dots between them}
    private static boolean isPath(String text) {
        return !text.isEmpty() && !text.startsWith(".") && !text.endsWith(".")
                && text.codePoints().allMatch(ForeignNames::isPlain);
    }

    /// Modules that are found by the names of directories may have hyphens.
    private static boolean isPlain(int c) {
        return c == '.' || c == '-' || (Character.isUnicodeIdentifierPart(c) && !Character.isIdentifierIgnorable(c));
    }
}

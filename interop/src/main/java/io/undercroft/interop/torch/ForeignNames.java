package io.undercroft.interop.torch;

import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// The names in a pickle that are not in the table [Globals]: classes, and functions that a pickle calls. They are
/// labels. No class is ever looked up by one.
///
/// A name is the module, a dot and the name in it; for a class in a class `module:Outer.Inner`, as the dots do not show
/// where the module ends. Made for one pickle and one thread.
final class ForeignNames {
    /// The separator before the name of a nested class.
    static final char NESTED = ':';
    /// The module of the classes that a pickle names by a number.
    private static final String EXTENSION = "extension:";
    /// The longest name, in characters.
    private static final int LONGEST = 256;
    /// How Python 3 calls modules that Python 2 called otherwise, of which protocol 2 writes the old names; and one
    /// that only Python 3.13 has.
    private static final Map<String, String> RENAMED = Map.of("__builtin__", "builtins", "copy_reg", "copyreg",
            "exceptions", "builtins", "pathlib._local", "pathlib");
    /// The prefix of nested names in other kinds of types of nodes.
    private static final List<String> RESERVED = List.of("java", "torch7", "python", "extension");

    private final boolean isStrict;
    private final Map<String, Known> known = new LinkedHashMap<>();
    /// Distributed tensors of which the file has a part.
    private long localParts;
    private boolean hasSetter;

    private ForeignNames(boolean isStrict) {
        this.isStrict = isStrict;
    }

    /// A name, and what was made with it.
    private static final class Known {
        private final Symbol symbol;
        /// The type of its objects.
        private final String type;
        private long objects;
        /// The number of references in the pickle, and of those that left nothing in the state.
        private long references;
        private long resolved;
        /// The number of calls that do nothing dangerous.
        private long ordinary;
        /// Whether the pickle calls what a call of it has made, so that the code in that would run.
        private boolean isRun;

        Known(String name) {
            this.symbol = new Symbol(name);
            this.type = PythonObjects.TYPE + name;
        }

        boolean isDangerous() {
            return isRun || (DangerousNames.contains(symbol.name())
                    && (objects != ordinary || references != ordinary + resolved));
        }

        boolean isLeft() {
            return objects > 0 || references != resolved || references == 0;
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
        String plain = module.equals("__builtin__") ? Globals.RENAMED.getOrDefault(name, name) : name;
        String full = in + (plain.indexOf('.') < 0 ? '.' : NESTED) + plain;
        boolean isReserved = plain.indexOf('.') >= 0 && RESERVED.contains(in);
        if (module.indexOf(NESTED) >= 0 || plain.indexOf(NESTED) >= 0 || isReserved || !isName(full)) {
            throw PickleFault.global(module + "." + name);
        }
        Known known = known(full, budget);
        known.references++;
        return known.symbol;
    }

    /// {@return the constant for a class in a class, which protocols up to 3 find by a call; null if it is no plain
    /// name, or dangerous}
    @Nullable
    Symbol inner(Symbol outer, String name, ReadBudget budget) {
        String path = outer.name();
        int dot = path.lastIndexOf('.');
        if (dot < 0 || path.startsWith(EXTENSION) || name.startsWith("_") || name.indexOf('.') >= 0) {
            return null;
        }
        budget.takeText(path.length() + name.length());
        String full = path.indexOf(NESTED) >= 0
                ? path + '.' + name
                : path.substring(0, dot) + NESTED + path.substring(dot + 1) + '.' + name;
        String module = full.substring(0, full.indexOf(NESTED));
        if (name.indexOf(NESTED) >= 0 || RESERVED.contains(module) || !isName(full) || DangerousNames.contains(full)) {
            return null;
        }
        resolved(outer);
        return symbol(module, full.substring(module.length() + 1), budget);
    }

    /// Counts another reference to a name, from the memo of the pickle.
    void refer(Symbol symbol) {
        Known entry = known.get(symbol.name());
        if (entry != null) {
            entry.references++;
        }
    }

    /// Takes note that nothing of a reference is left in the state. A name of which nothing is left is not reported.
    void resolved(Symbol symbol) {
        Known entry = known.get(symbol.name());
        if (entry != null) {
            entry.resolved++;
        }
    }

    /// Takes note of a call that is recorded.
    ///
    /// @param callable a name, or an object
    void call(@Nullable Object callable, Tuple arguments, ReadBudget budget) {
        arguments.forEach(each -> budget.takeSteps(each instanceof Tuple parts ? parts.size() : 1));
        if (callable instanceof Symbol function && DangerousNames.isOrdinary(function.name(), arguments)) {
            known(function.name(), budget).ordinary++;
        } else if (callable instanceof Symbol function && DangerousNames.isSetter(function.name(), arguments)
                && !hasSetter) {
            // Of dill itself, the reference is left until the function is called for a cell.
            hasSetter = true;
            known(function.name(), budget).ordinary++;
            arguments.forEach(each -> {
                if (each instanceof Symbol symbol && !symbol.equals(DangerousNames.DILL)) {
                    resolved(symbol);
                }
            });
        } else if (callable instanceof TypedMap made && DangerousNames.isSetter(made)
                && DangerousNames.isCell(arguments)) {
            resolved(DangerousNames.DILL);
        } else if (callable instanceof TypedMap made && DangerousNames.isRun(made, arguments)) {
            known(PythonObjects.className(made), budget).isRun = true;
        }
    }

    /// {@return the constant for a class that the pickle names by a number of `copyreg.add_extension`}
    Symbol extension(long code, ReadBudget budget) {
        return known(EXTENSION + code, budget).symbol;
    }

    /// {@return the type of an object of a class, which is counted}
    ///
    /// @param name the full name of the class, of the table [Globals] or not
    String typeOf(String name, ReadBudget budget) {
        Known entry = known(name, budget);
        entry.objects++;
        return entry.type;
    }

    private Known known(String name, ReadBudget budget) {
        Known entry = known.get(name);
        if (entry == null) {
            budget.takeMemory(ReadBudget.CONTAINER + ReadBudget.ENTRY);
            budget.takeText(2L * name.length());
            entry = new Known(name);
            known.put(name, entry);
        }
        return entry;
    }

    /// Counts a tensor of which the file may have a part.
    void addLocalPart(Tensor local, Shape whole) {
        if (!local.shape().equals(whole)) {
            localParts++;
        }
    }

    /// Sets what a file has besides its state, what it lacks of distributed tensors, and which classes it names.
    ///
    /// @param contents the contents of the file
    /// @param unread what it has besides its state
    /// @return the contents
    TreeContents addTo(TreeContents contents, List<UnreadPart> unread) {
        return contents.withUnread(withOtherParts(unread)).withForeignClasses(classes());
    }

    private List<UnreadPart> withOtherParts(List<UnreadPart> unread) {
        if (localParts == 0) {
            return unread;
        }
        List<UnreadPart> parts = new ArrayList<>(unread);
        parts.add(new UnreadPart(UnreadPart.Kind.RECORD,
                String.format(Locale.ROOT, "the parts of %,d distributed tensor%s that other processes have:",
                        localParts, localParts == 1 ? "" : "s") + " the file has the local part of each",
                0, 0));
        return parts;
    }

    /// Adds the names of a part of a file to those of other parts.
    static void merge(Map<String, ForeignClass> all, List<ForeignClass> more) {
        more.forEach(each -> all.merge(each.name(), each, (one, other) -> new ForeignClass(one.name(),
                one.objects() + other.objects(), one.isDangerous() || other.isDangerous())));
    }

    /// {@return the names, in the order in which they come first}
    List<ForeignClass> classes() {
        List<ForeignClass> classes = new ArrayList<>();
        for (Map.Entry<String, Known> entry : known.entrySet()) {
            if (entry.getValue().isLeft()) {
                classes.add(new ForeignClass(entry.getKey(), entry.getValue().objects,
                        entry.getValue().isDangerous()));
            }
        }
        return classes;
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

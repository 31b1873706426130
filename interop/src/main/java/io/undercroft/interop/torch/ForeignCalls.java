package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.TypedMap;
import java.io.IOException;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Calls of functions that only carry other classes: by these, Python makes objects of any class in old protocols, and
/// finds classes in classes. What they make is the same that newer protocols have opcodes for. A call that is none of
/// these is recorded as any other.
///
/// Made for one pickle that may name anything.
final class ForeignCalls {
    static final String RECONSTRUCTOR = "copyreg._reconstructor";
    private static final String NEW_OBJECT = "copyreg.__newobj__";
    private static final String GET_ATTRIBUTE = "builtins.getattr";
    private static final String LOAD_FROM_BYTES = "torch.storage._load_from_bytes";
    private static final Symbol OBJECT = new Symbol("builtins.object");

    private final ForeignNames names;
    private final Containers containers;
    private final Unpickler.References references;
    /// Python makes a storage of its own for each call, of bytes of its own.
    private final Set<byte[]> loaded = Collections.newSetFromMap(new IdentityHashMap<>());

    ForeignCalls(ForeignNames names, Containers containers, Unpickler.References references) {
        this.names = names;
        this.containers = containers;
        this.references = references;
    }

    /// {@return what a call makes, or null if it is none of these}
    @Nullable
    Object call(Symbol function, Tuple arguments) throws IOException {
        Object made = switch (function.name()) {
            case RECONSTRUCTOR -> reconstructed(arguments);
            case NEW_OBJECT -> made(arguments);
            case GET_ATTRIBUTE -> attribute(arguments);
            case LOAD_FROM_BYTES -> storage(arguments);
            default -> null;
        };
        if (made != null) {
            names.resolved(function);
        }
        return made;
    }

    /// `(class, base, value)`: an object of a class, made by a class of Python's own that it is derived from.
    private @Nullable TypedMap reconstructed(Tuple arguments) {
        if (!(arguments.size() == 3 && isClass(arguments.get(0)) && arguments.get(1) instanceof Symbol base)) {
            return null;
        }
        TypedMap object = InertObject.of(arguments.get(0), names, containers.budget());
        if (base.equals(OBJECT) && arguments.get(2) == null) {
            names.resolved(base);
        } else {
            InertObject.set(object, InertObject.BASE, base, containers.budget());
            InertObject.set(object, InertObject.VALUE, arguments.get(2), containers.budget());
        }
        return object;
    }

    /// `(class, argument…)`
    private @Nullable TypedMap made(Tuple arguments) {
        if (arguments.isEmpty() || !isClass(arguments.getFirst())) {
            return null;
        }
        TypedMap object = InertObject.of(arguments.getFirst(), names, containers.budget());
        if (arguments.size() > 1) {
            containers.charge(arguments.size());
            InertObject.set(object, InertObject.NEW_ARGUMENTS, new Tuple(arguments.subList(1, arguments.size())),
                    containers.budget());
        }
        return object;
    }

    /// `(class, name)`: a class in a class.
    private @Nullable Symbol attribute(Tuple arguments) {
        return arguments.size() == 2 && arguments.get(0) instanceof Symbol outer
                && arguments.get(1) instanceof String name
                        ? names.inner(outer, name, containers.budget())
                        : null;
    }

    /// `(bytes)`: a storage, as a file of `torch.save` in the pickle. A file that is not read as one is left as it is.
    private @Nullable Object storage(Tuple arguments) throws IOException {
        if (!(arguments.size() == 1 && arguments.getFirst() instanceof byte[] save && loaded.add(save))) {
            return null;
        }
        containers.budget().takeMemory(2L * ReadBudget.CONTAINER);
        containers.budget().takeSteps(save.length);
        try {
            return references.storage(save);
        } catch (FormatException refused) {
            if (refused.code().startsWith("COST") || refused.code().equals("TORCH-DEVICE")) {
                throw refused;
            }
            return null;
        }
    }

    private static boolean isClass(@Nullable Object value) {
        return value instanceof Symbol || PythonObjects.is(value);
    }
}

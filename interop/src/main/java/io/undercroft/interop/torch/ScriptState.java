package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Tensor;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// The state of a TorchScript archive: an `OrderedDict` of what `torch.jit.load(file).state_dict()` has, with its names
/// and in its order. What else the module holds is in the attributes of the map: `attributes`, by the same kind of
/// names, and `constants`, the tensors that the code refers to.
///
/// Made for one archive and one thread.
final class ScriptState {
    private static final String ATTRIBUTES = "attributes";
    private static final String CONSTANTS = "constants";

    private final ScriptClasses classes;
    private final ReadBudget budget;
    private final TypedMap state = new TypedMap(Globals.ORDERED_DICT);
    private final Map<@Nullable Object, @Nullable Object> attributes = new LinkedHashMap<>();

    private ScriptState(ScriptClasses classes, ReadBudget budget) {
        this.classes = classes;
        this.budget = budget;
    }

    /// {@return the state of an archive}
    ///
    /// @param module what `data.pkl` builds: the module
    /// @param constants what `constants.pkl` builds: a tuple
    /// @param classes what the code declares
    /// @param budget what the names may cost
    /// @throws FormatException if the first pickle builds no module, or one that holds itself
    static TypedMap of(@Nullable Object module, @Nullable Object constants, ScriptClasses classes, ReadBudget budget) {
        ScriptState made = new ScriptState(classes, budget);
        if (!(module instanceof TypedMap object && made.isModule(object))) {
            throw new FormatException("TORCH-SCRIPT", "the pickle of the TorchScript archive builds "
                    + CallArguments.describe(module) + " and no module", FormatException.NO_OFFSET,
                    PickleFault.DAMAGED);
        }
        made.add(object, "", 1);
        if (!made.attributes.isEmpty()) {
            made.state.attributes().put(ATTRIBUTES, made.attributes);
        }
        if (constants instanceof List<?> list && !list.isEmpty()) {
            made.state.attributes().put(CONSTANTS, constants);
        }
        return made.state;
    }

    private boolean isModule(TypedMap object) {
        return PythonObjects.is(object) && classes.isModule(PythonObjects.className(object));
    }

    /// First its parameters, then its buffers, then those of the modules in it. Recursion is safe, as the depth is
    /// limited.
    private void add(TypedMap module, String prefix, int depth) {
        if (depth > StateIndex.MAX_DEPTH) {
            throw new FormatException("TORCH-SCRIPT", "modules hold each other more than " + StateIndex.MAX_DEPTH
                    + " deep", FormatException.NO_OFFSET, PickleFault.DAMAGED);
        }
        String type = PythonObjects.className(module);
        budget.takeSteps(3L * module.size());
        module.forEach((key, value) -> {
            if (key instanceof String name && value instanceof Tensor && classes.isParameter(type, name)) {
                put(state, prefix + name, value);
            }
        });
        module.forEach((key, value) -> {
            if (key instanceof String name && value instanceof Tensor && !classes.isParameter(type, name)
                    && classes.isBuffer(type, name)) {
                put(state, prefix + name, value);
            }
        });
        module.forEach((key, value) -> {
            if (value instanceof TypedMap inner && isModule(inner)) {
                add(inner, prefix + key + ".", depth + 1);
            } else if (!(key instanceof String name && value instanceof Tensor && isInState(type, name))) {
                put(attributes, prefix + key, value);
            }
        });
        module.attributes().forEach((name, value) -> put(attributes, prefix + name, value));
    }

    private boolean isInState(String type, String name) {
        return classes.isParameter(type, name) || classes.isBuffer(type, name);
    }

    private void put(Map<@Nullable Object, @Nullable Object> map, String name, @Nullable Object value) {
        budget.takeMemory(ReadBudget.ENTRY);
        budget.takeText(name.length());
        map.putIfAbsent(name, value);
    }
}

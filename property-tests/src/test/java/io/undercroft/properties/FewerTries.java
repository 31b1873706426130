package io.undercroft.properties;

import io.undercroft.testsupport.Tries;
import java.util.List;
import net.jqwik.api.Property;
import net.jqwik.api.lifecycle.AroundTryHook;
import net.jqwik.api.lifecycle.Lifespan;
import net.jqwik.api.lifecycle.PropagationMode;
import net.jqwik.api.lifecycle.Store;
import net.jqwik.api.lifecycle.TryExecutionResult;
import net.jqwik.api.lifecycle.TryExecutor;
import net.jqwik.api.lifecycle.TryLifecycleContext;

/// Ends each law after some of the tries that it names, unless all are made: see [Tries]. jqwik finds this class as a
/// service.
public final class FewerTries implements AroundTryHook {
    /// What remains of laws of few tries, each of which costs much.
    private static final int LEAST = 20;

    /// Called by jqwik.
    public FewerTries() {}

    @Override
    public PropagationMode propagateTo() {
        return PropagationMode.ALL_DESCENDANTS;
    }

    @Override
    public TryExecutionResult aroundTry(TryLifecycleContext context, TryExecutor executor, List<Object> parameters) {
        TryExecutionResult result = executor.execute(parameters);
        Store<Integer> made = Store.getOrCreate(FewerTries.class, Lifespan.PROPERTY, () -> 0);
        made.update(count -> count + 1);
        Property property = context.targetMethod().getAnnotation(Property.class);
        boolean isEnough = property != null && !Tries.ARE_ALL
                && made.get() >= Math.max(LEAST, Tries.of(property.tries()));
        return isEnough && result.isSatisfied() ? TryExecutionResult.satisfied(true) : result;
    }
}

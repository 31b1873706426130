package io.undercroft.cuda;

import io.undercroft.cuda.internal.Rings;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/// Tests over the stand-in for NVIDIA's driver: skipped where it cannot be built, unless [StandIn#REQUIRED] is set.
/// Each begins with a stand-in in which nothing fails, and has to leave no contexts pushed and no work behind.
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(NeedsStandIn.Extension.class)
@interface NeedsStandIn {
    /// Loads it.
    final class Extension implements ExecutionCondition, BeforeEachCallback, AfterEachCallback {
        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            String failure = StandIn.failure().orElse(null);
            if (failure == null) {
                return ConditionEvaluationResult.enabled("the stand-in is loaded");
            } else if ("1".equals(System.getenv(StandIn.REQUIRED))) {
                throw new IllegalStateException(StandIn.REQUIRED + " is set, but " + failure);
            }
            return ConditionEvaluationResult.disabled("skipped, since " + failure);
        }

        @Override
        public void beforeEach(ExtensionContext context) {
            StandIn.reset();
        }

        @Override
        public void afterEach(ExtensionContext context) {
            StandIn.reset();
            Rings.free();
            if (StandIn.depth() != 0 || StandIn.get("pending") != 0) {
                throw new AssertionError(StandIn.depth() + " contexts are still pushed, " + StandIn.get("pending")
                        + " pieces of work are still pending");
            }
        }
    }
}

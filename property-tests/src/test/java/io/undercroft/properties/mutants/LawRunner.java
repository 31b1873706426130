package io.undercroft.properties.mutants;

import java.lang.reflect.Method;
import java.util.Arrays;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/// Runs a class of laws, or one of its methods, in a JVM of its own, and exits with one of its codes.
final class LawRunner implements TestExecutionListener {
    /// The law holds.
    static final int HOLDS = 40;
    /// The law does not hold; what was printed says how.
    static final int FAILED = 41;

    private int tests;
    private int failures;

    private LawRunner() {}

    /// Runs the laws of a class, or one of them.
    ///
    /// @param arguments `Class` or `Class#method`
    /// @throws ReflectiveOperationException if there is no such law
    public static void main(String... arguments) throws ReflectiveOperationException {
        String[] law = arguments[0].split("#", -1);
        Class<?> type = Class.forName(law[0]);
        DiscoverySelector selector = DiscoverySelectors.selectClass(type);
        if (law.length > 1) {
            Method method = Arrays.stream(type.getDeclaredMethods()).filter(each -> each.getName().equals(law[1]))
                    .findFirst().orElseThrow(() -> new NoSuchMethodException(arguments[0]));
            selector = DiscoverySelectors.selectMethod(type, method);
        }
        LawRunner runner = new LawRunner();
        LauncherFactory.create().execute(LauncherDiscoveryRequestBuilder.request().selectors(selector).build(), runner);
        if (runner.tests > 0) {
            System.exit(runner.failures > 0 ? FAILED : HOLDS);
        }
        throw new NoSuchMethodException(arguments[0]);
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        tests += test.isTest() ? 1 : 0;
        failures += test.isTest() && result.getStatus() == TestExecutionResult.Status.FAILED ? 1 : 0;
    }
}

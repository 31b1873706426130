package io.undercroft.properties.threads;

import io.undercroft.benchmarks.Environment;
import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Report;
import io.undercroft.properties.Effort;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.EngineFilter;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

/// Runs the scenarios of several threads in many schedules. They are the same in each run.
public final class SchedulesProof {
    private static final List<Class<?>> SCENARIOS = List.of(ReferenceCountSchedules.class, FirstTouchSchedules.class,
            CloseSchedules.class, FollowerSchedules.class, CommitNumberSchedules.class, OpenMembersSchedules.class);

    private SchedulesProof() {}

    public static Report run(Effort effort) throws IOException {
        // For `Tries`.
        System.setProperty("undercroft.tries", effort == Effort.FULL ? "all" : "some");
        SummaryGeneratingListener summary = new SummaryGeneratingListener();
        LauncherFactory.create().execute(LauncherDiscoveryRequestBuilder.request()
                .selectors(SCENARIOS.stream().map(DiscoverySelectors::selectClass).toList())
                .filters(EngineFilter.includeEngines("junit-jupiter")).build(), summary);
        summary.getSummary().getFailures().forEach(failure -> System.out
                .println("FAILED: " + failure.getTestIdentifier().getDisplayName() + ": " + failure.getException()));
        List<Figure> figures = new ArrayList<>();
        Interleavings.results().forEach((name, count) -> figures.add(Figure.count(name + ": schedules", count)));
        figures.add(Figure.count("scenarios that do not hold", summary.getSummary().getTotalFailureCount()).atMost(0));
        return new Report("schedules", figures, Environment.of(Path.of("")));
    }
}

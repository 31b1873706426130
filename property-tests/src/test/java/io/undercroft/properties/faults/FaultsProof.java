package io.undercroft.properties.faults;

import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Report;
import io.undercroft.properties.Effort;
import io.undercroft.properties.RandomProof;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/// Lets every call of a save, a commit, an open, a publish, a compaction and a conversion fail once, in several ways,
/// and looks at what is left: nothing is lost, nothing is leaked, and the caller is told by an exception of a type that
/// is meant for that.
public final class FaultsProof {
    private static final int QUICK = 6;

    private FaultsProof() {}

    public static Report run(Effort effort) throws IOException {
        return RandomProof.report("faults", (seed, scratch) -> {
            List<String> broken = new ArrayList<>();
            List<Figure> figures = run(scratch.directory(), seed, effort == Effort.FULL ? Integer.MAX_VALUE : QUICK,
                    System.getProperty("faults.verbs", ".*"), broken);
            broken.forEach(each -> System.out.println("BROKEN: " + each));
            figures.add(Figure.count("broken", broken.size()).atMost(0));
            return figures;
        });
    }

    /// {@return how many calls there were, and how many of them failed}
    ///
    /// @param scratch a folder
    /// @param seed of all that is random
    /// @param tries about how many calls of each piece of work fail in each way
    /// @param verbs the pieces of work, as a pattern of their names
    /// @param broken takes what does not hold
    /// @throws IOException if the libraries cannot be loaded so that their calls fail
    static List<Figure> run(Path scratch, long seed, int tries, String verbs, List<String> broken) throws IOException {
        Thread thread = Thread.currentThread();
        ClassLoader context = thread.getContextClassLoader();
        WovenClasses woven = new WovenClasses();
        // Formats are found by it.
        thread.setContextClassLoader(woven);
        try {
            Method run = Class.forName(FaultRun.class.getName(), true, woven).getDeclaredMethod("run", Path.class,
                    long.class, int.class, String.class, List.class);
            run.setAccessible(true);
            List<Figure> figures = new ArrayList<>();
            for (Object figure : (List<?>) run.invoke(null, scratch, seed, tries, verbs, broken)) {
                figures.add((Figure) figure);
            }
            woven.unseen().forEach(method -> broken.add(method + " is called by a reference, which is not seen"));
            return figures;
        } catch (InvocationTargetException e) {
            throw new IOException("the proof fails", e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("the proof cannot be started", e);
        } finally {
            thread.setContextClassLoader(context);
        }
    }
}

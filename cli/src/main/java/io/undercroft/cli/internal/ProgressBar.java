package io.undercroft.cli.internal;

import io.undercroft.serializer.ProgressListener;
import java.io.Console;
import java.io.PrintWriter;
import java.io.Writer;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;

/// A progress line on a terminal for work that takes long, such as a save; it is erased at the end, and when the
/// process ends before, by Ctrl-C for instance.
public final class ProgressBar implements ProgressListener, AutoCloseable {
    /// Shorter work prints results only.
    private static final long PATIENCE = Duration.ofSeconds(1).toNanos();
    private static final long BETWEEN = Duration.ofMillis(100).toNanos();
    private static final int WIDTH = 30;
    private static final int PERCENT = 100;
    /// What a terminal shows for it, behind the bar.
    private static final String CTRL_C = "^C";

    private final PrintWriter out;
    private final LongSupplier clock;
    private final LongFunction<String> amount;
    private final long start;
    private final Thread atExit = new Thread(this::end, "croft-progress");
    private boolean isRegistered;
    private boolean hasEnded;
    private long next;
    private int shown;

    /// A bar that shows nothing yet.
    ///
    /// @param out the stream to show it on
    /// @param clock nanoseconds from some moment on
    /// @param amount puts an amount of work into words
    ProgressBar(Writer out, LongSupplier clock, LongFunction<String> amount) {
        this.out = new PrintWriter(out);
        this.clock = clock;
        this.amount = amount;
        this.start = clock.getAsLong();
        this.next = start + PATIENCE;
    }

    /// {@return a bar on the terminal for work on bytes; one that shows nothing where there is no terminal}
    public static ProgressBar onTerminal() {
        return onTerminal(Text::bytes);
    }

    /// {@return a bar on the terminal for work on things that are counted}
    ///
    /// @param one the noun for one of them
    /// @param several the noun for several of them
    public static ProgressBar counting(String one, String several) {
        return onTerminal(count -> Text.number(count) + " " + (count == 1 ? one : several));
    }

    private static ProgressBar onTerminal(LongFunction<String> amount) {
        return new ProgressBar(terminal().map(Console::writer).orElseGet(() -> new PrintWriter(Writer.nullWriter())),
                System::nanoTime, amount);
    }

    /// {@return the terminal, if standard output is one} JDK 22 always gave a console; 25 gives none again where there
    /// is none.
    @SuppressWarnings("SystemConsoleNull")
    public static Optional<Console> terminal() {
        return Optional.ofNullable(System.console()).filter(Console::isTerminal);
    }

    @Override
    public void onProgress(long done, long total) {
        if (total > 0) {
            show(nanos -> line(done, total, nanos));
        }
    }

    /// Reports work whose end is not known.
    ///
    /// @param done the amount that is done
    public void advanced(long done) {
        show(nanos -> "%s, %s/s".formatted(amount.apply(done), amount.apply(rate(done, nanos))));
    }

    private void show(LongFunction<String> line) {
        long now = clock.getAsLong();
        if (now - next >= 0) {
            next = now + BETWEEN;
            show(line.apply(now - start));
        }
    }

    private static long rate(long done, long nanos) {
        return (long) (done / (nanos / 1e9));
    }

    private String line(long done, long total, long nanos) {
        int filled = (int) ((double) done / total * WIDTH);
        long rate = rate(done, nanos);
        return String.format(Locale.ROOT, "[%s%s] %d %% of %s, %s/s%s", "#".repeat(filled),
                ".".repeat(WIDTH - filled), (int) ((double) done / total * PERCENT), amount.apply(total),
                amount.apply(rate), rate > 0 ? ", " + duration((total - done) / rate) + " left" : "");
    }

    private static String duration(long seconds) {
        return seconds < 3600
                ? "%d:%02d".formatted(seconds / 60, seconds % 60)
                : "%d:%02d:%02d".formatted(seconds / 3600, seconds / 60 % 60, seconds % 60);
    }

    private synchronized void show(String line) {
        if (hasEnded || !register()) {
            return;
        }
        draw(line);
    }

    /// Lets the end of the process erase the bar; false if it is ending.
    private boolean register() {
        if (!isRegistered) {
            try {
                Runtime.getRuntime().addShutdownHook(atExit);
            } catch (IllegalStateException _) {
                return false;
            }
            isRegistered = true;
        }
        return true;
    }

    private void draw(String line) {
        out.print("\r" + line + " ".repeat(Math.max(0, shown - line.length())));
        out.flush();
        shown = line.length();
    }

    /// Removes the bar until more progress is reported.
    public synchronized void erase() {
        if (shown > 0) {
            draw("");
            out.print("\r");
            out.flush();
            shown = 0;
        }
    }

    private synchronized void end() {
        hasEnded = true;
        shown += shown > 0 ? CTRL_C.length() : 0;
        erase();
    }

    /// Removes the bar.
    @Override
    public void close() {
        erase();
        if (isRegistered) {
            try {
                Runtime.getRuntime().removeShutdownHook(atExit);
            } catch (IllegalStateException _) {
                // The process is ending, and the bar is erased.
            }
        }
    }
}

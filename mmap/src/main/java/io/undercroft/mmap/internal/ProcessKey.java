package io.undercroft.mmap.internal;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// The permanent identity of a process: its number, when it started, and the namespace of that number.
/// Processes of two containers may have one number, and so may two processes one after the other.
///
/// @param pid its number, as it sees itself
/// @param startMillis the time at which it started, in milliseconds since 1970
/// @param namespace the inode of its namespace of process numbers; 0 where there are none
record ProcessKey(long pid, long startMillis, long namespace) {
    /// No number has more digits than fit into a `long`.
    static final String PATTERN = "(\\d{1,18})-(\\d{1,18})-(\\d{1,18})";

    private static final Pattern TEXT = Pattern.compile(PATTERN);
    private static final Path NAMESPACE = Path.of("/proc/self/ns/pid");

    /// {@return the key of this process, the same for every call and every copy of this library}
    static ProcessKey ofThisProcess() {
        return OfThisProcess.KEY;
    }

    /// {@return the key of a text, or nothing if the text is no key}
    ///
    /// @param text any text
    static Optional<ProcessKey> parse(String text) {
        Matcher matcher = TEXT.matcher(text);
        return matcher.matches() ? Optional.of(of(matcher, 1)) : Optional.empty();
    }

    /// {@return the key of a match of [#PATTERN]}
    ///
    /// @param match the match
    /// @param group the number of the first of its three groups
    static ProcessKey of(Matcher match, int group) {
        return new ProcessKey(Long.parseLong(match.group(group)), Long.parseLong(match.group(group + 1)),
                Long.parseLong(match.group(group + 2)));
    }

    /// {@return the time at which it started}
    Instant start() {
        return Instant.ofEpochMilli(startMillis);
    }

    /// {@return another key of this process, for a second copy of this library in it}
    ProcessKey next() {
        return new ProcessKey(pid, startMillis + 1, namespace);
    }

    /// {@return the text that [#parse] takes}
    @Override
    public String toString() {
        return pid + "-" + startMillis + "-" + namespace;
    }

    private static final class OfThisProcess {
        static final ProcessKey KEY = make();

        private static ProcessKey make() {
            ProcessHandle self = ProcessHandle.current();
            Optional<Instant> start = self.info().startInstant();
            return new ProcessKey(self.pid(), (start.isPresent() ? start.get() : Instant.now()).toEpochMilli(),
                    namespace());
        }

        /// The link reads `pid:[4026531836]`.
        private static long namespace() {
            try {
                String digits = Files.readSymbolicLink(NAMESPACE).toString().replaceAll("\\D", "");
                return Long.parseLong(digits);
            } catch (IOException | NumberFormatException none) {
                return 0;
            }
        }
    }
}

package io.undercroft.mmap.internal;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/// The available memory as Linux reports it: on the host, and in the groups of processes (containers) that this one is
/// in.
public final class FreeMemory {
    private static final Pattern AVAILABLE = Pattern.compile("MemAvailable:\\s+(\\d{1,15}) kB");
    /// A missing limit is `max` or a number of 19 digits.
    private static final Pattern NUMBER = Pattern.compile("^(\\d{1,18})$", Pattern.MULTILINE);
    private static final Pattern CACHED = Pattern.compile("^(?:in)?active_file (\\d{1,18})$", Pattern.MULTILINE);
    private static final Pattern TOTAL_CACHED = Pattern.compile("^total_(?:in)?active_file (\\d{1,18})$",
            Pattern.MULTILINE);
    private static final int KILO = 1024;

    private final Path root;

    /// @param root the directory that contains `proc` and `sys`
    FreeMemory(Path root) {
        this.root = root;
    }

    /// {@return the number of bytes that may be taken before the system runs out of memory; empty if unknown}
    public static OptionalLong bytes() {
        return new FreeMemory(Path.of("/")).least();
    }

    /// {@return the number of bytes left in the most restrictive of them}
    OptionalLong least() {
        LongStream host = numbers(AVAILABLE, root.resolve("proc/meminfo")).map(kilos -> kilos * KILO);
        LongStream groups = text(root.resolve("proc/self/cgroup")).lines().flatMapToLong(this::inGroups);
        return LongStream.concat(host, groups).min();
    }

    /// @param line `NUMBER:CONTROLLERS:PATH`; version 2 of the groups names no controllers
    private LongStream inGroups(String line) {
        String[] parts = line.split(":", 3);
        if (parts.length == 3 && parts[1].isEmpty()) {
            return folders(root.resolve("sys/fs/cgroup"), parts[2])
                    .flatMapToLong(folder -> free(folder, "memory.max", "memory.current", CACHED));
        }
        if (parts.length == 3 && List.of(parts[1].split(",")).contains("memory")) {
            return folders(root.resolve("sys/fs/cgroup/memory"), parts[2])
                    .flatMapToLong(folder -> free(folder, "memory.limit_in_bytes", "memory.usage_in_bytes",
                            TOTAL_CACHED));
        }
        return LongStream.empty();
    }

    /// Returns a group and those that it is in. In a container the path may be that on the host, of which only the top
    /// is there.
    private static Stream<Path> folders(Path top, String path) {
        return Stream.iterate(top.resolve("." + path).normalize(), folder -> folder.startsWith(top), Path::getParent);
    }

    /// Cached files count as used until the memory is needed.
    private static LongStream free(Path group, String limit, String usage, Pattern files) {
        long cached = numbers(files, group.resolve("memory.stat")).sum();
        return numbers(NUMBER, group.resolve(limit)).flatMap(most -> numbers(NUMBER, group.resolve(usage))
                .map(used -> Math.max(0, most - Math.max(0, used - cached))));
    }

    private static LongStream numbers(Pattern pattern, Path file) {
        return pattern.matcher(text(file)).results().mapToLong(match -> Long.parseLong(match.group(1)));
    }

    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException none) {
            return "";
        }
    }
}

package io.undercroft.mmap.internal;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;

/// Chooses the directory of a user's registry: `undercroft-UID`, or `undercroft-UID-RANDOM` where another user owns
/// that name.
///
/// All processes of the user have to choose the same one. So an existing one of this user is used before a new one is
/// created, and if there are several, the one that is in use, or else the first by name. If another user owns the name
/// and two processes are the first ones at the same moment, each may create one. Then each sees only its own, which
/// affects [Registry#list] and names that are removed with their last holder, until these processes have ended.
final class RegistryHome {
    private static final int RADIX = 36;
    private static final Pattern SUFFIX = Pattern.compile("-[0-9a-z]{1,13}");

    private final RegistryFiles files;
    private final String path;
    private final String name;

    /// Chooses among the directories of a user.
    ///
    /// @param files the steps
    /// @param path the directory that has the segments
    /// @param user the number of their owner
    RegistryHome(RegistryFiles files, String path, long user) {
        this.files = files;
        this.path = path;
        this.name = "undercroft-" + user;
    }

    /// {@return the directory that has the segments}
    String path() {
        return path;
    }

    /// {@return the path of the directory unless another user owns it}
    String preferred() {
        return path + "/" + name;
    }

    /// {@return the path of the directory, which may not exist yet}
    ///
    /// @throws IOException if a system call fails
    String choose() throws IOException {
        String preferred = preferred();
        if (files.isOurs(preferred)) {
            return preferred;
        }
        List<String> others = files.list(path).stream().filter(this::isFallback).sorted()
                .map(fallback -> path + "/" + fallback).toList();
        String first = null;
        for (String other : others) {
            if (files.isOurs(other)) {
                if (!files.list(other).isEmpty()) {
                    return other;
                }
                first = first == null ? other : first;
            }
        }
        if (first != null) {
            return first;
        }
        return files.isForeign(preferred) ? fresh() : preferred;
    }

    private boolean isFallback(String candidate) {
        return candidate.startsWith(name) && SUFFIX.matcher(candidate.substring(name.length())).matches();
    }

    private String fresh() {
        return preferred() + "-" + Long.toString(ThreadLocalRandom.current().nextLong(Long.MAX_VALUE), RADIX);
    }
}

package io.undercroft.mmap.internal;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;

/// Chooses the directory of a user's registry: `undercroft-UID`, or `undercroft-UID-RANDOM` where another user has that
/// name.
///
/// All processes of the user have to choose the same one. So one of this user that is there is taken before a new one
/// is made, and of several the one that is in use, or else the first by name. Two processes that are the very first at
/// the same moment, while another user has the name, may create one each: then each sees only its own, which affects
/// [SegmentNames#list] and names that are removed with their last holder, and ends with these processes.
final class RegistryHome {
    private static final int RADIX = 36;
    private static final Pattern SUFFIX = Pattern.compile("-[0-9a-z]{1,13}");

    private final RegistryFiles files;
    private final String path;
    private final String name;

    /// A chooser.
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

    /// {@return the path of the directory unless another user has it}
    String preferred() {
        return path + "/" + name;
    }

    /// {@return the path of the directory, there or to be made}
    ///
    /// @throws IOException if that cannot be found out
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

package io.undercroft.serializer.internal;

import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.UnreadPart.Kind;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// The other files of a model of which a file is one part.
public final class OtherFiles {
    /// As transformers, diffusers and llama.cpp name the parts.
    private static final Pattern NAME = Pattern.compile("-([0-9]{5,6})-of-([0-9]{5,6})\\.[^/\\\\]*$");

    private OtherFiles() {}

    /// {@return the parts that a state does not contain, with the other files if the name of the file counts them and
    /// its contents do not}
    ///
    /// @param parts those that the contents of the file have
    /// @param location the name of the file
    public static List<UnreadPart> in(List<UnreadPart> parts, String location) {
        Matcher name = NAME.matcher(location);
        if (!name.find() || parts.stream().anyMatch(part -> part.kind() == Kind.FILE)) {
            return parts;
        }
        long count = Long.parseLong(name.group(2));
        return count < 2
                ? parts
                : Stream.concat(parts.stream(), Stream.of(UnreadPart.ofFiles(count - 1,
                        "this is file %d of %d by its name".formatted(Long.parseLong(name.group(1)), count)))).toList();
    }
}

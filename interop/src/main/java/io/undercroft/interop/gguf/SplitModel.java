package io.undercroft.interop.gguf;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.FileSet.Model;
import io.undercroft.serializer.state.TypedMap;
import java.net.URI;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/// A model that llama.cpp or `GGUFWriter` has split into several files, `NAME-00001-of-00003.gguf` and so on, as one of
/// the files describes it. Each has some of the tensors, and the first one the metadata of the model.
///
/// @param number the number of the file, from 0
/// @param count the number of files; less than 2 if the model is not split
/// @param tensors the number of tensors in all files; negative if the file does not have it
record SplitModel(long number, long count, long tensors) {
    private static final String NUMBER = "split.no";
    private static final String COUNT = "split.count";
    private static final String TENSORS = "split.tensors.count";
    private static final Pattern NAME = Pattern.compile("(.*)-([0-9]{5})-of-([0-9]{5})([.]gguf)",
            Pattern.DOTALL | Pattern.CASE_INSENSITIVE);

    static SplitModel of(GgufHeader header) {
        return new SplitModel(header.number(NUMBER, 0), header.number(COUNT, 1), header.number(TENSORS, -1));
    }

    /// {@return the names of all files if this is the first one of several and is called so, that of this one empty; or
    /// else nothing}
    ///
    /// @param file the file
    List<String> files(MappedFile file) {
        if (count < 2 || number != 0) {
            return List.of();
        }
        return name(file).map(name -> IntStream.range(0, (int) count)
                .mapToObj(each -> each == 0 ? "" : fileName(name, each)).toList()).orElse(List.of());
    }

    /// {@return the other files, if there are some}
    ///
    /// @param file the file
    /// @param here the number of tensors in it
    Optional<UnreadPart> others(MappedFile file, int here) {
        String first = number == 0
                ? ""
                : name(file).map(name -> "; open " + FormatException.quote(fileName(name, 0)) + " for the whole model")
                        .orElse("");
        return count < 2
                ? Optional.empty()
                : Optional.of(UnreadPart.ofFiles(count - 1, "this is file %s of %s, with %s of its %s tensors%s"
                        .formatted(number + 1, count, here, tensors < 0 ? here : tensors, first)));
    }

    /// {@return the name of a file, in its parts, if it is that of this one}
    private Optional<Matcher> name(MappedFile file) {
        Matcher name = NAME.matcher(file.source().isPresent()
                ? lastSegment(file.location())
                : String.valueOf(file.path().getFileName()));
        return name.matches() && Long.parseLong(name.group(2)) == number + 1 && Long.parseLong(name.group(3)) == count
                ? Optional.of(name)
                : Optional.empty();
    }

    private static String lastSegment(String location) {
        String path;
        try {
            path = Objects.requireNonNullElse(URI.create(location).getPath(), location);
        } catch (IllegalArgumentException _) {
            path = location;
        }
        return path.substring(path.lastIndexOf('/') + 1);
    }

    private static String fileName(Matcher name, int number) {
        return String.format(Locale.ROOT, "%s-%05d-of-%s%s", name.group(1), number + 1, name.group(3), name.group(4));
    }

    /// Checks that another file belongs to the model.
    ///
    /// @param expected the number that it should have
    /// @param other what it says
    void check(int expected, SplitModel other) {
        if (!other.equals(new SplitModel(expected, count, tensors))) {
            throw foreign(("its metadata say that it is file %s of %s of a model with %s tensors, and not file %s of %s"
                    + " with %s")
                    .formatted(other.number + 1, other.count, other.tensors, expected + 1, count, tensors));
        }
    }

    private static FormatException foreign(String what) {
        return new FormatException("GGUF-SPLIT", what, FormatException.NO_OFFSET,
                "Put all files of one model next to each other; get them again from their source");
    }

    /// {@return the model}
    ///
    /// @param parts the files
    /// @param text the metadata of the first one
    Model union(List<Contents> parts, Map<String, String> text) {
        TypedMap state = new TypedMap(GgufFormat.NAME);
        for (int part = 0; part < parts.size(); part++) {
            TypedMap tensors = (TypedMap) Objects.requireNonNull(parts.get(part).state());
            if (part == 0) {
                state.attributes().putAll(tensors.attributes());
            }
            for (Map.Entry<Object, Object> each : tensors.entrySet()) {
                if (state.putIfAbsent(each.getKey(), each.getValue()) != null) {
                    throw foreign("the tensor " + FormatException.quote(String.valueOf(each.getKey()))
                            + " is in file " + (part + 1) + " and in one before");
                }
            }
        }
        if (tensors >= 0 && tensors != state.size()) {
            throw foreign("the files have " + state.size() + " tensors and not " + tensors);
        }
        Map<String, String> metadata = new LinkedHashMap<>(text);
        // The model is whole.
        for (String key : List.of(NUMBER, COUNT, TENSORS)) {
            state.attributes().remove(key);
            metadata.remove(key);
        }
        return new Model(state, metadata, List.of());
    }
}

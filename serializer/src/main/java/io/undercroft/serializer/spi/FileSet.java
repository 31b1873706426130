package io.undercroft.serializer.spi;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.internal.Formats;
import io.undercroft.serializer.internal.sets.OpenSet;
import io.undercroft.serializer.internal.sets.SetContents;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// The files of a model whose index names them, its *members*, for the formats of such indexes.
///
/// Members are in the directory of the index or below it, or next to it in its store. If the index is reached by a
/// link, they are next to the link or next to the file. A symbolic link to a file elsewhere is followed below
/// [OpenOptions#root(java.nio.file.Path)].
public final class FileSet {
    private FileSet() {}

    /// How a member is opened.
    @FunctionalInterface
    public interface Opening {
        /// Opens a member.
        ///
        /// @param number its number
        /// @param file the file, which outlives the contents
        /// @return the contents
        /// @throws FormatException if it is malformed, or not the file that the index means
        /// @throws IOException if reading fails
        Contents open(int number, MappedFile file) throws IOException;
    }

    /// What the members make up.
    ///
    /// @param state the state, on storages of the members
    /// @param metadata the metadata
    /// @param unread the parts that are not in the state, besides those that the members name
    public record Model(Object state, Map<String, String> metadata, List<UnreadPart> unread) {}

    /// Puts a model together.
    @FunctionalInterface
    public interface Union {
        /// {@return what the members make up}
        ///
        /// @param members the members
        /// @throws FormatException if they do not belong together
        Model of(List<Contents> members);
    }

    /// Opens all members, which stay open until the contents are released.
    ///
    /// @param index the index
    /// @param names the names of the members, relative to the directory of the index, with `/` between their parts; an
    ///     empty name is the index itself
    /// @param options how the files are mapped, and which tensors are chosen
    /// @param opening how a member is opened
    /// @param union what they make up
    /// @return the contents of the set
    /// @throws FormatException with the code `SHARD-INDEX` if a member is missing or not where it may be; that of
    ///     another one if it is malformed
    /// @throws IOException if reading fails
    public static Contents open(MappedFile index, List<String> names, OpenOptions options, Opening opening,
            Union union) throws IOException {
        OpenSet<Contents> set = new OpenSet<>(index, names, options,
                (number, file) -> opened(opening, number, file),
                (what, remedy) -> new FormatException("SHARD-INDEX", what, FormatException.NO_OFFSET, remedy));
        try {
            List<Contents> members = new ArrayList<>();
            for (int number = 0; number < names.size(); number++) {
                members.add(set.keep(number, (_, contents) -> contents));
            }
            Model model = union.of(members);
            List<UnreadPart> unread = new ArrayList<>(model.unread);
            for (int number = 0; number < names.size(); number++) {
                String in = names.get(number).isEmpty()
                        ? ""
                        : ", in the shard " + FormatException.quote(names.get(number));
                // A member that says that it is one of several is with the others.
                members.get(number).unread().stream().filter(part -> part.kind() != UnreadPart.Kind.FILE)
                        .forEach(part -> unread.add(new UnreadPart(part.kind(), part.what() + in, part.offset(),
                                part.nbytes(), part.setting())));
            }
            Map<String, ForeignClass> classes = new LinkedHashMap<>();
            members.forEach(member -> member.foreignClasses().forEach(each -> classes.merge(each.name(), each,
                    (one, other) -> new ForeignClass(one.name(), one.objects() + other.objects(),
                            one.isDangerous()))));
            return new SetContents<>(set, model.state, model.metadata).withUnread(unread)
                    .withForeignClasses(List.copyOf(classes.values())).only(options);
        } catch (FormatException e) {
            set.close();
            throw naming(index, e);
        } catch (Throwable e) {
            set.close();
            throw e;
        }
    }

    private static Contents opened(Opening opening, int number, MappedFile file) throws IOException {
        try {
            return opening.open(number, file);
        } catch (FormatException e) {
            throw Formats.namingLookalike(e, file);
        }
    }

    /// Adds the name of the index to the exception of another file.
    private static FormatException naming(MappedFile index, FormatException e) {
        String file = e.file();
        if (file == null) {
            return e;
        }
        String name = index.source().isPresent() ? index.location() : String.valueOf(index.path().getFileName());
        return new FormatException(e.code(), "a shard of " + FormatException.quote(name) + ": " + e.what(), e.offset(),
                e.remedy(), e).withFile(file);
    }
}

package io.undercroft.serializer.internal.writing;

import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.Formats;
import io.undercroft.serializer.internal.References;
import io.undercroft.serializer.internal.disk.FileTarget;
import io.undercroft.serializer.internal.disk.Target;
import io.undercroft.serializer.spi.Draft;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/// The files of a set whose index a save replaces: those that the former index names and that are next to it. The save
/// replaces none of them, and the new file needs none of them.
///
/// @param deleted the files that were deleted
/// @param left the others
record FormerFiles(List<Path> deleted, List<Path> left) {
    static final FormerFiles NONE = new FormerFiles(List.of(), List.of());

    /// Reads their names.
    ///
    /// @param target the file that will be replaced; it need not be there, or be an index
    static FormerFiles of(Target target) {
        Path index = target.file();
        return index == null
                ? NONE
                : new FormerFiles(List.of(), Formats.companionNames(index).stream()
                        .filter(Draft::isPlainName).map(index::resolveSibling).filter(each -> !each.equals(index))
                        .filter(each -> Files.isRegularFile(each, LinkOption.NOFOLLOW_LINKS)).toList());
    }

    /// Deletes them if the options say so, now that the new file is durable.
    ///
    /// @param target the new file
    /// @param options the options of the save
    /// @return what became of them
    FormerFiles replaced(Target target, SaveOptions options) {
        if (!options.isDeletingFormerFiles() || !(target instanceof FileTarget index)) {
            return this;
        }
        List<Path> gone = new ArrayList<>();
        List<Path> kept = new ArrayList<>();
        for (Path file : left) {
            (isDeleted(file, index) ? gone : kept).add(file);
        }
        return new FormerFiles(gone, kept);
    }

    private static boolean isDeleted(Path file, FileTarget index) {
        try {
            if (References.openReferrer(file, index.path()).isPresent()) {
                return false;
            }
            index.disk().delete(file);
            return true;
        } catch (IOException _) {
            return false;
        }
    }
}

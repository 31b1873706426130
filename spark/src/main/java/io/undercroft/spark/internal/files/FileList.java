package io.undercroft.spark.internal.files;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.GlobFilter;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.jspecify.annotations.Nullable;

/// Lists files, of the file systems of Hadoop.
public final class FileList {
    private final Configuration configuration;
    private final Predicate<String> isWanted;
    private final boolean withIndexes;

    /// A list of the files of some names.
    ///
    /// @param configuration the file systems
    /// @param glob a glob for the names of files; null for all
    /// @param withIndexes whether directories are searched for the indexes of sets and not for the files of these sets;
    ///     otherwise for the files and not for the indexes
    /// @throws IllegalArgumentException if the glob is invalid
    public FileList(Configuration configuration, @Nullable String glob, boolean withIndexes) {
        this.configuration = configuration;
        this.withIndexes = withIndexes;
        if (glob == null) {
            this.isWanted = _ -> true;
        } else {
            try {
                GlobFilter filter = new GlobFilter(glob);
                this.isWanted = name -> filter.accept(new Path("/" + name));
            } catch (IOException e) {
                throw new IllegalArgumentException("the glob " + glob + " is invalid: " + e.getMessage(), e);
            }
        }
    }

    /// Finds the files of some paths: those that are named, whatever their names are, and those below directories whose
    /// names have the suffix of a known format. Each is listed once.
    ///
    /// @param paths files, directories or globs
    /// @return the files, sorted by their URIs below each path
    /// @throws FileNotFoundException if a path matches nothing
    /// @throws IOException if listing fails
    public List<DataFile> of(List<String> paths) throws IOException {
        Map<URI, DataFile> found = new LinkedHashMap<>();
        for (String given : paths) {
            Path path = new Path(given);
            FileSystem files = path.getFileSystem(configuration);
            // Null for a path without a pattern that is not there.
            FileStatus[] matching = files.globStatus(files.makeQualified(path));
            if (matching == null || matching.length == 0) {
                throw new FileNotFoundException("the path " + given + " matches no file; check the path, and that all"
                        + " machines have the file system that it is in");
            }
            List<DataFile> ofPath = new ArrayList<>();
            for (FileStatus each : matching) {
                if (each.isDirectory()) {
                    addBelow(each.getPath(), files, ofPath);
                } else if (isWanted.test(each.getPath().getName())) {
                    ofPath.add(file(each, each.getPath()));
                }
            }
            ofPath.sort((one, other) -> one.uri().compareTo(other.uri()));
            ofPath.forEach(file -> found.putIfAbsent(file.uri(), file));
        }
        return List.copyOf(found.values());
    }

    private void addBelow(Path directory, FileSystem files, List<DataFile> found) throws IOException {
        List<DataFile> all = new ArrayList<>();
        for (FileStatus each : filesBelow(directory, files)) {
            String name = each.getPath().getName();
            if (FormatNames.isKnown(name) && isWanted.test(name) && !isHidden(each, directory)) {
                all.add(file(each, directory));
            }
        }
        if (!withIndexes) {
            all.removeIf(file -> FormatNames.isIndex(file.name()));
        }
        Set<URI> listed = all.stream().map(DataFile::uri).collect(Collectors.toUnmodifiableSet());
        all.removeIf(file -> FormatNames.indexOf(file.name())
                .filter(index -> listed.contains(sibling(file.uri(), index))).isPresent());
        found.addAll(all);
    }

    /// Lists stores by few requests. On the host that would start a process for each file, to find its permissions.
    private static List<FileStatus> filesBelow(Path directory, FileSystem files) throws IOException {
        List<FileStatus> found = new ArrayList<>();
        if (!files.getUri().getScheme().equals("file")) {
            RemoteIterator<LocatedFileStatus> below = files.listFiles(directory, true);
            while (below.hasNext()) {
                found.add(below.next());
            }
            return found;
        }
        Deque<Path> left = new ArrayDeque<>(List.of(directory));
        while (!left.isEmpty()) {
            for (FileStatus each : files.listStatus(left.remove())) {
                if (each.isDirectory()) {
                    left.add(each.getPath());
                } else {
                    found.add(each);
                }
            }
        }
        return found;
    }

    private static URI sibling(URI file, String name) {
        return new Path(new Path(file).getParent(), name).toUri();
    }

    /// Returns whether a name on the way to a file begins as those of temporary files of jobs do.
    private static boolean isHidden(FileStatus file, Path directory) {
        for (Path each = file.getPath(); !each.equals(directory) && each.getParent() != null; each = each
                .getParent()) {
            if (each.getName().startsWith("_") || each.getName().startsWith(".")) {
                return true;
            }
        }
        return false;
    }

    private static DataFile file(FileStatus status, Path root) {
        return new DataFile(status.getPath().toUri(), directoryOf(status, root), status.getLen(),
                status.getModificationTime());
    }

    /// The URI of a directory ends with a slash, so that the URIs of its files are relative to it.
    private static URI directoryOf(FileStatus status, Path root) {
        String uri = root.toUri().toString();
        return status.getPath().equals(root) || uri.endsWith("/") ? root.toUri() : URI.create(uri + "/");
    }
}

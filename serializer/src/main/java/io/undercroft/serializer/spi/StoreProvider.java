package io.undercroft.serializer.spi;

import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.mmap.spi.RangeSource;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import java.io.IOException;
import java.net.URI;
import java.util.List;
import java.util.Set;

/// A provider of a store, whose objects [Checkpoint#open(URI)][io.undercroft.serializer.Checkpoint#open(URI)] opens and
/// [Checkpoint#save(URI, Object)][io.undercroft.serializer.Checkpoint#save(URI, Object)] writes. Loaded by
/// [java.util.ServiceLoader] with the class loader of this library and the context class loader of the calling thread;
/// the first provider of the scheme of a URI is used. Implementations have a public constructor without parameters and
/// are thread-safe.
///
/// Files of the host are not in a store: `file:` URIs are opened as paths.
public interface StoreProvider {
    /// {@return the schemes of the URIs of its objects, in lower case, for instance `https`}
    Set<String> schemes();

    /// {@return the settings for opening and writing objects, as those of a [format][CheckpointFormat#settings]} Their
    /// names begin with a scheme or the name of the store, and a dot.
    default List<Setting> settings() {
        return List.of();
    }

    /// Opens an object.
    ///
    /// @param uri its URI, with one of the schemes
    /// @param options the options for opening; [OpenOptions#setting(String)] has the values of [#settings]
    /// @return the object, which the caller closes
    /// @throws RemoteFileException if it does not exist, or the store refuses the request or does not respond
    /// @throws IllegalArgumentException if the URI or a setting is invalid; the message has no credentials
    /// @throws IOException if the open fails for another reason
    RangeSource open(URI uri, OpenOptions options) throws IOException;

    /// {@return the target of an object to write, which does not write anything yet} By default, objects cannot be
    /// written.
    ///
    /// @param uri its URI, with one of the schemes
    /// @param options the options for saving; [SaveOptions#setting(String)] has the values of [#settings]
    /// @throws RemoteFileException if objects of the store cannot be written, or the store refuses the request or does
    ///     not respond
    /// @throws IllegalArgumentException if the URI or a setting is invalid; the message has no credentials
    /// @throws IOException if the operation fails for another reason
    default StoreTarget target(URI uri, SaveOptions options) throws IOException {
        throw new RemoteFileException(uri.getScheme() + "://" + (uri.getHost() == null ? "…" : uri.getHost() + "/…"),
                Kind.UNSUPPORTED, "files can be read from there, and not be written; save to a path, and upload the "
                        + "file",
                null);
    }
}

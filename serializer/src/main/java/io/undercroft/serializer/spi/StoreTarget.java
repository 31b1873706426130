package io.undercroft.serializer.spi;

import java.io.IOException;

/// The place of an object in a store, whether or not there is one. For use by one thread.
public interface StoreTarget {
    /// The condition under which an object becomes visible.
    enum Creation {
        /// It replaces the object that was there when writing began, or none if there was none. If another writer has
        /// made or replaced the object since, the commit fails, as far as the store can detect it.
        REPLACING,
        /// There is no object. Otherwise creating it fails, or the commit if another writer was faster.
        IF_ABSENT
    }

    /// {@return the name of the object for messages, in one line, without credentials}
    String location();

    /// {@return the last part of the name of the object, whose suffix names its format}
    String fileName();

    /// {@return whether there is an object now}
    ///
    /// @throws io.undercroft.mmap.RemoteFileException if the store refuses or does not respond
    /// @throws IOException if that fails for another reason
    boolean exists() throws IOException;

    /// Begins to write an object, which others cannot see before it is [committed][StoreOutput#commit].
    ///
    /// @param condition the condition under which it is made
    /// @return the object, without bytes, which the caller closes
    /// @throws io.undercroft.mmap.RemoteFileException if the store refuses or does not respond, or there is an object
    ///     and the condition is [Creation#IF_ABSENT] (`CONFLICT`)
    /// @throws IOException if that fails for another reason
    StoreOutput create(Creation condition) throws IOException;

    /// Deletes the object, if there is one.
    ///
    /// @throws io.undercroft.mmap.RemoteFileException if the store refuses or does not respond
    /// @throws IOException if that fails for another reason
    void delete() throws IOException;

    /// {@return the place of another object in the same directory, with the same credentials and options}
    ///
    /// @param name its name, which is [plain][Draft#isPlainName]
    StoreTarget sibling(String name);
}

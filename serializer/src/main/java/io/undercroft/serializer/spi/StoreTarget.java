package io.undercroft.serializer.spi;

import java.io.IOException;

/// The location of an object in a store, which may exist. For use by one thread.
public interface StoreTarget {
    /// The condition under which an object becomes visible.
    enum Creation {
        /// The object may exist when the write begins, and is replaced. If another writer has created or replaced it
        /// since, the commit fails, as far as the store can detect it.
        REPLACING,
        /// The object must not exist. Otherwise the creation fails, or the commit if another writer was faster.
        IF_ABSENT
    }

    /// {@return the name of the object for messages, in one line, without credentials}
    String location();

    /// {@return the last part of the name of the object, whose suffix names its format}
    String fileName();

    /// {@return whether the object exists}
    ///
    /// @throws io.undercroft.mmap.RemoteFileException if the store refuses the request or does not respond
    /// @throws IOException if the operation fails for another reason
    boolean exists() throws IOException;

    /// Begins to write an object, which is not visible before it is [committed][StoreOutput#commit].
    ///
    /// @param condition the condition for the commit
    /// @return the empty object, which the caller closes
    /// @throws io.undercroft.mmap.RemoteFileException if the store refuses the request or does not respond, or the
    ///     object exists and the condition is [Creation#IF_ABSENT] (`CONFLICT`)
    /// @throws IOException if the operation fails for another reason
    StoreOutput create(Creation condition) throws IOException;

    /// Deletes the object, if it exists.
    ///
    /// @throws io.undercroft.mmap.RemoteFileException if the store refuses the request or does not respond
    /// @throws IOException if the operation fails for another reason
    void delete() throws IOException;

    /// {@return the location of another object in the same directory, with the same credentials and options}
    ///
    /// @param name the name, which is [plain][Draft#isPlainName]
    StoreTarget sibling(String name);
}

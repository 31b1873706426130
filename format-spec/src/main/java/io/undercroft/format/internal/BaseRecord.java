package io.undercroft.format.internal;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.Records.HeaderFields;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.UUID;

/// Another file that this one references. It is not read before its bytes are needed.
///
/// @param kind its kind
/// @param path its path below a directory that the reader chooses: relative, its parts separated by `/`,
///     none of them empty, `.` or `..`, without U+0000
/// @param depth the length of the longest chain of files that the snapshot of a CROFT base needs; 0 for a FOREIGN one
/// @param uuid the id of a CROFT base; zero for a FOREIGN one
/// @param digest the root digest of the snapshot of a CROFT base; the digest of all bytes of a FOREIGN one
/// @param length the committed length of the snapshot of a CROFT base; the size of a FOREIGN one; in bytes
/// @param sequence the number of the snapshot of a CROFT base, from 1; 0 for a FOREIGN one
public record BaseRecord(BaseKind kind, String path, int depth, UUID uuid, Digest128 digest, long length,
        long sequence) {
    private static final UUID NO_ID = new UUID(0, 0);

    /// Creates the record of a snapshot of another `.croft` file.
    ///
    /// @param path its path
    /// @param depth 0 if that snapshot has no CROFT bases, else one more than the greatest depth among them
    /// @param snapshot the commit record of the snapshot
    /// @return the record
    public static BaseRecord croft(String path, int depth, CommitRecord snapshot) {
        return new BaseRecord(BaseKind.CROFT, path, depth, snapshot.uuid(), snapshot.rootDigest(),
                snapshot.committedLength(), snapshot.sequence());
    }

    /// Creates the record of a file of another format.
    ///
    /// @param path its path
    /// @param digest the digest of all its bytes
    /// @param length its size in bytes
    /// @return the record
    public static BaseRecord foreign(String path, Digest128 digest, long length) {
        return new BaseRecord(BaseKind.FOREIGN, path, 0, NO_ID, digest, length, 0);
    }

    /// Checks that a file is the right one, as far as possible without reading all of it: a CROFT base has the
    /// id and the snapshot, a FOREIGN one has exactly the length. [Verifier] checks the rest.
    ///
    /// @param file the bytes of the file
    /// @throws FormatException by rule V18 if it is not
    /// @throws IOException if reading fails
    public void check(ByteSource file) throws IOException {
        if (kind == BaseKind.CROFT) {
            open(file, Limits.DEFAULT);
        } else if (file.size() != length) {
            throw broken("has " + file.size() + " bytes, not " + length);
        }
    }

    /// Opens the snapshot that a CROFT base is.
    ///
    /// Its id is not enough: equal contents give equal ids, and what was appended later may have been something else.
    Snapshot open(ByteSource file, Limits limits) throws IOException {
        if (file.size() < length) {
            throw broken("has " + file.size() + " bytes, not " + length);
        }
        MemorySegment start = MemorySegment.ofArray(new byte[(int) Math.min(FileLayout.HEADER_BYTES, file.size())]);
        file.read(0, start);
        if (start.byteSize() < FileLayout.HEADER_BYTES || !Header.isSignature(start)
                || !HeaderFields.UUID.uuid(start, 0).equals(uuid)) {
            throw broken("is not the file " + uuid);
        }
        Snapshot named = openSnapshot(file, limits);
        if (!named.commit().rootDigest().equals(digest) || named.commit().committedLength() != length) {
            throw broken("has another snapshot " + sequence);
        }
        return named;
    }

    private Snapshot openSnapshot(ByteSource file, Limits limits) throws IOException {
        try {
            Snapshot newest = Snapshot.open(file, limits);
            if (sequence <= newest.commit().sequence()) {
                return newest.openAt(sequence);
            }
        } catch (FormatException e) {
            throw broken("is itself at fault: " + e.getMessage());
        }
        throw broken("has no snapshot " + sequence);
    }

    /// {@return the problem of the file that was found}
    FormatException broken(String what) {
        return Rule.V18_BASE.broken("the base " + FormatException.quote(path) + ' ' + what, FormatException.NO_OFFSET);
    }

    /// {@return whether the fields that its kind gives no meaning to are zero, and a CROFT base has a snapshot}
    public boolean isWellFormed() {
        return kind == BaseKind.CROFT ? sequence > 0 : depth == 0 && sequence == 0 && uuid.equals(NO_ID);
    }

    /// {@return the unique key of a base in a file: its id, or if it has none its path}
    public Object identity() {
        return kind == BaseKind.CROFT ? uuid : path;
    }

    /// {@return whether a path is relative and leads nowhere but down} Its parts are POSIX names, so one may have a
    /// character that leads elsewhere on another system: readers there refuse it when they look for the
    /// file.
    ///
    /// @param path any text
    public static boolean isPath(String path) {
        if (path.indexOf('\0') >= 0) {
            return false;
        }
        for (String part : path.split("/", -1)) {
            if (part.isEmpty() || part.equals(".") || part.equals("..")) {
                return false;
            }
        }
        return true;
    }
}

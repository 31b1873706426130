/// What a reader of any checkpoint format reports about a file.
///
/// [io.undercroft.format.FormatException] says that the contents of a file are not what its format requires;
/// [io.undercroft.format.Digest128] is the digest of a snapshot. The codec and the validation of `.croft` files are not
/// public: `SPEC.md` in this module is the normative text of the format, `croft.ksy` describes the same bytes for
/// Kaitai Struct, and the module `io.undercroft.serializer` opens and saves the files.
@NullMarked
package io.undercroft.format;

import org.jspecify.annotations.NullMarked;

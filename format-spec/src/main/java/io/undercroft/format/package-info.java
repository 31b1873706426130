/// The exception of all checkpoint formats, and the digest of `.croft` files.
///
/// [io.undercroft.format.FormatException] reports that a file breaks a rule of its format;
/// [io.undercroft.format.Digest128] is the digest of a snapshot. The codec and the validation of `.croft` files are not
/// public: `SPEC.md` in this module is the normative text of the format, `croft.ksy` describes the same bytes for
/// Kaitai Struct, and the module `io.undercroft.serializer` opens and saves the files.
@NullMarked
package io.undercroft.format;

import org.jspecify.annotations.NullMarked;

/// How the codec works inside; not for use from outside.
///
/// `Index` reads the tables in place and `RecordRules` and `WholeRules` check them; neither touches Chronicle, whose
/// class initialisation costs a start about 110 ms, twice as much as opening a small file from cold. `MetadataEncoder`
/// is the side that does; a test keeps it so. An index is written by `RecordWriter`, field by field, into
/// `RecordTable`s, and put together by `IndexAssembler`.
@NullMarked
package io.undercroft.format.internal;

import org.jspecify.annotations.NullMarked;

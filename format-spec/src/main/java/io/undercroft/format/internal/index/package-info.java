/// The tables of an index: encoding, reading in place, and the rules for each record.
///
/// `Index` reads the tables in place and `RecordRules` and `WholeRules` check them; neither uses Chronicle, whose
/// class initialisation costs a start about 110 ms, twice as much as opening a small file from cold. `MetadataEncoder`
/// does; a test keeps it so. An index is written by `RecordWriter`, field by field, into
/// `RecordTable`s, and put together by `IndexAssembler`. Only `io.undercroft.format.internal` uses this package.
@NullMarked
package io.undercroft.format.internal.index;

import org.jspecify.annotations.NullMarked;

/// The tables of an index: encoding, reading in place, and the rules for each record.
///
/// `Index` reads the tables in place, and `RecordRules` and `WholeRules` check them. An index is written by
/// `RecordWriter`, field by field, into `RecordTable`s, and put together by `IndexAssembler`. `MetadataEncoder` and
/// `ManifestEncoder` write the fixed pages, `TreeBytes` the numbers of the state tree. Only
/// `io.undercroft.format.internal` uses this package.
@NullMarked
package io.undercroft.format.internal.index;

import org.jspecify.annotations.NullMarked;

/// The tables of an index: encoding, reading in place, and the rules for each record.
///
/// `Records` defines the fields of all records, those of the header, commit records and manifests included. `Index`
/// reads the tables in place, and `RecordRules` and `IndexRules` check them. The tables of an index are collected in
/// `RecordTable`s and put together by `IndexAssembler`. Only
/// `io.undercroft.format.internal` uses this package.
@NullMarked
package io.undercroft.format.internal.index;

import org.jspecify.annotations.NullMarked;

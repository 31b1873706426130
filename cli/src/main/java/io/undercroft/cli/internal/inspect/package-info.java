/// `croft inspect`: the contents of a file for people ([TextReport]) and for programs ([JsonReport],
/// `docs/inspect-json.md`).
@NullMarked
package io.undercroft.cli.internal.inspect;

import org.jspecify.annotations.NullMarked;

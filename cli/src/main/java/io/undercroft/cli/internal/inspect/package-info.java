/// `croft inspect`: the contents of a file for people ([TextReport]), for programs ([JsonReport],
/// `docs/inspect-json.md`) and for browsers ([HtmlReport], whose page is in the resources).
@NullMarked
package io.undercroft.cli.internal.inspect;

import org.jspecify.annotations.NullMarked;

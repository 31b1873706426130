/// Programs that the build of the command runs. They are not part of the jar.
@NullMarked
package io.undercroft.cli.build;

import org.jspecify.annotations.NullMarked;

/// Finds files with Hadoop's file systems, divides them among tasks, and opens them.
@NullMarked
package io.undercroft.spark.internal.files;

import org.jspecify.annotations.NullMarked;

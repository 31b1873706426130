/// Jobs over many files.
@NullMarked
package io.undercroft.spark.internal.jobs;

import org.jspecify.annotations.NullMarked;

/// The data source: rows of tensors.
@NullMarked
package io.undercroft.spark.internal.table;

import org.jspecify.annotations.NullMarked;

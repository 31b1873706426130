/// Tensors of many files as tables of Apache Spark, and jobs over many files.
///
/// [CroftDataSource] is the format `croft` of `spark.read()`: one row for each tensor. [Jobs] has a command line for
/// jobs over trees of files: convert, verify, diff, dedup and compact.
@NullMarked
package io.undercroft.spark;

import org.jspecify.annotations.NullMarked;

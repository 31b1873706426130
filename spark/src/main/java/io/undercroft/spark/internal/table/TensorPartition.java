package io.undercroft.spark.internal.table;

import io.undercroft.spark.internal.files.DataFile;
import java.util.List;
import org.apache.spark.sql.connector.read.InputPartition;

/// The files of a task.
///
/// @param files the files
record TensorPartition(List<DataFile> files) implements InputPartition {}

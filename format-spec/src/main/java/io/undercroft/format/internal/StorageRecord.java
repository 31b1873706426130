package io.undercroft.format.internal;

/// One storage: `nbytes` bytes, made of a run of consecutive extents in order.
///
/// @param nbytes its size in bytes
/// @param firstExtent the number of its first extent
/// @param extentCount the number of its extents; 0 only for a storage of 0 bytes
/// @param device its device when it was saved, in PyTorch's notation such as `cpu` or `cuda:0`
public record StorageRecord(long nbytes, int firstExtent, int extentCount, String device) {}

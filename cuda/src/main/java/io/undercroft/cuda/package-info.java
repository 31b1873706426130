/// Storages on CUDA devices, and pinned host memory.
///
/// With this module on the class path, `Storage.to(Device.cuda(0))`, `Tensor.cuda()`, `Allocator.on(Device.cuda(0))`
/// and [io.undercroft.storage.StorageCopier] use NVIDIA GPUs, and `Storage.pinMemory()` pinned host memory. Programs
/// need no type of this module for that; [io.undercroft.cuda.CudaDevice] lists the devices, or the reason why there is
/// none. Without a GPU, everything else works as before.
///
/// **Memory.** Each device is used through the process's primary context, which other CUDA libraries of the process
/// share. Memory is from the driver's pool, is zeroed, and is freed with the last reference to its storage, or at
/// the end of a copy that is still running then. Before an allocation fails for lack of memory of the device or of
/// pinned memory, the garbage collector frees unreachable storages.
///
/// **Copies** return when the bytes are in place. Pinned host memory is copied directly, also what was pinned by
/// `Storage.pinInPlace()`. All other host memory, mapped files included, passes through a ring of pinned buffers:
/// several threads, up to 16, fill or empty buffers while others are copied. A device has one ring of bounded size,
/// which the first copy creates and which is freed some time after the last one; copies of several threads share it.
///
/// **Several devices.** The driver copies from one device to another. Other devices cannot directly access the memory
/// of its pool, so these copies pass through host memory. `shareMemory()` moves a storage to other memory, which is
/// copied directly if the machine supports it. Files are loaded to several devices at the same time, with one ring for
/// each.
///
/// **Other CUDA libraries** of the process use the memory by `dataPtr()`. Their work on the default stream ends before
/// a copy or fill that is called later, and before memory that is released later is freed. The program has to wait for
/// work on other streams.
///
/// **Other processes** open a storage by a [io.undercroft.mmap.SharedStorageHandle] after `shareMemory()`, which moves
/// it to memory that the driver shares. It is freed when it was released here and no other process has it open. The
/// process that shares it has to run as long as others use it: their accesses throw [IllegalStateException] after it
/// has ended.
///
/// **Errors** are [io.undercroft.cuda.CudaException].
///
/// **Systems.** Linux on x86-64, with a driver of CUDA 12.0 or newer and `--enable-native-access`.
///
/// Nothing here takes or returns null unless documented otherwise. All types are safe for use by several threads.
@NullMarked
package io.undercroft.cuda;

import org.jspecify.annotations.NullMarked;

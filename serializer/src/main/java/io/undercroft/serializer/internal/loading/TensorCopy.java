package io.undercroft.serializer.internal.loading;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Span;
import io.undercroft.serializer.internal.ElementPositions;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/// A tensor of a checkpoint, and the one of a state that it is copied to.
///
/// @param name the name of both
/// @param source the source
/// @param target the destination, of the same shape
public record TensorCopy(String name, Tensor source, Tensor target) {
    /// Finds out what can be known before copying. The bytes of both are fetched.
    ///
    /// @throws UnsupportedOperationException if the target cannot be written to
    /// @throws IllegalArgumentException if the target shows an element twice
    /// @throws IllegalStateException if a storage was freed, or the source has no elements
    void check() {
        if (source.device().isMeta()) {
            throw new IllegalStateException(said(name, "was saved from the meta device, and has no elements to load; "
                    + "leave it out with OpenOptions.only and Checkpoint.loadMatching"));
        }
        checkTarget(name, target);
        if (source.numel() > 0) {
            var _ = source.storage().materialize();
        }
    }

    /// Finds out whether a tensor can be written to. Its bytes are fetched.
    ///
    /// @param name its name
    /// @param target the tensor
    /// @throws UnsupportedOperationException if it is read-only or on the meta device
    /// @throws IllegalArgumentException if it shows an element twice
    /// @throws IllegalStateException if its storage was freed
    public static void checkTarget(String name, Tensor target) {
        if (target.device().isMeta()) {
            throw unsupported(name, "is on the meta device and cannot hold elements; allocate it first");
        }
        checkTargetBytes(name, target.storage());
        if (target.numel() > 0 && ElementPositions.of(target).end() > target.storage().nbytes()) {
            throw new IllegalStateException(said(name, "uses a storage that was resized, and is too small for it now"));
        }
        if (target.numel() > 0 && showsOneTwice(target)) {
            throw new IllegalArgumentException(
                    said(name, "is expanded: stride 0 puts several elements in one place; copy it first"));
        }
    }

    private static void checkTargetBytes(String name, Storage storage) {
        try {
            if (storage.isReadOnly()) {
                throw unsupported(name, "is read-only; copy it, or open its file copy-on-write");
            }
            if (storage.device().isCpu() && !storage.segment().scope().isAlive()) {
                throw new IllegalStateException("the memory of its storage was closed");
            }
        } catch (IllegalStateException e) {
            throw new IllegalStateException(said(name, "cannot be written to: " + e.getMessage()), e);
        }
    }

    /// Checks a copy into the memory of the checkpoint itself.
    ///
    /// @throws IllegalArgumentException unless it puts every element where it is
    public void checkStays() {
        if (source.numel() > 0 && !stays()) {
            throw new IllegalArgumentException(
                    said(name, "would be loaded over other tensors of the checkpoint that it is "
                            + "loaded from; copy it first"));
        }
    }

    private static UnsupportedOperationException unsupported(String name, String what) {
        return new UnsupportedOperationException(said(name, what));
    }

    private static String said(String name, String what) {
        return "nothing was loaded: the tensor " + FormatException.quote(name) + " " + what;
    }

    private static boolean showsOneTwice(Tensor target) {
        return IntStream.range(0, target.dim()).anyMatch(dim -> target.stride(dim) == 0 && target.size(dim) > 1);
    }

    /// Copies the elements.
    public void run() {
        if (target.device().isCpu() && source.device().isCpu()) {
            var _ = target.copyFrom(source);
        } else if (target.numel() > 0 && keepsBytes() && isOneRun()) {
            copyRun(source.storage(), ElementPositions.of(source));
        } else if (target.device().isCpu()) {
            var _ = target.copyFrom(source.cpu());
        } else {
            copyElements();
        }
    }

    /// Copies to a tensor on a device whose elements have others between them, or are of another type: all bytes from
    /// the first to the last are copied to the host and back.
    private void copyElements() {
        if (target.numel() == 0) {
            return;
        }
        Tensor host = target.cpu();
        var _ = host.copyFrom(source.cpu());
        copyRun(host.storage(), ElementPositions.of(host));
    }

    /// Copies bytes over those of the target.
    private void copyRun(Storage from, Span bytes) {
        Span to = ElementPositions.of(target);
        Storage part = from.slice(bytes.start(), bytes.end() - bytes.start());
        Storage over = target.storage().slice(to.start(), to.end() - to.start());
        try {
            var _ = over.copyFrom(part);
        } finally {
            part.release();
            over.release();
        }
    }

    /// {@return whether bytes are copied unchanged, each to the same place relative to the first}
    boolean keepsBytes() {
        return source.dtype().equals(target.dtype()) && source.flags().equals(target.flags())
                && haveSameSteps();
    }

    private boolean haveSameSteps() {
        return IntStream.range(0, source.dim())
                .allMatch(dim -> source.size(dim) == 1 || source.stride(dim) == target.stride(dim));
    }

    /// {@return whether all bytes of the span of the target are written}
    boolean isOneRun() {
        Span span = span();
        return fills(target, span.end() - span.start());
    }

    /// {@return whether the elements of a tensor fill this number of bytes without gaps and overlaps}
    private static boolean fills(Tensor tensor, long nbytes) {
        return tensor.dtype().isByteSized() && tensor.nbytes() == nbytes && isDense(tensor);
    }

    private static boolean isDense(Tensor tensor) {
        long step = 1;
        for (int dim : byStride(tensor)) {
            if (tensor.stride(dim) != step) {
                return false;
            }
            step *= tensor.size(dim);
        }
        return true;
    }

    /// {@return whether some place of the target may belong to two elements}
    boolean mayWriteTwice() {
        long reach = 0;
        for (int dim : byStride(target)) {
            if (target.stride(dim) <= reach) {
                return true;
            }
            reach += (target.size(dim) - 1) * target.stride(dim);
        }
        return false;
    }

    /// Returns the dimensions that have steps, the smallest step first.
    private static List<Integer> byStride(Tensor tensor) {
        return IntStream.range(0, tensor.dim()).boxed().filter(dim -> tensor.size(dim) > 1)
                .sorted(Comparator.comparing(tensor::stride)).toList();
    }

    /// {@return the storage that the target's bytes belong to: that of which it is a slice, or its own}
    public Storage memory() {
        return memoryOf(target);
    }

    /// {@return the storage that a tensor's bytes belong to}
    public static Storage memoryOf(Tensor tensor) {
        return tensor.storage().base().orElse(tensor.storage());
    }

    private boolean stays() {
        return memory() == memoryOf(source) && keepsBytes() && shift() == source.storage().sliceOffset();
    }

    /// {@return the span of the target in that storage}
    public Span span() {
        long start = target.storage().sliceOffset();
        Span within = ElementPositions.of(target);
        return new Span(start + within.start(), start + within.end());
    }

    /// {@return whether two copies that keep bytes put each byte of the file in one place}
    boolean isInStepWith(TensorCopy other) {
        return keepsBytes() && other.keepsBytes() && source.storage() == other.source.storage()
                && shift() == other.shift();
    }

    private long shift() {
        return span().start() - ElementPositions.of(source).start();
    }

    /// {@return whether it copies exactly what another one does}
    boolean isSameAs(TensorCopy other) {
        return isInStepWith(other) && span().equals(other.span()) && source.dtype().equals(other.source.dtype())
                && Arrays.equals(target.stride(), other.target.stride()) && target.shape().equals(other.target.shape());
    }

    /// {@return the same copy to other memory}
    ///
    /// @param memory takes the place of [#memory], and has its size
    TensorCopy into(Storage memory) {
        Storage storage = target.storage().base().isPresent()
                ? memory.slice(target.storage().sliceOffset(), target.storage().nbytes())
                : memory;
        return new TensorCopy(name, source, Tensor.of(storage, target.dtype(), target.storageOffset(), target.shape(),
                target.stride()).withFlags(target.flags()));
    }

    /// {@return whether the target has the elements now that it should have}
    boolean isDone() {
        return target.copy().contentEquals(source.cpu().to(target.dtype()).copy());
    }
}

"""The calls of `croft` for tensors of PyTorch. Tensors of one storage share its memory, on every device."""
import torch

from . import loading
from .index import CONJUGATE, NEGATIVE, REQUIRES_GRAD
from .state import need

WITHOUT_SCALE = {"qint8": torch.int8, "quint8": torch.uint8, "qint32": torch.int32}
RAW = {8: torch.uint8, 16: torch.uint16, 32: torch.uint32, 64: torch.uint64}


class Tensors(loading.Arrays):
    """The tensors of a file on a device, each the same one at every request. The file is a path or a File."""

    def __init__(self, file, device="cpu"):
        super().__init__(file)
        self.target, self.storages = torch.device(device), {}
        self.host = self if self.target.type == "cpu" else Tensors(self.file)

    def storage(self, number):
        if number not in self.storages:
            record = self.file.index.tables["STOR"][number]
            if self.file.index.strings[record["device"]] == "meta":
                self.storages[number] = torch.UntypedStorage(int(record["nbytes"]), device="meta")
            else:
                self.storages[number] = self.sent(torch.from_numpy(self.file.storage(number))).untyped_storage()
        return self.storages[number]

    def tensor(self, number):
        if number not in self.made:
            self.made[number] = self._tensor(self.file.index.tensor(number))
        return self.made[number]

    def _tensor(self, record):
        sizes, strides, (low, high) = record.sizes, record.strides, record.span()
        dtype, offset, width = self.dtype(record.dtype), record.offset, record.bits // 8
        if not isinstance(dtype, torch.dtype) or 8 * dtype.itemsize != record.bits:
            need(not record.flags & (CONJUGATE | NEGATIVE), 13, f"PyTorch cannot negate elements of {record.dtype}")
            dtype = WITHOUT_SCALE.get(record.dtype, RAW.get(record.bits, torch.uint8))
        if record.is_packed():
            dtype, offset, sizes, strides = torch.uint8, low // 8, (-(-high // 8) - low // 8,), (1,)
        elif 8 * dtype.itemsize != record.bits:  # of each element its bytes
            sizes, strides, dtype = (*sizes, width), (*(s * width for s in strides), 1), torch.uint8
        offset = 0 if 0 in sizes else offset
        need(min(strides, default=0) >= 0 and offset % dtype.itemsize == 0, 13,
             "PyTorch has no tensors with negative strides, or whose offset is no number of elements")
        storage = self.storage(record.storage)
        tensor = torch.empty(0, dtype=dtype, device=storage.device).set_(
            storage, offset // dtype.itemsize, sizes, strides)
        tensor = tensor.conj() if record.flags & CONJUGATE else tensor
        tensor = torch._neg_view(tensor) if record.flags & NEGATIVE else tensor
        can_have_gradient = dtype.is_floating_point or dtype.is_complex
        return tensor.requires_grad_() if record.flags & REQUIRES_GRAD and can_have_gradient else tensor

    def sent(self, view):
        return view.to(self.target)

    def object(self, name, value, attributes):
        if name != "torch.nn.parameter.Parameter":
            return super().object(name, value, attributes)
        parameter = torch.nn.Parameter(value.detach(), value.requires_grad)
        vars(parameter).update(attributes)
        return parameter

    def dtype(self, name):
        """The type of that name, or the name if PyTorch has no such type, or none for tensors without a scale."""
        dtype = getattr(torch, name, None)
        return dtype if str(dtype) == f"torch.{name}" and name not in WITHOUT_SCALE else name

    def device(self, name):
        """The device of that name, or the name if PyTorch has no such device."""
        try:
            return torch.device(name)
        except RuntimeError:
            return name

    def shape(self, sizes):
        return torch.Size(sizes)


def load(path, device="cpu"):
    """The state of a file as `croft.load` has it, with tensors on a device in it. Parameters are torch.nn.Parameter,
    and quantized tensors have the integers that are stored.

    Raises CroftError if the file breaks a rule or holds what PyTorch cannot, and OSError if it cannot be read."""
    return loading.state_of(Tensors(path, device))


def load_file(path, device="cpu"):
    """The tensors of a file by their names. Elements that PyTorch has no type for come as unsigned integers or bytes.
    On the CPU they are views of the mapped file, copy-on-write. `path` may be a File.

    Raises CroftError if the file breaks a rule, and OSError if it cannot be read."""
    return loading.tensors_of(Tensors(path, device))

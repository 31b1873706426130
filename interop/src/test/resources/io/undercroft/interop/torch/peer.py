"""What PyTorch itself says of files: started by TorchLibraryTest.

    peer.py versions                  the versions of the libraries, as JSON
    peer.py compare FOLDER            loads each FOLDER/NAME.ours.pt beside FOLDER/NAME.pt in several ways; a line of JSON each
    peer.py write FOLDER              saves states as FOLDER/NAME.pt, and what they hold as FOLDER/NAME.json
    peer.py describe FILE             loads a file in several ways; the tensors in it by name, a line of JSON for each way
"""
import contextlib
import hashlib
import json
import os
import pathlib
import sys

import torch


class Sub(torch.Tensor):
    """The subclass that a fixture holds."""


class Difference(Exception):
    pass


class Walk:
    """Compares two states: values, and which objects and storages are one."""

    def __init__(self):
        self.there = {}
        self.back = {}
        self.kept = []

    def same(self, path, a, b, kind):
        if self.there.setdefault((kind, a), b) != b or self.back.setdefault((kind, b), a) != a:
            raise Difference(f"{path}: what is shared differs")

    def check(self, path, condition, what):
        if not condition:
            raise Difference(f"{path}: {what}")

    def seen(self, path, a, b):
        new = ("object", id(a)) not in self.there
        self.same(path, id(a), id(b), "object")
        self.kept.append((a, b))
        return not new

    def walk(self, path, a, b):
        self.check(path, type(a) is type(b), f"{type(a)} and {type(b)}")
        if isinstance(a, torch.Tensor):
            if not self.seen(path, a, b):
                self.tensor(path, a, b)
        elif isinstance(a, (torch.UntypedStorage, torch.storage.TypedStorage)):
            self.storage(path, a, b)
        elif isinstance(a, dict):
            if not self.seen(path, a, b):
                self.check(path, len(a) == len(b), "sizes")
                for (key, value), (other, its) in zip(a.items(), b.items()):
                    # A tuple that is a key is found by its value, so which object it is does not matter.
                    if not (type(key) is type(other) is tuple and key == other):
                        self.walk(f"{path} key {key!r}", key, other)
                    self.walk(f"{path}/{key}", value, its)
                self.walk(f"{path} attributes", getattr(a, "__dict__", None), getattr(b, "__dict__", None))
                self.check(path, getattr(a, "default_factory", None) is getattr(b, "default_factory", None), "factories")
        elif isinstance(a, (list, tuple)) and not isinstance(a, torch.Size):
            if a == () or not self.seen(path, a, b):
                self.check(path, len(a) == len(b), "sizes")
                for i, (value, other) in enumerate(zip(a, b)):
                    self.walk(f"{path}/{i}", value, other)
        else:
            self.check(path, a == b or repr(a) == repr(b) == "nan", f"{a!r} and {b!r}")

    def storage(self, path, a, b):
        self.check(path, len(a) == len(b) and a.device == b.device, "storages")
        self.check(path, getattr(a, "dtype", None) == getattr(b, "dtype", None), "dtypes")
        if a.device.type != "meta" and a.nbytes() > 0:
            self.same(path, a.data_ptr(), b.data_ptr(), "bytes")
            plain = [x if isinstance(x, torch.UntypedStorage) else x.untyped() for x in (a, b)]
            self.check(path, bytes(plain[0]) == bytes(plain[1]), "bytes")

    def tensor(self, path, a, b):
        for name in "dtype", "shape", "layout", "device", "requires_grad", "is_quantized", "is_nested":
            if name == "shape" and a.is_nested:
                continue
            self.check(path, getattr(a, name) == getattr(b, name), name)
        attributes = [{k: v for k, v in x.__dict__.items() if k != "_backward_hooks"} for x in (a, b)]
        self.walk(f"{path} attributes", *attributes)
        if a.layout == torch.sparse_coo:
            self.check(path, a.is_coalesced() == b.is_coalesced(), "coalesced")
            self.tensor(f"{path} indices", a._indices(), b._indices())
            self.tensor(f"{path} values", a._values(), b._values())
        elif a.layout != torch.strided:
            rows = a.layout in (torch.sparse_csr, torch.sparse_bsr)
            for name in ("crow_indices", "col_indices", "values") if rows else ("ccol_indices", "row_indices", "values"):
                self.tensor(f"{path} {name}", getattr(a, name)(), getattr(b, name)())
        elif a.is_nested:
            self.tensor(f"{path} values", a.values(), b.values())
            self.check(path, torch.equal(a._nested_tensor_size(), b._nested_tensor_size()), "sizes")
        else:
            self.check(path, a.stride() == b.stride() and a.storage_offset() == b.storage_offset(), "geometry")
            self.check(path, a.is_conj() == b.is_conj() and a.is_neg() == b.is_neg(), "flags")
            self.storage(path, a.untyped_storage(), b.untyped_storage())
        if a.is_quantized:
            self.check(path, a.qscheme() == b.qscheme() and str(a) == str(b), "quantizer")


@contextlib.contextmanager
def computed_offsets():
    from torch.utils.serialization import config
    before = config.load.calculate_storage_offsets
    config.load.calculate_storage_offsets = True
    try:
        yield
    finally:
        config.load.calculate_storage_offsets = before


def ways(path):
    """How a file is loaded, by name."""
    yield "weights_only", lambda: torch.load(path, weights_only=True)
    yield "mmap", lambda: torch.load(path, weights_only=True, mmap=True)
    with computed_offsets():
        yield "mmap, offsets computed", lambda: torch.load(path, weights_only=True, mmap=True)


def attempt(load):
    try:
        return load(), None
    except Exception as e:
        return None, e


def compare(original, ours):
    expected, refusal = attempt(lambda: torch.load(original, weights_only=True))
    if refusal is not None:
        # What PyTorch allows nobody to write it need not load from us; without the list it has to.
        expected = torch.load(original, weights_only=False)
        Walk().walk("state", expected, torch.load(ours, weights_only=False))
        return "same without weights_only, as the original"
    for name, load in ways(ours):
        loaded, error = attempt(load)
        if error is not None:
            raise Difference(f"{name}: {type(error).__name__}: {error}")
        Walk().walk(name, expected, loaded)
    return "same"


def main_compare(folder):
    # Makes PyTorch compare the offsets that it computes with those in the archive, also without mmap.
    os.environ["TORCH_SERIALIZATION_DEBUG"] = "1"
    torch.serialization.add_safe_globals([Sub])
    for ours in sorted(folder.glob("*.ours.pt")):
        name = ours.name.removesuffix(".ours.pt")
        try:
            outcome = compare(folder / (name + ".pt"), ours)
        except Exception as e:
            outcome = f"{type(e).__name__}: {e}"
        print(json.dumps({"name": name, "outcome": outcome}))


def states():
    dtypes = sorted({d for d in vars(torch).values() if isinstance(d, torch.dtype)}, key=str)
    plain = {}
    for dtype in dtypes:
        name = str(dtype).removeprefix("torch.")
        if name.startswith("q") or name.lstrip("uint").isdigit() and int(name.lstrip("uint")) < 8:
            continue
        size = dtype.itemsize
        data = torch.arange(12 * size, dtype=torch.uint8) % (2 if dtype == torch.bool else 251)
        plain[name] = data.view(dtype).view(3, 4)
    yield "every_dtype", plain
    base = torch.arange(24, dtype=torch.float32).view(4, 6)
    yield "views", {
        "base": base, "transposed": base.t(), "row": base[2], "column": base[:, 1], "steps": base[::2, 1::2],
        "expanded": base[0].expand(3, 6), "scalar": base[1, 1], "empty": base[1:1],
        "none": torch.empty(0), "zero_dim": torch.tensor(3.5, dtype=torch.float64),
    }
    model = torch.nn.Sequential(torch.nn.Embedding(7, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 7, bias=False))
    model[2].weight = model[0].weight
    yield "tied_model", model.state_dict()
    # Two odd views and the whole, of a type that has no class of storages.
    words = torch.arange(20, dtype=torch.int32).to(torch.uint16)
    yield "v3_views", {"all": words, "even": words[::2], "odd": words[1::2]}


def described(state):
    """The tensors of a dict; equal numbers are one storage."""
    numbers = {}
    tensors = {}
    for key, tensor in state.items():
        storage = tensor.untyped_storage()
        tensors[key] = {
            "dtype": str(tensor.dtype), "shape": list(tensor.shape), "stride": list(tensor.stride()),
            "offset": tensor.storage_offset(), "requires_grad": tensor.requires_grad,
            "storage": numbers.setdefault(storage.data_ptr() or f"empty {key}", len(numbers)),
            "sha256": hashlib.sha256(bytes(storage)).hexdigest(),
        }
    return tensors


def main_describe(path):
    for name, load in ways(path):
        print(json.dumps({"way": name, "tensors": described(load())}))


def main_write(folder):
    for name, state in states():
        torch.save(state, folder / f"{name}.pt")
        torch.save(state, folder / f"{name}.legacy.pt", _use_new_zipfile_serialization=False)
        (folder / f"{name}.json").write_text(json.dumps(described(state)))
        print(name)


if __name__ == "__main__":
    arguments = [pathlib.Path(a) for a in sys.argv[2:3]]
    if sys.argv[1] == "versions":
        print(json.dumps({"torch": torch.__version__.partition("+")[0]}))
    elif sys.argv[1] == "compare":
        main_compare(*arguments)
    elif sys.argv[1] == "describe":
        main_describe(*arguments)
    else:
        main_write(*arguments)

"""What PyTorch itself says of files: started by TorchLibraryTest.

    peer.py versions                  the versions of the libraries, as JSON
    peer.py compare FOLDER            loads each FOLDER/NAME.ours.pt and FOLDER/NAME.pt in several ways;
                                      a line of JSON each
    peer.py write FOLDER              saves states as FOLDER/NAME.pt, and what they hold as FOLDER/NAME.json
    peer.py random FOLDER COUNT       saves as many random states as FOLDER/NUMBER.pt and FOLDER/NUMBER.legacy.pt
    peer.py nested FOLDER             the class of the tensor in FOLDER/ours.pt, with weights_only and without; saves
                                      FOLDER/theirs.pt
    peer.py describe FILE             loads a file in several ways; the tensors in it by name, a line of JSON for each
                                      way
"""
import collections
import contextlib
import hashlib
import json
import math
import os
import pathlib
import random
import sys
import warnings

import torch


class Sub(torch.Tensor):
    """The subclass that a fixture holds."""


class Outer:
    class Inner(torch.Tensor):
        """A class in a class."""


class Made:
    """Is pickled as a call, as other versions of PyTorch pickle what this one does not."""

    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


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
                self.check(path, getattr(a, "default_factory", None) is getattr(b, "default_factory", None),
                           "factories")
        elif isinstance(a, (list, tuple)) and not isinstance(a, torch.Size):
            if a == () or not self.seen(path, a, b):
                self.check(path, len(a) == len(b), "sizes")
                for i, (value, other) in enumerate(zip(a, b)):
                    self.walk(f"{path}/{i}", value, other)
        else:
            plain = (float, complex)
            equal = repr(a) == repr(b) if isinstance(a, plain) else a == b
            self.check(path, equal, f"{a!r} and {b!r}")

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
            compressed = ("crow_indices", "col_indices") if rows else ("ccol_indices", "row_indices")
            for name in (*compressed, "values"):
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
    warnings.filterwarnings("ignore")
    # Makes PyTorch compare the offsets that it computes with those in the archive, also without mmap.
    os.environ["TORCH_SERIALIZATION_DEBUG"] = "1"
    torch.serialization.add_safe_globals([Sub])
    for ours in sorted(folder.glob("*.ours.pt")):
        name = ours.name.removesuffix(".ours.pt")
        try:
            # PyTorch itself cannot read all of its old streams, so those are compared with the archive of the same
            # state.
            outcome = compare(folder / (name.removesuffix(".legacy") + ".pt"), ours)
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


FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
DTYPES = FLOATS + [
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64,
    torch.bool,
    torch.complex32, torch.complex64, torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz,
    torch.float8_e5m2fnuz, torch.float8_e8m0fnu, torch.float4_e2m1fn_x2, torch.bits8, torch.bits16, torch.bits1x8]


class RandomState:
    """Makes states of everything that torch.load(weights_only=True) allows, some of it shared and some holding
    itself."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.bases = []
        self.made = []
        torch.manual_seed(seed)

    def one(self, *choices):
        return self.random.choice(choices)()

    def state(self):
        return [self.value(3) for _ in range(8)]

    def value(self, depth):
        if self.made and self.random.random() < 0.15:
            return self.random.choice(self.made)
        made = self.one(self.plain, *[self.tensor] * 4, self.storage,
                        *[lambda: self.container(depth)] * (4 if depth else 0))
        self.made.append(made)
        return made

    # ---- plain values and containers ----

    def plain(self):
        pick = self.random.choice
        return self.one(
            lambda: pick([None, True, False, 0, 255, 256, 65535, 65536, -1, 2**31 - 1, 2**31, -2**31 - 1, 2**63,
                          -2**63]),
            lambda: pick([1, -1]) * self.random.getrandbits(self.random.randint(1, 2000)),
            lambda: pick([0.0, -0.0, 1.5, math.inf, -math.inf, math.nan, 5e-324]),
            lambda: complex(self.random.random(), -0.0),
            lambda: pick(["", "a", "k" * 300, "\u00fcn\u00ef", "\0", "\U0001f600"]),
            lambda: self.random.randbytes(pick([1, 20, 300])),
            lambda: bytearray(self.random.randbytes(3)),
            lambda: pick(DTYPES),
            lambda: torch.device(pick(["cpu", "cuda", "cuda:1", "meta", "mps"])),
            lambda: torch.Size(self.random.choices(range(5), k=self.random.randint(0, 4))),
            lambda: pick([torch.sparse_csr, torch.strided, torch.per_tensor_affine, torch.per_channel_affine]))

    def key(self, depth=2):
        if depth and self.random.random() < 0.2:
            return tuple(self.key(depth - 1) for _ in range(self.random.randint(0, 4)))
        key = self.plain()
        return str(key) if isinstance(key, bytearray) or key != key else key

    def items(self, depth):
        return ((self.key(), self.value(depth)) for _ in range(self.random.randint(0, 5)))

    def container(self, depth):
        return self.one(lambda: self.list(depth - 1), lambda: self.dict({}, depth - 1),
                        lambda: tuple(self.value(depth - 1) for _ in range(self.random.randint(0, 5))),
                        lambda: self.dict(collections.OrderedDict(), depth - 1),
                        lambda: collections.Counter({self.key(): self.random.randint(-3, 3) for _ in range(3)}),
                        lambda: {self.key() for _ in range(self.random.randint(0, 5))})

    def list(self, depth):
        made = []
        self.made.append(made)
        made.extend(self.value(depth) for _ in range(self.random.randint(0, 5)))
        return made

    def dict(self, made, depth):
        self.made.append(made)
        made.update(self.items(depth))
        if isinstance(made, collections.OrderedDict) and self.random.random() < 0.5:
            made._metadata = self.value(depth)
        return made

    # ---- storages and tensors ----

    def base(self, *dtypes):
        if not dtypes and self.bases and self.random.random() < 0.5:
            return self.random.choice(self.bases)
        dtype = self.random.choice(dtypes or DTYPES)
        shape = [self.random.choice([1, 2, 2, 3, 3, 4, 0]) for _ in range(self.random.randint(0, 3))]
        data = torch.randint(0, 2 if dtype == torch.bool else 256, (math.prod(shape) * dtype.itemsize,),
                             dtype=torch.uint8)
        self.bases.append(data.view(dtype).view(shape) if math.prod(shape) else torch.empty(shape, dtype=dtype))
        return self.bases[-1]

    def view(self, *dtypes):
        tensor = self.base(*dtypes)
        for _ in range(self.random.randint(0, 3) if tensor.numel() else 0):
            tensor = self.one(lambda: tensor.transpose(0, -1) if tensor.dim() else tensor, lambda: tensor[..., None],
                              lambda: tensor[::2] if tensor.dim() else tensor, lambda: tensor.expand(2, *tensor.shape),
                              lambda: tensor[-1] if tensor.dim() else tensor, tensor.detach)
        return tensor

    def storage(self):
        return self.one(lambda: self.base().untyped_storage(),
                        lambda: self.base(torch.float32, torch.int64, torch.bool, torch.complex64).storage())

    def tensor(self):
        return self.one(
            *[self.view] * 4,
            lambda: self.base(*FLOATS).clone().requires_grad_(),
            lambda: self.view(torch.complex64, torch.complex128).conj(),
            lambda: self.view(torch.complex64).conj().imag,
            lambda: torch._neg_view(self.view(*FLOATS)),
            lambda: torch.empty(3, 4, dtype=self.random.choice(DTYPES), device="meta").t(),
            self.parameter, self.sparse, self.quantized, self.nested, self.of_old_versions,
            lambda: self.noted(self.view(*FLOATS).detach()),
            lambda: self.noted(self.one(self.sparse, self.quantized)),
            lambda: self.noted(self.view(*FLOATS).as_subclass(Sub)),
            lambda: self.view(*FLOATS).as_subclass(Sub),
            lambda: torch.nn.Buffer(self.base(*FLOATS), persistent=False))

    def noted(self, tensor):
        tensor.note = self.value(1)
        return tensor

    def parameter(self):
        tensor = self.one(lambda: self.view(*FLOATS), lambda: self.view(torch.int32), self.quantized)
        parameter = torch.nn.Parameter(tensor, requires_grad=tensor.is_floating_point() and not tensor.is_quantized)
        return self.noted(parameter) if self.random.random() < 0.5 else parameter

    def sparse(self):
        dense = (torch.rand(4, 6) < 0.4).to(self.random.choice([torch.float32, torch.int64, torch.complex64,
                                                                torch.bool]))
        return self.one(
            dense.to_sparse_coo, dense.to_sparse_csr, dense.to_sparse_csc,
            lambda: dense.to_sparse_bsr((2, 3)), lambda: dense.to_sparse_bsc((2, 3)),
            lambda: torch.sparse_coo_tensor(torch.randint(0, 4, (2, 5)), torch.ones(5, 3), (4, 4, 3)),
            lambda: torch.sparse_coo_tensor(torch.empty(1, 0, dtype=torch.int64), torch.empty(0), (3,)))

    def quantized(self):
        dtype, values = self.random.choice([torch.qint8, torch.quint8, torch.qint32]), torch.randn(3, 4)
        return self.one(
            lambda: torch.quantize_per_tensor(values, 0.1, 3, dtype),
            lambda: torch.quantize_per_tensor(values, 0.5, 0, dtype).t(),
            lambda: torch.quantize_per_channel(values, torch.rand(3).double() + 0.1, torch.zeros(3).long(), 0, dtype),
            lambda: torch.quantize_per_channel(values, torch.rand(4).double() + 0.1, torch.zeros(4).long(), 1, dtype),
            lambda: torch.quantize_per_channel(values, torch.rand(3) + 0.1, torch.rand(3), 0, torch.quint8),
            lambda: torch.quantize_per_channel(values, torch.rand(3) + 0.1, torch.rand(3), 0, torch.quint4x2))

    def nested(self):
        return torch.nested.nested_tensor([torch.randn(self.random.randint(0, 3), 2) for _ in range(3)])

    def of_old_versions(self):
        tensor = self.base(torch.float32)
        typed = torch.storage.TypedStorage(wrap_storage=tensor.untyped_storage(), dtype=torch.float32, _internal=True)
        geometry = typed, 0, tuple(tensor.shape), tensor.stride()
        return self.one(
            lambda: Made(torch._utils._rebuild_tensor, geometry),
            lambda: Made(torch.Tensor, (), geometry),
            lambda: Made(torch.nn.Parameter, (tensor, True), (False, False, collections.OrderedDict())),
            lambda: Made(torch._utils._rebuild_device_tensor_from_cpu_tensor,
                         (tensor.clone(), torch.float32, "cpu", True)))


def main_random(folder, count):
    warnings.filterwarnings("ignore")
    for seed in range(count):
        state = RandomState(seed).state()
        try:
            torch.save(state, folder / f"{seed}.pt")
        except RuntimeError as e:
            # One storage under two types is what PyTorch itself does not save.
            assert "view the same data as different types" in str(e), e
            (folder / f"{seed}.pt").unlink()
            continue
        torch.save(state, folder / f"{seed}.legacy.pt", _use_new_zipfile_serialization=False)


def main_nested(folder):
    torch.serialization.add_safe_globals([Outer.Inner])
    for weights_only in True, False:
        loaded = torch.load(folder / "ours.pt", weights_only=weights_only)
        print(f"{type(loaded).__module__}:{type(loaded).__qualname__} {loaded.tolist()}")
    torch.save(torch.arange(3).as_subclass(Outer.Inner), folder / "theirs.pt", pickle_protocol=4)


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
    elif sys.argv[1] == "random":
        main_random(*arguments, int(sys.argv[3]))
    elif sys.argv[1] == "nested":
        main_nested(*arguments)
    elif sys.argv[1] == "describe":
        main_describe(*arguments)
    else:
        main_write(*arguments)

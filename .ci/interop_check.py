#!/usr/bin/env python3
"""Checks the croft command against real PyTorch and safetensors.

Writes files with torch.save, asks croft what is in them, and compares every answer with what torch says itself: dtype,
shape, stride, offset, requires_grad, which tensors share a storage, SHA-256 of elements and of storages. Converts each
file to .croft and expects the same answers. Saves the same tensors with safetensors and expects the same elements back.
Ends with files that must be refused, an attack, and a TorchScript archive.

    .ci/interop_check.py        # with a Python that has torch, safetensors and numpy, and a JDK 25 on the machine
"""

import collections
import ctypes
import hashlib
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy
import safetensors
import safetensors.torch
import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
CROFT = ROOT / "croft"
# What croft ends with: a wrong call or something refused, something missing or of no known format, or damage.
USAGE, MISSING, DAMAGED = 2, 3, 4

# Known to torch but saved by no version of it.
UNSAVED = {f"{sign}int{bits}" for sign in ("", "u") for bits in range(1, 8)}
# torch.empty cannot make these; quantize_per_tensor can.
QUANTIZED = {"quint8": torch.quint8, "qint8": torch.qint8, "qint32": torch.qint32}
NOT_STRIDED = {"quint4x2", "quint2x4"}


class Report:
    """Prints a line per check and counts them."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def check(self, what, problems):
        if problems:
            self.failed += 1
            print(f"FAIL {what}")
            for problem in problems[:8]:
                print(f"       {problem}")
        else:
            self.passed += 1
            print(f"ok   {what}")

    def run(self, what, body):
        try:
            self.check(what, body())
        except Exception as e:
            self.check(what, [f"{type(e).__name__}: {e}"])


# ---- what torch says ----

def memory(address, nbytes):
    return ctypes.string_at(address, nbytes) if nbytes else b""


def sha(data):
    return hashlib.sha256(data).hexdigest()


def row_major_bytes(tensor):
    """The bytes of the elements in row-major order, of any dtype: torch copies few dtypes but every integer of their
    width."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.is_quantized:
        tensor = tensor.int_repr()
    width, storage = tensor.itemsize, tensor.untyped_storage()
    size, stride, offset = list(tensor.shape), list(tensor.stride()), tensor.storage_offset()
    if width == 16:
        size, stride, offset, width = size + [2], [2 * s for s in stride] + [1], 2 * offset, 8
    carrier = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[width]
    same = torch.empty(0, dtype=carrier).set_(storage, offset, size, stride)
    return same.clone(memory_format=torch.contiguous_format).numpy().tobytes()


def parts(tensor):
    """The strided tensors that a sparse or nested one is made of; none if it is strided itself."""
    if tensor.is_nested:
        return {"buffer": tensor.values(), "sizes": tensor._nested_tensor_size(),
                "strides": tensor._nested_tensor_strides(),
                "storage_offsets": tensor._nested_tensor_storage_offsets()}
    if tensor.layout == torch.strided:
        return {}
    if tensor.layout == torch.sparse_coo:
        return {"indices": tensor._indices(), "values": tensor._values()}
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return {"crow_indices": tensor.crow_indices(), "col_indices": tensor.col_indices(), "values": tensor.values()}
    return {"ccol_indices": tensor.ccol_indices(), "row_indices": tensor.row_indices(), "values": tensor.values()}


def quantizer(tensor):
    """The tensors by which a quantized one is read."""
    if tensor.is_quantized and tensor.qscheme() in (torch.per_channel_affine, torch.per_channel_affine_float_qparams):
        return {"scales": tensor.q_per_channel_scales(), "zero_points": tensor.q_per_channel_zero_points()}
    return {}


def named(key):
    """Keys that are neither strings nor integers are named by their kind: no language prints them like another."""
    return "float" if isinstance(key, float) else str(key)


def join(path, key):
    segment = named(key).replace("~", "~0").replace("/", "~1")
    return f"{path}/{segment}" if path else segment


class Expected:
    """Tensors by name and storages in order of first use, by the naming rule of docs/inspect-json.md."""

    def __init__(self, state):
        self.tensors = {}
        self.storages = []
        self._numbers = {}
        self._seen = {}
        self._walk("", state)

    def _walk(self, path, value):
        if isinstance(value, torch.Tensor):
            self._tensor(path, value)
        elif isinstance(value, (torch.UntypedStorage, torch.TypedStorage)):
            self._number(value if isinstance(value, torch.UntypedStorage) else value.untyped())
        elif isinstance(value, (dict, list, tuple)) and id(value) not in self._seen:
            self._seen[id(value)] = value
            for key, child in value.items() if isinstance(value, dict) else enumerate(value):
                self._walk(join(path, key), child)

    def _tensor(self, path, tensor):
        pieces = parts(tensor)
        for name, part in pieces.items():
            self._tensor(join(path, name), part)
        if pieces:
            return
        self.tensors[path] = {
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "shape": list(tensor.shape),
            "stride": list(tensor.stride()),
            "offset": tensor.storage_offset(),
            "storage": self._number(tensor.untyped_storage()),
            "requires_grad": tensor.requires_grad,
            "sha256": sha(row_major_bytes(tensor)),
        }
        for name, part in quantizer(tensor).items():
            self._tensor(join(path, name), part)

    def _number(self, storage):
        if storage._cdata not in self._numbers:
            self._numbers[storage._cdata] = len(self.storages)
            self.storages.append({
                "id": len(self.storages),
                "nbytes": storage.nbytes(),
                "device": str(storage.device),
                "sha256": sha(memory(storage.data_ptr(), storage.nbytes())),
            })
        return self._numbers[storage._cdata]

    def differences(self, seen):
        """What croft printed otherwise."""
        problems = []
        printed = {t["name"]: {k: v for k, v in t.items() if k != "name"} for t in seen["tensors"]}
        if len(printed) != len(seen["tensors"]):
            problems.append("a name is printed twice")
        for name in printed.keys() ^ self.tensors.keys():
            problems.append(f"{name!r} is {'printed but not saved' if name in printed else 'missing'}")
        for name, wanted in self.tensors.items():
            for key, value in wanted.items():
                if name in printed and printed[name].get(key) != value:
                    problems.append(f"{name!r}: {key} is {printed[name].get(key)}, torch has {value}")
        storages = [{key: s.get(key) for key in ("id", "nbytes", "device", "sha256")} for s in seen["storages"]]
        if storages != self.storages:
            problems.append(f"storages are {storages}, torch has {self.storages}")
        return problems


# ---- what croft says ----

def croft(*arguments):
    return subprocess.run([CROFT, *map(str, arguments)], capture_output=True, text=True, timeout=300)


def inspect(path):
    done = croft("inspect", "--json", "--hash", path)
    if done.returncode != 0:
        raise AssertionError(f"exit code {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


# ---- what is saved ----

def random_bytes(tensor, seed):
    """Fills the storage, whatever the dtype; not all bit patterns are numbers, and none may be lost."""
    storage = tensor.untyped_storage()
    data = numpy.random.default_rng(seed).integers(0, 256, storage.nbytes(), dtype=numpy.uint8)
    if tensor.dtype == torch.bool:
        data &= 1
    ctypes.memmove(storage.data_ptr(), data.tobytes(), storage.nbytes())
    return tensor


def every_dtype():
    made = {}
    for name in sorted(vars(torch)):
        dtype = getattr(torch, name)
        if not isinstance(dtype, torch.dtype) or str(dtype) != "torch." + name or name in UNSAVED | NOT_STRIDED:
            continue
        if name in QUANTIZED:
            made[name] = torch.quantize_per_tensor(torch.randn(4, 6), 0.1, 3, dtype)
        else:
            made[name] = random_bytes(torch.empty(4, 6, dtype=dtype), len(made))
    return made


def views():
    base = torch.arange(120, dtype=torch.float32)
    grid = base.view(10, 12)
    return {
        "base": base, "grid": grid, "row": grid[3], "column": grid[:, 5], "transposed": grid.t(),
        "steps": grid[::3, 1::4],
        "narrow": grid.narrow(0, 2, 5), "expanded": grid[0].expand(4, 12), "new dims": grid[1:2].expand(3, 5, 12),
        "overlap": base.as_strided((8, 5), (3, 2), 7), "3d": base.view(2, 3, 20).permute(2, 0, 1),
        "channels_last": torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
        "item": grid[9, 11], "nothing": grid[5:5], "diagonal": grid.diagonal(),
    }


def sharing():
    weight, again = torch.randn(5, 7), torch.randn(3)
    equal = weight.clone()
    return {"wte": weight, "head": weight, "view": weight.view(7, 5), "equal but apart": equal, "list": [again, again],
            "slice of much": torch.arange(100_000, dtype=torch.int64)[70_000:70_010]}


def shapes():
    return {"0-dim": torch.tensor(2.5), "0-dim int": torch.tensor(7), "empty": torch.empty(0),
            "empty 3d": torch.empty(2, 0, 3),
            "empty strided": torch.empty(4, 0).t(), "ones": torch.ones(1, 1, 1),
            "many dims": torch.arange(2.0 ** 10).view([2] * 10)}


def module():
    torch.manual_seed(1)
    made = torch.nn.Sequential(torch.nn.Embedding(11, 6), torch.nn.Linear(6, 6), torch.nn.BatchNorm1d(6),
                               torch.nn.Linear(6, 11, bias=False))
    made[3].weight = made[0].weight
    return made


def state_dict():
    return module().state_dict()


def training():
    model = module()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    for step in range(3):
        loss = model(torch.arange(8) % 11).logsumexp(1).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict(),
            "step": 3,
            "loss": loss.item(), "rng": torch.get_rng_state()}


def nested():
    inner = [torch.tensor([1, 2]), (torch.tensor([3.0]), "text", None, True)]
    return {"list": [inner, inner, []],
            "tuple": (inner, (), {"a/b": torch.zeros(1), "~": torch.ones(1), "": torch.ones(2)}),
            "set": {1, 2, "three"}, "frozen": 3 + 4j, 5: torch.full((2,), 5), -1.5: torch.full((1,), 6),
            "big": 2 ** 200,
            "bytes": b"\x00\xff", "é\U0001F600": torch.tensor([9]),
            "ordered": collections.OrderedDict(z=torch.ones(3), a=1),
            "size": torch.Size([1, 2]), "dtype": torch.bfloat16, "device": torch.device("cuda:1"), "nan": float("nan")}


def parameters():
    shared = torch.nn.Parameter(torch.randn(3, 4))
    shared.note = "an attribute of its own"
    return {"p": shared, "again": shared, "data": shared.data,
            "frozen": torch.nn.Parameter(torch.ones(2), requires_grad=False),
            "leaf": torch.randn(2, requires_grad=True), "buffer": torch.nn.Buffer(torch.zeros(3))}


def sparse():
    dense = torch.tensor([[0.0, 2, 0, 0], [3, 0, 0, 4], [0, 0, 0, 0], [5, 0, 6, 0]])
    return {"coo": dense.to_sparse(), "csr": dense.to_sparse_csr(), "csc": dense.to_sparse_csc(),
            "bsr": dense.to_sparse_bsr((2, 2)), "bsc": dense.to_sparse_bsc((2, 2)),
            "nested": torch.nested.nested_tensor([torch.arange(3.0), torch.arange(5.0)])}


def quantized():
    values = torch.randn(4, 6)
    scales, zeros = torch.rand(4, dtype=torch.float64) + 0.1, torch.arange(4)
    return {"tensor": torch.quantize_per_tensor(values, 0.05, 10, torch.quint8),
            "transposed": torch.quantize_per_tensor(values, 0.05, 0, torch.qint8).t(),
            "wide": torch.quantize_per_tensor(values, 0.001, 0, torch.qint32),
            "channels": torch.quantize_per_channel(values, scales, zeros, 0, torch.qint8),
            "float parameters": torch.quantize_per_channel(values, scales.float(), zeros.float(), 0, torch.quint8)}


def lazy():
    z = torch.randn(3, 4, dtype=torch.complex64)
    return {"z": z, "conj": z.conj(), "conj t": z.conj().t(), "neg": torch._neg_view(torch.arange(6.0))}


def storages():
    tensor = torch.arange(10, dtype=torch.int16)
    typed = torch.TypedStorage(wrap_storage=tensor.untyped_storage(), dtype=tensor.dtype, _internal=True)
    return {"raw": torch.UntypedStorage(range(7)), "under": typed, "tensor": tensor[2:5],
            "typed": torch.FloatStorage([1, 2, 3]),
            "none": torch.UntypedStorage(0)}


CASES = [every_dtype, views, sharing, shapes, state_dict, training, nested, parameters, sparse, quantized, lazy,
         storages]


# ---- the checks ----

def without_format(seen):
    """What is the same for a file of another format, which may store equal bytes once."""
    storages = [{key: value for key, value in storage.items() if key != "disk_nbytes"} for storage in seen["storages"]]
    return {key: value for key, value in seen.items() if key not in ("format", "nbytes")} | {"storages": storages}


def plain_differences(saved, printed, path):
    """Numbers and text of the state that JSON can hold and croft printed otherwise."""
    if type(saved) is dict and all(isinstance(key, str) for key in saved):
        return [problem for key, value in saved.items()
                for problem in plain_differences(value, printed["$" + key if key.startswith("$") else key],
                                                 f"{path}/{key}")]
    if type(saved) is list and isinstance(printed, list):
        return [problem for i, value in enumerate(saved)
                for problem in plain_differences(value, printed[i], f"{path}/{i}")]
    plain = saved is None or isinstance(saved, (bool, int, str)) or (isinstance(saved, float) and math.isfinite(saved))
    differs = plain and (type(saved), saved) != (type(printed), printed)
    return [f"{path} is {printed!r}, saved was {saved!r}"] if differs else []


def check_case(report, folder, make):
    name = make.__name__
    state = make()
    saved, converted = folder / f"{name}.pt", folder / f"{name}.croft"
    torch.save(state, saved)
    expected = Expected(state)
    seen = {}

    def as_saved():
        seen.update(inspect(saved))
        problems = expected.differences(seen) + plain_differences(state, seen["state"], name)
        return problems + ([] if seen["format"] == "torch-zip" else [f"format is {seen['format']}"])

    def as_converted():
        done = croft("convert", saved, converted)
        if done.returncode != 0:
            return [f"convert: exit code {done.returncode}: {done.stderr.strip()}"]
        again = inspect(converted)
        problems = [] if again["format"] == "croft" else [f"format is {again['format']}"]
        same = without_format(again)
        return problems + [f"{key} is not what it was in the .pt: {str(same.get(key))[:200]}" for key, value
                           in without_format(seen).items() if same.get(key) != value]

    def as_verified():
        done = croft("verify", converted)
        return [] if done.returncode == 0 else [f"exit code {done.returncode}: {done.stdout}{done.stderr}"]

    def as_torch_maps_it():
        return Expected(torch.load(saved, mmap=True, weights_only=False)).differences(seen)

    report.run(f"{name}: croft inspect says what torch says ({len(expected.tensors)} tensors, "
               f"{len(expected.storages)} storages)", as_saved)
    report.run(f"{name}: the same after croft convert", as_converted)
    report.run(f"{name}: croft verify", as_verified)
    if name != "storages":  # torch.load(mmap=True) gives storages of the right size only to tensors
        report.run(f"{name}: the same as torch.load(mmap=True)", as_torch_maps_it)
    report.run(f"{name}: the same elements through safetensors", lambda: through_safetensors(folder, state, seen))


def through_safetensors(folder, state, seen):
    """Saves dense copies with safetensors, loads them back and hashes what comes."""
    path = folder / "copies.safetensors"
    copies = {}

    def collect(tensor, name):
        bits = safetensors.torch._SIZE.get(tensor.dtype)
        if bits is not None and tensor.dtype != torch.float4_e2m1fn_x2:
            resolved = tensor.detach().resolve_conj().resolve_neg()
            copies[name or "."] = resolved.clone(memory_format=torch.contiguous_format)

    walk_strided(state, collect)
    safetensors.torch.save_file(copies, path)
    printed = {t["name"] or ".": t["sha256"] for t in seen["tensors"]}
    loaded = safetensors.torch.load_file(path)
    return [f"{name!r}: croft printed {printed.get(name)}, safetensors gave {sha(row_major_bytes(tensor))}"
            for name, tensor in loaded.items() if printed.get(name) != sha(row_major_bytes(tensor))]


def walk_strided(state, visit, path="", seen=None):
    seen = {} if seen is None else seen
    if isinstance(state, torch.Tensor) and not parts(state):
        visit(state, path)
    elif isinstance(state, (dict, list, tuple)) and id(state) not in seen:
        seen[id(state)] = state
        for key, value in state.items() if isinstance(state, dict) else enumerate(state):
            walk_strided(value, visit, join(path, key), seen)


class Shell:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.system, (f"touch '{self.marker}'",)


def refused(path, folder, code):
    """The exit code, one line on the error stream, nothing on the other, no file made and none touched."""
    problems = []
    output = folder / "kept.croft"
    output.write_bytes(b"an older file")
    before = sorted(p.name for p in folder.iterdir())
    for arguments in (("inspect", path), ("inspect", "--json", "--hash", path), ("convert", path, output),
                      ("verify", path)):
        done = croft(*arguments)
        lines = done.stderr.strip().splitlines()
        if done.returncode != code:
            problems.append(f"{arguments[0]}: exit code {done.returncode}, not {code}")
        if len(lines) != 1 or "Exception" in done.stderr:
            problems.append(f"{arguments[0]}: not one clear line: {done.stderr!r}")
        if done.stdout:
            problems.append(f"{arguments[0]}: printed {done.stdout[:80]!r}")
    if output.read_bytes() != b"an older file":
        problems.append("the existing output file was changed")
    if sorted(p.name for p in folder.iterdir()) != before:
        problems.append(f"files were made: {sorted(p.name for p in folder.iterdir())}")
    return problems


def attack(folder):
    """A pickle that runs a command in Python is shown and named, never run, and converted only on request."""
    problems = []
    marker = folder / "executed"
    path = folder / "attack.pt"
    output = folder / "attack.croft"
    torch.save({"w": torch.ones(2), "x": Shell(marker)}, path)
    name = f"{os.system.__module__}.system"
    for arguments, code in ((("inspect", path), 0), (("verify", path), 0), (("convert", path, output), USAGE),
                            (("convert", path, output, "--allow-dangerous"), 0)):
        done = croft(*arguments)
        if done.returncode != code:
            problems.append(f"{arguments}: exit code {done.returncode}, not {code}")
        if "--allow-dangerous" not in arguments and name not in done.stderr:
            problems.append(f"{arguments}: {name} is not named: {done.stderr!r}")
        if output.exists() and "--allow-dangerous" not in arguments:
            problems.append(f"{arguments}: made {output.name}")
    if marker.exists():
        problems.append("the command in the pickle was run")
    return problems


def script(folder):
    """A TorchScript archive shows the tensors of its state_dict, by name."""
    path = folder / "script.pt"
    module = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)))
    torch.jit.save(module, path)
    shown = {tensor["name"] for tensor in json.loads(croft("inspect", "--json", path).stdout)["tensors"]}
    expected = set(module.state_dict())
    return [] if shown == expected else [f"{sorted(shown)}, not {sorted(expected)}"]


# These may be intact; croft does not know their formats, or they are no files.
UNREADABLE = ("a file of another kind", "a directory", "a missing file")


def check_refusals(report, folder):
    sound = folder / "sound.pt"
    torch.save({"w": torch.arange(5000.0)}, sound)
    data = sound.read_bytes()

    bad = {
        "a truncated file": lambda path: path.write_bytes(data[:len(data) // 2]),
        "a file without its last byte": lambda path: path.write_bytes(data[:-1]),
        "an empty file": lambda path: path.write_bytes(b""),
        "a file of another kind": lambda path: path.write_bytes(b"%PDF-1.7\n" * 100),
        "a directory": lambda path: path.mkdir(),
        "a missing file": lambda path: None,
    }
    for number, (what, make) in enumerate(bad.items()):
        path = folder / f"bad{number}.pt"
        make(path)
        code = MISSING if what in UNREADABLE else DAMAGED
        report.run(f"refused: {what}", lambda path=path, code=code: refused(path, folder, code))


def main():
    warnings.simplefilter("ignore")
    print(f"python {sys.version.split()[0]}, torch {torch.__version__}, "
          f"safetensors {safetensors.__version__}, numpy {numpy.__version__}")
    if not CROFT.exists():
        sys.exit(f"{CROFT} is missing")
    torch.manual_seed(0)
    report = Report()
    with tempfile.TemporaryDirectory(prefix="croft-interop-") as folder:
        for make in CASES:
            check_case(report, pathlib.Path(folder), make)
    with tempfile.TemporaryDirectory(prefix="croft-refusals-") as folder:
        check_refusals(report, pathlib.Path(folder))
    with tempfile.TemporaryDirectory(prefix="croft-inert-") as folder:
        report.run("a pickle that runs a command", lambda: attack(pathlib.Path(folder)))
        report.run("a TorchScript archive", lambda: script(pathlib.Path(folder)))
    print(f"{report.passed} passed, {report.failed} failed")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())

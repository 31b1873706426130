#!/usr/bin/env python3
"""Checks that a JVM and real PyTorch write and read one shared storage, both ways.

For each dtype: the JVM moves a tensor into shared memory and prints its handle, Python maps what that names with
torch.UntypedStorage.from_file and with numpy.memmap, and each reads what the other writes. Then the same with memory
that Python made. Then the JVM publishes a checkpoint of torch.save in shared memory, and Python reads it through
the package croft of python/. Ends with /dev/shm as it was before.

    .ci/shared_check.py        # with a Python that has torch, numpy and the package in python/, and a JDK 25
"""

import pathlib
import subprocess
import sys
import tempfile
import urllib.parse
import uuid

import croft
import numpy
import torch
from interop_check import Report, row_major_bytes

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHM = pathlib.Path("/dev/shm")
NAME = f"undercroft-check-{uuid.uuid4().hex[:12]}"

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2,
          torch.int64, torch.int32,
          torch.int16, torch.int8, torch.uint8, torch.uint16, torch.uint32, torch.bool, torch.complex64,
          torch.complex128]
COUNT = 5000
# Numpy knows these by the integers of their width.
WITHOUT_NUMPY = {torch.bfloat16: numpy.uint16, torch.float8_e4m3fn: numpy.uint8, torch.float8_e5m2: numpy.uint8}


class Jvm:
    """A JVM that does what it is told: see SharedPeer.java."""

    def __init__(self):
        self.process = subprocess.Popen([ROOT / "property-tests/run", "peer"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self, *words):
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        status, *answer = self.process.stdout.readline().rstrip("\n").split("\t")
        if status != "ok":
            raise RuntimeError(f"the JVM said {status} {answer} to {words[:3]}")
        return answer

    def close(self):
        self.process.stdin.close()
        return self.process.wait(60)


# ---- elements

def name_of(dtype):
    return str(dtype).removeprefix("torch.")


def samples(dtype, seed):
    """Elements as a tensor: the extremes of the dtype, then what the seed makes."""
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.randint(0, 2, (COUNT,), generator=generator).bool()
    if dtype.is_complex:
        return torch.randn(COUNT, dtype=dtype, generator=generator)
    if dtype.is_floating_point:
        info = torch.finfo(dtype)
        extremes = torch.tensor([info.max, info.min, info.tiny, info.eps, 0.0, -1.0], dtype=torch.float64)
        return torch.cat([extremes, torch.randn(COUNT - 6, dtype=torch.float64, generator=generator)]).to(dtype)
    info = torch.iinfo(dtype)
    drawn = torch.randint(max(info.min, -2 ** 62), min(info.max, 2 ** 62), (COUNT - 2,), generator=generator)
    return torch.cat([torch.tensor([info.min, info.max]), drawn]).to(dtype)


def words(tensor):
    """Elements as the JVM takes them."""
    if tensor.dtype.is_complex:
        return [f"{z.real!r},{z.imag!r}" for z in tensor.tolist()]
    if tensor.dtype == torch.bool:
        return [str(int(x)) for x in tensor.tolist()]
    return [repr(x) for x in tensor.tolist()]


def differences(tensor, said, who):
    """What the JVM reads, compared with what Python has."""
    if tensor.dtype.is_complex:
        read = [complex(*map(float, word.split(","))) for word in said]
    else:
        read = [float(word) if tensor.dtype.is_floating_point else int(word) for word in said]
    wanted = tensor.tolist()
    return [f"{who}: element {i} is {read[i]}, not {wanted[i]}" for i in range(max(len(wanted), len(read)))
            if i >= min(len(wanted), len(read)) or read[i] != wanted[i]]


def unequal(one, other, who):
    return [] if row_major_bytes(one) == row_major_bytes(other) else [f"{who}: other elements"]


# ---- both ways

def from_file(path, dtype, count=COUNT):
    storage = torch.UntypedStorage.from_file(str(path), shared=True, nbytes=count * dtype.itemsize)
    return torch.empty(0, dtype=dtype).set_(storage, 0, (count,))


def memmap(path, dtype, mode):
    array = numpy.memmap(path, WITHOUT_NUMPY.get(dtype) or torch.empty(0, dtype=dtype).numpy().dtype, mode,
                         shape=(COUNT,))
    tensor = torch.from_numpy(array)
    return tensor.view(dtype) if dtype in WITHOUT_NUMPY else tensor


def exchange(jvm, key, mine, seed):
    """Each writes, and the other reads what it wrote."""
    second, third = samples(mine.dtype, seed), samples(mine.dtype, seed + 1)
    mine.copy_(second)
    problems = differences(second, jvm.ask("read", key), "the JVM reads what Python writes")
    jvm.ask("write", key, *words(third))
    return problems + unequal(mine, third, "Python reads what the JVM writes")


def identity(path):
    """The number of a file among all of the host, as handles have it."""
    stat = path.stat()
    return stat.st_ino ^ stat.st_dev << 40


def made_by_the_jvm(jvm, dtype):
    first = samples(dtype, 1)
    token, name = jvm.ask("share", "tensor", name_of(dtype), *words(first))
    handle = urllib.parse.urlsplit(token)
    means = dict(urllib.parse.parse_qsl(handle.query))
    path = SHM / urllib.parse.unquote(handle.path).removeprefix("shm/")
    wanted = {"nbytes": path.stat().st_size, "id": identity(path), "dtype": name_of(dtype), "shape": COUNT, "stride": 1,
              "offset": 0}
    problems = [f"the handle says {key}={means.get(key)} and not {value}" for key, value in wanted.items()
                if means.get(key) != str(value)]
    problems += [] if path == SHM / name.removeprefix("/") else [f"the storage is called {name}, not {path.name}"]
    for way in (from_file(path, dtype), memmap(path, dtype, "r+")):
        problems += unequal(way, first, "Python reads what the JVM made")
        problems += exchange(jvm, "tensor", way, 2)
        problems += differences(way, jvm.ask("take", "second", token), "a second tensor by the handle")
        jvm.ask("drop", "second")
        way.copy_(first)
    jvm.ask("drop", "tensor")
    return problems + ([f"{path} is still there"] if path.exists() else [])


def made_by_python(jvm, dtype, make):
    path = SHM / f"{NAME}-{name_of(dtype)}"
    try:
        mine = make(path, dtype)
        first = samples(dtype, 4)
        mine.copy_(first)
        problems = differences(first, jvm.ask("attach", "tensor", name_of(dtype), path.name),
                               "the JVM attaches what Python made")
        problems += exchange(jvm, "tensor", mine, 5)
        problems += differences(mine, jvm.ask("map", "file", name_of(dtype), path), "the JVM maps the file")
        problems += exchange(jvm, "file", mine, 7)
        token = (f"undercroft:shm/{path.name}?nbytes={COUNT * dtype.itemsize}&id={identity(path)}"
                 f"&dtype={name_of(dtype)}&shape={COUNT}&stride=1&offset=0")
        problems += differences(mine, jvm.ask("take", "handle", token), "the JVM opens a handle that Python wrote")
        for key in ("tensor", "file", "handle"):
            jvm.ask("drop", key)
        return problems + ([] if path.exists() else ["the JVM removed what Python made"])
    finally:
        path.unlink(missing_ok=True)


# ---- a published checkpoint

def published(jvm):
    torch.manual_seed(0)
    weight = torch.randn(300, 200)
    state = {"wte": weight, "head": weight.t(), "half": torch.randn(1000).to(torch.bfloat16), "ids": torch.arange(7),
             "mask": torch.tensor([True, False]), "waves": torch.randn(50, dtype=torch.complex64)}
    with tempfile.TemporaryDirectory() as directory:
        pt = pathlib.Path(directory) / "state.pt"
        torch.save(state, pt)
        nbytes = int(jvm.ask("publish", NAME, pt)[0])
    path = SHM / NAME
    problems = [] if path.stat().st_size == nbytes else [f"{path} has {path.stat().st_size} bytes, not {nbytes}"]
    try:
        with croft.open(path) as file:
            file.verify()
            for name, tensor in state.items():
                view = torch.from_numpy(file.tensor(name))
                problems += unequal(view.view(tensor.dtype), tensor, name)
            number = [int(file.index.tables["TENS"]["storage"][file.index.names[name]]) for name in ("wte", "head")]
            problems += [] if number[0] == number[1] else ["wte and head share no storage"]
    finally:
        jvm.ask("unpublish", NAME)
    return problems


def listing():
    return sorted(str(path.relative_to(SHM)) for path in SHM.rglob("*"))


def main():
    report = Report()
    before = listing()
    jvm = Jvm()
    try:
        for dtype in DTYPES:
            what = name_of(dtype)
            report.run(f"{what}: made by the JVM, read and written by torch and numpy",
                       lambda: made_by_the_jvm(jvm, dtype))
            report.run(f"{what}: made by torch.UntypedStorage.from_file, read and written by the JVM",
                       lambda: made_by_python(jvm, dtype, from_file))
            report.run(f"{what}: made by numpy.memmap, read and written by the JVM",
                       lambda: made_by_python(jvm, dtype, lambda path, dtype: memmap(path, dtype, "w+")))
        report.run("a published checkpoint, read by the package croft", lambda: published(jvm))
    finally:
        code = jvm.close()
    report.check("the JVM ends well", [] if code == 0 else [f"exit code {code}"])
    report.check("/dev/shm is as before", sorted(set(listing()) ^ set(before)))
    print(f"\n{report.passed} checks passed, {report.failed} failed; "
          f"torch {torch.__version__}, numpy {numpy.__version__}")
    sys.exit(report.failed > 0)


if __name__ == "__main__":
    main()

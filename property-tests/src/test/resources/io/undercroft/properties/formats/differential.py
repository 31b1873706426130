"""What the real libraries make of files: started by DifferentialProof. Reads lines of JSON, and answers each with one.

    {"do": "versions"}                                          {"torch": "2.13.0", ...}
    {"do": "read", "format": F, "file": P, "trusted": false}    {"state": DESCRIPTION} or {"refused": MESSAGE}
    {"do": "write", "kind": K, "file": P, "seed": N}            {"state": DESCRIPTION}: a random state was saved there

A description says the same of a state as Described.java does: values with their bits, and which objects and storages
are one.
"""
import collections
import hashlib
import importlib.metadata
import json
import random
import resource
import signal
import struct
import sys
import warnings
import zipfile

import gguf
import numpy as np
import safetensors
import safetensors.torch
import torch

SECONDS = 3
MEMORY = 16 << 30


class TooLong(BaseException):
    pass


class Description:
    """Describes a state of PyTorch's. Objects are numbered in the order in which they are met."""

    def __init__(self):
        self.objects = {}
        self.storages = {}
        self.kept = []

    def of(self, value):
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            return {"int": str(value)}
        if isinstance(value, float):
            return {"float": bits(value)}
        if isinstance(value, complex):
            return {"complex": [bits(value.real), bits(value.imag)]}
        if isinstance(value, bytes):
            return {"bytes": value.hex()}
        if isinstance(value, torch.Size):
            return {"size": [str(size) for size in value]}
        if isinstance(value, (torch.dtype, torch.device, torch.layout, torch.memory_format, torch.qscheme)):
            return {type(value).__name__: str(value)}
        if isinstance(value, type):
            return {"class": value.__name__}
        if isinstance(value, torch.UntypedStorage):
            return self.storage(value)
        if isinstance(value, torch.storage.TypedStorage):
            return self.storage(value.untyped())
        if isinstance(value, tuple) and not value:
            return {"tuple": []}
        return self.object(value)

    def object(self, value):
        if id(value) in self.objects:
            return {"again": str(self.objects[id(value)])}
        self.objects[id(value)] = len(self.objects)
        self.kept.append(value)
        if isinstance(value, torch.nn.Parameter):
            return {"parameter": self.tensor(value), "attributes": self.items(attributes(value))}
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, collections.OrderedDict):
            return {"OrderedDict": self.items(value), "attributes": self.items(vars(value))}
        if type(value) is dict:
            return {"dict": self.items(value)}
        if isinstance(value, (list, tuple)):
            return {type(value).__name__: [self.of(element) for element in value]}
        if isinstance(value, (set, frozenset)):
            return {type(value).__name__: sorted(map(text, value),
                                                 key=lambda t: t.encode("utf-16-be", "surrogatepass"))}
        if isinstance(value, bytearray):
            return {"bytearray": value.hex()}
        raise TypeError(f"no description of {type(value)}")

    def items(self, mapping):
        return [[key(k), self.of(v)] for k, v in mapping.items()]

    def tensor(self, tensor):
        if tensor.layout != torch.strided or tensor.is_quantized:
            raise TypeError("no description of this tensor")
        return {
            "tensor": str(tensor.dtype), "shape": [str(n) for n in tensor.shape],
            "flags": [name for name, there in (("grad", tensor.requires_grad), ("conj", tensor.is_conj()),
                                               ("neg", tensor.is_neg())) if there],
        } | (self.meta(tensor) if tensor.device.type == "meta" else {
            "stride": [str(n) for n in tensor.stride()], "offset": str(tensor.storage_offset()),
            "on": self.storage(tensor.untyped_storage()),
        })

    @staticmethod
    def meta(tensor):
        return {"stride": [str(n) for n in tensor.stride()], "on": None}

    def storage(self, storage):
        if storage.nbytes() == 0:
            return {"storage": "empty"}
        number = self.storages.get(storage.data_ptr())
        if number is not None:
            return {"storage": str(number)}
        self.storages[storage.data_ptr()] = len(self.storages)
        self.kept.append(storage)
        data = torch.empty(0, dtype=torch.uint8).set_(storage).numpy()
        return {"storage": str(len(self.storages) - 1), "nbytes": str(storage.nbytes()), "sha256": sha256(data)}


def attributes(tensor):
    return {name: value for name, value in vars(tensor).items() if name != "_backward_hooks"}


def key(value):
    """A key is found by its value, so which object it is does not matter."""
    if isinstance(value, tuple) and not isinstance(value, torch.Size):
        return {"tuple": [key(element) for element in value]}
    return Description().of(value)


def text(element):
    return json.dumps(key(element), ensure_ascii=False, separators=(",", ":"))


def bits(value):
    return struct.pack(">d", value).hex()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def element(dtype, shape, data):
    return {"dtype": dtype, "shape": [str(n) for n in shape], "sha256": sha256(data)}


def array(a):
    return element(a.dtype.newbyteorder("=").name, a.shape,
                   np.ascontiguousarray(a.astype(a.dtype.newbyteorder("="))).tobytes())


def tensor_bytes(tensor):
    plain = tensor.detach().contiguous()
    return b"" if plain.numel() == 0 else plain.reshape(-1).view(torch.uint8).numpy().tobytes()


# ---- reading ----

def read_torch(path, trusted):
    try:
        described = Description().of(torch.load(path, weights_only=True, map_location=kept_location))
    except Exception:
        if not trusted:
            raise
        return Description().of(torch.load(path, weights_only=False, map_location=kept_location))
    # Of a zip archive whose headers contradict each other, torch.load may give memory that nothing was read into.
    if zipfile.is_zipfile(path) and described != Description().of(
            torch.load(path, weights_only=True, map_location=kept_location, mmap=True)):
        raise ValueError("mapped, the file has other bytes")
    return described


def kept_location(storage, _):
    return storage


def read_safetensors(path, _):
    described = {}
    with safetensors.safe_open(path, framework="pt") as file:
        for name in file.keys():
            tensor = file.get_tensor(name)
            described[name] = element(str(tensor.dtype).removeprefix("torch."), tensor.shape, tensor_bytes(tensor))
        # Tensors under several names are there once. The metadata comes in any order, so a further name never has one
        # itself.
        stored = set(file.keys())
        for alias, name in (file.metadata() or {}).items():
            if name in stored and alias not in stored and alias != "format":
                described[alias] = described[name]
    return described


def read_numpy(path, _):
    loaded = np.load(path, allow_pickle=False)
    if isinstance(loaded, np.ndarray):
        return {"": array(loaded)}
    if any("\0" in record.orig_filename for record in loaded.zip.infolist()):
        raise ValueError("names are cut at their first NUL")
    # A name that ends in .npy would find the record of the name before that.
    return {name: array(loaded[name + ".npy" if name + ".npy" in loaded.zip.namelist() else name])
            for name in loaded.files}


GGUF_NAMES = {"F16": "float16", "F32": "float32", "F64": "float64", "BF16": "bfloat16", "I8": "int8", "I16": "int16",
              "I32": "int32", "I64": "int64"}


def read_gguf(path, _):
    reader = gguf.GGUFReader(path)
    described = {}
    for tensor in reader.tensors:
        kind = tensor.tensor_type.name
        block, _size = gguf.GGML_QUANT_SIZES[tensor.tensor_type]
        shape = [int(n) for n in reversed(tensor.shape)]
        if block > 1:
            shape[-1] //= block
        described[tensor.name] = element(GGUF_NAMES.get(kind, kind), shape, np.ascontiguousarray(tensor.data).tobytes())
    return described


READERS = {"torch-zip": read_torch, "torch-legacy": read_torch, "torch-tar": read_torch,
           "safetensors": read_safetensors,
           "npy": read_numpy, "npz": read_numpy, "gguf": read_gguf}


# ---- writing ----

PLAIN = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
         torch.uint8, torch.bool, torch.complex64, torch.complex128, torch.uint16, torch.uint32, torch.uint64,
         torch.float8_e4m3fn, torch.float8_e5m2]


class Maker:
    """Makes random states."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.tensors = []
        self.containers = []

    def shape(self):
        return [self.random.randrange(6) for _ in range(self.random.randrange(5))]

    def whole(self, dtypes=PLAIN):
        dtype = self.random.choice(dtypes)
        shape = self.shape()
        count = int(np.prod(shape, dtype=np.int64))
        data = bytearray(self.random.randbytes(count * dtype.itemsize))
        if dtype == torch.bool:
            data = bytearray(byte & 1 for byte in data)
        tensor = torch.frombuffer(data, dtype=dtype).clone() if data else torch.empty(0, dtype=dtype)
        self.tensors.append(tensor.view(shape))
        return self.tensors[-1]

    def tensor(self):
        kind = self.random.randrange(8)
        if kind < 3 or not self.tensors:
            return self.whole()
        tensor = self.random.choice(self.tensors)
        if kind == 3 or tensor.dim() == 0:
            return tensor
        dim = self.random.randrange(tensor.dim())
        if kind == 4:
            return self.remember(tensor.transpose(dim, self.random.randrange(tensor.dim())))
        if kind == 5:
            start = self.random.randrange(tensor.size(dim) + 1)
            return self.remember(tensor.narrow(dim, start, self.random.randrange(tensor.size(dim) - start + 1)))
        if kind == 6 and tensor.is_complex():
            return self.remember(tensor.conj())
        if kind == 7 and tensor.dtype.is_floating_point and tensor.itemsize > 1:
            return torch.nn.Parameter(tensor)
        return self.remember(tensor.unsqueeze(dim))

    def remember(self, tensor):
        self.tensors.append(tensor)
        return tensor

    def key(self):
        return self.random.choice(["weight", "a/b", "~", "é", "\U0001f600", "", 0, 1, -5, 1 << 40, 2.5, True, None,
                                   ("a", 1), f"k{self.random.randrange(100)}"])

    def value(self, depth):
        kind = self.random.randrange(10)
        if kind < 4:
            return self.tensor()
        if kind < 7 or depth > 6:
            return self.leaf()
        if kind == 7 and self.containers:
            return self.random.choice(self.containers)
        return self.container(depth + 1)

    def leaf(self):
        r = self.random
        return r.choice([None, True, 0, 255, 256, 65536, -1, 1 << 31, -(1 << 63), 1 << 70, 0.5, float("inf"), -0.0, "",
                         "text",
                         "\u65e5\n", "x" * 300, b"", b"\x00\xff", 1 + 2j, torch.float32, torch.device("cpu"),
                         torch.Size([2, 3]),
                         bytearray(b"ab"), torch.strided, r.getrandbits(64), r.random()])

    def container(self, depth):
        kind = self.random.randrange(6)
        count = self.random.randrange(5)
        if kind == 0:
            made = tuple(self.value(depth) for _ in range(count))
            self.containers.append(made)
        elif kind == 1:
            made = {self.key() for _ in range(count)}
            self.containers.append(made)
        elif kind == 2:
            made = []
            self.containers.append(made)
            made.extend(self.value(depth) for _ in range(count))
        else:
            made = collections.OrderedDict() if kind == 3 else {}
            self.containers.append(made)
            for _ in range(count):
                made[self.key()] = self.value(depth)
        return made

    def state(self):
        root = {}
        self.containers.append(root)
        for i in range(self.random.randrange(12)):
            root[f"n{i}"] = self.value(0)
        return root


def write_torch(path, maker, zipped):
    state = maker.state()
    protocol = maker.random.choice([2, 2, 3, 4, 5])
    torch.save(state, path, pickle_protocol=protocol, _use_new_zipfile_serialization=zipped)
    return Description().of(state)


def write_safetensors(path, maker):
    dtypes = [dtype for dtype in PLAIN if dtype != torch.complex128]
    tensors = {maker.random.choice([f"t{i}", f"a.b/{i}", f"\u65e5{i}"]): maker.whole(dtypes)
               for i in range(maker.random.randrange(8))}
    metadata = maker.random.choice([None, {"format": "pt"}, {"a": "b", "\u65e5": "\n"}])
    safetensors.torch.save_file(tensors, path, metadata=metadata)
    return read_safetensors(path, True)


DTYPES = ["<f4", "<f8", "<f2", "<i8", ">i4", "<u2", "|u1", "|b1", ">f8", "<c8", ">c16", "<u8", "|i1", ">u2"]


def random_array(maker, dtypes):
    dtype = np.dtype(maker.random.choice(dtypes))
    shape = maker.shape()
    data = maker.random.randbytes(int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)
    if dtype == np.bool_:
        data = bytes(byte & 1 for byte in data)
    made = np.frombuffer(data, dtype=dtype).reshape(shape)
    return np.asfortranarray(made) if maker.random.random() < 0.3 else made


def write_numpy(path, maker, kind):
    if kind == "npy":
        made = random_array(maker, DTYPES)
        with open(path, "wb") as file:
            np.save(file, made)
        return {"": array(made)}
    arrays = {maker.random.choice([f"a{i}", f"x/y{i}", f"\u65e5{i}"]): random_array(maker, DTYPES)
              for i in range(maker.random.randrange(6))}
    with open(path, "wb") as file:
        (np.savez if kind == "npz" else np.savez_compressed)(file, **arrays)
    return {name: array(made) for name, made in arrays.items()}


def write_gguf(path, maker):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_string("a.string", "\u65e5")
    writer.add_uint32("a.number", maker.random.getrandbits(32))
    writer.add_array("an.array", [maker.random.randrange(100) for _ in range(maker.random.randrange(1, 5))])
    for i in range(maker.random.randrange(1, 6)):
        made = np.ascontiguousarray(random_array(maker, ["<f4", "<f2", "<f8", "|i1", "<i2", "<i4", "<i8"]))
        if 0 < made.ndim and 0 < made.size:
            writer.add_tensor(f"t{i}", made)
    quantized = maker.random.randbytes(18 * 4)
    writer.add_tensor("q", np.frombuffer(quantized, dtype=np.uint8).reshape(2, 36),
                      raw_dtype=gguf.GGMLQuantizationType.Q4_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return read_gguf(path, True)


WRITERS = {
    "torch-zip": lambda path, maker: write_torch(path, maker, True),
    "torch-legacy": lambda path, maker: write_torch(path, maker, False),
    "safetensors": write_safetensors,
    "npy": lambda path, maker: write_numpy(path, maker, "npy"),
    "npz": lambda path, maker: write_numpy(path, maker, "npz"),
    "npz-deflated": lambda path, maker: write_numpy(path, maker, "npz-deflated"),
    "gguf": write_gguf,
}


# ---- requests ----

def versions():
    names = {"torch": "torch", "safetensors": "safetensors", "numpy": "numpy", "gguf": "gguf"}
    return {name: importlib.metadata.version(package) for name, package in names.items()} | {
        "python": sys.version.split()[0]}


def answer(request):
    if request["do"] == "versions":
        return versions()
    if request["do"] == "write":
        return {"state": WRITERS[request["kind"]](request["file"], Maker(request["seed"]))}
    try:
        return {"state": READERS[request["format"]](request["file"], request["trusted"])}
    except (Exception, TooLong) as e:
        return {"refused": f"{type(e).__name__}: {e}"[:200]}


def ring(*_):
    raise TooLong()


def main():
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, ring)
    torch.set_num_threads(1)
    for line in sys.stdin:
        signal.alarm(SECONDS)
        result = json.dumps(answer(json.loads(line)))
        signal.alarm(0)
        print(result, flush=True)


if __name__ == "__main__":
    main()

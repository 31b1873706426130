"""What the real libraries read from files. Each line of standard input is the name of a file as JSON; the answer is

    {"kind": KIND, "elements": {NAME: "DTYPE SHAPE SHA256"}, "optional": [...], "others": [...], "stubs": N,
     "more": BOOL}

or, if the library refuses the file, {"kind": KIND, "refused": MESSAGE}. Optional are the scalars of NumPy, and texts as
arrays of characters; others are the arrays of text, records and dates as they are in NumPy; stubs is the number of
classes and functions that pickles name and that are not imported. Each file is read in a process of its own, with
limits and, for root, as user nobody.
"""
import codecs
import collections
import hashlib
import importlib
import json
import os
import pickle
import resource
import select
import signal
import sys
import tarfile
import tempfile
import time
import types
import warnings
import zipfile

import gguf
import numpy as np
import safetensors
import torch
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

MEMORY = 12 << 30
NOBODY = 65534
# Everything else that a pickle names becomes a stub.
IMPORTED = {"torch", "numpy", "scipy", "joblib", "collections", "copyreg", "copy_reg", "_codecs", "datetime", "decimal",
            "fractions", "argparse", "pathlib", "enum", "uuid", "array"}
BUILTINS = {"set", "frozenset", "dict", "list", "tuple", "bytearray", "complex", "slice", "range", "object", "int",
            "float", "bool", "str", "bytes", "type", "xrange", "long", "unicode", "Ellipsis", "NotImplemented"}
LONG = ("float128", "complex256", "longdouble", "clongdouble")
LEGACY = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
# Python imports them when they are first used, which nobody may not be permitted to.
ENCODINGS = ("ascii", "cp437", "latin1", "raw-unicode-escape", "utf-16", "utf-32")


# ---- pickles ----

class StubType(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return stub(name)


class Stub(metaclass=StubType):
    """An object of a class that is not imported: it keeps what the pickle gives it."""

    def __new__(cls, *args, **named):
        self = object.__new__(cls)
        self.__dict__["given"] = [args, named]
        return self

    def __init__(self, *args, **named):
        pass

    def __setstate__(self, state):
        if isinstance(state, dict):
            self.__dict__.update((str(key), value) for key, value in state.items())
        else:
            self.__dict__["state"] = state

    def append(self, item):
        self.__dict__.setdefault("items", []).append(item)

    def extend(self, items):
        self.__dict__.setdefault("items", []).extend(items)

    add = append
    update = extend

    def __setitem__(self, key, value):
        self.__dict__.setdefault("entries", []).append((key, value))

    def __call__(self, *args, **named):
        return Stub(*args, **named)


stubs = {}


def stub(name):
    return stubs.setdefault(name, StubType(name, (Stub,), {}))


class Unpickler(pickle._Unpickler):
    """Python's, with stubs. The one in C refuses what it does not know."""

    def find_class(self, module, name):
        top = module.split(".")[0]
        if module in ("builtins", "__builtin__"):
            if name in BUILTINS:
                return pickle._Unpickler.find_class(self, module, name)
        elif top in IMPORTED:
            try:
                return pickle._Unpickler.find_class(self, module, name)
            except (ImportError, AttributeError):
                pass
        return stub(f"{module}.{name}")

    def persistent_load(self, pid):
        return stub("persistent")(pid)


def load(file, **options):
    return Unpickler(file, **options).load()


stub_pickle = types.ModuleType("stub_pickle")
stub_pickle.Unpickler, stub_pickle.load = Unpickler, load


# ---- what is in an object ----

class Found:
    def __init__(self):
        self.elements, self.optional, self.others = {}, [], []
        self.seen, self.kept = set(), []

    def walk(self, root):
        # A stack, as objects may be nested deeply; elements in the order of the file.
        stack = [((), root)]
        while stack:
            path, value = stack.pop()
            if isinstance(value, torch.Tensor):
                self.tensor(path, value)
            elif isinstance(value, np.ndarray):
                self.array(path, value, stack)
            elif isinstance(value, np.generic):
                self.optional.append(array_element(np.asarray(value)))
            elif not isinstance(value, (str, bytes, int, float, complex, type(None), type)) and id(value) not in \
                    self.seen:
                self.seen.add(id(value))
                self.kept.append(value)
                stack.extend(reversed([((*path, key), part) for key, part in parts(value)]))
        return self

    def tensor(self, path, value):
        if value.layout == torch.sparse_coo:
            pieces = {"indices": value._indices(), "values": value._values()}
        elif value.layout != torch.strided:
            pieces = {"crow": value.crow_indices(), "col": value.col_indices(), "values": value.values()}
        elif value.is_quantized:
            pieces = {"": value.int_repr()}
        else:
            pieces = {"": value}
        for piece, plain in pieces.items():
            self.put((*path, piece) if piece else path, tensor_element(plain, value.dtype if value.is_quantized else
                                                                      plain.dtype))
        if type(value) is not torch.Tensor and vars(value):
            self.walk(dict(vars(value)))

    def array(self, path, value, stack):
        if isinstance(value, np.ma.MaskedArray):
            self.put((*path, "mask"), array_element(np.ma.getmaskarray(value)))
            value = value.data
        if value.dtype.hasobject:
            stack.extend(reversed([((*path, i), part) for i, part in enumerate(value.reshape(-1).tolist())]))
            return
        kind, name = value.dtype.kind, value.dtype.name
        if kind not in "USVMm" and name not in LONG:
            self.put(path, array_element(value))
            return
        native = np.zeros(value.shape, value.dtype.newbyteorder("="))
        native[...] = value     # Not astype, which leaves the bytes between fields as they are in memory.
        self.others.append(element(native.dtype.str, value.shape, native.tobytes()))
        if value.dtype.names:
            stack.extend(reversed([((*path, field), value[field]) for field in value.dtype.names]))
        elif kind in "Mm":
            self.put(path, array_element(native.view(np.int64)))
        elif kind in "US":
            characters = np.dtype(np.uint32 if kind == "U" else np.uint8)
            length = native.dtype.itemsize // characters.itemsize
            self.optional.append(element(characters.name, (*value.shape, length), native.tobytes()))
        else:
            self.put(path, element("numpy:" + native.dtype.str, value.shape, native.tobytes()))

    def put(self, path, element):
        name = "/".join(str(key).replace("~", "~0").replace("/", "~1") for key in path)
        while name in self.elements:
            name += "#2"
        self.elements[name] = element


def parts(value):
    if isinstance(value, dict):
        yield from value.items()
        yield from ((repr(key), key) for key in value if isinstance(key, (tuple, torch.Tensor)))
    elif isinstance(value, (list, tuple, set, frozenset, collections.deque)):
        yield from enumerate(value)
    elif isinstance(value, np.random.RandomState):
        yield "state", value.get_state(legacy=False)
    elif isinstance(value, np.random.Generator):
        yield "state", value.bit_generator.state
    if not isinstance(value, types.ModuleType):
        yield from getattr(value, "__dict__", {}).items()
        for slot in getattr(type(value), "__slots__", ()) if not isinstance(value, (dict, list, tuple)) else ():
            if isinstance(slot, str) and hasattr(value, slot):
                yield slot, getattr(value, slot)


def tensor_element(tensor, dtype):
    if tensor.device.type == "meta":
        return element(str(dtype).removeprefix("torch."), tensor.shape, None)
    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    data = b"" if plain.numel() == 0 else plain.reshape(-1).view(torch.uint8).numpy()
    return element(str(dtype).removeprefix("torch."), tensor.shape, data)


def array_element(array):
    native = array.astype(array.dtype.newbyteorder("="))
    return element(native.dtype.name, array.shape, native.tobytes())


def element(dtype, shape, data):
    digest = None if data is None else hashlib.sha256(data).hexdigest()
    return f"{dtype} {'x'.join(str(int(size)) for size in shape) or '-'} {digest}"


# ---- readers ----

def read_torch(path):
    try:
        return Found().walk(torch.load(path, map_location="cpu", weights_only=True))
    except Exception:
        stubs.clear()
        return Found().walk(attempts(lambda encoding: torch.load(
            path, map_location="cpu", weights_only=False, pickle_module=stub_pickle, encoding=encoding)))


def read_script(path):
    module = torch.jit.load(path, map_location="cpu")
    found = Found().walk(dict(module.state_dict()))
    found.more = True
    return found


def read_pickle(path):
    def read(encoding):
        with open(path, "rb") as file:
            return load(file, encoding=encoding)
    return Found().walk(attempts(read))


def attempts(read):
    """Pickles of Python 2 do not say which encoding their text has."""
    try:
        return read("utf-8")
    except UnicodeError:
        stubs.clear()
        return read("latin1")


def read_joblib(path):
    import joblib.numpy_pickle

    joblib.numpy_pickle.NumpyUnpickler.find_class = Unpickler.find_class
    return Found().walk(joblib.load(path))


def read_numpy(path):
    # numpy.load calls pickle.load.
    np.lib._format_impl.pickle = stub_pickle
    stub_pickle.UnpicklingError = pickle.UnpicklingError

    def read(encoding):
        encoding = {"utf-8": "ASCII"}.get(encoding, encoding)
        loaded = np.load(path, allow_pickle=True, encoding=encoding)
        return loaded if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    return Found().walk(attempts(read))


def read_safetensors(path):
    found = Found()
    with safetensors.safe_open(path, framework="pt") as file:
        for name in file.keys():
            found.put((name,), tensor_element(file.get_tensor(name), file.get_tensor(name).dtype))
        for alias, name in (file.metadata() or {}).items():
            if name in file.keys() and alias not in file.keys() and alias != "format":
                found.put((alias,), tensor_element(file.get_tensor(name), file.get_tensor(name).dtype))
    return found


GGUF_NAMES = {"F16": "float16", "F32": "float32", "F64": "float64", "BF16": "bfloat16", "I8": "int8", "I16": "int16",
              "I32": "int32", "I64": "int64"}


def read_gguf(path):
    found = Found()
    for tensor in gguf.GGUFReader(path).tensors:
        kind = tensor.tensor_type.name
        block, _ = gguf.GGML_QUANT_SIZES[tensor.tensor_type]
        shape = [int(size) for size in reversed(tensor.shape)]
        if block > 1:
            shape[-1] //= block
        found.put((tensor.name,), element(GGUF_NAMES.get(kind, kind), shape, np.ascontiguousarray(tensor.data)))
    return found


ONNX_NAMES = {"FLOAT": "float32", "DOUBLE": "float64", "FLOAT8E4M3FN": "float8_e4m3fn", "FLOAT8E5M2": "float8_e5m2",
              "FLOAT8E4M3FNUZ": "float8_e4m3fnuz", "FLOAT8E5M2FNUZ": "float8_e5m2fnuz", "FLOAT8E8M0": "float8_e8m0fnu"}


def read_onnx(path):
    """The initializers; croft has the tensors of attributes besides. Those below 8 bits are not compared."""
    import onnx
    import onnx.numpy_helper

    found = Found()
    found.more = True
    for tensor in onnx.load(path).graph.initializer:
        name = onnx.TensorProto.DataType.Name(tensor.data_type)
        if name != "STRING" and not any(narrow in name for narrow in ("INT4", "INT2", "FLOAT4", "FLOAT6")):
            array = np.ascontiguousarray(onnx.numpy_helper.to_array(tensor))
            found.put((tensor.name,), element(ONNX_NAMES.get(name, name.lower()), list(tensor.dims), array))
    return found


def is_onnx(path):
    """A model has a version and a graph; any bytes may be a message of something."""
    try:
        import onnx
        model = onnx.load(path, load_external_data=False)
        return model.ir_version > 0 and model.HasField("graph") and len(model.opset_import) > 0
    except Exception:
        return False


def read_dcp(path):
    """What PyTorch makes of the directory of an index."""
    dcp_to_torch_save(os.path.dirname(path), "whole.pt")
    return read_torch("whole.pt")


def read_torch7(path):
    import torchfile

    found, seen, stack = Found(), set(), [torchfile.load(path, force_8bytes_long=True)]
    while stack:
        value = stack.pop()
        if isinstance(value, np.ndarray):
            found.put((str(len(found.elements)),), array_element(value))
        elif id(value) not in seen:
            seen.add(id(value))
            found.kept.append(value)
            if isinstance(value, dict):
                stack += [*value.keys(), *value.values()]
            elif isinstance(value, list):
                stack += value
            elif isinstance(value, torchfile.TorchObject):
                stack.append(value._obj)
    return found


def unknown(_):
    raise ValueError("no library reads it")


READERS = {"torch zip": read_torch, "torch stream": read_torch, "torch tar": read_torch, "TorchScript": read_script,
           "npy": read_numpy, "npz": read_numpy, "safetensors": read_safetensors, "gguf": read_gguf,
           "onnx": read_onnx, "torch dcp": read_dcp,
           "Torch7": read_torch7, "joblib": read_joblib, "pickle": read_pickle}


def kind_of(path):
    with open(path, "rb") as file:
        head = file.read(1 << 16)
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head.startswith(b"GGUF"):
        return "gguf"
    if b"torch.distributed.checkpoint.metadata" in head[:128]:
        return "torch dcp"
    if path.endswith(".distcp"):
        return "torch dcp shard"            # Read with its index.
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= os.path.getsize(path):
        return "safetensors"
    if zipfile.is_zipfile(path) and b"PK" in head[:2]:
        names = zipfile.ZipFile(path).namelist()
        if any(name.split("/")[-1] == "constants.pkl" for name in names):
            return "TorchScript"
        if any(name.endswith("data.pkl") for name in names):
            return "torch zip"
        return "npz" if names and any(name.endswith(".npy") for name in names) or path.endswith(".npz") else "other"
    if LEGACY in head[:24]:
        return "torch stream"
    if head[257:262] == b"ustar" or tarfile.is_tarfile(path):
        return "torch tar" if b"sys_info\0" in head or b"storages\0" in head else "other"
    if b"numpy_pickle" in head or b"NumpyArrayWrapper" in head:
        return "joblib"
    if b"torch." in head and (head[:4] in (b"\4\0\0\0", b"\3\0\0\0") or head[:2] in (b"4\n", b"3\n")) or \
            path.endswith(".t7"):
        return "Torch7"
    if head[:2] in (b"\x80\2", b"\x80\3", b"\x80\4", b"\x80\5") or head[:1] in b"(c]}" and head[:1]:
        with open(path, "rb") as file:      # The first array may be behind much else.
            return "joblib" if b"joblib.numpy_pickle" in file.read() else "pickle"
    if path.endswith(".joblib"):
        return "joblib"
    return "onnx" if head[:1] == b"\x08" and is_onnx(path) else "other"


def describe(path):
    kind = "other"
    try:
        kind = kind_of(path)
        found = READERS.get(kind, unknown)(path)
        return {"kind": kind, "elements": found.elements, "optional": found.optional, "others": found.others,
                "stubs": len(stubs), "more": getattr(found, "more", False)}
    except (Exception, RecursionError) as e:
        return {"kind": kind, "refused": f"{type(e).__name__}: {e}".replace("\n", " ")[:200]}


# ---- processes ----

def child(path, pipe, seconds):
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(0, 1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    with tempfile.TemporaryDirectory() as home:
        os.environ.clear()
        os.environ |= {"HOME": home, "TMPDIR": home}
        os.chdir(home)
        if os.getuid() == 0:
            os.chown(home, NOBODY, NOBODY)
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        answer = describe(path)
        with os.fdopen(pipe, "w") as out:
            json.dump(answer, out)
        os._exit(0)


def answer(path, seconds):
    receive, send = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.close(receive)
            child(path, send, seconds)
        finally:
            os._exit(1)
    os.close(send)
    received, end = bytearray(), time.monotonic() + seconds
    while select.select([receive], [], [], max(0, end - time.monotonic()))[0]:
        part = os.read(receive, 1 << 20)
        if not part:
            break
        received += part
    os.close(receive)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    try:
        json.loads(received)
        return received.decode()
    except ValueError:
        return json.dumps({"kind": kind_of(path), "refused": "took too long, or ended"})


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    sys.setrecursionlimit(20000)
    for library in "joblib.numpy_pickle", "torchfile", "scipy.sparse", "onnx.numpy_helper":
        try:
            importlib.import_module(library)
        except ImportError:
            print(f"libraries: {library} is not installed", file=sys.stderr)
    for encoding in ENCODINGS:
        codecs.lookup(encoding)
    for line in sys.stdin:
        print(answer(json.loads(line), int(sys.argv[1])), flush=True)


if __name__ == "__main__":
    main()

"""Pickles with arrays of NumPy: started by NumpyPicklesTest, and by hand for test-support/fixtures/numpy/pickles.

    numpy_pickles.py fixtures FOLDER   writes a small state in every form, and what it holds as FOLDER/state.json
    numpy_pickles.py write FOLDER      the same with arrays of all dtypes, shapes and orders as FOLDER/all.json
"""
import hashlib
import io
import json
import pickle
import sys

import joblib
import numpy as np
import torch

NUMBERS = ["?", "i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16",
           ">i2", ">u4", ">i8", ">f2", ">f4", ">f8", ">c8", ">c16"]
OTHERS = ["<U3", ">U3", "S4", "<M8[ns]", ">M8[D]", "<m8[25s]", "<M8", "<f16", "V3",
          [("a", "<i2"), ("b", ">f4", (2,)), ("c", "S3"), ("d", [("e", "<U2"), ("f", "?")])],
          {"names": ["x", "y"], "formats": ["<f8", "u1"], "offsets": [8, 3], "itemsize": 24}]
SHAPES = [(), (0,), (5,), (2, 3), (2, 0, 3), (2, 3, 4)]


def filled(dtype, shape):
    """An array with another value in every element."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    if dtype.names:
        array = np.zeros(count, dtype)
        for name in dtype.names:
            base, inner = dtype[name].subdtype or (dtype[name], ())
            array[name] = filled(base, (count, *inner))
        return array.reshape(shape)
    if dtype.kind in "US":
        return np.array([f"{i % 7}\u00fc"[: 1 + i % 2] if dtype.kind == "U" else f"{i}" for i in range(count)],
                        dtype).reshape(shape)
    if dtype.kind == "V":
        return np.arange(count * dtype.itemsize, dtype=np.uint8).view(dtype).reshape(shape)
    numbers = np.arange(count) % 100
    if dtype.kind == "c":
        numbers = numbers - 1j * numbers
    if dtype.kind in "if" and dtype.itemsize > 1:
        numbers = numbers * -1
    return numbers.astype("i8" if dtype.kind in "Mm" else dtype).astype(dtype).reshape(shape)


def orders(array):
    yield "c", array
    if array.ndim > 1:
        yield "f", np.asfortranarray(array)
    if array.ndim > 2:
        yield "k", array.transpose(1, 0, 2)
        yield "sliced", array[:, ::2]


def descr(dtype):
    return dtype.str if not dtype.names else str(dtype)


def describe(value):
    """What a state has of a value."""
    if isinstance(value, np.ma.MaskedArray):
        return {"masked": describe(value.data), "mask": describe(np.ma.getmaskarray(value))}
    if isinstance(value, np.ndarray) and type(value) is not np.ndarray:
        return {"subclass": describe(np.asarray(value))}
    if isinstance(value, np.ndarray):
        dtype = value.dtype
        if dtype.kind == "O":
            return {"objects": [describe(each) for each in value.ravel()], "shape": list(value.shape)}
        if dtype.names:
            return {"fields": {name: describe(np.asarray(value[name])) for name in dtype.names},
                    "shape": list(value.shape)}
        if dtype.kind in "US":
            texts = [each if dtype.kind == "U" else each.decode() for each in value.ravel().tolist()]
            return {"texts": texts, "shape": list(value.shape),
                    "type": "numpy.str_" if dtype.kind == "U" else "numpy.bytes_"}
        if dtype.kind in "Mm":
            unit = np.datetime_data(dtype)
            return {"type": "numpy.datetime64" if dtype.kind == "M" else "numpy.timedelta64",
                    "unit": ("" if unit[1] == 1 else str(unit[1])) + unit[0],
                    "times": describe(value.view(dtype.str[0] + "i8"))}
        known = dtype.kind in "biufc" and dtype.itemsize <= 16 and dtype.str[1:] != "f16"
        name = dtype.name if known else "numpy:" + dtype.str
        plain = np.ascontiguousarray(value.astype(dtype.newbyteorder("<")) if known else value)
        return {"dtype": name, "shape": list(value.shape), "sha256": hashlib.sha256(plain.tobytes()).hexdigest()}
    if isinstance(value, dict):
        return {"entries": {str(key): describe(each) for key, each in value.items()}}
    if isinstance(value, np.dtype):
        return {"dtype_of": descr(value)}
    if isinstance(value, (np.datetime64, np.timedelta64, np.void)):
        return describe(np.array(value))
    if isinstance(value, (np.str_, str)):
        return {"text": str(value)}
    if isinstance(value, (np.bool_, bool)):
        return {"truth": bool(value)}
    if isinstance(value, (np.integer, int)):
        return {"integer": str(int(value))}
    if isinstance(value, (np.floating, float)):
        return {"real": repr(float(value))}
    if isinstance(value, (np.complexfloating, complex)):
        return {"complex": [repr(float(value.real)), repr(float(value.imag))]}
    if isinstance(value, (list, tuple)):
        return {"list": [describe(each) for each in value]}
    raise TypeError(type(value))


def state(small):
    arrays = {}
    for dtype in NUMBERS + OTHERS:
        for shape in [(2, 3)] if small else SHAPES:
            for order, array in orders(filled(dtype, shape)):
                arrays[f"{descr(np.dtype(dtype))} {shape} {order}"] = array
    shared = np.arange(6.0)
    scalars = {dtype: filled(dtype, (4,))[3] for dtype in NUMBERS if np.dtype(dtype).isnative}
    scalars["largest"] = np.uint64(2 ** 64 - 1)
    scalars["nan"] = np.float32("nan")
    scalars["date"] = np.datetime64("2026-01-02T03:04:05", "ms")
    scalars["span"] = np.timedelta64(7, "D")
    scalars["text"] = np.str_("gr\u00fc\u00dfe")
    scalars["record"] = filled([("a", "<i2"), ("b", "<f8")], (2,))[1]
    objects = np.empty((2, 2), object)
    objects[0, 0] = {"weight": np.ones(3, np.float32)}
    objects[0, 1] = "text"
    objects[1, 0] = [1, 2.5]
    objects[1, 1] = shared
    generator = np.random.RandomState(7)
    return {
        "arrays": arrays, "scalars": scalars, "shared": [shared, shared, shared[1:3]],
        "dtypes": [np.dtype("<f4"), np.dtype([("a", "<i2"), ("b", "<f8")])],
        "objects": objects, "object": np.array({"bias": np.zeros(2)}, object), "fortran": np.asfortranarray(objects),
        "masked": np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False]),
        "subclass": np.asmatrix(np.eye(2)), "recarray": filled([("a", "<i2"), ("b", "<f8")], (2,)).view(np.recarray),
        "generator": generator.get_state(legacy=False)["state"],
    }


class Python2(pickle._Pickler):
    """Writes what Python 2 and NumPy 1 write: one type for texts and bytes, and the former names of modules."""
    dispatch = dict(pickle._Pickler.dispatch)

    def save_string(self, value):
        data = value if isinstance(value, bytes) else value.encode("utf-8")
        if self.proto == 0:
            self.write(pickle.STRING + repr(data)[1:].encode("ascii") + b"\n")
        elif len(data) < 256:
            self.write(pickle.SHORT_BINSTRING + bytes([len(data)]) + data)
        else:
            self.write(pickle.BINSTRING + len(data).to_bytes(4, "little") + data)
        self.memoize(value)

    def save_text(self, value):
        self.save_string(value) if value.isascii() else pickle._Pickler.save_str(self, value)

    def save_global(self, value, name=None):
        module, name = value.__module__.replace("numpy._core", "numpy.core"), name or value.__qualname__
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(value)

    dispatch[bytes] = save_string
    dispatch[str] = save_text
    dispatch[type] = save_global
    dispatch[type(pickle.dumps)] = save_global
    dispatch[type(filled)] = save_global


def write(folder, name, value):
    with open(f"{folder}/{name}.json", "w", encoding="utf-8") as out:
        json.dump(describe(value), out, indent=None if name == "all" else 1)
    for protocol in range(6):
        with open(f"{folder}/{name}.{protocol}.pkl", "wb") as out:
            pickle.dump(value, out, protocol)
    for protocol in range(3):
        with open(f"{folder}/{name}.python2.{protocol}.pkl", "wb") as out:
            Python2(out, protocol).dump(value)
        with open(f"{folder}/{name}.python2.{protocol}.pkl", "rb") as out:
            again = pickle.load(out, encoding="latin1")
            assert np.array_equal(again["subclass"], value["subclass"])
    for method in (None, "zlib", "gzip"):
        suffix = f".{method}" if method else ""
        joblib.dump(value, f"{folder}/{name}{suffix}.joblib", compress=(method, 3) if method else 0)
    np.save(f"{folder}/{name}.npy", value["objects"], allow_pickle=True)
    for save, kind in ((np.savez, "stored"), (np.savez_compressed, "deflated")):
        save(f"{folder}/{name}.{kind}.npz", allow_pickle=True, plain=np.arange(3.0),
             **{key: value[key] for key in ("objects", "object", "fortran")})
    for protocol in (2, 5):
        torch.save(value, f"{folder}/{name}.{protocol}.pt", pickle_protocol=protocol)
        torch.save(value, f"{folder}/{name}.{protocol}.legacy.pt", pickle_protocol=protocol,
                   _use_new_zipfile_serialization=False)


if __name__ == "__main__":
    command, folder = sys.argv[1:]
    if command == "fixtures":
        write(folder, "state", state(True))
    else:
        write(folder, "all", state(False))

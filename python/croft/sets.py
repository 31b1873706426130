"""Sets of .croft files and the slices of their tensors (section 9)."""
import itertools, pathlib, struct
import numpy as np

from .checksums import crc32c
from .file import NUMPY, File, below, map_file, read_record
from .index import BIG, MAX_TEXT, check_path
from .state import need, parse_tree

SIGNATURE = b"\x89CRS\r\n\x1a\n"
MOST_DIVIDED, MOST_CORNERS = 16, 1 << 24


def _form(node, kind, count=None):
    need(node.kind == kind and (count is None or len(node.kids) == count), 16, "the slices have another form")
    return node


def read_slices(data, shards):
    """The run, and of each tensor by name the element type, its bits, the shape, and the parts."""
    root = _form(parse_tree(data, 0, 0, 0), "tuple", 2)
    run, tensors, before = root.kids[0], {}, None
    need(run.kind == "null" or len(_form(run, "string").value.encode()) <= MAX_TEXT, 8, "the run is too long")
    entries = iter(_form(root.kids[1], "map").kids)
    for key, entry in zip(entries, entries):
        name = _form(key, "string").value.encode()
        need(len(name) <= MAX_TEXT, 8, "a name is too long")
        need(before is None or before < name, 6, "the names are not sorted")
        before = name
        dtype, bits, shape, packed = (_form(kid, kind) for kid, kind in zip(
            _form(entry, "tuple", 4).kids, ("string", "integer", "shape", "bytes")))
        need(len(dtype.value.encode()) <= MAX_TEXT, 8, "the name of an element type is too long")
        need(0 < bits.value < 1 << 31, 15, "an element type has impossible bits")
        need(0 in shape.value or _product(shape.value) * bits.value <= 1 << 60, 1, "a tensor is too large")
        flat = iter(_form(parse_tree(packed.value, 0, 0, 0), "list").kids)
        parts = [tuple(_form(kid, kind).value for kid, kind in zip(part, ("integer", "shape", "shape")))
                 for part in zip(flat, flat, flat, strict=True)]
        need(all(0 <= part[0] < shards for part in parts), 10, "a part is in no shard")
        check_parts(key.value, shape.value, parts)
        tensors[key.value] = dtype.value, bits.value, shape.value, parts
    return run.value, tensors


def _product(sizes):
    product = 1
    for size in sizes:
        product *= size
    return product


def check_parts(name, shape, parts):
    """Whether the parts have each element once: exactly then their corners add up to those of the whole."""
    for _, offset, size in parts:
        need(len(offset) == len(size) == len(shape)
             and all(0 < s and o + s <= whole for o, s, whole in zip(offset, size, shape)), 22,
             f"a part of {name!r} is not inside it")
    need(all(one[1] < other[1] for one, other in itertools.pairwise(parts)), 22, f"the parts of {name!r} overlap")
    divided = [dim for dim, whole in enumerate(shape) if any(size[dim] != whole for _, _, size in parts)]
    need(len(divided) <= MOST_DIVIDED and len(parts) << len(divided) <= MOST_CORNERS, 8,
         f"{name!r} is divided too much")
    sums = {}
    for sign, offset, size in [(-1, (0,) * len(shape), shape)] * (0 not in shape) + [(1, *part[1:]) for part in parts]:
        for corner in itertools.product((0, 1), repeat=len(divided)):
            at = tuple(offset[dim] + size[dim] * far for dim, far in zip(divided, corner))
            sums[at] = sums.get(at, 0) + sign * (-1) ** sum(corner)
    need(not any(sums.values()), 22, f"the parts of {name!r} overlap or leave a gap")


def _set_bytes(path):
    """The bytes of a set with its head, and where its slices start."""
    data = bytes(map_file(path))
    need(data[:8] == SIGNATURE, 12, "the file does not begin as a set does")
    need(len(data) >= 68, 11, "the set is cut")
    head = read_record(data, 8, "major minor count uuid size text length features slices", "<HHI16sIIQQQ")
    need(head["major"] == 1 and not head["features"], 13, "the set is of a newer version")
    need(len(data) >= head["length"], 11, "the set is cut")
    need(head["count"] <= BIG and len(data) <= 1 << 29, 8, "the set has too many shards or bytes")
    need(head["length"] >> 63 == head["slices"] >> 63 == 0, 1, "a number of the set is too large")
    need(head["length"] == len(data) == 68 + head["count"] * head["size"] + head["text"] + head["slices"]
         and head["size"] >= 80, 15, "the set has impossible lengths")
    need(struct.unpack("<I", data[-4:])[0] == crc32c(data[:-4]), 14, "the checksum of the set does not match")
    return data, head, len(data) - 4 - head["slices"]


def set_slices(path):
    """The run of a set, or None, and for each of its tensors by name the element type, its bits, the shape, and the
    parts: shard, offset and sizes.

    Raises CroftError if the set breaks a rule, and OSError if it cannot be read."""
    data, head, start = _set_bytes(path)
    return read_slices(data[start:-4], head["count"]) if head["slices"] else (None, {})


def set_tensor(path, name):
    """A copy of a tensor of a set, its parts put together. Each part is read from the shard that has it.

    Raises KeyError if the set has no such tensor, and CroftError as `open_set` does."""
    dtype, bits, shape, parts = set_slices(path)[1][name]
    shards, whole = open_set(path), None
    for shard, offset, size in parts:
        need(name in shards[shard].index.names, 22, f"the shard {shard} has no {name!r}")
        part = shards[shard].tensor(name)
        need(shards[shard].dtype(name) == dtype and part.shape == size, 22, f"{name!r} is another tensor in a shard")
        whole = np.zeros(shape, part.dtype) if whole is None else whole
        whole[tuple(slice(o, o + s) for o, s in zip(offset, size))] = part
    return np.zeros(shape, NUMPY.get(dtype, f"<u{bits // 8}")) if whole is None else whole


def open_set(path):
    """The shards of a set, a file *.croftset, each opened at the snapshot that the set names.

    Raises CroftError if the set or a shard breaks a rule, and OSError if one cannot be read."""
    data, head, start = _set_bytes(path)
    if head["slices"]:
        read_slices(data[start:-4], head["count"])
    shards, paths, text = [], set(), data[64 + head["count"] * head["size"]:start]
    for at in range(64, 64 + head["count"] * head["size"], head["size"]):
        want = read_record(data, at, "uuid root sequence committed path size", "<16s16sQQII")
        need(not any(data[at + 56:at + 80]), 9, "reserved bytes of a shard are not zero")
        need(0 < want["size"] <= MAX_TEXT, 8, "a path is empty or too long")
        need(want["path"] + want["size"] <= len(text), 10, "a path is not there")
        hint = text[want["path"]:want["path"] + want["size"]].decode("utf-8", "replace")
        check_path(hint)
        need(hint not in paths and "\ufffd" not in hint, 6, "a path comes twice or is not UTF-8")
        paths.add(hint)
        shard = File(below(pathlib.Path(path).parent, hint, 21))
        need(shard.header["uuid"] == want["uuid"], 21, f"{hint!r} is a foreign file")
        found = [c for c in shard.chain()
                 if (c.sequence, c.root, c.committed) == (want["sequence"], want["root"], want["committed"])]
        need(found, 21, f"{hint!r} is stale: it has not the snapshot of the set")
        shard._at(found[0])
        shards.append(shard)
    return shards

"""The slices of a set (SPEC.md, section 9.3)."""
import itertools
from index import MAX_TEXT
from state import need, parse_tree

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

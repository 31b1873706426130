"""Asks PyTorch for the answers that the tests of storage-core expect, and writes them as test resources.

    python torch_cases.py OUTPUT_FOLDER [NUMBER_OF_RANDOM_CASES]

Made with PyTorch 2.13. Bytes are hexadecimal and little-endian.
"""

import random
import struct
import sys
import warnings
from pathlib import Path

import torch

warnings.simplefilter("ignore")
INF, NAN = float("inf"), float("nan")


def integers(values):
    return ",".join(str(v) for v in values) or "-"


# ---- printing.txt: a tensor (dtype, shape, stride, offset, flags, bytes of its storage), then what PyTorch prints ----


def printing_cases():
    t = torch.tensor
    iota = torch.arange(24, dtype=torch.float32)
    yield iota.view(2, 3, 4)
    yield iota.view(2, 3, 4)[1][2][2]
    yield iota.as_strided((2, 3), (5, 2), 3)
    yield iota
    yield iota.view(2, 3, 4).transpose(0, 2)
    yield iota.view(2, 3, 2, 2)
    yield iota.view(1, 1, 1, 24)
    # floating point
    yield t(22.0)
    yield t(0.0)
    yield t(-0.0)
    yield t(NAN)
    yield t(INF)
    yield t(3.14159265)
    yield t(1e10)
    yield t(1.0e-7)
    yield t([0.0, -0.0])
    yield t([0.5, 1.5, 2.5])
    yield t([1.0, 2.0, 1000.0])
    yield t([1.0, 2.0, 1001.0])
    yield t([1.5, 1500.0])
    yield t([1.5, 1501.0])
    yield t([1.0, 100000001.0])
    yield t([100000000.0, 200000000.0])
    yield t([0.0001, 0.01])
    yield t([0.00009, 0.01])
    yield t([0.00005, -0.00004])
    yield t([0.03125, 0.09375, 0.21875])
    yield t([2.00005, 2.00015, 2.00025], dtype=torch.float64)
    yield t([-0.00001, 0.005])
    yield t([1.0, NAN, INF, -INF])
    yield t([1.5, NAN, INF, -INF])
    yield t([1e-10, NAN, INF, -INF, 0.0])
    yield t([NAN, INF, -INF])
    yield t([NAN, 0.0, -0.0])
    yield t([1e300, 1e-300, 0.0, -1e100], dtype=torch.float64)
    yield t([9.99995, 99999.5], dtype=torch.float64)
    yield t([9.999951e-5], dtype=torch.float64)
    yield t([5e-324, 1.7976931348623157e308], dtype=torch.float64)
    yield t([3.4028234663852886e38, 1.401298464324817e-45])
    yield t([0.1, 0.2, 0.3], dtype=torch.float64)
    yield t([-1.5, 22.25, 333.125])
    yield torch.linspace(-1, 1, 30)
    yield torch.linspace(-1, 1, 60, dtype=torch.float64).view(3, 20)
    for dtype in (torch.float16, torch.bfloat16):
        yield t([0.1, 0.2, 0.3]).to(dtype)
        yield t([1.0, 65504.0]).to(dtype)
        yield t([[1.0, 2.0], [3.0, NAN]]).to(dtype)
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz):
        yield t([0.1, 0.2, 0.3, 240.0]).to(dtype)
        yield t([1.0, 2.0, -3.0, NAN]).to(dtype)
    yield t([1.0, 2.0, 0.5]).to(torch.float8_e8m0fnu)
    yield torch.tensor([0x12, 0x34, 0], dtype=torch.uint8).view(torch.float8_e8m0fnu)
    yield torch.tensor([127, 128, 140], dtype=torch.uint8).view(torch.float8_e8m0fnu)
    yield torch.tensor([0x12, 0x34, 0], dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    # integers and truth values
    yield t(7)
    yield t(-7)
    yield t([1, -20, 300])
    yield t([[1, 2], [3, 4]])
    yield torch.arange(40)
    yield torch.arange(-50, 50).view(2, 50)
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.uint16, torch.uint32, torch.uint64):
        yield t([1, 2, 100]).to(dtype)
    yield t([-1, 5]).to(torch.uint64)
    yield t([-(2**63), 2**63 - 1])
    yield t(True)
    yield t([True, False])
    yield t([[True, False], [False, True]])
    # complex
    yield t(1 + 2j)
    yield t([1 + 2j, 3.5 - 1j])
    yield t([1 - 0j, complex(0, -0.0), complex(NAN, INF), complex(-INF, NAN)])
    yield t([1e10 + 1j, 1 - 1e-10j])
    yield t([1 + 2j, 3.5 - 1j], dtype=torch.complex128)
    yield t([1 + 2j, 3.5 - 1j]).to(torch.complex32)
    yield (torch.arange(30) * (1 + 0.25j)).view(3, 10)
    yield t([[1 + 2j, -3j]]).conj()
    yield t([1 + 2j, 3.5 - 1j]).conj().imag
    yield torch._neg_view(t([1 + 2j, 3.5 - 1j]).conj())
    yield torch._neg_view(t([1, 2, -128], dtype=torch.int8))
    yield torch._neg_view(t([1, 2, 0], dtype=torch.uint8))
    # nothing to print
    yield torch.empty(0)
    yield torch.empty(0, dtype=torch.int64)
    yield torch.empty(0, dtype=torch.bool)
    yield torch.empty(0, 3)
    yield torch.empty(2, 0, 3, dtype=torch.float16)
    yield torch.empty(0, dtype=torch.complex64)
    # suffixes and where they go
    yield t([1.0, 2.0], requires_grad=True)
    yield t([1.0, 2.0], requires_grad=True, dtype=torch.float64)
    yield torch.empty(0, 3, requires_grad=True)
    for n in range(9, 16):
        yield (torch.arange(n) + 10000).to(torch.int32)
        yield (torch.arange(n, dtype=torch.float64) + 0.5).requires_grad_()
    yield torch.arange(21, dtype=torch.int16)
    yield torch.arange(1, 20, dtype=torch.int16)
    yield torch.arange(1, 21, dtype=torch.int16)
    # meta
    yield torch.empty(2, 3, device="meta")
    yield torch.empty(4, device="meta", dtype=torch.int64)
    yield torch.empty((), device="meta", dtype=torch.float16)
    yield torch.empty(0, device="meta", requires_grad=True)
    # only the ends
    small = torch.arange(1200, dtype=torch.int16)
    yield small[:1000]
    yield small[:1001]
    yield small.view(2, 600)
    yield small.view(600, 2)
    yield small.view(40, 30)
    yield small.view(6, 200)
    yield small[:1197].view(7, 3, 57)
    yield small.view(10, 10, 12)
    yield small.as_strided((7, 7, 7, 7), (1, 2, 3, 4))
    # views
    yield torch.arange(100, dtype=torch.float32)[::7]
    yield torch.arange(60).view(5, 12)[1:5:2, ::5]
    yield torch.arange(3000)[10:2500:2]
    yield torch.arange(4000, dtype=torch.float64).view(20, 200)[:, ::3]
    yield torch.arange(24).view(2, 3, 4).diagonal(1, 1, 2)
    yield torch.arange(10).unfold(0, 4, 3)
    yield torch.arange(6).view(1, 2, 1, 3).squeeze()
    yield torch.arange(12).view(3, 4).t()
    yield torch.view_as_complex(torch.arange(8, dtype=torch.float32).view(2, 2, 2))
    yield torch.view_as_real(torch.tensor([1 + 2j, 3 - 4j]))
    yield torch.tensor([1 + 2j, 3 - 4j]).conj().real
    yield torch._neg_view(torch.arange(1500, dtype=torch.float32))
    yield (torch.arange(1200) * (1 - 2j)).conj()
    yield torch.arange(1.0, 9.0).view(torch.int32)
    yield torch.empty(2000, 3, device="meta").t()
    yield torch._neg_view(torch.empty(2, device="meta"))
    wave = (torch.arange(100) - 50) * 0.37
    yield wave.as_strided((40, 40), (1, 1))
    yield wave.as_strided((2000,), (0,))
    yield torch.cat([torch.ones(3), torch.tensor([1e9]), torch.ones(3)]).as_strided((300, 7), (0, 1))
    yield wave.to(torch.complex64).as_strided((40, 40), (1, 1))
    yield (wave > 0).as_strided((20, 60), (1, 1))


def storage_bytes(tensor):
    if tensor.device.type == "meta":
        return "meta:%d" % tensor.untyped_storage().nbytes()
    return bytes(tensor.detach().untyped_storage()).hex() or "-"


def write_printing(folder):
    with open(folder / "printing.txt", "w") as out:
        for tensor in printing_cases():
            flags = [name for name, on in (("REQUIRES_GRAD", tensor.requires_grad), ("CONJ", tensor.is_conj()),
                                           ("NEG", tensor.is_neg())) if on]
            print("case", str(tensor.dtype)[6:], integers(tensor.shape), integers(tensor.stride()),
                  tensor.storage_offset(), ",".join(flags) or "-", storage_bytes(tensor), file=out)
            print(str(tensor), file=out)


# ---- conversions.txt: every code of a narrow dtype as a double, and doubles as they are written to each dtype ----


def double_hex(value):
    return struct.pack(">d", value).hex()


def sample_values():
    rng = random.Random(7)
    yield from (0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 300.7, -300.7, 0.5, 448.0, 464.0, 464.00003, 480.0, 57344.0,
                61439.99, 61440.0, 65504.0, 65520.0, 240.0, 248.0, 247.99, 2.0**-10, 2.0**-9 * 1.5, 2.0**-17, 2.0**-16,
                2.0**-127, 2.0**-127 * 1.5, 2.0**-128, 2.0**-149, 2.0**127, 1.5 * 2.0**127, 1.9 * 2.0**127, 1e-40, 1e40,
                1e-320)
    for exponent in range(-18, 17):
        for fraction in (1.0, 1.0625, 1.125, 1.25, 1.375, 1.75, 1.9375):
            yield fraction * 2.0**exponent
    for _ in range(150):
        yield rng.choice((-1, 1)) * rng.uniform(1, 2) * 2.0 ** rng.randint(-24, 18)
    for _ in range(40):
        yield rng.choice((-1, 1)) * rng.uniform(1, 2) * 2.0 ** rng.randint(-140, 127)


FLOATS = ("float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu"
          " complex128 complex64 complex32").split()
INTEGERS = "int64 int32 int16 int8 uint8 uint16 uint32 uint64 bool".split()


def write_conversions(folder):
    with open(folder / "conversions.txt", "w") as out:
        for name in FLOATS:
            if name.startswith("float8"):
                codes = torch.arange(256).to(torch.uint8).view(getattr(torch, name)).to(torch.float64)
                print("decode", name, *(double_hex(v) for v in codes.tolist()), file=out)
        values = list(sample_values())
        print("values", *(double_hex(v) for v in values), file=out)
        for name in FLOATS + INTEGERS:
            dtype = getattr(torch, name)
            whole = name in INTEGERS and name != "bool"
            # What C leaves open is left out: NaN, and what does not fit the integer that the conversion goes through.
            usable = [v if not whole or abs(v) < 2**31 else 0.0 for v in values]
            codes = torch.tensor(usable, dtype=torch.float64).to(dtype)
            size = codes.element_size()
            raw = codes.view(torch.uint8).numpy().tobytes()
            print("encode", name, *(raw[i:i + size].hex() for i in range(0, len(raw), size)), file=out)


# ---- views.txt: shape, stride, wanted shape, and the strides that view gives or "refused" ----


def random_views(count):
    rng = random.Random(3)
    for _ in range(count):
        shape = [rng.choice((0, 1, 1, 2, 2, 3, 4, 6)) if rng.random() < 0.9 else rng.choice((1, 2))
                 for _ in range(rng.randint(0, 5))]
        kind = rng.random()
        base = torch.empty(()).expand(shape)
        if kind < 0.4:
            base = torch.empty([s + rng.choice((0, 0, 1)) for s in shape])
            for d, s in enumerate(shape):
                base = base.narrow(d, 0, s)
        elif kind < 0.8:
            order = list(range(len(shape)))
            if order and rng.random() < 0.5:
                a, b = rng.randrange(len(order)), rng.randrange(len(order))
                order[a], order[b] = order[b], order[a]
            base = torch.empty([shape[o] for o in order]).permute([order.index(d) for d in range(len(order))])
        elif kind < 0.9:
            stride = [rng.randint(0, 6) for _ in shape]
            base = torch.empty(10000).as_strided(shape, stride)
        wanted = list(base.shape)
        for _ in range(rng.randint(0, 4)):
            move = rng.random()
            if move < 0.3:
                wanted.insert(rng.randint(0, len(wanted)), 1)
            elif move < 0.6 and len(wanted) > 1:
                d = rng.randrange(len(wanted) - 1)
                wanted[d:d + 2] = [wanted[d] * wanted[d + 1]]
            elif wanted:
                d = rng.randrange(len(wanted))
                divisors = [n for n in range(1, wanted[d] + 1) if wanted[d] % n == 0] or [1]
                n = rng.choice(divisors)
                wanted[d:d + 1] = [n, wanted[d] // n]
        if wanted and rng.random() < 0.2:
            wanted[rng.randrange(len(wanted))] = -1
        if rng.random() < 0.03:
            wanted.append(2)
        yield base, wanted


def write_views(folder, count):
    with open(folder / "views.txt", "w") as out:
        for base, wanted in random_views(count):
            try:
                view = base.view(wanted)
                answer = integers(view.shape) + " " + integers(view.stride())
            except RuntimeError:
                answer = "refused"
            print(integers(base.shape), integers(base.stride()), integers(wanted), answer, file=out)


# ---- chains.txt: a shape, then views one on the other, and the shape, stride and offset at the end or "refused" ----


VIEWS = ("select narrow narrow transpose permute expand expand slice slice squeeze squeeze_dims unsqueeze unfold"
         " diagonal movedim t flatten_view").split()
COPIES = "reshape reshape flatten".split()


def random_step(rng, tensor):
    dims = max(tensor.dim(), 1)
    dim = rng.randint(-dims, dims - 1 if rng.random() < 0.95 else dims)
    size = tensor.shape[dim] if tensor.dim() and -dims <= dim < dims else 1
    kind = rng.choice(VIEWS)
    if kind == "select":
        return kind, [dim, rng.randint(-size, size if rng.random() < 0.1 else max(size - 1, 0))]
    if kind == "narrow":
        start = rng.randint(-size, size)
        return kind, [dim, start, rng.randint(0, size - start % size if size else 0)]
    if kind in ("transpose", "movedim"):
        return kind, [dim, rng.randint(-dims, dims - 1)]
    if kind == "slice":
        return kind, [dim, rng.randint(-size - 1, size + 1), rng.choice((rng.randint(-size - 1, size + 1), 2**63 - 1)),
                      rng.choice((1, 1, 2, 2, 3, 0, -1) if rng.random() < 0.2 else (1, 2, 3))]
    if kind in ("squeeze", "t"):
        return kind, []
    if kind == "squeeze_dims":
        return kind, rng.sample(range(-dims, dims), min(dims, rng.randint(1, 2)))
    if kind == "unsqueeze":
        return kind, [rng.randint(-dims - 1, dims)]
    if kind == "unfold":
        return kind, [dim, rng.randint(0, size + (rng.random() < 0.1)), rng.choice((1, 1, 2, 3))]
    if kind == "diagonal":
        return kind, [rng.choice((0, 0, 1, -1, 2, -2, 5)), dim, rng.randint(-dims, dims - 1)]
    if kind == "flatten_view":
        return kind, [-1]
    if kind == "permute":
        order = list(range(tensor.dim()))
        rng.shuffle(order)
        return kind, [d - tensor.dim() if rng.random() < 0.3 else d for d in order]
    sizes = [-1 if rng.random() < 0.3 else rng.randint(0, 3) if s == 1 else s for s in tensor.shape]
    return kind, [rng.choice((1, 1, 2)) for _ in range(rng.choice((0, 0, 1, 2)))] + sizes


def apply(tensor, name, arguments):
    if name == "slice":
        return torch.ops.aten.slice(tensor, *arguments)
    if name == "squeeze_dims":
        return tensor.squeeze(tuple(arguments))
    if name == "flatten_view":
        return tensor.view(arguments)
    method = getattr(tensor, name)
    return method(arguments) if name in ("permute", "expand", "reshape") else method(*arguments)


def write_chains(folder, count):
    rng = random.Random(5)
    with open(folder / "chains.txt", "w") as out:
        for _ in range(count):
            tensor = torch.empty([rng.choice((1, 1, 2, 3, 4, 0)) for _ in range(rng.randint(0, 4))])
            line = [integers(tensor.shape)]
            try:
                for _ in range(rng.randint(1, 4)):
                    name, arguments = random_step(rng, tensor)
                    line.append(name + ":" + integers(arguments))
                    tensor = apply(tensor, name, arguments)
                line += [integers(tensor.shape), integers(tensor.stride()), str(tensor.storage_offset())]
            except (RuntimeError, IndexError):
                line.append("refused")
            print(*line, file=out)


# ---- contents.txt: as chains.txt, with steps that may copy, and the shape and elements at the end or "refused" ----


def random_copy(rng, tensor):
    kind = rng.choice(COPIES)
    dims = max(tensor.dim(), 1)
    if kind == "flatten":
        return kind, [rng.randint(-dims, dims - 1), rng.randint(-dims, dims - 1)]
    if kind == "flip":
        return kind, rng.sample(range(-dims, dims), rng.randint(1, min(dims, 2)))
    n = tensor.numel()
    first = rng.choice([d for d in range(1, n + 1) if n % d == 0] or [1])
    return kind, rng.choice(([-1], [n], [first, -1], [-1, first], [first, n // first], [1, n, 1], [n + 1]))


def write_contents(folder, count):
    rng = random.Random(11)
    with open(folder / "contents.txt", "w") as out:
        for _ in range(count):
            shape = [rng.choice((1, 2, 3, 4)) for _ in range(rng.randint(0, 4))]
            tensor = torch.arange(torch.Size(shape).numel()).view(shape)
            line = [integers(shape)]
            try:
                for _ in range(rng.randint(1, 3)):
                    name, arguments = random_copy(rng, tensor) if rng.random() < 0.5 else random_step(rng, tensor)
                    line.append(name + ":" + integers(arguments))
                    tensor = apply(tensor, name, arguments)
                line += [integers(tensor.shape), integers(tensor.flatten().tolist())]
            except (RuntimeError, IndexError):
                line.append("refused")
            print(*line, file=out)


# ---- retyped.txt: dtype, flags, shape, stride, offset, a view (a dtype, or a method), and dtype, flags, shape, stride
# ---- and offset of the view, or "refused" ----

PARTS = {"real": lambda t: t.real, "imag": lambda t: t.imag, "viewAsReal": torch.view_as_real,
         "viewAsComplex": torch.view_as_complex, "conj": lambda t: t.conj(), "neg": torch._neg_view}


def flags_of(tensor):
    return ",".join(name for name, on in (("CONJ", tensor.is_conj()), ("NEG", tensor.is_neg())) if on) or "-"


def geometry(tensor):
    return [str(tensor.dtype)[6:], flags_of(tensor), integers(tensor.shape), integers(tensor.stride()),
            str(tensor.storage_offset())]


def write_retyped(folder, count):
    rng = random.Random(13)
    dtypes = "uint8 int16 float16 float32 float64 int64 complex64 complex128 complex32".split()
    with open(folder / "retyped.txt", "w") as out:
        for _ in range(count):
            dtype = getattr(torch, rng.choice(dtypes))
            shape = [rng.choice((1, 2, 2, 3, 4)) for _ in range(rng.randint(0, 3))]
            if shape and rng.random() < 0.3:
                shape[-1] = 2
            stride = [rng.choice((0, 1, 2, 4, 6, 8)) for _ in shape]
            if stride and rng.random() < 0.8:
                stride[-1] = 1
            base = torch.zeros(4096, dtype=torch.uint8).view(dtype).as_strided(shape, stride,
                                                                               rng.choice((0, 0, 1, 2, 8)))
            if dtype.is_complex and rng.random() < 0.4:
                base = base.conj()
            if rng.random() < 0.2:
                base = torch._neg_view(base)
            wanted = rng.choice(dtypes) if rng.random() < 0.6 else rng.choice(list(PARTS))
            try:
                view = PARTS[wanted](base) if wanted in PARTS else base.view(getattr(torch, wanted))
                answer = geometry(view)
            except RuntimeError:
                answer = ["refused"]
            print(*geometry(base), wanted, *answer, file=out)


# ---- formats.txt: shape, stride, a memory format, whether the tensor lies in it, and the strides of contiguous(format)
# ---- or "refused" ----


def write_formats(folder, count):
    rng = random.Random(17)
    formats = {"CONTIGUOUS": torch.contiguous_format, "CHANNELS_LAST": torch.channels_last,
               "CHANNELS_LAST_3D": torch.channels_last_3d}
    with open(folder / "formats.txt", "w") as out:
        for _ in range(count):
            rank = rng.choice((3, 4, 4, 4, 5, 5))
            base = torch.empty([rng.choice((1, 1, 2, 3, 4, 0) if rng.random() < 0.3 else (1, 2, 3))
                                for _ in range(rank)])
            move = rng.random()
            if move < 0.3 and rank > 3:
                base = base.to(memory_format=torch.channels_last if rank == 4 else torch.channels_last_3d)
            elif move < 0.6:
                base = base.permute(rng.sample(range(rank), rank))
            elif move < 0.7:
                base = base.narrow(1, 0, base.shape[1] // 2)
            for name, memory_format in formats.items():
                inside = base.is_contiguous(memory_format=memory_format)
                try:
                    answer = integers(base.contiguous(memory_format=memory_format).stride())
                except RuntimeError:
                    answer = "refused"
                print(integers(base.shape), integers(base.stride()), name, inside, answer, file=out)


# ---- comparisons.txt: dtype, bytes of two tensors, rtol, atol, whether NaNs are equal, isclose, eq, equal ----


def compared_values(rng, dtype):
    if dtype == torch.bool:
        return torch.tensor([rng.random() < 0.5 for _ in range(8)]), torch.tensor([rng.random() < 0.5
                                                                                   for _ in range(8)])
    if not dtype.is_floating_point and not dtype.is_complex:
        top = min(torch.iinfo(dtype).max, 2**40)
        first = torch.tensor([rng.choice((0, 1, 100, top, rng.randint(0, top))) for _ in range(8)], dtype=torch.int64)
        second = (first + torch.tensor([rng.choice((0, 0, 1, -1, 3)) for _ in range(8)])).clamp(0, top)
        return first.to(dtype), second.to(dtype)
    special = (0.0, -0.0, INF, -INF, NAN, 1.0)

    def number():
        return rng.choice(special) if rng.random() < 0.3 else rng.uniform(-1, 1) * 10 ** rng.randint(-9, 4)

    def near(value):
        move = rng.random()
        return (number() if move < 0.2 else value if move < 0.4
                else value * (1 + rng.uniform(-1, 1) * 10 ** rng.randint(-9, -1)))

    if dtype.is_complex:
        first = [complex(number(), number()) for _ in range(8)]
        second = [complex(near(v.real), near(v.imag)) for v in first]
        return (torch.tensor(first, dtype=torch.complex128).to(dtype),
                torch.tensor(second, dtype=torch.complex128).to(dtype))
    first = [number() for _ in range(8)]
    second = [near(v) for v in first]
    return torch.tensor(first, dtype=torch.float64).to(dtype), torch.tensor(second, dtype=torch.float64).to(dtype)


def yes_no(answers):
    return "".join("1" if answer else "0" for answer in answers.tolist())


def raw_hex(tensor):
    return bytes(tensor.contiguous().view(torch.uint8).untyped_storage()).hex()


def write_comparisons(folder, count):
    rng = random.Random(19)
    dtypes = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex128 complex64".split()
    with open(folder / "comparisons.txt", "w") as out:
        for n in range(count):
            name = dtypes[n % len(dtypes)]
            a, b = compared_values(rng, getattr(torch, name))
            rtol, atol = rng.choice(((1e-5, 1e-8), (0.0, 0.0), (0.1, 0.0), (0.0, 1.0), (1e-3, 1e-3), (0.0, INF)))
            nans = rng.random() < 0.5
            close = torch.isclose(a, b, rtol=rtol, atol=atol, equal_nan=nans)
            print(name, raw_hex(a), raw_hex(b), rtol, atol, "EQUAL" if nans else "DIFFERENT", yes_no(close),
                  yes_no(a.eq(b)),
                  torch.equal(a, b), file=out)


# ---- promotions.txt: two dtypes, and the one they have in common or "none" ----


def write_promotions(folder):
    names = ("bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex32 complex64 complex128 uint16"
             " uint32 uint64 float8_e4m3fn float8_e5m2 float8_e8m0fnu bits8 quint8").split()
    with open(folder / "promotions.txt", "w") as out:
        for a in names:
            for b in names:
                try:
                    common = str(torch.promote_types(getattr(torch, a), getattr(torch, b)))[6:]
                except RuntimeError:
                    common = "none"
                print(a, b, common, file=out)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    write_printing(target)
    write_conversions(target)
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 600
    write_views(target, count)
    write_chains(target, count)
    write_contents(target, count)
    write_retyped(target, count)
    write_formats(target, count // 4)
    write_comparisons(target, count)
    write_promotions(target)

"""Asks PyTorch what elements of each dtype become as each other one, and writes the answers as a test resource.

    python conversion_cases.py OUTPUT_FOLDER

Made with PyTorch 2.13 on x86-64. A line holds two dtypes, then pairs of an element and what it becomes; bytes are
hexadecimal and little-endian. Each element is converted in tensors of several sizes. Where PyTorch's answers for few
and for many elements differ, the line says what Conversion.java documents.
"""

import struct
import sys
import warnings
from pathlib import Path

import torch

warnings.simplefilter("ignore")

FLOATS = [
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2,
    torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e8m0fnu,
]
INTEGERS = [
    torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.uint16, torch.uint32, torch.uint64,
    torch.bool,
]
PARTS = {torch.complex128: torch.float64, torch.complex64: torch.float32, torch.complex32: torch.float16}
DTYPES = FLOATS + INTEGERS + list(PARTS)
FORMATS = {1: "<B", 2: "<H", 4: "<I", 8: "<Q"}

DOUBLES = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.9, 1.5, 2.5, 127.9, 128.0, -128.9, -129.0, 255.9, 256.0, 300.7, -1.9, 448.0, 464.0,
    465.0, 240.0, 248.0, 32767.5, 32768.0, -32769.0, 57344.0, 61440.0, 65519.9, 65520.0, -65520.0, 65536.0, 16777217.0,
    2147483647.5, 2.0**31, -(2.0**31), -(2.0**31) - 0.5, -(2.0**31) - 1, 4294967295.0, 2.0**32, 4294967297.0,
    4294967551.0, 1e10, -1e10, 9007199254740993.0, 2.0**62, 2.0**63 - 1024, 2.0**63, 2.0**63 + 2048, -(2.0**63),
    -(2.0**63) - 2048, 1e19, 2.0**64 - 2048, 2.0**64, 1e20, -1e20, 1e300, -1e300, 3.4028235e38, 3.4028235677973366e38,
    3.5e38, 5e-324, 1e-45, 7e-46, 1e-310, 6e-8, 2.98e-8, 1 + 2**-11, 1 + 2**-11 + 2**-40, 1 + 2**-24 + 2**-50,
    1 + 2**-8, 1 + 2**-8 + 2**-30, 2.0**-126, 2.0**-127, 2.0**-128, 2.0**-149,
]
SINGLES = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.9, 1.5, 2.5, 127.9, 128.0, -129.0, 255.9, 256.0, 300.7, -1.9, 448.0, 464.0, 465.0,
    240.0, 248.0, 32767.5, 32768.0, -32769.0, 57344.0, 61440.0, 65519.0, 65520.0, -65520.0, 65536.0, 2147483520.0,
    2.0**31, -(2.0**31), -(2.0**31) - 256, 4294967040.0, 2.0**32, 4294967808.0, 1e10, -1e10, 2.0**62, 2.0**63 - 2.0**39,
    2.0**63, 2.0**63 + 2.0**40, -(2.0**63), -(2.0**63) - 2.0**40, 1e19, 2.0**64 - 2.0**40, 2.0**64, 1e20, -1e20,
    3.4028235e38, 3.3961775e38, 1e-45, 1e-40, 6e-8, 2.98e-8, 1 + 2**-11, 1 + 2**-11 + 2**-20, 1 + 2**-8,
    1 + 2**-8 + 2**-20, 2.0**-126, 2.0**-127, 2.0**-128,
]
NARROW = {
    torch.float16: [
        0, 0x8000, 0x3C00, 0xBC00, 0x3800, 0x3E00, 0x57F8, 0x5800, 0xD800, 0x5BFF, 0x5C00, 0x7800, 0x7BFF, 0xFBFF,
        0x7C00, 0xFC00, 0x7E00, 0xFE00, 0x7C01, 0x7D00, 0xFD23, 0x7FFF, 1, 0x3FF, 0x400, 0x3C01, 0x8001, 0xBF33,
    ],
    torch.bfloat16: [
        0, 0x8000, 0x3F80, 0xBF80, 0x3F00, 0x3FC0, 0x42FE, 0x4300, 0xC300, 0xC301, 0x437F, 0x4380, 0x4396, 0x4700,
        0x477F, 0x4780, 0x4F00, 0xCF00, 0xCF01, 0x4F80, 0x4F81, 0x5F00, 0x5F01, 0xDF00, 0xDF01, 0x5F80, 0x5F81, 0x7F7F,
        0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0xFFC0, 0x7F81, 0xFFA3, 0x7FFF, 1, 0x7F, 0x80, 0x3F81,
    ],
    torch.bool: [0, 1, 2, 0x80, 0xFF],
}
LONGS = [
    0x4000004000000001, 0x7FFFFFBFFFFFFFFF, 0x7FFFFFC000000000, 0xFFFFFF8000000000, 0xFFFFFF7FFFFFFFFF,
    0xFFFFFFFFFFFFFBFF, 0xFFFFFFFFFFFFFC00, 0x8000000000000400, 0x8000000000000401, 0x8000008000000000,
    0x8000008000000001, 0x20000000000001, 0x20000000000003, 9007199791611905, 1152921573326323713,
]


def bits(value, kind):
    return struct.unpack({"d": "<Q", "f": "<I"}[kind], struct.pack("<" + kind, value))[0]


def codes(dtype):
    """What an element, or a part of a complex one, may hold, as unsigned integers."""
    if dtype == torch.float64:
        nans = [0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001]
        return [bits(v, "d") for v in DOUBLES] + nans + [0x7FF4000000000000, 0xFFF123456789ABCD, 0x7FFFFFFFFFFFFFFF]
    if dtype == torch.float32:
        nans = [0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0x7FA00000, 0xFF923456, 0x7FFFFFFF]
        return [bits(v, "f") for v in SINGLES] + nans + [0x7F801000, 0x7F7FFFFF, 0x7F7F8000]
    if dtype in NARROW:
        return NARROW[dtype]
    if dtype.is_floating_point:
        return sorted({*range(0, 256, 9), *range(0x78, 0x82), *range(0xF9, 0x100)})
    width = 8 * dtype.itemsize
    values = {0, 1, 2, 3, 100, 127, 128, 200, 255, -1, -2, -127, -128, -129}
    for power in (15, 16, 23, 24, 31, 32, 53, 62, 63):
        values |= {1 << power, (1 << power) - 1, (1 << power) + 1, -(1 << power), 1 - (1 << power)}
    values |= {16777217, 16777219, 65519, 65520, 2147483584, *(LONGS if width == 64 else [])}
    return sorted({v & ((1 << width) - 1) for v in values if -(1 << width) < v < 1 << width})


def elements(dtype):
    """The bytes of elements to convert."""
    parts = codes(PARTS.get(dtype, dtype))
    pack = struct.Struct(FORMATS[PARTS.get(dtype, dtype).itemsize]).pack
    if dtype in PARTS:
        return [pack(c) + pack(parts[(i * 7 + 3) % len(parts)]) for i, c in enumerate(parts)] + [pack(0) + pack(0)]
    return [pack(c) for c in parts]


def answer(element, source, target, count):
    """What PyTorch makes of the first of that many copies of an element."""
    converted = torch.frombuffer(bytearray(element * count), dtype=torch.uint8).view(source).to(target)
    return bytes(converted[:1].view(torch.uint8).tolist())


ONE_NAN = {torch.float8_e4m3fnuz: b"\x80", torch.float8_e5m2fnuz: b"\x80", torch.float8_e8m0fnu: b"\xff"}


def documented(element, source, target):
    if ONE_NAN.get(source) == element and target in INTEGERS:
        # 0 in PyTorch for some integers, where its compiler has folded a constant; ours treats all NaNs alike.
        return answer(struct.pack("<f", float("nan")), torch.float32, target, 1)
    if (source, target) == (torch.complex32, torch.float16):
        # PyTorch takes the bits of the real part, ours quiets its NaNs as every other conversion does.
        return answer(answer(element, source, torch.float32, 37), torch.float32, target, 1)
    few, many = answer(element, source, target, 1), answer(element, source, target, 37)
    if few == many:
        return few
    if target == torch.uint32:
        return few
    if (source, target) in ((torch.float16, torch.float32), (torch.float64, torch.bfloat16)):
        return many
    raise AssertionError(f"{source} {target} {element.hex()}: {few.hex()} alone, {many.hex()} of many")


def main(folder):
    with open(Path(folder) / "conversions-between-dtypes.txt", "w", encoding="utf-8") as out:
        for source in DTYPES:
            for target in DTYPES:
                if target != source:
                    pairs = (f"{e.hex()}:{documented(e, source, target).hex()}" for e in elements(source))
                    print(str(source)[6:], str(target)[6:], *pairs, file=out)


main(sys.argv[1])

"""Blocks of quantized numbers, and what gguf.dequantize makes of them.

    quantized.py fixture DIR     writes quantized.gguf and quantized.json, the fixtures of the tests
    quantized.py judge FILE      writes a file with more blocks, and their numbers next to them
    quantized.py grids FILE      writes the grids of the IQ types, a resource of storage-core

Every byte of a block has each of its 256 values in one of 256 blocks, so that scales are also 0, infinite and NaN.
"""
import hashlib
import json
import sys

import numpy as np
import gguf
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as Q, quants

TYPES = [t for t, (size, _) in GGML_QUANT_SIZES.items() if size > 1]


def numbers(blocks, t):
    """The numbers of blocks, of which each row of the array has one."""
    size, nbytes = GGML_QUANT_SIZES[t]
    with np.errstate(all="ignore"):
        if t == Q.Q8_1:
            return blocks[:, :4].copy().view("<f4") * blocks[:, 8:].view("i1").astype("f4")
        if t == Q.Q8_K:
            return blocks[:, :4].copy().view("<f4") * blocks[:, 4:260].view("i1").astype("f4")
        if t == Q.Q1_0:
            bits = np.unpackbits(blocks[:, 2:], axis=-1, bitorder="little")
            return blocks[:, :2].copy().view("<f2").astype("f4") * (2 * bits.astype("f4") - 1)
        return gguf.dequantize(blocks, t)


def blocks_of(t, rng, rounds):
    _, nbytes = GGML_QUANT_SIZES[t]
    latin = [(np.arange(256)[:, None] + rng.integers(0, 256, nbytes)) % 256 for _ in range(rounds)]
    return np.concatenate(latin + [rng.integers(0, 256, (256, nbytes))]).astype("u1")


def write(path, tensors):
    writer = gguf.GGUFWriter(path, "test")
    for name, blocks, t in tensors:
        writer.add_tensor(name, blocks, raw_dtype=t)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def fixture(folder):
    """Four rows of blocks with finite numbers, and digests of the numbers."""
    rng = np.random.default_rng(36)
    tensors, digests = [], {}
    for t in TYPES:
        size, nbytes = GGML_QUANT_SIZES[t]
        blocks = blocks_of(t, rng, 1)
        finite = np.isfinite(numbers(blocks, t)).all(axis=-1)
        blocks = blocks[finite][:4 * max(1, 512 // size)]
        digests[t.name] = hashlib.sha256(numbers(blocks, t).astype("<f4").tobytes()).hexdigest()
        tensors.append((t.name, blocks.reshape(4, -1), t))
    write(folder + "/quantized.gguf", tensors)
    with open(folder + "/quantized.json", "w", newline="\n") as file:
        json.dump(digests, file, indent=1)
        file.write("\n")


def judge(path):
    rng = np.random.default_rng()
    tensors = []
    for t in TYPES:
        blocks = blocks_of(t, rng, 3)
        tensors.append((t.name, blocks, t))
        tensors.append((t.name + ".numbers", numbers(blocks, t).astype("<f4"), None))
    write(path, tensors)


def grids(path):
    types = [quants.IQ1_S, quants.IQ2_XXS, quants.IQ2_XS, quants.IQ2_S, quants.IQ3_XXS, quants.IQ3_S]
    with open(path, "wb") as file:
        for t in types:
            file.write(bytes.fromhex(t.grid_hex.decode()))


{"fixture": fixture, "judge": judge, "grids": grids}[sys.argv[1]](sys.argv[2])

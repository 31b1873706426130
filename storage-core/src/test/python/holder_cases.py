"""Asks PyTorch for the answers that the tests of quantized and sparse tensors expect, and writes them to a resource.

    python holder_cases.py OUTPUT_FOLDER

Made with PyTorch 2.13 on x86-64. A tensor is written as dtype/shape/bytes, in row-major order, hexadecimal and
little-endian.
"""

import random
import struct
import sys
import warnings
from pathlib import Path

import torch

warnings.simplefilter("ignore")
t = torch.tensor
INF, NAN = float("inf"), float("nan")


def integers(values):
    return ",".join(str(v) for v in values) or "-"


def tensor_text(tensor):
    tensor = tensor.detach()
    if tensor.device.type == "meta":
        payload = "meta"
    elif tensor.is_quantized:
        payload = tensor.int_repr().contiguous().flatten().view(torch.uint8).numpy().tobytes().hex() or "-"
    else:
        payload = tensor.resolve_conj().contiguous().flatten().view(torch.uint8).numpy().tobytes().hex() or "-"
    return "/".join((str(tensor.dtype)[6:], integers(tensor.shape), payload))


# ---- quantized.txt: numbers, quantizer, the stored integers, the numbers again; then what PyTorch prints ----


def quantizer_text(q):
    if q.qscheme() == torch.per_tensor_affine:
        return "%s;%s;%d" % (q.qscheme(), struct.pack(">d", q.q_scale()).hex(), q.q_zero_point())
    return "%s;%s;%s;%d" % (q.qscheme(), tensor_text(q.q_per_channel_scales()),
                            tensor_text(q.q_per_channel_zero_points()),
                            q.q_per_channel_axis())


def quantized_cases():
    quint8, qint8, qint32 = torch.quint8, torch.qint8, torch.qint32
    per_tensor, per_channel = torch.quantize_per_tensor, torch.quantize_per_channel
    x = t([[1.0, 2.0, -3.0], [0.15, 0.25, 100.0]])
    yield per_tensor, x[0, :2], 0.1, 10, quint8
    for dtype in (quint8, qint8, qint32, torch.quint4x2, torch.quint2x4):
        yield per_tensor, x, 0.1, 1, dtype
        yield per_tensor, x.t(), 0.25, 2, dtype
        yield per_tensor, x[1, 0], 0.1, 0, dtype
        yield per_tensor, x[:0], 0.1, 0, dtype
        if dtype.itemsize == 4 or dtype in (quint8, qint8):
            yield per_channel, x, t([0.1, 0.2], dtype=torch.float64), t([1, 2]), 0, dtype
            yield per_channel, x, t([0.1, 0.2, 0.3], dtype=torch.float64), t([1, 2, 0]), 1, dtype
        if dtype != qint32:
            yield per_channel, x, t([0.1, 0.2]), t([1.5, 2.0]), 0, dtype
            yield per_channel, x, t([0.1, 0.2, 0.3]), t([1.5, 2.0, 0.0]), 1, dtype
    for scale in (1.0, 3.0, 1e-5, 1e16, 123456789.0, 1e-300, 2.0**-30, 1 / 3, -0.5):
        yield per_tensor, x, scale, 3, qint8
    yield per_tensor, torch.arange(1200, dtype=torch.float32), 4.0, 7, quint8
    yield per_tensor, torch.arange(60, dtype=torch.float32).view(3, 20), 0.3, 7, quint8
    yield per_tensor, t([INF, -INF, 1e30, -1e30, 0.0, -0.0]), 0.5, 5, quint8
    yield per_tensor, t([INF, -INF, 1e30, -1e30, 0.0, -0.0]), 0.5, 5, qint8
    yield per_tensor, t([INF, -INF, 1e30, -1e30, 0.0, 2.0**31, -2.0**31, 3e7 + 2]), 0.75, -70001, qint32
    # Large integers tell where a kernel rounds.
    rng = random.Random(11)
    for _ in range(4):
        wide = t([rng.uniform(-2e9, 2e9) for _ in range(40)])
        yield per_tensor, wide, 1.0 + rng.random(), rng.randint(-10**9, 10**9), qint32
        scales = t([1.0 + rng.random() for _ in range(40)], dtype=torch.float64)
        yield per_channel, wide, scales, torch.randint(-10**9, 10**9, (40,), generator=generator(rng)), 0, qint32


def generator(rng):
    return torch.Generator().manual_seed(rng.randrange(1 << 30))


def random_quantized(count):
    rng = random.Random(12)
    ranges = {torch.quint8: (0, 255), torch.qint8: (-128, 127), torch.qint32: (-1000, 1000), torch.quint4x2: (0, 15),
              torch.quint2x4: (0, 3)}
    for _ in range(count):
        dtype = rng.choice(list(ranges))
        low, high = ranges[dtype]
        shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
        steps = torch.randint(low - 3, high + 4, shape, generator=generator(rng))
        # Ties are frequent, so that it shows how they are rounded.
        steps = steps + torch.randint(0, 4, shape, generator=generator(rng)) / 4
        axis = rng.randrange(len(shape))
        channels = [shape[axis] if d == axis else 1 for d in range(len(shape))]
        # What else there could be, PyTorch has not.
        scheme = rng.choice({torch.qint32: ("tensor", "channel"), torch.quint4x2: ("tensor", "float"),
                             torch.quint2x4: ("tensor", "float")}.get(dtype, ("tensor", "channel", "float")))
        if scheme == "tensor":
            scale, zero = 2.0 ** rng.uniform(-9, 4), rng.randint(low, high)
            yield torch.quantize_per_tensor, ((steps - zero) * scale).float(), scale, zero, dtype
            continue
        scales = t([2.0 ** rng.uniform(-9, 4) for _ in range(shape[axis])], dtype=torch.float64)
        zeros = t([rng.randint(low, high) for _ in range(shape[axis])])
        if scheme == "float":
            scales, zeros = scales.float(), zeros.float() + t([rng.choice((0.0, 0.5, 0.3)) for _ in range(shape[axis])])
        floats = ((steps - zeros.view(channels)) * scales.view(channels)).float()
        yield torch.quantize_per_channel, floats, scales, zeros, axis, dtype


def write_quantized(folder):
    with open(folder / "quantized.txt", "w") as out:
        for quantize, floats, *parameters in [*quantized_cases(), *random_quantized(250)]:
            q = quantize(floats, *parameters)
            print("case", tensor_text(floats), quantizer_text(q), tensor_text(q), tensor_text(q.dequantize()), file=out)


# ---- sparse.txt: layout, shape, components, the dense tensor; then what PyTorch prints ----


def compressed_parts(s):
    rows = s.layout in (torch.sparse_csr, torch.sparse_bsr)
    return (s.crow_indices(), s.col_indices(), s.values()) if rows else (s.ccol_indices(), s.row_indices(), s.values())


def sparse_cases():
    coo = torch.sparse_coo_tensor
    yield coo([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    yield coo([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3)).coalesce()
    yield coo([[1, 0, 1, 1, 0], [2, 0, 2, 0, 0]], [0.1, 0.2, 0.3, -0.0, 1e-9], (2, 3))
    yield coo([[0, 1], [2, 0]], [-0.0, 4.0], (2, 3)).coalesce()
    yield coo([[1, 0, 1]], t([[1, 2], [3, 4], [100, 127]], dtype=torch.int8), (3, 2))
    yield coo([[1, 0, 1]], t([True, False, False]), (3,))
    yield coo([[1, 0, 1]], t([1 + 2j, 3j, 0.5]), (3,))
    yield coo([[1, 0, 1]], t([1 + 2j, 3j, 0.5]).conj(), (3,))
    yield coo([[1, 0, 1]], t([1.0, 0.001, 0.0005], dtype=torch.float16), (3,))
    yield coo([[1, 0, 1]], t([1.0, 3.0, 0.004], dtype=torch.bfloat16), (3,))
    yield coo([[1, 0, 1]], t([1.0, 3.0, 0.004], dtype=torch.float64), (3,), requires_grad=True)
    yield coo(torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0), (2, 3))
    yield coo(torch.zeros(1, 0, dtype=torch.int64), torch.zeros(0, 2, dtype=torch.int16), (3, 2))
    yield coo(torch.zeros(1, 2, dtype=torch.int64), torch.zeros(2, 0), (3, 0))
    yield coo(torch.zeros(0, 2, dtype=torch.int64), t([[1.0, 2.0], [3.0, 4.0]]), (2,))
    yield coo(torch.arange(1100).view(1, -1), torch.arange(1100, dtype=torch.float32), (1100,))
    yield coo(torch.stack([torch.arange(20), torch.arange(20) * 2]),
              torch.arange(80, dtype=torch.float32).view(20, 4) / 7, (20, 40, 4))
    dense = t([[0.0, 1.5, 0.0, -2.0], [0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.0, 4.25], [0.0, 5.0, 6.0, 0.0]])
    for to in (torch.Tensor.to_sparse_csr, torch.Tensor.to_sparse_csc):
        yield to(dense)
        yield to(-dense)
        yield to(dense[:0])
        yield to(dense[:, :0])
        yield to(dense[:3].to(torch.int16))
        yield to(dense.to(torch.complex64))
        yield to(torch.stack([dense, dense.flip(0)]))
        yield to(torch.zeros(2, 3))
        yield to(torch.rand(36, 36, generator=torch.Generator().manual_seed(1)))
        yield to(dense.view(4, 2, 2), dense_dim=1)
        yield to(dense > 0)
    for to in (torch.Tensor.to_sparse_bsr, torch.Tensor.to_sparse_bsc):
        yield to(dense, (2, 2))
        yield to(dense, (1, 4))
        yield to(dense[:2].to(torch.float64), (2, 1))
        yield to(torch.stack([dense, dense.flip(0)]), (4, 2))
        yield to(dense.view(4, 2, 2), (2, 1), dense_dim=1)
    yield torch.sparse_csr_tensor(t([0, 1, 3], dtype=torch.int32), t([2, 0, 2], dtype=torch.int32), t([1.0, 2.0, 3.0]),
                                  (2, 3))
    yield torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], t([-0.0, 2.0, -0.0]), (2, 3))
    yield torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], t([1.0, 2.0, 3.0]), (2, 3), requires_grad=True)


def write_sparse(folder):
    with open(folder / "sparse.txt", "w") as out:
        for s in sparse_cases():
            if s.layout == torch.sparse_coo:
                parts = (s._indices(), s._values())
                sums = s.detach().coalesce()
                extra = ["COALESCED" if s.is_coalesced() else "UNCOALESCED", tensor_text(sums._indices()),
                         tensor_text(sums._values())]
            else:
                parts, extra = compressed_parts(s), []
            flag = "REQUIRES_GRAD" if s.requires_grad else "-"
            print("case", s.layout, integers(s.shape), flag, tensor_text(s.detach().to_dense()),
                  *map(tensor_text, parts), *extra, file=out)


# ---- invariants.txt: whether PyTorch takes or refuses them, layout, shape, components ----


def is_unsafe(layout, shape, indices, values):
    """What PyTorch should refuse too: dense sizes of values that are not those of the shape, and blocks of nothing."""
    blocks = layout in (torch.sparse_bsr, torch.sparse_bsc)
    first = indices.dim() + (2 if blocks else 0)
    return tuple(values.shape[first:]) != tuple(shape[indices.dim() + 1:]) or 0 in values.shape[indices.dim():first]


def mutated(rng, tensor, shape):
    """One of the components or the shape, changed a little, so that it often does not fit any more."""
    kind = rng.randrange(4)
    if kind == 0 and tensor.numel():
        changed = tensor.clone()
        changed.view(-1)[rng.randrange(tensor.numel())] += rng.choice((-1, 1, 2))
        return changed, shape
    if kind == 1 and tensor.dim():
        d = rng.randrange(tensor.dim())
        return tensor.narrow(d, 0, max(tensor.shape[d] - 1, 0)).clone(), shape
    if kind == 2:
        return tensor.unsqueeze(rng.randint(0, tensor.dim())), shape
    sizes = list(shape)
    if sizes:
        sizes[rng.randrange(len(sizes))] += rng.choice((-1, 1, 2))
    return tensor, [max(s, 0) for s in sizes]


def random_sparse(rng):
    batch = [rng.randint(1, 2)] if rng.random() < 0.3 else []
    dense = [rng.randint(1, 2)] if rng.random() < 0.3 else []
    rows, columns = rng.randint(1, 3) * 2, rng.randint(1, 3) * 2
    values = torch.randint(0, 3, (rows, columns), generator=generator(rng)).to(torch.int32)
    layout = rng.choice((torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc))
    full = values.view(*[1] * len(batch), rows, columns, *[1] * len(dense)).expand(*batch, rows, columns,
                                                                                   *dense).clone()
    if layout == torch.sparse_coo:
        s = full.to_sparse(full.dim() - len(dense))
        return layout, full.shape, [s.indices(), s.values()]
    block = (rng.choice((1, 2)), rng.choice((1, 2))) if layout in (torch.sparse_bsr, torch.sparse_bsc) else None
    s = full.to_sparse(layout=layout, blocksize=block, dense_dim=len(dense))
    return layout, full.shape, list(compressed_parts(s))


def write_invariants(folder):
    rng = random.Random(13)
    with open(folder / "invariants.txt", "w") as out:
        for _ in range(700):
            layout, shape, parts = random_sparse(rng)
            for _ in range(rng.choice((0, 1, 1, 1, 2))):
                which = rng.randrange(len(parts))
                parts[which], shape = mutated(rng, parts[which], shape)
            try:
                if layout == torch.sparse_coo:
                    torch.sparse_coo_tensor(*parts, shape, check_invariants=True)
                else:
                    torch.sparse_compressed_tensor(*parts, shape, layout=layout, check_invariants=True)
                unsafe = layout != torch.sparse_coo and is_unsafe(layout, shape, *parts[1:])
                answer = "unsafe" if unsafe else "taken"
            except RuntimeError:
                answer = "refused"
            print(answer, layout, integers(shape), *map(tensor_text, parts), file=out)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    write_quantized(target)
    write_sparse(target)
    write_invariants(target)

"""The peers' side of the benchmarks: real PyTorch and safetensors in one process, asked line by line.

A request is a function's name and its arguments, separated by tabs; the reply is `ok` and what it returned, or `error`
and why. What a function times is its own work; preparing, closing and collecting garbage are left out, as on the Java
side.
"""

import contextlib
import copy as copying
import ctypes
import functools
import gc
import gzip
import inspect
import json
import math
import os
import pathlib
import platform
import shutil
import sys
import time
import warnings

import numpy
import safetensors
import safetensors.torch
import torch

held = {}
shapes = {}
last_processor_time = 0.0


def versions():
    return platform.python_version(), torch.__version__, safetensors.__version__, torch.get_num_threads()


def make(count, rows, columns, pt, st):
    """Random tensors, the same in both files."""
    torch.manual_seed(0)
    held.clear()
    for i in range(int(count)):
        held[f"layer.{i:05d}.weight"] = torch.randn(int(rows), int(columns))
    torch.save(held, pt)
    safetensors.torch.save_file(held, st)
    settle()


def make_counting(count, rows, columns):
    """Tensors of int32 whose elements count on from tensor to tensor, so that no two blocks of bytes are equal. In
    memory only."""
    held.clear()
    numel = int(rows) * int(columns)
    for i in range(int(count)):
        elements = torch.arange(i * numel, (i + 1) * numel).to(torch.int32)
        held[f"layer.{i:05d}.weight"] = elements.view(int(rows), int(columns))


def write(pt, st):
    """Writes what is held to files that stay."""
    torch.save(held, pt)
    safetensors.torch.save_file(held, st)
    settle()


def distributed_checkpoint():
    """Not imported before, as it takes long. It warns that there is one process only."""
    warnings.simplefilter("ignore")
    import torch.distributed.checkpoint
    return torch.distributed.checkpoint


def write_distributed(folder, processes):
    """Saves what is held as so many processes of torch.distributed.checkpoint do, which have some rows of each tensor,
    and keeps shapes only."""
    dcp = distributed_checkpoint()
    if int(processes) == 1:
        dcp.save(held, checkpoint_id=folder, no_dist=True)
    else:
        torch.multiprocessing.start_processes(save_rows, (f"{folder}.rendezvous", folder, int(processes)),
                                              int(processes), start_method="fork")
    shapes.clear()
    shapes.update((name, (tensor.shape, tensor.dtype)) for name, tensor in held.items())
    held.clear()
    settle()


def save_rows(rank, rendezvous, folder, processes):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    # Threads of the process that was copied are not there.
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=processes)
    mesh = init_device_mesh("cpu", (processes,))
    rows = {name: distribute_tensor(tensor, mesh, [Shard(0)], src_data_rank=None) for name, tensor in held.items()}
    distributed_checkpoint().save(rows, checkpoint_id=folder)
    torch.distributed.destroy_process_group()


def dcp_save(folder, forced):
    """Forces its files, unless it is told not to."""
    dcp = distributed_checkpoint()
    from torch.distributed.checkpoint import FileSystemWriter
    return save(lambda path: dcp.save(held, storage_writer=FileSystemWriter(path, sync_files=forced == "true"),
                                      no_dist=True), folder)


def onnx_element(path, name):
    """The whole model is parsed, and external data read."""
    import onnx
    import onnx.numpy_helper

    def action():
        model = onnx.load(path)
        return next(onnx.numpy_helper.to_array(tensor)[1, 3].item() for tensor in model.graph.initializer
                    if tensor.name == name)

    return timed(action)


def write_onnx(path, external):
    """Writes what is held as the initializers of a model, with their bytes in it or in a file besides, and forgets
    it."""
    import onnx
    import onnx.numpy_helper
    initializers = [onnx.numpy_helper.from_array(tensor.numpy(), name) for name, tensor in held.items()]
    held.clear()
    graph = onnx.helper.make_graph([], "weights", [], [], initializers)
    onnx.save(onnx.helper.make_model(graph), path, save_as_external_data=external == "true",
              location=os.path.basename(path) + ".data")
    settle()


def dcp_to_torch(folder, pt, name):
    distributed_checkpoint()
    from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

    def action():
        dcp_to_torch_save(folder, pt)
        return torch.load(pt, mmap=True, weights_only=True)[name][1, 3].item()

    return timed(action)


def dcp_load_all(folder):
    """The tensors to load into are made before, as those of a model are."""
    dcp = distributed_checkpoint()
    state = {name: torch.zeros(shape, dtype=dtype) for name, (shape, dtype) in shapes.items()}
    seconds, _ = timed(lambda: dcp.load(state, checkpoint_id=folder, no_dist=True))
    return all_read(seconds, state)


def write_numpy(npz):
    """Writes the tensors in memory as arrays to a file that is kept."""
    savez(npz)
    settle()


def make_model(folder, layers):
    """A folder of safetensors files like that of a language model, in shards of 5 GB. All elements are zeros, which
    take no space on the disk."""
    os.makedirs(folder)
    shapes = {"model.embed_tokens.weight": (32000, 8192)}
    for i in range(int(layers)):
        for name, shape in (("input_layernorm", (8192,)), ("mlp.down_proj", (8192, 28672)),
                            ("mlp.gate_proj", (28672, 8192)), ("mlp.up_proj", (28672, 8192)),
                            ("post_attention_layernorm", (8192,)), ("self_attn.k_proj", (1024, 8192)),
                            ("self_attn.o_proj", (8192, 8192)), ("self_attn.q_proj", (8192, 8192)),
                            ("self_attn.v_proj", (1024, 8192))):
            shapes[f"model.layers.{i}.{name}.weight"] = shape
    shapes |= {"model.norm.weight": (8192,), "lm_head.weight": (32000, 8192)}
    shards, size = [{}], 0
    for name, shape in shapes.items():
        nbytes = 2 * math.prod(shape)
        if size + nbytes > 5e9:
            shards.append({})
            size = 0
        shards[-1][name] = {"dtype": "BF16", "shape": shape, "data_offsets": [size, size + nbytes]}
        size += nbytes
    files = {f"model-{i + 1:05d}-of-{len(shards):05d}.safetensors": shard for i, shard in enumerate(shards)}
    for file, shard in files.items():
        header = json.dumps(shard).encode()
        header += b" " * (-len(header) % 8)
        with open(os.path.join(folder, file), "wb") as f:
            f.write(len(header).to_bytes(8, "little") + header)
            f.truncate(f.tell() + max(t["data_offsets"][1] for t in shard.values()))
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as f:
        json.dump({"metadata": {"total_size": sum(2 * math.prod(s) for s in shapes.values())},
                   "weight_map": {name: file for file, shard in files.items() for name in shard}}, f)
    return sum(os.path.getsize(os.path.join(folder, file)) for file in files), len(shapes)


def forget():
    held.clear()
    gc.collect()


def settle(*leftovers):
    """Removes files and folders, then waits until the disk has nothing left to write, so that nobody pays for another's
    bytes."""
    for path in leftovers:
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.remove(path)
    os.sync()


def processor_time():
    """User and system time that all threads took for what was timed last, in seconds."""
    return (last_processor_time,)


def timed(action):
    gc.collect()
    gc.disable()
    try:
        global last_processor_time
        processor = time.process_time()
        start = time.perf_counter()
        result = action()
        seconds = time.perf_counter() - start
        last_processor_time = time.process_time() - processor
        return seconds, result
    finally:
        gc.enable()


def torch_load(path, name):
    return timed(lambda: torch.load(path, weights_only=True)[name][1, 3].item())


def torch_load_mmap(path, name):
    return timed(lambda: torch.load(path, mmap=True, weights_only=True)[name][1, 3].item())


def safetensors_load_file(path, name):
    return timed(lambda: safetensors.torch.load_file(path)[name][1, 3].item())


def safetensors_safe_open(path, name):
    def action():
        with safetensors.safe_open(path, framework="pt") as f:
            return f.get_tensor(name)[1, 3].item()

    return timed(action)


def all_read(seconds, tensors):
    """The bits of all elements, taken for integers and added up, show that they all arrived."""
    return seconds, sum(int(t.view(torch.int32).sum(dtype=torch.int64)) for t in tensors.values()) % 2**52


def evict(*paths):
    """Removes files from the page cache. Fails if pages stay, for instance because a process maps them."""
    # Maps that nothing refers to any more.
    gc.collect()
    os.sync()
    for path in paths:
        with open(path, "rb") as f:
            for attempt in range(100):
                os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                if not is_cached(f):
                    break
                # Pages that are being read ahead stay until they are there.
                time.sleep(0.02)
            else:
                raise OSError(f"{path} stays in the page cache")


def is_cached(f):
    for offset in (0, os.fstat(f.fileno()).st_size // 2):
        try:
            if os.preadv(f.fileno(), [bytearray(1)], offset, os.RWF_NOWAIT):
                return True
        except BlockingIOError:
            pass
    return False


def touched(tensors):
    """The first element of each page, read as an integer."""
    return sum(int(t.view(torch.int32).flatten()[::1024].sum(dtype=torch.int64)) for t in tensors.values()) % 2**52


def torch_touch(path):
    return timed(lambda: touched(torch.load(path, mmap=True, weights_only=True)))


def safetensors_touch(path):
    return timed(lambda: touched(safetensors.torch.load_file(path)))


def torch_one(path, name):
    """One tensor in memory of the process."""
    return all_read(*timed(lambda: {name: torch.load(path, mmap=True, weights_only=True)[name].clone()}))


def safetensors_one(path, name):
    def action():
        with safetensors.safe_open(path, framework="pt") as f:
            return {name: f.get_tensor(name).clone()}

    return all_read(*timed(action))


def counted(seconds, names):
    """The lengths of all names, added up."""
    return seconds, sum(len(name) for name in names)


def torch_names(path):
    return counted(*timed(lambda: list(torch.load(path, mmap=True, weights_only=True))))


def safetensors_names(path):
    def action():
        with safetensors.safe_open(path, framework="pt") as f:
            return list(f.keys())

    return counted(*timed(action))


def numpy_names(path):
    def action():
        with numpy.load(path) as f:
            return list(f.files)

    return counted(*timed(action))


def numpy_element(path, name):
    """Reads the whole array: an array in a zip archive cannot be mapped by numpy."""
    def action():
        with numpy.load(path) as f:
            return f[name][1, 3].item()

    return timed(action)


def numpy_read(path, names):
    def action():
        with numpy.load(path) as f:
            return {name: f[name] for name in names or f.files}

    seconds, arrays = timed(action)
    return all_read(seconds, {name: torch.from_numpy(array) for name, array in arrays.items()})


def numpy_one(path, name):
    return numpy_read(path, [name])


def numpy_load_all_fresh(path):
    trim()
    return numpy_read(path, None)


def safe_open_folder(folder, name):
    """All names, and the elements of one tensor as float32."""
    def action():
        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(safetensors.safe_open(os.path.join(folder, file), framework="pt"))
                     for file in sorted(os.listdir(folder)) if file.endswith(".safetensors")]
            holder = {key: f for f in files for key in f.keys()}
            return len(holder[name].get_tensor(name).float().numpy())

    return timed(action)


def torch_load_all(path):
    return all_read(*timed(lambda: torch.load(path, weights_only=True)))


def torch_load_all_fresh(path):
    """As a program does that loads one model: into memory that the C library did not keep from the load before."""
    trim()
    return torch_load_all(path)


def trim():
    """Returns the memory that the C library keeps for reuse to the system."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def safetensors_load_all_fresh(path):
    trim()
    return safetensors_load_all(path)


def safetensors_load_all(path):
    """Opens the file as a map, and copies each tensor out of it."""
    return all_read(*timed(lambda: {name: t.clone() for name, t in safetensors.torch.load_file(path).items()}))


def keep_torch(path):
    return keep(*timed(lambda: torch.load(path, weights_only=True)))


def keep_safetensors_clones(path):
    return keep(*timed(lambda: {name: t.clone() for name, t in safetensors.torch.load_file(path).items()}))


def keep_torch_mmap(path):
    """Opens all tensors, and reads every byte after that; they stay open."""
    seconds, opened = timed(lambda: torch.load(path, mmap=True, weights_only=True))
    return keep(seconds, opened)


def keep_safe_open(path):
    def action():
        f = safetensors.safe_open(path, framework="pt")
        return {name: f.get_tensor(name) for name in f.keys()}

    return keep(*timed(action))


def keep(seconds, opened):
    held.update(opened)
    return seconds, sum(t.sum().item() for t in opened.values())


def save(write, path):
    settle(path)
    seconds, _ = timed(lambda: write(path))
    settle(path)
    return seconds, sum(t.nbytes for t in held.values())


def torch_save(path):
    return save(lambda p: torch.save(held, p), path)


def durably(write_to):
    """Writes a file by what writes to an open one, and forces it to the disk."""
    def write(path):
        with open(path, "wb") as f:
            write_to(f)
            f.flush()
            os.fsync(f.fileno())

    return write


def torch_save_durably(path):
    return save(durably(lambda f: torch.save(held, f)), path)


def torch_save_atomically(path):
    return save(atomically(durably(lambda f: torch.save(held, f))), path)


def atomically(write_durably):
    """Writes a file that has its name whole and durable, or not at all, as this library does."""
    def write(path):
        part = path + ".part"
        write_durably(part)
        os.replace(part, path)
        directory = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    return write


def safetensors_save_file(path):
    return save(lambda p: safetensors.torch.save_file(held, p), path)


def sync(path):
    with open(path, "rb") as f:
        os.fsync(f.fileno())


def save_file_durably(tensors, path):
    safetensors.torch.save_file(tensors, path)
    sync(path)


def safetensors_save_durably(path):
    return save(lambda p: save_file_durably(held, p), path)


def safetensors_save_atomically(path):
    return save(atomically(lambda p: save_file_durably(held, p)), path)


def savez(file):
    numpy.savez(file, **{name: t.numpy() for name, t in held.items()})


def numpy_savez(path):
    return save(savez, path)


def numpy_savez_durably(path):
    return save(durably(savez), path)


def numpy_savez_atomically(path):
    return save(atomically(durably(savez)), path)


def torch_to_safetensors(pt, st):
    return save(lambda p: save_file_durably(torch.load(pt, mmap=True, weights_only=True), p), st)


def contiguous(storage, numel):
    return storage


def column_slice(storage, numel):
    return storage.view(-1, 2048)[:, :1024]


def transposed(storage, numel):
    return storage.view(math.isqrt(numel), -1).t()


def every_second(storage, numel):
    return storage[::2]


# By the names of the Java side, with the elements of storage for each element of the tensor.
GEOMETRIES = {"CONTIGUOUS": (contiguous, 1), "COLUMN_SLICE": (column_slice, 2), "TRANSPOSED": (transposed, 1),
              "EVERY_SECOND": (every_second, 2)}


@functools.lru_cache(maxsize=1)
def copy_pair(geometry, source, target, numel):
    """A tensor whose elements count 0, 1, ... 250, 0, ... in the order of its storage, and a contiguous one to copy it
    to."""
    view, spread = GEOMETRIES[geometry]
    pattern = torch.arange(251, dtype=source)
    tensor = view(pattern.repeat(numel * spread // 251 + 1)[:numel * spread], numel)
    copy = torch.zeros(tensor.shape, dtype=target)
    copy.copy_(tensor)
    assert torch.equal(copy, tensor.to(target))
    return tensor, copy


def copy(geometry, source, target, nbytes, threads, seconds):
    """`copy_` again and again for some seconds, with that many threads, or torch's own number if that is 0."""
    source, target = getattr(torch, source), getattr(torch, target)
    tensor, copied = copy_pair(geometry, source, target, int(nbytes) // source.itemsize)
    usual = torch.get_num_threads()
    torch.set_num_threads(int(threads) or usual)
    try:
        return mean_seconds(lambda: copied.copy_(tensor), float(seconds)), 0
    finally:
        torch.set_num_threads(usual)


def dequantize(name, seconds):
    """`gguf.dequantize` of 1024 rows of 4096 numbers again and again for some seconds, by processor time. malloc keeps
    what is freed, so that results are in present memory."""
    import gguf
    ctypes.CDLL(None).mallopt(-1, 1 << 30)  # M_TRIM_THRESHOLD
    ctypes.CDLL(None).mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD
    kind = gguf.GGMLQuantizationType[name]
    size, nbytes = gguf.GGML_QUANT_SIZES[kind]
    blocks = numpy.random.default_rng(1).integers(0, 256, (1024, 4096 // size * nbytes), dtype="u1")
    with numpy.errstate(all="ignore"):
        return mean_seconds(lambda: gguf.dequantize(blocks, kind), float(seconds), time.thread_time), 0


def random_weights(file, nbytes, change, dtype):
    """One tensor of normal weights, the same at each call, and normal changes of them."""
    dtype = getattr(torch, dtype)
    rows = int(nbytes) // dtype.itemsize // 1024
    weights = 0.02 * torch.randn(rows, 1024, generator=torch.Generator().manual_seed(0))
    if float(change):
        weights += float(change) * torch.randn(rows, 1024, generator=torch.Generator().manual_seed(1))
    safetensors.torch.save_file({"weight": weights.to(dtype)}, file)


class Transformer(torch.nn.Module):
    """Predicts the next byte of a text."""

    def __init__(self, width=256, layers=4, context=64):
        super().__init__()
        self.bytes = torch.nn.Embedding(256, width)
        self.places = torch.nn.Embedding(context, width)
        layer = torch.nn.TransformerEncoderLayer(width, 4, 4 * width, 0.0, batch_first=True, norm_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = torch.nn.Linear(width, 256)

    def forward(self, text):
        length = text.shape[1]
        mask = torch.nn.Transformer.generate_square_subsequent_mask(length)
        return self.head(self.layers(self.bytes(text) + self.places(torch.arange(length)), mask, is_causal=True))


def train(model, optimizer, seed, steps):
    """Trains on the sources of the standard library of Python; each seed reads another part of them."""
    sources = sorted(pathlib.Path(json.__file__).parent.parent.glob("*.py"))[seed::11]
    text = torch.tensor(list(b"".join(source.read_bytes() for source in sources)))
    random = torch.Generator().manual_seed(seed)
    for _ in range(int(steps)):
        starts = torch.randint(len(text) - 65, (16,), generator=random)
        batch = torch.stack([text[start:start + 65] for start in starts])
        loss = torch.nn.functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def save_weights(model, file, dtype):
    safetensors.torch.save_file({name: weight.detach().to(getattr(torch, dtype)).contiguous()
                                 for name, weight in model.state_dict().items()}, file)


def trained(file, dtype, steps):
    """A transformer that is trained once and kept, as the base of others."""
    if "base" not in held:
        torch.manual_seed(0)
        held["base"] = Transformer()
        train(held["base"], torch.optim.AdamW(held["base"].parameters(), 1e-3), 0, steps)
    save_weights(held["base"], file, dtype)


def fine_tuned(file, dtype, number, steps):
    """The transformer trained further, all of its weights, on another text."""
    model = copying.deepcopy(held["base"])
    train(model, torch.optim.AdamW(model.parameters(), 2e-5), 1 + int(number), steps)
    save_weights(model, file, dtype)


def training_steps(steps):
    """Trains further."""
    if "training" not in held:
        model = copying.deepcopy(held["base"])
        held["training"] = model, torch.optim.AdamW(model.parameters(), 1e-4)
    train(*held["training"], 0, steps)


def save_training(file, dtype):
    """Saves the state of the training: the weights and both moments of AdamW, rounded to a dtype."""
    model, optimizer = held["training"]
    state = {f"model.{name}": weight.detach() for name, weight in model.named_parameters()}
    for name, weight in model.named_parameters():
        for moment in "exp_avg", "exp_avg_sq":
            state[f"{moment}.{name}"] = optimizer.state[weight][moment]
    dtype = getattr(torch, dtype)
    safetensors.torch.save_file({name: value.to(dtype).contiguous() for name, value in state.items()}, file)


def compressed_sizes(file):
    """The size of a file after gzip and after zstd, and of its tensors whose bytes are put into planes before zstd."""
    import zstandard
    with open(file, "rb") as opened:
        whole = opened.read()
    zstd = zstandard.ZstdCompressor(3)
    planes = 0
    for weight in safetensors.torch.load_file(file).values():
        elements = weight.flatten().view(torch.uint8).numpy().reshape(-1, weight.itemsize)
        planes += len(zstd.compress(elements.T.tobytes()))
    return len(gzip.compress(whole, 6)), len(zstd.compress(whole)), planes


def mean_seconds(action, seconds, clock=time.perf_counter):
    action()
    times = 0
    start = clock()
    while (elapsed := clock() - start) < seconds:
        action()
        times += 1
    return elapsed / times


REQUESTS = {name: f for name, f in globals().items() if inspect.isfunction(f)}


def main():
    for line in sys.stdin:
        name, *arguments = line.rstrip("\n").split("\t")
        try:
            reply = ("ok", *(REQUESTS[name](*arguments) or ()))
        except Exception as e:
            reply = ("error", f"{type(e).__name__}: {e}".replace("\n", " "))
        print(*reply, sep="\t", flush=True)


main()

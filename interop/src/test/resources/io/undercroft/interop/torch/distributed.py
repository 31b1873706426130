"""Distributed checkpoints: started by DistributedCheckpointTest, and by hand for test-support/fixtures/pytorch/dcp.

    distributed.py FOLDER NAME...   saves each of these states as FOLDER/NAME, a directory, and as FOLDER/NAME.pt, the
                                    same by torch.distributed.checkpoint.format_utils.dcp_to_torch_save
    distributed.py FOLDER hugging-face   what torch.distributed.checkpoint writes as files of safetensors
"""
import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16,
          torch.int8, torch.uint8, torch.uint16, torch.bool, torch.complex64, torch.float8_e4m3fn]


def numbers(*shape):
    return torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)


def plain():
    """What one process has without a process group."""
    tied = numbers(4, 3)
    return {
        "model": {"wte.weight": tied, "head.weight": tied, "transposed": numbers(2, 3).t(),
                  "view": numbers(5, 4)[1:3, 2:], "scalar": torch.tensor(2.5), "empty": torch.empty(0, 3),
                  "conj": (torch.tensor([1 + 2j, 3 - 4j])).conj(), "a/b": torch.tensor([7])},
        "dtypes": [torch.arange(6).reshape(2, 3).to(dtype) for dtype in DTYPES],
        "optim": {"state": {0: {"step": torch.tensor(3.0), "exp_avg": numbers(3)}},
                  "param_groups": [{"lr": 0.1, "betas": (0.9, 0.999), "params": [0, 1]}]},
        "epoch": 3, "text": "a/b", "none": None, "nested": [numbers(2), "x", [torch.zeros(1), 5]],
        "size": torch.Size([2, 3]), "texts": ["a", "b"],
    }


def small():
    return {"w": numbers(2, 3), "b": torch.tensor([1.5], dtype=torch.bfloat16), "step": 7}


def quantized():
    """PyTorch does not make a file of it with dcp_to_torch_save."""
    def per_tensor():
        return torch.quantize_per_tensor(numbers(2, 3), 0.5, 3, torch.quint8)
    return {"q": per_tensor(), "turned": per_tensor().t(), "list": [per_tensor(), numbers(1)],
            "channels": torch.quantize_per_channel(numbers(2, 3), torch.tensor([0.5, 0.25]), torch.tensor([1, 2]), 0,
                                                   torch.qint8), "last": numbers(2)}


def placements(world):
    """Tensors of which each process has a part, in all ways to divide them."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    line = init_device_mesh("cpu", (world,))
    state = {
        "rows": distribute_tensor(numbers(8, 3), line, [Shard(0)]),
        "uneven": distribute_tensor(numbers(5, 2), line, [Shard(0)]),
        "columns": distribute_tensor(numbers(3, 6), line, [Shard(1)]),
        "middle": distribute_tensor(numbers(2, 4, 3).to(torch.int64), line, [Shard(1)]),
        "few": distribute_tensor(numbers(1, 2), line, [Shard(0)]),
        "replicated": distribute_tensor(numbers(2, 2), line, [Replicate()]),
        "empty": distribute_tensor(torch.empty(0, 2), line, [Shard(0)]),
        "plain": numbers(3), "scalar": torch.tensor(4), "epoch": 5,
    }
    if world == 4:
        grid = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
        state["grid"] = distribute_tensor(numbers(5, 7), grid, [Shard(0), Shard(1)])
        state["twice"] = distribute_tensor(numbers(9, 2), grid, [Shard(0), Shard(0)])
        state["hybrid"] = distribute_tensor(numbers(4, 4), grid, [Replicate(), Shard(1)])
    return state


def boxes(world):
    """Columns in chunks of 384 KiB, to see what of them is read; for test-support/fixtures/pytorch/dcp-boxes."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    values = (torch.arange(1024 * 768) % 251).to(torch.uint8).reshape(1024, 768)
    return {"grid": distribute_tensor(values, init_device_mesh("cpu", (world,)), [Shard(1)]), "epoch": 4}


def trained(world):
    """A model of FSDP2 and its optimizer, after one step."""
    from torch.distributed.checkpoint.state_dict import get_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Linear(7, 3, bias=False))
    fully_shard(model, mesh=init_device_mesh("cpu", (world,)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    weights, state = get_state_dict(model, optimizer)
    return {"model": weights, "optim": state, "step": 1}


ALONE = {
    "plain": (plain, {}),
    "small": (small, {}),
    "files": (plain, {"single_file_per_rank": False}),
    "quantized": (quantized, {}),
    "threads": (plain, {"thread_count": 3}),
}
TOGETHER = {
    "two": (2, placements, {}),
    "four": (4, placements, {}),
    "four-files": (4, placements, {"single_file_per_rank": False}),
    "fsdp2": (2, trained, {}),
    "boxes": (2, boxes, {}),
}


def run(rank, world, rendezvous, make, folder, options):
    dist.init_process_group("gloo", init_method="file://" + rendezvous, rank=rank, world_size=world)
    dcp.save(make(world), storage_writer=dcp.FileSystemWriter(folder, **options))
    dist.destroy_process_group()


def save(folder, name):
    there = os.path.join(folder, name)
    if name in ALONE:
        make, options = ALONE[name]
        dcp.save(make(), storage_writer=dcp.FileSystemWriter(there, **options), no_dist=True)
    else:
        world, make, options = TOGETHER[name]
        with tempfile.TemporaryDirectory() as rendezvous:
            mp.start_processes(run, (world, os.path.join(rendezvous, "file"), make, there, options), world,
                               start_method="fork")
    if name == "quantized":
        torch.save(quantized(), there + ".pt")
    else:
        dcp_to_torch_save(there, there + ".pt")


def hugging_face(rank, world, rendezvous, folder):
    """Files of safetensors: FOLDER/hf-parts before, FOLDER/hf after consolidation, which does not take integers."""
    from torch.distributed.checkpoint import HuggingFaceStorageReader, HuggingFaceStorageWriter
    dist.init_process_group("gloo", init_method="file://" + rendezvous, rank=rank, world_size=world)
    state = {name: value for name, value in placements(world).items()
             if isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel()}
    where = {name: 1 + number % 2 for number, name in enumerate(state)}
    dcp.save(state, storage_writer=HuggingFaceStorageWriter(os.path.join(folder, "hf-parts"), save_distributed=True))
    there = os.path.join(folder, "hf")
    dcp.save(state, storage_writer=HuggingFaceStorageWriter(there, where, save_distributed=True,
                                                            enable_consolidation=True))
    loaded = {name: torch.zeros(value.shape) for name, value in state.items()}
    dcp.load(loaded, storage_reader=HuggingFaceStorageReader(there))
    if rank == 0:
        torch.save(loaded, there + ".pt")
    dist.destroy_process_group()


def safetensors(folder):
    """What one process writes as safetensors: FOLDER/hf-one with an index, FOLDER/safetensors with .metadata."""
    from torch.distributed.checkpoint import HuggingFaceStorageReader, HuggingFaceStorageWriter
    from torch.distributed.checkpoint.filesystem import SerializationFormat
    state = {"a": numbers(5, 7), "b": torch.arange(6), "c": numbers(2).to(torch.bfloat16)}
    there = os.path.join(folder, "hf-one")
    dcp.save(state, storage_writer=HuggingFaceStorageWriter(there, {"a": 1, "b": 2, "c": 2}), no_dist=True)
    loaded = {name: torch.zeros_like(value) for name, value in state.items()}
    dcp.load(loaded, storage_reader=HuggingFaceStorageReader(there), no_dist=True)
    torch.save(loaded, there + ".pt")
    for name, count in (("safetensors", 3), ("safetensors-one", 1)):
        dcp.save(dict(list(state.items())[:count]), no_dist=True, storage_writer=dcp.FileSystemWriter(
            os.path.join(folder, name), serialization_format=SerializationFormat.SAFETENSORS))


if __name__ == "__main__":
    if sys.argv[2:] == ["hugging-face"]:
        with tempfile.TemporaryDirectory() as rendezvous:
            mp.start_processes(hugging_face, (2, os.path.join(rendezvous, "file"), sys.argv[1]), 2, start_method="fork")
        safetensors(sys.argv[1])
        sys.exit()
    for each in sys.argv[2:]:
        save(sys.argv[1], each)
        print(each)

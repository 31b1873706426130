"""Loads distributed checkpoints of this library with PyTorch: started by DistributedDraftTest.

    loading.py FOLDER   loads the directory FOLDER/dcp in every way, and compares it with FOLDER/whole.pt; loads
                        FOLDER/lists/dcp, which dcp_to_torch_save does not convert
"""
import copy
import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

WORLD = 4


def is_plain(tensor):
    return tensor.layout == torch.strided and not tensor.is_quantized and not tensor.is_nested


def check(actual, expected, path=""):
    """Keys of dicts are text in a distributed checkpoint, and a template keeps its own."""
    if isinstance(expected, torch.Tensor) and not is_plain(expected):
        assert actual.dtype == expected.dtype and actual.layout == expected.layout, path
        if expected.is_nested:
            check(list(actual.unbind()), list(expected.unbind()), path)
        elif expected.is_quantized:
            assert actual.qscheme() == expected.qscheme() and torch.equal(actual, expected), path
        else:
            check(actual.to_dense(), expected.to_dense(), path)
    elif isinstance(expected, torch.Tensor):
        actual = actual.full_tensor() if hasattr(actual, "full_tensor") else actual
        assert actual.dtype == expected.dtype and actual.shape == expected.shape, path
        assert torch.equal(actual.detach().view(-1).contiguous().view(torch.uint8),
                           expected.detach().resolve_conj().resolve_neg().contiguous().view(-1).view(torch.uint8)), path
    elif isinstance(expected, dict):
        for key, value in expected.items():
            check(actual[str(key)] if str(key) in actual else actual[key], value, f"{path}/{key}")
        assert {str(key) for key in actual} == {str(key) for key in expected}, (path, actual.keys())
    elif isinstance(expected, (list, tuple)):
        assert type(actual) is type(expected) and len(actual) == len(expected), path
        for number, (one, other) in enumerate(zip(actual, expected)):
            check(one, other, f"{path}/{number}")
    else:
        assert actual == expected and type(actual) is type(expected), (path, actual, expected)


def blank(value):
    """A state of the same form, with nothing in it."""
    if isinstance(value, torch.Tensor):
        return torch.zeros(value.shape, dtype=value.dtype) if is_plain(value) else torch.zeros(1)
    if isinstance(value, dict):
        return type(value)((key, blank(each)) for key, each in value.items())
    if isinstance(value, list):
        return [blank(each) for each in value]
    return copy.deepcopy(value) if isinstance(value, tuple) else None


def converted(folder):
    dcp_to_torch_save(folder + "/dcp", folder + "/converted.pt")
    check(torch.load(folder + "/converted.pt", weights_only=False), expected(folder))


def expected(folder):
    return torch.load(folder + "/whole.pt", weights_only=True)


def alone(folder):
    whole = expected(folder)
    state = blank(whole)
    dcp.load(state, checkpoint_id=folder + "/dcp", no_dist=True)
    check(state, whole)


def together(rank, rendezvous, folder):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    dist.init_process_group("gloo", init_method="file://" + rendezvous, rank=rank, world_size=WORLD)
    whole = expected(folder)["model"]
    line = init_device_mesh("cpu", (WORLD,))
    grid = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
    ways = [(line, [Shard(0)]), (line, [Shard(1)]), (line, [Replicate()]), (grid, [Shard(0), Shard(1)]),
            (grid, [Shard(1), Shard(0)]), (grid, [Replicate(), Shard(0)])]
    for mesh, placements in ways:
        state = {"model": {name: distribute_tensor(torch.zeros(tensor.shape, dtype=tensor.dtype), mesh, placements)
                           if tensor.dim() == 2 else torch.zeros(tensor.shape, dtype=tensor.dtype)
                           for name, tensor in whole.items()}}
        dcp.load(state, checkpoint_id=folder + "/dcp")
        check(state["model"], whole)
    fsdp(line, whole, folder)
    dist.destroy_process_group()


def fsdp(mesh, whole, folder):
    """A model of FSDP2, whose parameters are divided by rows."""
    from torch.distributed.checkpoint.state_dict import get_model_state_dict, set_model_state_dict
    from torch.distributed.fsdp import fully_shard
    model = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Linear(7, 3, bias=False))
    fully_shard(model, mesh=mesh)
    weights = get_model_state_dict(model)
    assert weights.keys() <= whole.keys()
    dcp.load({"model": weights}, checkpoint_id=folder + "/dcp")
    set_model_state_dict(model, weights)
    check(dict(model.state_dict()), {name: whole[name] for name in weights})


if __name__ == "__main__":
    converted(sys.argv[1])
    alone(sys.argv[1])
    alone(sys.argv[1] + "/lists")
    mp.start_processes(together, (os.path.join(sys.argv[1], "rendezvous"), sys.argv[1]), WORLD, start_method="fork")
    print("loaded")

"""Objects that PyTorch itself pickles and loads: started by TorchModulesTest.

    modules.py write FOLDER      saves objects as FOLDER/NAME.pt, NAME.protocol4.pt and NAME.legacy.pt, and what
                                 state_dict() says of the modules as FOLDER/NAME.json
    modules.py compare FOLDER    loads each FOLDER/NAME.ours.pt and FOLDER/NAME.pt; a line of JSON each
"""
import argparse
import collections
import dataclasses
import datetime
import enum
import fractions
import functools
import hashlib
import json
import pathlib
import sys
import traceback

import torch
from torch import nn


class Net(nn.Module):
    """Modules in all containers, tied parameters, and buffers of both kinds."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 3)
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 3), nn.ReLU())])
        self.named = nn.ModuleDict({"norm": nn.BatchNorm1d(3), "with/slash": nn.Identity()})
        self.several = nn.ParameterList([nn.Parameter(torch.ones(2)), nn.Parameter(torch.zeros(3))])
        self.out = nn.Linear(3, 5, bias=False)
        self.out.weight = self.embedding.weight
        self.again = self.layers[0]
        self.register_buffer("kept", torch.arange(4))
        self.register_buffer("left", torch.arange(3), persistent=False)
        self.register_buffer("none", None)
        self.activation = nn.functional.gelu
        self.kind = nn.Linear


class Color(enum.Enum):
    RED = 1
    GREEN = "g"


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Config:
    name: str
    sizes: list
    level: Level = Level.LOW


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    a: int
    b: torch.Tensor


Point = collections.namedtuple("Point", "x y")


class Items(dict):
    pass


class Ordered(collections.OrderedDict):
    pass


class Elements(list):
    pass


class Slots:
    __slots__ = ("a", "b")


class Reduced:
    def __init__(self, *arguments):
        self.arguments = arguments

    def __reduce__(self):
        return Reduced, self.arguments, {"extra": 1}


class Keywords:
    def __new__(cls, *arguments, **keywords):
        made = super().__new__(cls)
        made.made = (arguments, keywords)
        return made

    def __getnewargs_ex__(self):
        return self.made


class Outer:
    class Inner:
        def __init__(self):
            self.value = 3


def with_attributes(made, **attributes):
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def states():
    torch.manual_seed(1)
    net = Net()
    slots = Slots()
    slots.a = 1
    slots.b = torch.ones(2)
    optimizer = torch.optim.Adam(net.parameters())
    sum(p.sum() for p in net.parameters()).backward()
    optimizer.step()
    cycle = Outer.Inner()
    cycle.me = cycle
    return {
        "linear": nn.Linear(3, 4),
        "sequential": nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.BatchNorm1d(3), nn.Dropout(0.5)),
        "net": Net(),
        "parallel": nn.DataParallel(Net()),
        "lstm": nn.LSTM(2, 3, 2),
        "transformer": nn.TransformerEncoderLayer(4, 2, 8),
        "checkpoint": {"model": Net(), "epoch": 3, "args": argparse.Namespace(lr=0.1, sizes=[1, 2])},
        "optimizer": {"net": net, "optimizer": optimizer},
        "plain": {
            "config": Config("a", [1, 2]), "color": Color.RED, "colors": {Color.GREEN: 1, "plain": 2},
            "path": pathlib.PurePosixPath("/a/b"), "date": datetime.datetime(2026, 1, 2, 3, 4),
            "delta": datetime.timedelta(days=1), "fraction": fractions.Fraction(1, 3), "point": Point(1, torch.ones(1)),
            "deque": collections.deque([1, 2], maxlen=5), "counter": collections.Counter("aab"),
            "partial": functools.partial(nn.functional.relu, inplace=True), "class": nn.Linear, "none": type(None),
            "range": range(3), "slice": slice(1, 2), "complex": 1j, "function": nn.functional.relu,
        },
        "frozen": Frozen(1, torch.ones(3)),
        "containers": {
            "items": Items(a=torch.ones(2)), "ordered": Ordered(b=1), "elements": Elements([1, torch.zeros(1)]),
            "items with state": with_attributes(Items(a=1), note="x"), "empty items": Items(),
            "elements with state": with_attributes(Elements([1]), note="x"),
        },
        "calls": {"slots": slots, "reduced": Reduced(1, "a")},
        "keywords": {"object": Keywords(1, k=2), "inner": Outer.Inner(), "cycle": cycle},
        "keyed": {"default": collections.defaultdict(list, {1: [2]}), "by point": {Point(1, 2): 3}},
    }


def digest(tensor):
    return hashlib.sha256(bytes(tensor.detach().contiguous().flatten().view(torch.uint8).tolist())).hexdigest()


def modules(value, prefix):
    """The state dicts of the modules in a state, by the names that they have in it."""
    if isinstance(value, nn.Module):
        return {prefix + name: digest(tensor) for name, tensor in value.state_dict().items()}
    found = {}
    if isinstance(value, dict):
        for key, inner in value.items():
            found.update(modules(inner, f"{prefix}{key}/"))
    return found


def write(folder):
    for name, state in states().items():
        torch.save(state, folder / f"{name}.pt")
        torch.save(state, folder / f"{name}.protocol4.pt", pickle_protocol=4)
        torch.save(state, folder / f"{name}.legacy.pt", _use_new_zipfile_serialization=False)
        (folder / f"{name}.json").write_text(json.dumps(modules(state, "")))
        print(name)


def describe(value, around=()):
    """What a value is, without addresses."""
    if id(value) in around:
        return "around"
    inner = (*around, id(value))
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, torch.Tensor):
        return [kind, str(value.dtype), list(value.shape), value.requires_grad, digest(value)]
    if isinstance(value, (str, int, float, complex, type(None), type)) or callable(value) and not vars_of(value):
        return [kind, getattr(value, "__qualname__", None) or repr(value)]
    made = [kind]
    if isinstance(value, dict):
        made.append([[describe(k, inner), describe(v, inner)] for k, v in value.items()])
    elif isinstance(value, (list, tuple, collections.deque)):
        made.append([describe(v, inner) for v in value])
    elif not vars_of(value):
        made.append(repr(value))
    if isinstance(value, nn.Module):
        made.append([[k, describe(v)] for k, v in value.state_dict().items()])
    made.append([[k, describe(v, inner)] for k, v in vars_of(value).items()])
    return made


def vars_of(value):
    found = dict(getattr(value, "__dict__", {}))
    for name in getattr(type(value), "__slots__", ()):
        if isinstance(name, str) and name.isidentifier() and hasattr(value, name) and not name.startswith("__"):
            found[name] = getattr(value, name)
    # Weak references of recurrent modules, which are made anew.
    return {k: v for k, v in found.items() if k != "_flat_weight_refs"}


def compare(folder):
    for path in sorted(folder.glob("*.ours.pt")):
        name = path.name.removesuffix(".ours.pt")
        try:
            ours = describe(torch.load(path, weights_only=False))
            theirs = describe(torch.load(folder / f"{name}.pt", weights_only=False))
            outcome = "same" if ours == theirs else f"{ours} and not {theirs}"
        except Exception:  # what is wrong is for the test to say
            outcome = traceback.format_exc()
        print(json.dumps({"name": name, "outcome": outcome}))


if __name__ == "__main__":
    {"write": write, "compare": compare}[sys.argv[1]](pathlib.Path(sys.argv[2]))

# Programs of torch.export, and what torch.export.load makes of them: NAME.pt2 and NAME.pt, a dict of the states and the
# constants of each program. Run as `export.py FOLDER`; `export.py FOLDER small` writes the fixtures.
import sys
import warnings
import zipfile

import torch
from torch.export.pt2_archive._package import PT2ArchiveWriter, load_pt2, package_pt2
from torch._export.serde import schema
from torch._export.serde.serialize import serialize

warnings.simplefilter('ignore')
torch.manual_seed(36)
folder = sys.argv[1]


class Tied(torch.nn.Module):
    """Parameters that share a storage, views, a buffer that is not persistent, and tensors in the code."""

    def __init__(self):
        super().__init__()
        self.emb = torch.nn.Embedding(4, 3)
        self.head = torch.nn.Linear(3, 4)
        self.head.weight = self.emb.weight
        self.fixed = torch.nn.Parameter(torch.ones(2, 2, dtype=torch.bfloat16), requires_grad=False)
        self.register_buffer('steps', torch.arange(3))
        self.register_buffer('mask', torch.tensor([True, False]), persistent=False)
        base = torch.arange(12.)
        self.register_buffer('row', base[4:8])
        self.register_buffer('column', base.view(3, 4).t()[1])
        self.scale = torch.tensor([0.5, 0.25, 2.])

    def forward(self, x):
        rest = self.steps.sum() + self.mask.sum() + self.fixed.sum() + self.row.sum() + self.column.sum()
        return self.head(self.emb(x) * self.scale) + rest + torch.tensor([7.])


class Types(torch.nn.Module):
    """A buffer of each type, a scalar, no elements, other strides."""

    def __init__(self):
        super().__init__()
        names = ('uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool bfloat16 '
                 'uint16 uint32 uint64 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz').split()
        for name in names:
            elements = torch.arange(6).reshape(2, 3)
            self.register_buffer('of_' + name, elements.to(torch.float32).to(getattr(torch, name)))
        self.register_buffer('scalar', torch.tensor(2.5))
        self.register_buffer('empty', torch.zeros(0, 3))
        self.weight = torch.nn.Parameter(torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last))

    def forward(self, x):
        return x + self.scalar


def judged(name, load):
    programs = load(f'{folder}/{name}.pt2')
    torch.save([{'state': dict(each.state_dict), 'constants': dict(each.constants)} for each in programs],
               f'{folder}/{name}.pt')
    print(name)


def one(path):
    return [torch.export.load(path)]


def exported(module, *inputs):
    program = torch.export.export(module, inputs)
    for node in program.graph.nodes:
        # These have paths of the machine.
        node.meta.pop('stack_trace', None)
    return program


tied = exported(Tied(), torch.tensor([1, 2]))
torch.export.save(tied, f'{folder}/program.pt2')
judged('program', one)

# What older versions wrote, by the functions with which this one still reads it.
artifact = serialize(tied)
with PT2ArchiveWriter(f'{folder}/pickled.pt2') as writer:
    writer.write_bytes('models/model.json', artifact.exported_program)
    writer.write_bytes('data/weights/model.pt', artifact.state_dict)
    writer.write_bytes('data/constants/model.pt', artifact.constants)
    writer.write_bytes('data/sample_inputs/model.pt', artifact.example_inputs)
judged('pickled', one)
with zipfile.ZipFile(f'{folder}/old.pt2', 'w') as archive:
    archive.writestr('serialized_exported_program.json', artifact.exported_program)
    archive.writestr('serialized_state_dict.pt', artifact.state_dict)
    archive.writestr('serialized_constants.pt', artifact.constants)
    archive.writestr('serialized_example_inputs.pt', artifact.example_inputs)
    archive.writestr('version', '.'.join(map(str, schema.SCHEMA_VERSION)))
judged('old', one)

if sys.argv[2:] != ['small']:
    types = exported(Types(), torch.ones(2))
    torch.export.save(types, f'{folder}/types.pt2')
    judged('types', one)
    package_pt2(f'{folder}/several.pt2', exported_programs={'first': tied, 'second': types},
                extra_files={'notes.txt': 'x'})
    judged('several', lambda path: [load_pt2(path).exported_programs[name] for name in ('first', 'second')])

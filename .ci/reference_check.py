#!/usr/bin/env python3
"""Compares the two readers of .croft files: the Java one (the croft command) and the Python package in python/.

Converts PyTorch files of test-support/fixtures/ to .croft, verifies each with both, and compares every tensor and
storage as both see it: dtype, shape, stride, which storage, SHA-256 of the elements. Does the same for the golden
files. The state that croft.torch loads from a converted file is compared with the one that PyTorch loads from the
original.

    .ci/reference_check.py        # with a Python that has the package (pip install './python[coded]') and PyTorch, and
                                  # a JDK 25 on the machine
"""
import collections
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

import torch

import croft
import croft.torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "format-spec/src/test/resources/golden"

FIXTURES = ["models/tiny-gpt2.pt", "models/tiny-gpt2-training.pt", "pytorch/dtype_bfloat16.pt",
            "pytorch/dtype_complex64.pt",
            "pytorch/expand.pt", "pytorch/channels_last.pt", "pytorch/untyped_storage.pt",
            "pytorch/ordereddict_attr.pt",
            "pytorch/typed_storage_and_tensor.pt", "pytorch/quant_per_channel.pt", "pytorch/sparse_coo_coalesced.pt",
            "pytorch/all_dtypes.pt", "pytorch/as_strided_overlap.pt", "pytorch/neg.pt", "pytorch/nested.pt",
            "pytorch/parameter.pt", "pytorch/requires_grad.pt"]


def sha256(view):
    return hashlib.sha256(view.tobytes()).hexdigest()


def compare(path):
    """The differences between what Java and Python see in a file, as lines."""
    shown = subprocess.run([ROOT / "croft", "inspect", "--json", "--hash", "--map-location", "cpu", "--root",
                            path.parent, path], check=True, capture_output=True)
    java = json.loads(shown.stdout)
    file = croft.open(path, root=path.parent)
    file.verify()
    tables = file.index.tables
    if sorted(tensor["name"] for tensor in java["tensors"]) != sorted(file.index.names):
        yield "other names"
    for storage in java["storages"]:
        if storage["device"] != "meta" and storage["sha256"] != sha256(file.storage(storage["id"])):
            yield f"storage {storage['id']} has other bytes"
    for tensor in java["tensors"]:
        view, record = file.tensor(tensor["name"]), tables["TENS"][file.index.names[tensor["name"]]]
        packed = tables["DTYP"]["bits"][record["dtype"]] % 8 != 0
        python = {"dtype": file.dtype(tensor["name"]), "storage": int(record["storage"])}
        if not packed:
            python |= {"shape": list(view.shape), "stride": [stride // view.itemsize for stride in view.strides]}
            if not tensor.get("conj") and not tensor.get("neg") and tensor["sha256"]:
                python["sha256"] = sha256(view)
        for key, value in python.items():
            if tensor[key] != value:
                yield f"tensor {tensor['name']}: {key} is {tensor[key]} in Java and {value} in Python"


def differences(loaded, original, storages, path=""):
    """Where a state differs from the one that PyTorch loads from the original file, as lines. `storages` has the place
    of the storage of each tensor of the original, by the place of the other."""
    if isinstance(loaded, croft.Object) or isinstance(original, (torch.TypedStorage, torch.UntypedStorage)):
        return
    if type(loaded) is not type(original):
        yield f"{path} is {type(loaded)} and not {type(original)}"
    elif isinstance(original, torch.Tensor):
        def described(tensor):
            return (tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset(), tensor.requires_grad,
                    tensor.is_conj(), tensor.is_neg())
        place = original.untyped_storage().data_ptr()
        if (described(loaded) != described(original)
                or bytes(loaded.untyped_storage()) != bytes(original.untyped_storage())
                or storages.setdefault(loaded.untyped_storage().data_ptr(), place) != place):
            yield f"{path} is another tensor"
    elif isinstance(original, dict):
        if list(loaded) != list(original):
            yield f"{path} has other keys"
        for key in original.keys() & loaded.keys():
            yield from differences(loaded[key], original[key], storages, f"{path}/{key}")
        if isinstance(original, collections.OrderedDict):
            yield from differences(vars(loaded), vars(original), storages, f"{path}: attributes")
    elif isinstance(original, (list, tuple)):
        if len(loaded) != len(original):
            yield f"{path} has another length"
        for number, pair in enumerate(zip(loaded, original)):
            yield from differences(*pair, storages, f"{path}/{number}")
    elif loaded != original:
        yield f"{path} is {loaded!r} and not {original!r}"


def compare_with_torch(path, original):
    state = torch.load(original, map_location="cpu", weights_only=False)
    storages = {}
    yield from differences(croft.torch.load(path), state, storages)
    if len(set(storages.values())) != len(storages):
        yield "two storages are one in PyTorch"


def main():
    failures = compared = 0
    with tempfile.TemporaryDirectory() as directory:
        made = []
        for number, fixture in enumerate(FIXTURES):
            made.append(pathlib.Path(directory) / f"{number}.croft")
            source = ROOT / "test-support" / "fixtures" / fixture
            subprocess.run([ROOT / "croft", "convert", source, made[-1]], check=True,
                           stdout=subprocess.DEVNULL)
            for difference in compare_with_torch(made[-1], source):
                print(f"{fixture}: {difference}")
                failures += 1
        for path in made + sorted(GOLDEN.glob("*.croft")):
            compared += 1
            for difference in compare(path):
                print(f"{path}: {difference}")
                failures += 1
    print(f"{failures} differences" if failures else
          f"{compared} files seen the same by Java and Python, {len(made)} of them by PyTorch")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()

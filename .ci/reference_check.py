#!/usr/bin/env python3
"""Holds the two readers of .croft files against each other: the Java one (the croft command) and the
reference in Python, format-spec/reference/croft.py.

Converts PyTorch files of test-support/fixtures/ to .croft, verifies each with both, and compares every tensor and
storage as both see it: dtype, shape, stride, which storage, SHA-256 of the elements. Does the same for the golden
files.

    .ci/reference_check.py        # with a Python that has NumPy and zstandard, and a JDK 25 on the machine
"""
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "format-spec/src/test/resources/golden"
sys.path.insert(0, str(ROOT / "format-spec" / "reference"))
import croft  # noqa: E402

FIXTURES = ["models/tiny-gpt2.pt", "models/tiny-gpt2-training.pt", "pytorch/dtype_bfloat16.pt",
            "pytorch/dtype_complex64.pt",
            "pytorch/expand.pt", "pytorch/channels_last.pt", "pytorch/untyped_storage.pt",
            "pytorch/ordereddict_attr.pt",
            "pytorch/typed_storage_and_tensor.pt", "pytorch/quant_per_channel.pt", "pytorch/sparse_coo_coalesced.pt"]


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


def main():
    failures = compared = 0
    with tempfile.TemporaryDirectory() as directory:
        made = []
        for number, fixture in enumerate(FIXTURES):
            made.append(pathlib.Path(directory) / f"{number}.croft")
            source = ROOT / "test-support" / "fixtures" / fixture
            subprocess.run([ROOT / "croft", "convert", source, made[-1]], check=True,
                           stdout=subprocess.DEVNULL)
        for path in made + sorted(GOLDEN.glob("*.croft")):
            compared += 1
            for difference in compare(path):
                print(f"{path}: {difference}")
                failures += 1
    print(f"{compared} files seen the same by Java and Python" if not failures else f"{failures} differences")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()

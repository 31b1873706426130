"""Reads .croft files, whose format is specified in format-spec/SPEC.md. Needs NumPy, and the package
zstandard for files that are compressed; `croft.torch` has the same calls for tensors of PyTorch.

    state = croft.load("model.croft")                # the state that was saved, with NumPy arrays in it
    arrays = croft.load_file("model.croft")          # the arrays by their names
    with croft.open("model.croft") as file:          # or open(path, sequence=3, root=directory of adopted files)
        weight = file.tensor("model/wte.weight")

Arrays are views of the mapped file, and those of one storage share its memory. Mappings are copy-on-write: writing to
an array never reaches the file. Every refusal of a file is a CroftError with the code of the rule that was broken, such
as V14-CHECKSUM. The bytes of tensors are compared with their checksums by `File.verify`, and not when they are loaded.
"""
from .file import File
from .loading import Object, load, load_file, safe_open
from .sets import open_set, set_slices, set_tensor
from .state import CroftError

__all__ = ["CroftError", "File", "Object", "load", "load_file", "open", "open_set", "safe_open", "set_slices",
           "set_tensor"]


def open(path, sequence=None, root=None):
    """Opens a file at its newest snapshot, or at the one with that sequence number. `root` is the directory below which
    other files may be whose bytes are used.

    Raises CroftError if the file breaks a rule, and OSError if it cannot be read."""
    return File(path, sequence, root)

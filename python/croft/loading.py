"""The contents of a file as Python objects: the state, the tensors by name, or one tensor at a time."""
import collections, dataclasses, struct
import numpy as np

from .file import NUMPY, File
from .index import CONJUGATE, NEGATIVE
from .state import CroftError, need


@dataclasses.dataclass(eq=False)
class Object:
    """An object of a class that is not loaded: the name of the class, and the value and attributes in the file."""
    type: str
    value: object
    attributes: dict


class Arrays:
    """The tensors of a file as NumPy arrays, each the same one at every request. The file is a path or a File."""

    def __init__(self, file, device="cpu"):
        if device != "cpu":
            raise ValueError(f"NumPy has no arrays on {device}")
        self.file, self.made, self.host = file if isinstance(file, File) else File(file), {}, self

    def tensor(self, number):
        if number not in self.made:
            view, tensor = self.file.tensor(number), self.file.index.tensor(number)
            need(tensor.dtype in NUMPY or not tensor.flags & (CONJUGATE | NEGATIVE), 13,
                 f"NumPy cannot negate elements of {tensor.dtype}")
            view = np.conj(view) if tensor.flags & CONJUGATE else view
            self.made[number] = np.negative(view) if tensor.flags & NEGATIVE else view
        return self.made[number]

    def storage(self, number):
        return self.file.storage(number)

    def sent(self, view):
        """A view of a tensor of `host`, on the device of this."""
        return view

    def object(self, name, value, attributes):
        return Object(name, value, attributes)

    def dtype(self, name):
        return name

    def device(self, name):
        return name

    def shape(self, sizes):
        return sizes


def load(path):
    """The state of a file: dicts, lists, scalars and so on as they were saved, with NumPy arrays in it. An element type
    or device is its name, and an object of another class than OrderedDict is an Object. `path` may be a File.

    Raises CroftError if the file breaks a rule or holds what Python or NumPy cannot, and OSError if it cannot be read.
    """
    return state_of(Arrays(path))


def load_file(path):
    """The arrays of a file by their names, those of one storage on one memory. Elements that NumPy has no type for come
    as in File.tensor, and arrays that are to be conjugated or negated are copies. `path` may be a File.

    Raises CroftError if the file breaks a rule, and OSError if it cannot be read."""
    return tensors_of(Arrays(path))


def tensors_of(library):
    return {name: library.tensor(number) for name, number in library.file.index.names.items()}


def state_of(library):
    index, made, pending = library.file.index, {}, object()

    def value(node):
        match node.kind:
            case "null":
                return None
            case "true" | "false":
                return node.kind == "true"
            case "float":
                return struct.unpack("<d", node.value)[0]
            case "complex":
                return complex(*struct.unpack("<2d", node.value))
            case "tensor":
                return library.tensor(node.value)
            case "storage":
                return library.storage(node.value[0])
            case "dtype":
                return library.dtype(index.dtypes[node.value])
            case "device":
                return library.device(node.value)
            case "shape":
                return library.shape(node.value)
            case "list" | "tuple" | "map" | "set" | "object":
                if id(node) not in made:
                    made[id(node)] = pending
                    made[id(node)] = container(node)
                need(made[id(node)] is not pending, 13, f"a {node.kind} holds itself, which it cannot in Python")
                return made[id(node)]
        return node.value

    def container(node):
        match node.kind:
            case "list":
                items = made[id(node)] = []
                items.extend(value(kid) for kid in node.kids)
                return items
            case "map":
                return fill({}, node, node)
            case "object" if node.value == "collections.OrderedDict" and node.kids[0].kind == "map":
                items = fill(collections.OrderedDict(), node.kids[0], node)
                vars(items).update(value(node.kids[1]) or {})
                return items
            case "object" if node.kids[0].kind == "tensor":
                return library.object(node.value, value(node.kids[0]), value(node.kids[1]) or {})
            case "object":
                found = made[id(node)] = Object(node.value, None, {})
                found.value, found.attributes = value(node.kids[0]), value(node.kids[1]) or {}
                return found
        return tuple(map(value, node.kids)) if node.kind == "tuple" else set(map(value, node.kids))

    def fill(items, node, outer):
        """Puts the entries of a map into a dict, which is known as that map, and as the object whose value it is."""
        made[id(node)] = made[id(outer)] = items
        values = [value(kid) for kid in node.kids]
        try:
            items.update(zip(values[::2], values[1::2]))
        except TypeError as e:
            raise CroftError(13, f"a key cannot be one in Python: {e}") from None
        need(2 * len(items) == len(values), 13, "two keys of a map are equal in Python")
        return items
    return value(index.tree)


class safe_open:
    """Reads single tensors of a file in the manner of safetensors, as a context manager. `framework` is `pt` for
    PyTorch or `np` for NumPy, and `path` may be a File. Tensors stay valid after the block.

    Raises CroftError if the file breaks a rule, OSError if it cannot be read, and ValueError for another framework."""

    def __init__(self, path, framework, device="cpu"):
        if framework in ("pt", "torch"):
            from .torch import Tensors as library
        elif framework in ("np", "numpy"):
            library = Arrays
        else:
            raise ValueError(f"the framework {framework!r} is neither pt nor np")
        self.library = library(path, device)

    def keys(self):
        """The names of the tensors, sorted."""
        return list(self.library.file.index.names)

    def get_tensor(self, name):
        """The tensor of that name. Raises KeyError if there is none."""
        return self.library.tensor(self.library.file.index.names[name])

    def get_slice(self, name):
        """A Slice of the tensor of that name. Raises KeyError if there is none."""
        return Slice(self.library, self.library.file.index.names[name])

    def metadata(self):
        """The texts that were saved about the file, by their keys."""
        return dict(self.library.file.index.metadata)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.library.file.__exit__()


class Slice:
    """A tensor of which only parts are read: `part = file.get_slice(name)[2:4, 1]`."""

    def __init__(self, library, number):
        self.library, self.view = library, library.host.tensor(number)
        self.dtype = library.file.index.tensor(number).dtype

    def get_shape(self):
        return list(self.view.shape)

    def get_dtype(self):
        """The element type, as a text such as `float32`."""
        return self.dtype

    def __getitem__(self, index):
        return self.library.sent(self.view[index])

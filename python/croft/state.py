"""Rules and their codes, and the state tree (section 8)."""
import struct

RULES = {int(r[1:].split("-")[0]): r for r in """V1-ARITHMETIC V2-RANGE V3-GAP V4-EXTENT-SUM V5-STRIDE-RANGE V6-NAME
    V7-EXPANSION V8-LIMIT V9-RESERVED V10-INDEX V11-TRUNCATED V12-SIGNATURE V13-UNSUPPORTED V14-CHECKSUM V15-STRUCTURE
    V16-TREE V17-COMMIT V18-BASE V19-CHAIN V20-SEAL V21-SHARD V22-SLICE""".split()}
MAX_RANK, MAX_DEPTH = 64, 128


class CroftError(Exception):
    def __init__(self, rule, what):
        super().__init__(f"{RULES[rule]}: {what}")
        self.code = RULES[rule]


def need(condition, rule, what):
    if not condition:
        raise CroftError(rule, what)


class Node:
    """A value of the state tree: its kind, a plain value or text, and what it holds."""
    __slots__ = ("kind", "value", "kids")

    def __init__(self, kind, value=None):
        self.kind, self.value, self.kids = kind, value, []


TAGS = dict(zip([*range(1, 15), *range(0x10, 0x16), *range(0x20, 0x26)],
                """null false true integer integer integer float complex string
    bytes integer integer integer float list tuple map set object reference tensor storage dtype device shape
    symbol""".split()))


def parse_tree(data, tensors, storages, dtypes):
    at, opened, stack, promised = 0, [], [], 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            need(at < len(data) and shift < 63, 16, "a number of the tree does not end")
            byte, at = data[at], at + 1
            value |= (byte & 127) << shift
            if byte < 128:
                need(byte or not shift, 16, "a number is not in its shortest form")
                return value
            shift += 7

    def take(count):
        nonlocal at
        need(count <= len(data) - at, 16, "the tree ends inside a value")
        at += count
        return data[at - count:at]

    def text():
        try:
            return take(number()).decode()
        except UnicodeDecodeError:
            raise CroftError(16, "a text of the tree is not UTF-8") from None

    def index(count):
        value = number()
        need(value < count, 10, f"the tree names number {value} of {count}")
        return value

    def value():
        tag = take(1)[0]
        need(tag in TAGS, 16, f"the tree has the tag {tag:#x}")
        node = Node(TAGS[tag])
        match node.kind:
            case "integer" if tag > 10:
                node.value = int.from_bytes(take(1 << tag - 11), "little", signed=True)
            case "integer" if tag != 6:
                node.value = number() if tag == 4 else ~number()
            case "integer":
                raw = take(number())
                node.value = int.from_bytes(raw, "little", signed=True)
                need(len(raw) > 8 and len(raw) == node.value.bit_length() // 8 + 1 if node.value >= 0 else
                     len(raw) > 8 and len(raw) == (~node.value).bit_length() // 8 + 1, 16,
                     "a big integer is not in its shortest form")
            case "float" if tag == 14:
                node.value = _widened(take(4))
            case "float" | "complex":
                node.value = take(8 if node.kind == "float" else 16)
            case "string" | "device" | "symbol":
                node.value = text()
            case "bytes":
                node.value = take(number())
            case "shape":
                rank = number()
                need(rank <= MAX_RANK, 8, "a shape has too many dimensions")
                node.value = tuple(number() for _ in range(rank))
            case "tensor":
                node.value = index(tensors)
            case "dtype":
                node.value = index(dtypes)
            case "storage":
                node.value = index(storages), index(dtypes + 1)
            case "reference":
                return opened[index(len(opened))], 0
            case "list" | "tuple" | "map" | "set" | "object":
                node.value = text() if node.kind == "object" else None
                opened.append(node)
                return node, 2 if node.kind == "object" else number() * (2 if node.kind == "map" else 1)
        return node, 0
    root = Node("root")
    stack.append([root, 1])
    while stack:
        parent, left = stack[-1]
        if left == 0:
            stack.pop()
            continue
        stack[-1][1] -= 1
        before, promised = len(opened), max(0, promised - (len(stack) > 1))
        node, kids = value()
        if parent.kind == "object" and left == 1:
            need(node.kind == "null" or node.kind == "map" and len(opened) > before, 16,
                 "attributes are neither a map nor null")
        if parent.kind == "object" and left == 2:
            need(node.kind != "map" or len(opened) > before, 16, "the value of an object is a reference to a map")
        parent.kids.append(node)
        if len(opened) > before:
            promised += kids
            need(promised <= len(data) - at, 16, "a container is larger than the tree")
            need(len(stack) <= MAX_DEPTH, 8, "the tree is too deep")
            stack.append([node, kids])
    need(at == len(data), 16, "the tree has bytes after its value")
    for node in opened:
        keys = node.kids[::2] if node.kind == "map" else node.kids if node.kind == "set" else []
        need(len({_key(key) for key in keys}) == len(keys), 16, "a key comes twice")
        attributes = node.kids[1].kids[::2] if node.kind == "object" else []
        need(all(key.kind == "string" for key in attributes), 16, "a key of attributes is not a string")
    return root.kids[0]


def _widened(bits):
    """The 8 bytes of the number that these 4 bytes are, so that equal keys of both widths are found."""
    return struct.pack("<d", *struct.unpack("<f", bits))


def _key(key):
    parts, todo = [], [key]
    while todo:
        node = todo.pop()
        need(node.kind not in ("list", "map", "set", "object") and len(parts) <= 1024, 16,
             "a container cannot be a key")
        parts.append((node.kind, node.value, len(node.kids)))
        todo += reversed(node.kids)
    return tuple(parts)


def _segment(key):
    text = key.value if key.kind == "string" else str(key.value) if key.kind == "integer" else key.kind
    return text.replace("~", "~0").replace("/", "~1")


def names_of(root):
    """Every tensor of a tree by its name, in the order of the tree."""
    names, seen, suffixes, todo = {}, set(), {}, [("", root)]
    while todo:
        path, node = todo.pop()
        if node.kind == "object" and id(node) in seen and node.kids[0].kind == "tensor":
            node = node.kids[0]
        if node.kind == "tensor":
            name = path
            while name in names:
                suffixes[path] = suffixes.get(path, 1) + 1
                name = f"{path}#{suffixes[path]}"
            names[name] = node.value
        elif node.kids and id(node) not in seen:
            seen.add(id(node))
            prefix = path + "/" if path else ""
            if node.kind == "object":
                kids = [(path, kid) for kid in node.kids]
            elif node.kind == "map":
                kids = [(prefix + _segment(key), kid) for key, value in zip(node.kids[::2], node.kids[1::2])
                        for kid in ((key, value) if key.kind in ("tensor", "tuple") else (value,))]
            else:
                kids = [(f"{prefix}{i}", kid) for i, kid in enumerate(node.kids)]
            todo += reversed(kids)
    return names

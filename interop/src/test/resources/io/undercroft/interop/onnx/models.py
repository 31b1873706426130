"""Models of ONNX, and what onnx reads from them: models.py fixtures FOLDER | all FOLDER | read FILE."""
import hashlib
import json
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


def types():
    """Every type by its name."""
    return {name: code for name, code in TensorProto.DataType.items() if name not in ("UNDEFINED", "STRING")}


def values(name, count):
    """0 to 5, complex ones with negative imaginary parts; what has 2 bits, 0 and 1."""
    numbers = [i % 2 if "INT2" in name else i for i in range(count)]
    return [complex(n, -n) for n in numbers] if name.startswith("COMPLEX") else numbers


def tensor(name, code, label, shape=(2, 3)):
    return helper.make_tensor(label, code, shape, values(name, int(numpy.prod(shape))))


def raw(typed):
    """The same tensor with its elements as bytes."""
    copy = TensorProto()
    copy.CopyFrom(typed)
    for field in ("float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
        copy.ClearField(field)
    copy.raw_data = stored(typed)
    return copy


def stored(t):
    """The bytes of the elements, packed if they are narrower than a byte."""
    if t.HasField("raw_data"):
        return t.raw_data
    name = TensorProto.DataType.Name(t.data_type)
    if "FLOAT6" in name:
        bits = sum(n << 6 * i for i, n in enumerate(t.int32_data))
        return bits.to_bytes((6 * len(t.int32_data) + 7) // 8, "little")
    if t.int32_data:
        width = 4 if name == "INT32" else 2 if name in ("INT16", "UINT16", "FLOAT16", "BFLOAT16") else 1
        return b"".join((n & (1 << 8 * width) - 1).to_bytes(width, "little") for n in t.int32_data)
    if t.uint64_data:
        return numpy.array(t.uint64_data, "<u4" if name == "UINT32" else "<u8").tobytes()
    for field, dtype in (("float_data", "<f4"), ("double_data", "<f8"), ("int64_data", "<i8")):
        if getattr(t, field):
            return numpy.array(getattr(t, field), dtype).tobytes()
    return b""


def model(tensors, nodes=(), inputs=(), outputs=(), functions=()):
    graph = helper.make_graph(list(nodes), "main", list(inputs), list(outputs), list(tensors))
    made = helper.make_model(graph, producer_name="undercroft", producer_version="1", domain="io.undercroft",
                             opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("custom", 2)],
                             functions=list(functions), ir_version=10)
    helper.set_model_props(made, {"author": "somebody"})
    return made


def all_types():
    typed = [tensor(name, code, name.lower()) for name, code in types().items() if "FLOAT6" not in name]
    return model([*typed, *(raw(t) for t in [tensor(n, c, n.lower() + "_raw") for n, c in types().items()])])


def nested():
    """Initializers of every place: graphs in graphs, constants, a function; text and sparse ones besides."""
    def branch(value):
        made = helper.make_graph([helper.make_node("Identity", ["w"], ["out"])], "branch", [],
                                 [helper.make_tensor_value_info("out", TensorProto.FLOAT, [2])],
                                 [helper.make_tensor("w", TensorProto.FLOAT, [2], [value, value])])
        return made
    choice = helper.make_node("If", ["flag"], ["y"], name="choose", then_branch=branch(1.0), else_branch=branch(2.0))
    constant = helper.make_node("Constant", [], ["c"], value=helper.make_tensor("", TensorProto.INT64, [1], [7]))
    fill = helper.make_node("ConstantOfShape", ["c"], ["f"], value=helper.make_tensor("", TensorProto.FLOAT, [1], [3]))
    function = helper.make_function("custom", "twice", ["x"], ["z"], [
        helper.make_node("Constant", [], ["two"], value=helper.make_tensor("", TensorProto.FLOAT, [], [2])),
        helper.make_node("Mul", ["x", "two"], ["z"])], [helper.make_opsetid("", 21)])
    texts = helper.make_tensor("texts", TensorProto.STRING, [2], [b"a", b"b"])
    made = model([helper.make_tensor("scalar", TensorProto.FLOAT, [], [1.5]),
                  helper.make_tensor("empty", TensorProto.FLOAT, [0, 3], []), texts],
                 [choice, constant, fill],
                 [helper.make_tensor_value_info("flag", TensorProto.BOOL, []),
                  helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3])],
                 [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])], [function])
    made.graph.sparse_initializer.append(helper.make_sparse_tensor(
        helper.make_tensor("sparse", TensorProto.FLOAT, [1], [1.0]),
        helper.make_tensor("sparse_indices", TensorProto.INT64, [1], [2]), [4]))
    return made


def external(folder, name, one_file=True):
    made = model([numpy_helper.from_array(numpy.arange(6, dtype=numpy.float32).reshape(2, 3), "a"),
                  numpy_helper.from_array(numpy.arange(5, dtype=numpy.int64), "b"),
                  numpy_helper.from_array(numpy.arange(4, dtype=numpy.float16), "small")])
    (folder / (name + ".data")).unlink(missing_ok=True)     # To an existing file, onnx appends.
    onnx.save_model(made, folder / name, save_as_external_data=True, all_tensors_to_one_file=one_file,
                    location=name + ".data" if one_file else None, size_threshold=16)


def write(folder):
    onnx.save(all_types(), folder / "all-types.onnx")
    onnx.save(nested(), folder / "nested.onnx")
    external(folder, "external.onnx")


def tensors(graph):
    yield from ((t.name, t) for t in graph.initializer)


def read(path):
    """Of each initializer its type, shape, and the digest of its bytes."""
    made = onnx.load(path)
    return {name: [TensorProto.DataType.Name(t.data_type), list(t.dims), hashlib.sha256(stored(t)).hexdigest()]
            for name, t in tensors(made.graph) if t.data_type != TensorProto.STRING}


if __name__ == "__main__":
    command, where = sys.argv[1], pathlib.Path(sys.argv[2])
    if command == "read":
        print(json.dumps(read(where)))
    else:
        write(where)
        if command == "all":
            external(where, "apart.onnx", one_file=False)

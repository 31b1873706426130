"""A worker of the benchmark `serve`: onnxruntime in Python, or PyTorch if that is the argument. It is asked line by
line, as peers.py.
"""

import sys

import numpy

if sys.argv[1:] == ["torch"]:
    import safetensors
    import torch
else:
    import onnxruntime

session = None


def make(folder, layers, size):
    """A chain of square matrices as model.onnx, whose weights are external data in weights.safetensors, and as
    whole.onnx, which has them inside."""
    import json
    import struct

    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from safetensors.numpy import save_file

    layers, size = int(layers), int(size)
    random = numpy.random.default_rng(0)
    weights = {f"layer.{i}": random.standard_normal((size, size), dtype="float32") / size**0.5 for i in range(layers)}
    save_file(weights, f"{folder}/weights.safetensors")
    with open(f"{folder}/weights.safetensors", "rb") as file:
        header = struct.unpack("<Q", file.read(8))[0]
        entries = json.loads(file.read(header))

    def external(name):
        begin, end = entries[name]["data_offsets"]
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[size, size],
                             data_location=TensorProto.EXTERNAL)
        reference = {"location": "weights.safetensors", "offset": 8 + header + begin, "length": end - begin}
        for key, value in reference.items():
            tensor.external_data.add(key=key, value=str(value))
        return tensor

    def save(initializers, name):
        nodes = [helper.make_node("MatMul", [f"x{i}", f"layer.{i}"], [f"x{i + 1}"]) for i in range(layers)]
        graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info("x0", TensorProto.FLOAT, [1, size])],
                                  [helper.make_tensor_value_info(f"x{layers}", TensorProto.FLOAT, [1, size])],
                                  initializers)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9),
                  f"{folder}/{name}")

    save([external(name) for name in weights], "model.onnx")
    save([numpy_helper.from_array(values, name) for name, values in weights.items()], "whole.onnx")
    return ()


def versions():
    return (torch.__version__ if "torch" in globals() else onnxruntime.__version__,)


def session_of(path, prepacks):
    """Opens a model in place of the former one, and runs it once."""
    global session
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    if prepacks != "true":
        options.add_session_config_entry("session.disable_prepacking", "1")
    former, session = session, onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    del former
    size = session.get_inputs()[0].shape[1]
    return (session.run(None, {"x0": numpy.ones((1, size), "float32")})[0][0][0],)


def mapped(path, layers):
    """Opens a file of weights, which safetensors maps, in place of the former one, and multiplies by them."""
    global session
    torch.set_num_threads(1)
    with safetensors.safe_open(path, framework="pt") as file:
        session = [file.get_tensor(f"layer.{i}") for i in range(int(layers))]
    x = torch.ones(1, session[0].shape[0])
    for weight in session:
        x = x @ weight
    return (x[0, 0].item(),)


REQUESTS = {"make": make, "versions": versions, "session": session_of, "mapped": mapped}

for line in sys.stdin:
    request, *arguments = line.rstrip("\n").split("\t")
    try:
        reply = ("ok", *REQUESTS[request](*arguments))
    except Exception as e:
        reply = ("error", f"{type(e).__name__}: {e}".replace("\n", " "))
    print(*reply, sep="\t", flush=True)

"""Makes model.onnx and weights.safetensors: `python model.py` with onnx, numpy and safetensors.

A classifier of 8 x 8 images with one hidden layer. The initializers of model.onnx are external data in
weights.safetensors, under the same names, so that other programs can run the two files as they are.
"""
import json
import struct
from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper
from safetensors.numpy import save_file

HIDDEN = 256

folder = Path(__file__).parent
random = numpy.random.default_rng(0)
weights = {
    'hidden.weight': random.standard_normal((64, HIDDEN)) / 8,
    'hidden.bias': random.standard_normal(HIDDEN) / 8,
    'classes.weight': random.standard_normal((HIDDEN, 10)) / 16,
    'classes.bias': random.standard_normal(10) / 16,
}
weights = {name: values.astype('float32') for name, values in weights.items()}
save_file(weights, folder / 'weights.safetensors')

file = (folder / 'weights.safetensors').read_bytes()
header = struct.unpack('<Q', file[:8])[0]
entries = json.loads(file[8:8 + header])


def initializer(name):
    begin, end = entries[name]['data_offsets']
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=weights[name].shape,
                         data_location=TensorProto.EXTERNAL)
    for key, value in {'location': 'weights.safetensors', 'offset': 8 + header + begin, 'length': end - begin}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


graph = helper.make_graph(
    [
        helper.make_node('Gemm', ['image', 'hidden.weight', 'hidden.bias'], ['projected']),
        helper.make_node('Relu', ['projected'], ['hidden']),
        helper.make_node('Gemm', ['hidden', 'classes.weight', 'classes.bias'], ['scores']),
    ],
    'classifier',
    [helper.make_tensor_value_info('image', TensorProto.FLOAT, ['n', 64])],
    [helper.make_tensor_value_info('scores', TensorProto.FLOAT, ['n', 10])],
    [initializer(name) for name in weights],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=9)
onnx.checker.check_model(model)
onnx.save(model, folder / 'model.onnx')

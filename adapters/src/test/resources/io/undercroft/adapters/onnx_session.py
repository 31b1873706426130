"""Makes onnx_session.onnx next to this file: `python onnx_session.py` with onnx and numpy."""
from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

values = numpy.arange(16, dtype='float32').reshape(4, 4)
initializers = {
    'direct': values / 8,
    'bias': values[0],
    'turned': numpy.flip(values) / 4,
    'factor': numpy.float32(0.5),
    'shape': numpy.array([2, 2], dtype='int64'),
}
# y = reshape((x direct + bias) turned^T * factor, shape)
graph = helper.make_graph(
    [
        helper.make_node('MatMul', ['x', 'direct'], ['product']),
        helper.make_node('Add', ['product', 'bias'], ['sum']),
        helper.make_node('Transpose', ['turned'], ['transposed'], perm=[1, 0]),
        helper.make_node('MatMul', ['sum', 'transposed'], ['scaled']),
        helper.make_node('Mul', ['scaled', 'factor'], ['flat']),
        helper.make_node('Reshape', ['flat', 'shape'], ['y']),
    ],
    'all kinds of initializers',
    [helper.make_tensor_value_info('x', TensorProto.FLOAT, [1, 4])],
    [helper.make_tensor_value_info('y', TensorProto.FLOAT, [2, 2])],
    [numpy_helper.from_array(array, name) for name, array in initializers.items()],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=9)
onnx.checker.check_model(model)
onnx.save(model, Path(__file__).with_suffix('.onnx'))

# y = 2 conv(x, kernel): the runtime combines the kernel with the weights of the normalization. The bytes are nowhere.
shapes = {'kernel': [64, 64, 4, 4], 'scale': [64], 'bias': [64], 'mean': [64], 'variance': [64]}
graph = helper.make_graph(
    [
        helper.make_node('Conv', ['x', 'kernel'], ['convolved']),
        helper.make_node('BatchNormalization', ['convolved', 'scale', 'bias', 'mean', 'variance'], ['y'], epsilon=0.0),
    ],
    'weights that are combined',
    [helper.make_tensor_value_info('x', TensorProto.FLOAT, [1, 64, 4, 4])],
    [helper.make_tensor_value_info('y', TensorProto.FLOAT, [1, 64, 1, 1])],
    [TensorProto(name=name, data_type=TensorProto.FLOAT, dims=dims, data_location=TensorProto.EXTERNAL)
     for name, dims in shapes.items()],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=9)
onnx.save(model, Path(__file__).with_name('onnx_combined.onnx'))

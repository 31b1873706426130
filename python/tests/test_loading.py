"""Loads files as states, dicts of tensors and single tensors, with NumPy and, if it is installed, with PyTorch."""
import collections, re, unittest
import numpy as np

import croft
import test_croft
from test_croft import GOLDEN, RESOURCES, Content, Writer, raw, text

try:
    import torch
    import croft.torch
except ImportError:
    torch = None
needs_torch = unittest.skipUnless(torch, "PyTorch is not installed")
SPEC = RESOURCES.parents[2] / "SPEC.md"
EVERYTHING = GOLDEN / "everything.croft"


def with_tree(data, tree):
    """A file of one storage whose state is that tree, encoded."""
    writer = Writer()
    return writer.commit(Content([[raw(writer.put(data), data)]], [("w", 0, [len(data)], [1])], tree=bytes(tree)))


class LoadingTest(unittest.TestCase):
    setUp, save = test_croft.CroftTest.setUp, test_croft.CroftTest.save

    def refuses(self, code, call):
        with self.assertRaises(croft.CroftError) as caught:
            call()
        self.assertEqual(caught.exception.code.split("-")[0], code)

    def test_a_state_has_the_values_that_were_saved(self):
        state = croft.load(EVERYTHING)
        self.assertEqual(state["scalars"], (None, True, 300, -1, 1 << 64, 0.5, 1 - 2j))
        self.assertEqual(state["values"][2:], ["float32", "cuda:0", (3, 300)])
        self.assertIs(state["model"]["wte.weight"], state["model"]["lm_head.weight"])
        self.assertTrue(np.shares_memory(state["sparse"], state["values"][0]))
        self.assertEqual(state[7], {False, "torch.per_tensor_affine"})
        self.assertIs(state["self"], state)
        ordered = state[b"\1\2\3"]
        self.assertEqual((type(ordered), vars(ordered)), (collections.OrderedDict, {"_metadata": None}))

    def test_numbers_of_every_width_are_the_same_numbers(self):
        state = croft.load(GOLDEN / "numbers.croft")
        self.assertEqual(list(state), [-1, 300, -70000, float(np.float32(0.1)), 0.1, "floats"])
        self.assertEqual((state[0.1], np.isnan(state["floats"][0])), (-32768, True))

    def test_objects_of_other_classes_are_not_made(self):
        tree = [0x12, 1, *text("o"), 0x14, 3, *b"a.B", 0x20, 0, 0x12, 1, *text("x"), 4, 5]
        found = croft.load(self.save(with_tree(b"abc", tree)))["o"]
        self.assertEqual((found.type, found.value.tobytes(), found.attributes), ("a.B", b"abc", {"x": 5}))
        found = croft.load(self.save(with_tree(b"abc", [0x14, 3, *b"a.B", 0x10, 2, 0x20, 0, 0x15, 0, 1])))
        self.assertIs(found.value[1], found)

    def test_what_python_cannot_hold_is_refused(self):
        for tree in ([0x10, 2, 0x11, 1, 0x10, 1, 0x15, 1, 0x20, 0],  # a list with a tuple that is in itself
                     [0x12, 2, 4, 1, 1, 7, *bytes(6), 0xF0, 0x3F, 0x20, 0],  # the keys 1 and 1.0
                     [0x12, 1, 0x20, 0, 1]):  # an array as a key
            path = self.save(with_tree(b"abc", tree))
            self.refuses("V13", lambda: croft.load(path))

    def test_arrays_by_name_share_the_memory_of_their_storage_and_not_the_file(self):
        arrays = croft.load_file(EVERYTHING)
        self.assertEqual(list(arrays)[1:4], ["model/größe", "model/lm_head.weight", "model/wte.weight"])
        arrays["model/wte.weight"][1, 1] = 7
        self.assertEqual((arrays["model/lm_head.weight"][1, 1], arrays["model/größe"][0, 1]), (7, 7))
        self.assertNotEqual(croft.load_file(EVERYTHING)["model/wte.weight"][1, 1], 7)

    def test_an_open_file_is_loaded_at_its_snapshot(self):
        snapshots = GOLDEN / "snapshots.croft"
        first, second = (croft.load_file(croft.open(snapshots, sequence)) for sequence in (1, 2))
        self.assertTrue(any(not np.array_equal(first[name], second[name]) for name in first))

    def test_single_tensors_and_parts_of_them_are_read(self):
        with croft.safe_open(EVERYTHING, framework="np") as file:
            self.assertEqual(file.keys(), list(croft.open(EVERYTHING).index.names))
            self.assertEqual(file.metadata(), {"made by": "Undercroft", "title": "everything"})
            weight, part = file.get_tensor("model/wte.weight"), file.get_slice("model/wte.weight")
            self.assertEqual((part.get_shape(), part.get_dtype()), ([3, 4], "float32"))
            self.assertTrue(np.array_equal(part[1:, 2], weight[1:, 2]))
            self.assertTrue(np.shares_memory(part[1:, 2], weight))
            for call in (file.get_tensor, file.get_slice):
                self.assertRaises(KeyError, call, "missing")
        self.assertRaises(ValueError, croft.safe_open, EVERYTHING, "jax")
        self.assertRaises(ValueError, croft.safe_open, EVERYTHING, "np", "cuda:0")

    @needs_torch
    def test_tensors_of_one_storage_share_it_and_not_the_file(self):
        tensors = croft.torch.load_file(EVERYTHING)
        weight, transposed = tensors["model/wte.weight"].detach(), tensors["model/größe"]
        self.assertEqual(weight.untyped_storage().data_ptr(), transposed.untyped_storage().data_ptr())
        self.assertEqual((transposed.stride(), transposed.storage_offset()), ((1, 4), 1))
        self.assertTrue(np.array_equal(weight.numpy(), croft.load_file(EVERYTHING)["model/wte.weight"]))
        weight[1, 1] = 7
        self.assertEqual(transposed[0, 1], 7)
        self.assertNotEqual(croft.torch.load_file(EVERYTHING)["model/wte.weight"][1, 1], 7)
        self.assertTrue(tensors["model/wte.weight"].requires_grad and not transposed.requires_grad)

    @needs_torch
    def test_a_state_has_types_of_torch(self):
        state = croft.torch.load(EVERYTHING)
        storage, _, *values = state["values"]
        self.assertEqual(values, [torch.float32, torch.device("cuda:0"), torch.Size([3, 300])])
        self.assertEqual(storage.data_ptr(), state["sparse"].untyped_storage().data_ptr())
        self.assertIs(state["model"]["wte.weight"], state["model"]["lm_head.weight"])
        self.assertEqual(state["nibbles"].tolist(), [33, 67, 5])

    @needs_torch
    def test_every_element_type_of_the_specification_is_loaded(self):
        table = SPEC.read_text().split("| element type | bits |\n|---|---|\n")[1].split("\n\n")[0]
        types = re.findall(r"\| (\w+) \| (\d+) \|", table)
        self.assertGreater(len(types), 40)
        for name, bits in types:
            data, bits = bytes(range(1, 33)), int(bits)
            writer = Writer()
            path = self.save(writer.commit(Content([[raw(writer.put(data), data)]],
                                                   [(name, 0, [32 * 8 // bits], [1])], dtype=(8, len(name), bits))))
            tensor = croft.torch.load_file(path)[name]
            stored = {"q": {8: "int8", 32: "int32"}}.get(name[0], {}).get(bits, name)
            stored = "uint8" if bits % 8 or name == "quint8" else stored
            with self.subTest(name):
                self.assertEqual(str(tensor.dtype), f"torch.{stored}")
                self.assertEqual(bytes(tensor.untyped_storage()), data)
                self.assertEqual(tensor.numel() * tensor.element_size(), 32)

    @needs_torch
    def test_elements_that_torch_has_no_type_for_come_as_numbers_or_bytes(self):
        for bits, shape, dtype in (16, [4], "uint16"), (24, [4, 3], "uint8"):
            writer, data = Writer(), bytes(range(4 * bits // 8))
            path = self.save(writer.commit(Content([[raw(writer.put(data), data)]], [("w", 0, [4], [1])],
                                                   dtype=(0, 5, bits))))
            tensor = croft.torch.load_file(path)["w"]
            self.assertEqual((list(tensor.shape), str(tensor.dtype)), (shape, f"torch.{dtype}"))
            self.assertEqual(tensor.numpy().tobytes(), data)

    @needs_torch
    def test_reversed_tensors_are_refused_and_the_others_are_read(self):
        writer = Writer()
        path = self.save(writer.commit(Content([[raw(writer.put(b"abc"), b"abc")]],
                                               [("a", 0, [3], [1]), ("r", 0, [3], [-1])])))
        with croft.safe_open(path, framework="pt") as file:
            self.assertEqual(file.get_tensor("a").tolist(), [97, 98, 99])
            self.refuses("V13", lambda: file.get_tensor("r"))
        self.assertEqual(croft.load_file(path)["r"].tobytes(), b"cba")

    @needs_torch
    def test_single_tensors_and_parts_of_them_are_read_by_torch(self):
        for device in ("cpu", "meta"):
            with croft.safe_open(EVERYTHING, framework="pt", device=device) as file:
                weight, part = file.get_tensor("model/wte.weight"), file.get_slice("model/wte.weight")
                self.assertEqual((part[1:, 2].shape, part[1:, 2].device.type, weight.device.type),
                                 ((2,), device, device))


if __name__ == "__main__":
    unittest.main()

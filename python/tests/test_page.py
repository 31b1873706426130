"""Runs the programs of docs/python.md, one after the other as in a notebook, and compares what they print."""
import contextlib, io, os, pathlib, re, shutil, tempfile, unittest

try:
    import torch
except ImportError:
    torch = None
HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/python.md"


class PageTest(unittest.TestCase):
    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_programs_print_what_their_comments_say(self):
        blocks, names, before = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL), {}, os.getcwd()
        self.assertGreater(len(blocks), 4)
        with tempfile.TemporaryDirectory() as directory:
            shutil.copy(HERE / "model.croft", directory)
            os.chdir(directory)
            try:
                for block in blocks:
                    printed = io.StringIO()
                    with contextlib.redirect_stdout(printed):
                        exec(compile(block, PAGE.name, "exec"), names)
                    expected = re.findall(r"print\(.*\)  +# (.*)", block)
                    self.assertEqual(printed.getvalue().splitlines(), expected)
            finally:
                os.chdir(before)


if __name__ == "__main__":
    unittest.main()

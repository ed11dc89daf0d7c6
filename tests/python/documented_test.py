"""The examples of the package's docstrings and of docs/train/python.md, run as they stand; and what type checkers see."""
import ast
import doctest
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import ratoon

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(ratoon.__file__).parent


def documented():
    """(name, docstring) of all that the package shows."""
    for module in (ratoon, ratoon.checkpoints):
        for name in module.__all__:
            thing = getattr(module, name)
            yield f"{module.__name__}.{name}", thing.__doc__ or ""
            for member in vars(thing) if isinstance(thing, type) else ():
                if not member.startswith("_"):
                    yield f"{module.__name__}.{name}.{member}", getattr(thing, member).__doc__ or ""


class Docstrings(unittest.TestCase):
    def test_examples_say_what_happens(self):
        parser, runner, examples = doctest.DocTestParser(), doctest.DocTestRunner(), 0
        for name, text in documented():
            test = parser.get_doctest(text, {}, name, None, 0)
            examples += len(test.examples)
            report = []
            runner.run(test, out=report.append)
            self.assertEqual(report, [], name)
        self.assertGreater(examples, 30)

    def test_all_that_is_shown_says_what_it_is(self):
        plain = {f"ratoon.Source.{name}" for name in ("name", "samples", "weight", "shards")}
        plain |= {f"ratoon.AcceptedDifference.{name}" for name in ("what", "was")} | {"ratoon.Stream.seed"}
        plain |= {name for name, _ in documented() if name.count(".") == 3} | {f"ratoon.StoreOptions.{name}" for name in
                                                                             ratoon.StoreOptions.__dataclass_fields__}
        self.assertEqual([name for name, text in documented() if not text and name not in plain], [])


class Page(unittest.TestCase):
    def test_its_examples_run(self):
        """Those in "python" fences, one after the other in one folder. Those with PyTorch are run by
        torch_loader_nightly_test.py and lightning_nightly_test.py, those with checkpoints by checkpoints_test.py."""
        page = (ROOT / "docs/train/python.md").read_text()
        programs = [text for text in re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
                    if "torch" not in text and "lightning" not in text and "checkpoints." not in text]
        self.assertEqual(len(programs), 3)
        with tempfile.TemporaryDirectory(prefix="ratoon-page-") as folder:
            for program in programs:
                done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=120)
                self.assertEqual((done.returncode, done.stderr), (0, ""), program)


class Types(unittest.TestCase):
    def test_there_are_stubs_of_all_that_is_compiled(self):
        self.assertTrue((PACKAGE / "py.typed").exists())
        stub = ast.parse((PACKAGE / "_core.pyi").read_text())
        classes = {node.name for node in stub.body if isinstance(node, ast.ClassDef)}
        self.assertLessEqual({"Stream", "Slot", "Source", "AtomicDirectory", "Shards", "ShardWriter"}, classes)

    def test_without_torch_nothing_of_it_is_imported(self):
        script = "import sys; sys.modules['torch'] = None; import ratoon; print(len(ratoon.__all__), ratoon.__version__)"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
        version = re.search(r"project\(ratoon VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        self.assertEqual((done.stdout, done.stderr), (f"{len(ratoon.__all__)} {version}\n", ""))

    def test_without_torch_what_needs_it_says_so(self):
        data_loader = "with ratoon.Session(save_folder=sys.argv[1], run_name='py') as s: s.data_loader([1], global_batch=1)"
        for act in ("import ratoon.torch", "import ratoon.dcp", "import ratoon.lightning", data_loader):
            with self.subTest(act), tempfile.TemporaryDirectory(prefix="ratoon-page-") as folder:
                script = f"import sys; sys.modules['torch'] = None; import ratoon\n{act}"
                done = subprocess.run([sys.executable, "-c", script, folder], capture_output=True, text=True, timeout=120)
                self.assertEqual((done.returncode, done.stdout), (82, ""), done.stderr)
                self.assertRegex(done.stderr, "(?m): ratoon.torch needs PyTorch, which is not installed: pip install torch$")


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""A wheel that pip makes of the repository, installed in an empty environment, has all of the package."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = """
import pathlib, ratoon
print(ratoon.__version__, pathlib.Path(ratoon.__file__).parent.parent.name)
stream = ratoon.Stream(samples=60_000, global_batch=6, seed=17, source="digits")
print([slot.sample for slot in stream.slots(range(180_000, 180_004))])
with ratoon.MdsWriter("data", {"a": "int"}, compression="zstd") as writer:
    writer.write({"a": 5})
print(ratoon.MdsDataset("data")[0])
"""


def run(*words, **options):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=3000, env=environment, **options).stdout


class Wheel(unittest.TestCase):
    def test_it_is_built_installed_and_used(self):
        with tempfile.TemporaryDirectory(prefix="ratoon-wheel-") as folder:
            # What builds it is in this environment already: no registry is asked.
            run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", folder, ROOT)
            wheel, = pathlib.Path(folder).glob("ratoon-*.whl")
            names = zipfile.ZipFile(wheel).namelist()
            for name in ("__init__.py", "_core.pyi", "py.typed", "torch.py", "checkpoints.py"):
                self.assertIn(f"ratoon/{name}", names)
            self.assertEqual([name for name in names if not name.startswith("ratoon")], [])
            run(sys.executable, "-m", "venv", f"{folder}/venv")
            run(f"{folder}/venv/bin/python3", "-m", "pip", "install", "--no-index", wheel)
            said = run(f"{folder}/venv/bin/python3", "-c", SCRIPT, cwd=folder).splitlines()
        self.assertTrue(said[0].endswith(" site-packages"), said)
        self.assertEqual(said[1:], ["[18757, 4596, 53755, 17680]", "{'a': 5}"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

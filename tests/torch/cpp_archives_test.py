"""The golden files of C++ (tests/unit/agent/checkpoint/interop/golden) are what this LibTorch writes: record by record, but for
the digits that name a file, and for an optimizer's state, of which the records have the same names."""

import os
import pathlib
import subprocess
import tempfile
import unittest
import zipfile

PROGRAM = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin" / "cpp_archives"
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "unit/agent/checkpoint/interop/golden"


def records(path):
    with zipfile.ZipFile(path) as stored:
        names = [name.partition("/")[2] for name in stored.namelist()]
        return {name: stored.read(full) for name, full in zip(names, stored.namelist()) if name != ".data/serialization_id"}


class Goldens(unittest.TestCase):
    def test_each_is_written_again(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([PROGRAM, folder], check=True, timeout=180)
            made = {path.name: path for path in pathlib.Path(folder).iterdir()}
            self.assertEqual(set(made), {path.name for path in GOLDEN.glob("*cpp*")})
            self.assertEqual(made.pop("cpp.json").read_bytes(), (GOLDEN / "cpp.json").read_bytes())
            # An optimizer names its state by where the parameters lay, and sorts it so.
            optimizer = made.pop("refused_cpp_optimizer.pt")
            self.assertEqual(records(optimizer).keys(), records(GOLDEN / optimizer.name).keys())
            for name, path in made.items():
                self.assertEqual(records(path), records(GOLDEN / name), name)


if __name__ == "__main__":
    unittest.main(verbosity=2)

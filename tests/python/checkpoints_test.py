"""ratoon.checkpoints over the folder of a real run of C++: what there is, every byte, tensors, and damage."""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy
import ratoon

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin"


class Run(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-python-run-"))
        cls.addClassCleanup(shutil.rmtree, cls.made)
        subprocess.run([BIN / "counter", "--steps", "40", "--pause-ms", "0", "--save-every", "10", "--keep-last", "3",
                        "--save-folder", cls.made, "--run-name", "counter"], check=True, capture_output=True, timeout=300)

    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-python-copy-"))
        self.addCleanup(shutil.rmtree, self.scratch)
        self.run_folder = self.scratch / "counter"
        shutil.copytree(self.made / "counter", self.run_folder, symlinks=True)

    def damage_newest(self):
        """A bit of the data of the newest checkpoint's pack."""
        step = ratoon.checkpoints.list(self.run_folder)[0].step
        pack = next(path for path in sorted((self.run_folder / "packs").rglob("*.safetensors")) if f"{step:010}" in str(path))
        with open(pack, "r+b") as file:
            begin = 8 + struct.unpack("<Q", file.read(8))[0]
            file.seek(begin)
            bit = file.read(1)[0] ^ 1
            file.seek(begin)
            file.write(bytes([bit]))
        return step

    def refused(self, exit_code, call, *words):
        with self.assertRaises(ratoon.RatoonError) as caught:
            call()
        for word in words:
            self.assertIn(word, str(caught.exception))
        self.assertEqual(caught.exception.exit_code, exit_code)

    def test_the_list_is_that_of_the_command(self):
        done = subprocess.run([BIN / "ratoon", "checkpoint", "list", self.run_folder, "--json"], check=True,
                              capture_output=True, text=True, timeout=120)
        known = [(row["step"], row["attempt"], row["state"], row["digest"], row["size_bytes"], row["ranks"])
                 for row in json.loads(done.stdout)["checkpoints"]]
        self.assertEqual([(one.step, one.attempt, one.state, one.digest, one.size_bytes, one.ranks)
                          for one in ratoon.checkpoints.list(str(self.run_folder))], known)
        self.assertEqual([row[0] for row in known], [40, 30, 20])

    def test_every_byte_is_verified(self):
        self.assertEqual([(one.step, one.is_good) for one in ratoon.checkpoints.verify(self.run_folder)],
                         [(40, True), (30, True), (20, True)])
        step = self.damage_newest()
        self.assertEqual([one.verdict for one in ratoon.checkpoints.verify(self.run_folder)], ["bad", "good", "good"])
        bad, = ratoon.checkpoints.verify(self.run_folder, step=step)
        self.assertIn("bytes", bad.why)
        self.refused(82, lambda: ratoon.checkpoints.verify(self.run_folder, step=7), "40")

    def test_tensors_are_those_of_the_command(self):
        done = subprocess.run([BIN / "ratoon", "checkpoint", "show", self.run_folder, "--step", "30", "--json"], check=True,
                              capture_output=True, text=True, timeout=120)
        loaded = ratoon.checkpoints.load(self.run_folder, step=30)
        known = json.loads(done.stdout)["tensors"]
        self.assertEqual(sorted(loaded), sorted(row["name"] for row in known))
        for row in known:
            tensor = loaded[row["name"]]
            self.assertEqual((list(tensor.shape), len(bytes(tensor))), (row["shape"], row["parts"][0]["size_bytes"]))
        self.assertEqual((loaded.step, loaded.passed_over), (30, []))
        self.assertIn("manifests", loaded.what)

    def test_tensors_are_arrays(self):
        exported = self.scratch / "all.safetensors"
        subprocess.run([BIN / "ratoon", "checkpoint", "export", self.run_folder, exported], check=True,
                       capture_output=True, timeout=120)
        from_run, from_file = ratoon.checkpoints.load(self.run_folder), ratoon.checkpoints.load(exported)
        self.assertEqual(sorted(from_run), sorted(from_file))
        for name, tensor in from_run.items():
            array = numpy.asarray(tensor)
            self.assertEqual((array.shape, array.tobytes()), (tensor.shape, bytes(from_file[name])), name)
        self.assertIsNone(from_file.step)
        name = next(iter(from_run))
        array = ratoon.checkpoints.load(self.run_folder, [name])[name].array()
        self.assertEqual(array.tobytes(), bytes(from_run[name]))  # the memory outlives what was loaded

    def test_a_damaged_checkpoint_is_passed_over(self):
        step = self.damage_newest()
        loaded = ratoon.checkpoints.load(self.run_folder)
        self.assertEqual((loaded.step, len(loaded.passed_over)), (30, 1))
        self.refused(83, lambda: ratoon.checkpoints.load(self.run_folder, step=step), "sound")

    def test_the_example_of_the_page_runs(self):
        program, = [text for text in re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/train/python.md").read_text(),
                                                re.M | re.S) if "checkpoints." in text]
        (self.scratch / "checkpoints").mkdir()
        self.run_folder.rename(self.scratch / "checkpoints" / "counter")
        done = subprocess.run([sys.executable, "-c", program], cwd=self.scratch, capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("40 complete", done.stdout)

    def test_what_is_not_there(self):
        self.refused(82, lambda: ratoon.checkpoints.list(self.scratch / "none"), "none")
        self.refused(82, lambda: ratoon.checkpoints.load(self.run_folder, ["no.such"]), "no.such")
        self.refused(82, lambda: ratoon.checkpoints.load(self.run_folder, step=7), "40")
        (self.scratch / "text.safetensors").write_text("no tensors")
        self.refused(82, lambda: ratoon.checkpoints.load(self.scratch / "text.safetensors"), "safetensors")


if __name__ == "__main__":
    unittest.main(verbosity=2)

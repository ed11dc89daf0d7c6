"""Exports of `ratoon checkpoint` are what others read equal: LibTorch the .pt file, the package safetensors the other one."""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "ratoon"
STEPS = 40


def find_reader():
    """Where scripts/setup put the package safetensors."""
    pin = hashlib.sha256((ROOT / "scripts/packages/readers.txt").read_bytes()).hexdigest()[:32]
    return CACHE / f"readers-{pin}"


def said_by_torch(path):
    done = subprocess.run([BIN / "read_archive", path], check=True, capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout)


def said_by_safetensors(path):
    return {name: {"dtype": tensor["dtype"], "shape": tensor["shape"], "hex": bytes(tensor["data"]).hex()}
            for name, tensor in safetensors.deserialize(path.read_bytes())}


class Exports(unittest.TestCase):
    def test_torch_and_safetensors_read_them_equal(self):
        with tempfile.TemporaryDirectory(prefix="ratoon-exports-") as folder:
            # LibTorch in C++ does not read unsigned numbers of 64 bits, which the example counter keeps.
            subprocess.run([BIN / "digits", "--steps", str(STEPS), "--save-folder", folder, "--run-name", "digits"],
                           check=True, capture_output=True, timeout=600)
            files = [pathlib.Path(folder) / name for name in ("a.pt", "a.safetensors")]
            for file in files:
                subprocess.run([BIN / "ratoon", "checkpoint", "export", f"{folder}/digits", file], check=True,
                               capture_output=True, timeout=600)
            theirs = [said_by_torch(files[0]), said_by_safetensors(files[1])]
        self.assertEqual(theirs[0], theirs[1])
        self.assertGreater(len(theirs[0]), 30, "the weights and the optimizer's state")
        self.assertEqual({tensor["dtype"] for tensor in theirs[0].values()}, {"BOOL", "F32", "F64", "I64", "U8"})


if __name__ == "__main__":
    sys.path.insert(0, str(find_reader()))
    try:
        import safetensors
    except ImportError:
        print("SKIPPED: the package safetensors is not here; scripts/setup --only test brings it")
        sys.exit(77)
    unittest.main(verbosity=2)

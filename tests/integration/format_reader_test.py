"""format_reader.py, which was written from docs/reference/checkpoint.md alone, opens what the engine wrote: a folder of this
build, and the one of format 2 that is kept. Every byte is compared with what was saved."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import format_reader

PROBE = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin" / "format_probe"
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "unit" / "agent" / "checkpoint" / "golden" / "format2"


def saved(attempt, step):
    return json.loads(subprocess.run([PROBE, "show", str(attempt), str(step)], check=True, capture_output=True).stdout)


def as_saved(tensor):
    return {"dtype": tensor.dtype, "shape": tensor.shape, "bytes": tensor.data.hex()}


class Reader(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-format-"))
        self.addCleanup(shutil.rmtree, self.scratch)
        self.run_folder = self.scratch / "run"
        done = subprocess.run([PROBE, "write", self.run_folder], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def expect(self, folder, attempt, step):
        checkpoint, passed_over = format_reader.read_newest(folder)
        self.assertEqual((checkpoint.attempt, checkpoint.step), (attempt, step))
        known = saved(attempt, step)
        self.assertEqual({name: as_saved(tensor) for name, tensor in checkpoint.shared.items()}, known["shared"])
        for rank, own in enumerate(known["own"]):
            self.assertEqual({name: as_saved(tensor) for name, tensor in checkpoint.own[rank].items()}, own)
        in_larger_world = checkpoint.of_rank(4)
        self.assertEqual({name: as_saved(tensor) for name, tensor in in_larger_world.items()},
                         known["own"][1] | known["shared"])
        return passed_over

    def flip(self, path, at=-1):
        damaged = bytearray(path.read_bytes())
        damaged[at] ^= 16
        path.write_bytes(damaged)

    def test_the_newest_of_a_folder_that_was_just_written(self):
        self.assertEqual(self.expect(self.run_folder, 2, 20), [])

    def test_a_folder_of_format_2_that_is_kept(self):
        self.assertEqual(self.expect(GOLDEN, 2, 20), [])

    def test_what_is_not_committed_or_not_ours_is_not_taken(self):
        manifests = self.run_folder / "manifests"
        later = self.run_folder / "packs" / "a0003" / "s0000000030"
        later.mkdir(parents=True)
        shutil.copy(self.run_folder / "packs" / "a0002" / "s0000000020" / "r0000.safetensors", later)
        for name in ("s0000000099.a0009.json.bak", "s99.a9.json", ".s0000000099.a0009.json.0.tmp", "s00000000099.a0009.json"):
            (manifests / name).write_text("somebody's")
        (manifests / "s0000000099.a0008.json").mkdir()
        self.assertEqual(self.expect(self.run_folder, 2, 20), [])

    def test_damage_costs_a_fallback(self):
        newest = self.run_folder / "manifests" / "s0000000020.a0002.json"
        packs = self.run_folder / "packs" / "a0002" / "s0000000020"
        for path, at in ((newest, 40), (packs / "r0001.safetensors", 100), (packs / "r0002.safetensors", -1)):
            whole = path.read_bytes()
            self.flip(path, at)
            self.assertEqual(len(self.expect(self.run_folder, 1, 900)), 1, path)
            path.write_bytes(whole)
        (packs / "r0000.safetensors").unlink()
        self.assertEqual(len(self.expect(self.run_folder, 1, 900)), 1)

    def test_all_damaged_is_not_a_new_run(self):
        for path in (self.run_folder / "manifests").iterdir():
            self.flip(path)
        with self.assertRaisesRegex(format_reader.Damaged, "none is good"):
            format_reader.read_newest(self.run_folder)
        self.assertEqual(format_reader.read_newest(self.scratch / "nothing"), (None, []))

    def go_back(self, attempt, to_attempt, to_step):
        body = json.dumps({"attempt": attempt, "format": 1, "skip": 0, "skip_to": 0,
                           "to": {"attempt": to_attempt, "step": to_step}}).encode() + b"\n"
        path = self.run_folder / "rollbacks" / f"a{attempt:04}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(body + f"crc32c:{format_reader.crc32c(body)}\n".encode())
        return path

    def test_what_was_rolled_back_is_not_taken(self):
        self.go_back(2, 1, 10)
        self.assertEqual(self.expect(self.run_folder, 2, 20), [], "it came of the rollback")
        self.go_back(3, 1, 900)
        self.expect(self.run_folder, 1, 900)
        self.flip(self.go_back(4, 1, 10))
        with self.assertRaisesRegex(format_reader.Damaged, "a0004.json is damaged"):
            format_reader.read_newest(self.run_folder)
        self.go_back(4, 1, 10)
        self.expect(self.run_folder, 1, 10)

    def test_a_later_format_is_refused_and_not_passed_over(self):
        newest = self.run_folder / "manifests" / "s0000000020.a0002.json"
        body = newest.read_bytes()[:-16].replace(b'"format": 2', b'"format": 3')
        newest.write_bytes(body + f"crc32c:{format_reader.crc32c(body)}\n".encode())
        with self.assertRaisesRegex(format_reader.Refused, "format 3, and this reader knows 2"):
            format_reader.read_newest(self.run_folder)


if __name__ == "__main__":
    unittest.main(verbosity=2)

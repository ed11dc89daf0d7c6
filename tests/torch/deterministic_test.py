"""What bits depend on is in every checkpoint of a LibTorch program; a resume with others says so, and --deterministic pins
them: digits, which makes its data before train()."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from trainer_run import TrainerRun

BIN = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin"
SENTENCE = "ratoon: bits may differ from those of an uninterrupted run: "
WEIGHTS = re.compile(r"^weights ([0-9a-f]{16})$", re.M)
HAS_AVX2 = re.search(r"^flags\b.*\bavx2\b.*$", pathlib.Path("/proc/cpuinfo").read_text(), re.M) is not None


class Deterministic(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ratoon-deterministic-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def digits(self, steps, *words, name="run", **variables):
        plain = {key: value for key, value in os.environ.items() if key not in ("ATEN_CPU_CAPABILITY", "OMP_NUM_THREADS")}
        return subprocess.run([BIN / "digits", "--steps", str(steps), "--save-folder", self.folder, "--run-name", name,
                               *map(str, words)], env={**plain, **variables}, capture_output=True, text=True, check=False)

    def train(self, *words, **arguments):
        done = self.digits(*words, **arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def numerics(self, name="run"):
        newest = max((self.folder / name / "manifests").glob("*.json"))
        text = newest.read_text()
        return json.loads(text[:text.rindex("crc32c:")])["run"]["numerics"]

    def test_a_resume_with_others_says_so_once(self):
        self.train(10)
        first = self.numerics()
        self.assertTrue(first["library"].startswith("LibTorch 2."), first)
        self.assertEqual((first["device"], first["threads"], first["deterministic"]), ("cpu", 1, False))
        said = self.train(20, "--threads", 2).stderr
        self.assertEqual(said.count(SENTENCE + "threads 1, now 2\n"), 1, said)
        self.assertNotIn(SENTENCE, self.train(30, "--threads", 2).stderr)
        said = self.train(40, "--threads", 2, ATEN_CPU_CAPABILITY="default").stderr
        self.assertRegex(said, f"CPU capability {first['cpu_capability']}, now (DEFAULT|NO AVX)\n")  # as LibTorch calls it

    def test_pinned_it_has_the_bits_of_the_unbroken_run(self):
        variables = {"ATEN_CPU_CAPABILITY": "avx2" if HAS_AVX2 else "default"}
        unbroken = self.train(20, "--deterministic", name="unbroken", **variables)
        self.train(10, "--deterministic", **variables)
        broken = self.train(20, "--deterministic", "--threads", 2, **variables)
        self.assertNotIn(SENTENCE, broken.stderr)
        self.assertEqual((self.numerics()["threads"], self.numerics()["deterministic"]), (1, True))
        self.assertEqual(WEIGHTS.findall(broken.stdout), WEIGHTS.findall(unbroken.stdout))
        self.assertEqual(len(WEIGHTS.findall(broken.stdout)), 1)

    def charlm(self, *threads):
        """The weights of each rank of a new run, whose ranks begin with so many threads."""
        run = TrainerRun("charlm", len(threads), "--steps", 6, "--batch", 8, "--deterministic")
        self.addCleanup(run.close)
        container = run.document["spec"]["roles"][0]["template"]["spec"]["containers"][0]
        of_rank = f"set -- {' '.join(map(str, threads))}; shift $RATOON_INDEX; exec {' '.join(container['command'])} --threads $1"
        container["command"] = ["sh", "-c", of_rank]
        container["env"] = [{"name": "ATEN_CPU_CAPABILITY", "value": "avx2" if HAS_AVX2 else "default"}]
        run.write_job()
        code, output = run.start().finish()
        self.assertEqual(code, 0, f"{output}\n{run.logs()}")
        return run.weights()

    def test_all_ranks_compute_with_the_threads_of_rank_0(self):
        for first in (1, 2):
            alike = self.charlm(first, first)
            self.assertEqual(len(alike), 2)
            self.assertEqual(self.charlm(first, 3 - first), alike, f"rank 0 has {first} threads")

    def test_what_comes_too_late_is_said(self):
        self.train(1, name="look")
        chosen = self.numerics("look")["cpu_capability"]
        done = self.digits(1, "--deterministic")
        if chosen == "AVX512":
            self.assertEqual(done.returncode, 82, done.stderr)
            self.assertIn("LibTorch has computed with AVX512 before train()", done.stderr)
            self.assertIn("ATEN_CPU_CAPABILITY=avx2", done.stderr)
        else:
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.numerics()["cpu_capability"], chosen)


if __name__ == "__main__":
    unittest.main()

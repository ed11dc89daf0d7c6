"""All that has a state to lose, at once, on one process and on four: killed within a validation, between two backward() of a step
and between two optimizers, it ends with the bits of an unbroken run, and its history has each step and each validation once.
RATOON_KILLS sets how often a run dies by chance (8), RATOON_SEED repeats one."""
import json
import os
import pathlib
import random
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from local_run import LocalRun  # noqa: E402

STEPS, VALIDATES = 30, 5
KILLS = int(os.environ.get("RATOON_KILLS", 8))
LINE = re.compile(r"^attempt (\d+) rank (\d+) step (\d+) loss (\S+)$", re.M)
WEIGHTS = re.compile(r"^weights (\S+)$", re.M)


class Exactness(unittest.TestCase):
    def run_probe(self, members, *words):
        run = LocalRun("exact", {"numNodes": members, "checkpointPolicy": {"intervalSteps": 4},
                                 "restartPolicy": {"maxRestarts": KILLS, "backoffSeconds": 0}},
                       ["exactness_probe", *words])
        self.addCleanup(run.close)
        code, output = run.start().finish(600)
        self.assertEqual(code, 0, f"{output}\n{run.logs()}")
        return run

    def losses(self, run):
        """{(rank, step): losses in the attempts that made it}"""
        found = {}
        for text in run.logs().values():
            for attempt, rank, step, loss in LINE.findall(text):
                found.setdefault((int(rank), int(step)), {})[int(attempt)] = loss
        return found

    def history(self, run):
        """[(step, values)] up to the last checkpoint, as docs/reference/history.md says."""
        folder = next(run.folder.glob("checkpoints/*/manifests")).parent
        newest = max((folder / "manifests").glob(f"s{STEPS:010}.a*.json"), key=lambda path: path.name)
        place, parts = json.loads(newest.read_text().rsplit("crc32c:", 1)[0])["run"]["history"], []
        while place:
            text = (folder / "history" / f"a{place['attempt']:04}.jsonl").read_bytes()[:place["bytes"]]
            first, *lines = [json.loads(line) for line in text.decode().splitlines()]
            parts.insert(0, lines)
            place = first.get("after")
        return [(row["step"], row["values"]) for part in parts for row in part if row["kind"] == "step"]

    def assert_exact(self, members, attempts, *how):
        unbroken, killed = self.run_probe(members), self.run_probe(members, "kill", *how)
        expected = [found for text in unbroken.logs().values() for found in WEIGHTS.findall(text)]
        self.assertEqual(len(expected), members)
        self.assertEqual(killed.job_status()["attempt"], attempts)
        # A rank may come to the end more than once, where another one dies just before it.
        self.assertEqual({found for text in killed.logs().values() for found in WEIGHTS.findall(text)}, set(expected))
        losses = self.losses(unbroken)
        self.assertEqual(len(losses), members * STEPS)
        redone = 0
        for place, attempts in self.losses(killed).items():
            redone += len(attempts) > 1
            self.assertEqual(set(attempts.values()), set(losses[place].values()), f"rank and step {place}")
        if not how:
            self.assertGreater(redone, 0)
        history = self.history(killed)
        self.assertEqual(history, self.history(unbroken))
        self.assertEqual([step for step, values in history if "validation" in values],
                         list(range(VALIDATES, STEPS + 1, VALIDATES)))

    def test_one_process(self):
        self.assert_exact(1, 3)

    def test_four_processes(self):
        self.assert_exact(4, 3)

    def assert_exact_by_chance(self, members):
        seed = int(os.environ.get("RATOON_SEED", random.randrange(2**32)))
        print(f"RATOON_SEED={seed}")
        self.assert_exact(members, KILLS + 1, str(seed), str(KILLS))

    def test_one_process_that_dies_by_chance(self):
        self.assert_exact_by_chance(1)

    def test_four_processes_of_which_one_dies_by_chance(self):
        self.assert_exact_by_chance(4)


if __name__ == "__main__":
    unittest.main()

"""All that has a state to lose, at once, on one process and on four: killed within a validation and between two backward() of a
step, it ends with the bits of an unbroken run, and its history has each step and each validation once."""
import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from local_run import LocalRun  # noqa: E402

STEPS, VALIDATES = 30, 5
LINE = re.compile(r"^attempt (\d+) rank (\d+) step (\d+) loss (\S+)$", re.M)
WEIGHTS = re.compile(r"^weights (\S+)$", re.M)


class Exactness(unittest.TestCase):
    def run_probe(self, members, *words):
        run = LocalRun("exact", {"numNodes": members, "checkpointPolicy": {"intervalSteps": 4}},
                       ["exactness_probe", *words])
        self.addCleanup(run.close)
        code, output = run.start().finish(180)
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
        """[(step, values)] up to the last checkpoint, as docs/formats/history.md says."""
        folder = next(run.folder.glob("checkpoints/*/manifests")).parent
        newest = max((folder / "manifests").glob(f"s{STEPS:010}.a*.json"), key=lambda path: path.name)
        place, parts = json.loads(newest.read_text().rsplit("crc32c:", 1)[0])["run"]["history"], []
        while place:
            text = (folder / "history" / f"a{place['attempt']:04}.jsonl").read_bytes()[:place["bytes"]]
            first, *lines = [json.loads(line) for line in text.decode().splitlines()]
            parts.insert(0, lines)
            place = first.get("after")
        return [(row["step"], row["values"]) for part in parts for row in part if row["kind"] == "step"]

    def assert_exact(self, members):
        unbroken, killed = self.run_probe(members), self.run_probe(members, "kill")
        expected = [found for text in unbroken.logs().values() for found in WEIGHTS.findall(text)]
        self.assertEqual(len(expected), members)
        self.assertEqual(killed.job_status()["attempt"], 3)
        self.assertEqual(sorted(found for text in killed.logs().values() for found in WEIGHTS.findall(text)), sorted(expected))
        losses = self.losses(unbroken)
        self.assertEqual(len(losses), members * STEPS)
        redone = 0
        for place, attempts in self.losses(killed).items():
            redone += len(attempts) > 1
            self.assertEqual(set(attempts.values()), set(losses[place].values()), f"rank and step {place}")
        self.assertGreater(redone, 0)
        history = self.history(killed)
        self.assertEqual(history, self.history(unbroken))
        self.assertEqual([step for step, values in history if "validation" in values],
                         list(range(VALIDATES, STEPS + 1, VALIDATES)))

    def test_one_process(self):
        self.assert_exact(1)

    def test_four_processes(self):
        self.assert_exact(4)


if __name__ == "__main__":
    unittest.main()

"""A run that is killed again and again has the history of one that was not, and saves at the same steps."""

import datetime
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile
import unittest

from decisions import history_rows
from local_run import BIN, PATIENCE_SECONDS, Gate, wait_until

STEPS = 150
EVERY = 7
PAUSE_MS = 10
KILLS = 5
PARTS = ("useful", "recomputed", "save_stall", "data_wait", "waiting_for_capacity", "restarting", "hung", "validation")


class History(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ratoon-history-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.gate = Gate(self.root)

    def start(self, name, pause_ms):
        return subprocess.Popen(
            [BIN / "gated_counter", "--save-folder", self.root, "--run-name", name, "--steps", str(STEPS + 50),
             "--max-duration", f"{STEPS}st", "--save-every", f"{EVERY}st", "--keep-last", "1000",
             "--pause-ms", str(pause_ms)],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, **self.gate.environment})

    def finish(self, name, pause_ms=0):
        self.gate.let_pass(STEPS)
        process = self.start(name, pause_ms)
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual(process.returncode, 0, errors)
        return errors

    def manifests(self, name):
        """The newest manifest of each step."""
        found = {}
        for path in sorted((self.root / name / "manifests").glob("s*.json"), key=lambda p: p.name.split(".a")[1]):
            body = json.loads(path.read_text().rsplit("crc32c:", 1)[0])
            found[body["step"]] = body
        return found

    def rows(self, name):
        """(step, values) of steps up to the newest checkpoint, read as docs/reference/history.md says."""
        place = self.manifests(name)[STEPS]["run"]["history"]
        return history_rows(self.root / name, place)

    def ledgers(self, name):
        """(moment, values) that any attempt wrote, also those that no checkpoint counts on."""
        rows = []
        for path in sorted((self.root / name / "history").glob("a*.jsonl")):
            for line in path.read_text().splitlines(keepends=True):
                row = json.loads(line) if line.endswith("\n") else {}
                if row.get("kind") == "ledger":
                    moment = datetime.datetime.fromisoformat(row["time"].replace("Z", "+00:00")).timestamp()
                    rows.append((moment, row["values"]))
        return rows

    def test_kills_leave_no_gap_and_no_repeat(self):
        seed = int(os.environ.get("RATOON_SEED", random.randrange(2**32)))
        print(f"RATOON_SEED={seed}")
        chance = random.Random(seed)
        self.finish("unbroken")
        goal = 0
        for _ in range(KILLS):
            goal += EVERY * chance.randint(1, 3)
            self.gate.let_pass(goal + chance.randint(0, EVERY - 1))
            process = self.start("killed", pause_ms=PAUSE_MS)
            wait_until(lambda: max(self.manifests("killed"), default=0) == goal, f"a checkpoint of step {goal}")
            process.kill()
            process.communicate()
        paused_seconds = max(self.manifests("killed")) * PAUSE_MS / 1000
        errors = self.finish("killed")
        self.assertRegex(errors, rf"killed: step {STEPS}/{STEPS} \(100 %\)")
        begins = int(re.search(r"killed: step (\d+)/", errors)[1])
        self.assertGreater(begins, EVERY, "the bar starts where the run stands")

        self.assertEqual(self.rows("killed"), self.rows("unbroken"))
        self.assertEqual([step for step, _ in self.rows("killed")], list(range(1, STEPS + 1)))
        self.assertEqual(sorted(self.manifests("killed")), sorted(self.manifests("unbroken")))
        self.assertEqual(sorted(self.manifests("killed")), [*range(EVERY, STEPS, EVERY), STEPS])
        self.assertEqual(self.manifests("killed")[STEPS]["run"]["batches"], STEPS)
        self.check_ledger("killed", attempts=KILLS + 1, useful_seconds=paused_seconds)

    def check_ledger(self, name, attempts, useful_seconds):
        rows = self.ledgers(name)
        sums = [sum(values[part] for part in PARTS) for _, values in rows]
        (begin, _), (end, last) = rows[0], rows[-1]
        wall = end - begin + sums[0]
        self.assertAlmostEqual(sums[-1], wall, delta=0.01 * wall, msg="the parts are not the time from the first start on")
        self.assertEqual(sums, sorted(sums))
        self.assertEqual(last["newest_step"], STEPS)
        self.assertGreater(last["useful"], useful_seconds, "each step that was committed before the last kill took its pause")
        self.assertGreaterEqual(len(rows), 3 * attempts, "each begins, saves and says so")


if __name__ == "__main__":
    unittest.main()

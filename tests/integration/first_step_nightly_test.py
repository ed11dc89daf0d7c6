"""From `ratoon run` to the first step of all, against the same program alone: RATOON_TRIALS of each (10), by turns.
RATOON_FIGURES=file.json."""

import os
import statistics
import subprocess
import time
import unittest

from local_run import BIN, LocalRun, keep_figures, wait_until

GOAL_SECONDS = 1.0  # beyond the trainer's own start
ENDLESS = ["counter", "--steps", "1000000000", "--pause-ms", "1"]


class FirstStep(unittest.TestCase):
    def seconds_alone(self):
        run = LocalRun()
        self.addCleanup(run.close)
        began = time.monotonic()
        with open(run.root / "alone.log", "w") as log:
            process = subprocess.Popen([BIN / ENDLESS[0], *ENDLESS[1:], "--save-folder", run.root / "saves", "--run-name",
                                        "alone"], stdout=log)
        try:
            wait_until(lambda: "rank 0 step" in (run.root / "alone.log").read_text(), "a step alone", 60)
            return time.monotonic() - began
        finally:
            process.kill()
            process.wait()

    def seconds_in_a_run(self):
        run = LocalRun(command=ENDLESS)
        self.addCleanup(run.close)
        began = time.monotonic()
        run.start()
        wait_until(lambda: {(1, 0), (1, 1)} <= {line[:2] for line in run.lines()}, "a step of both", 60)
        seconds = time.monotonic() - began
        run.close()
        return seconds

    def test_a_run_steps_within_a_second_of_its_trainers_own_start(self):
        trials = int(os.environ.get("RATOON_TRIALS", "10"))
        pairs = [(self.seconds_alone(), self.seconds_in_a_run()) for _ in range(trials)]
        alone, within = (statistics.median(column) for column in zip(*pairs))
        keep_figures({"trials": trials, "alone_seconds": round(alone, 3), "run_seconds": round(within, 3),
                      "beyond_seconds": round(within - alone, 3)})
        self.assertLessEqual(within - alone, GOAL_SECONDS)


if __name__ == "__main__":
    unittest.main()

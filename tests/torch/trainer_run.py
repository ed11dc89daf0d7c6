"""Drives `ratoon run` on the examples with LibTorch, and reads what they print. Used by the tests beside it."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from local_run import LocalRun, wait_until  # noqa: E402

LINE = re.compile(r"^attempt (\d+) rank (\d+) step (\d+) loss (\S+)$", re.M)
WEIGHTS = re.compile(r"^weights ([0-9a-f]{16})$", re.M)


class TrainerRun(LocalRun):
    """`held_at`, as of LocalRun, takes a program that waits at a gate: gated_digits, gated_charlm, digits_on_accelerator."""

    def __init__(self, program, members, *words, held_at=None, **spec):
        super().__init__(program.removeprefix("gated_").replace("_", "-"), {"numNodes": members, **spec},
                         [program, *map(str, words)], held_at=held_at)

    def progress(self):
        """{(step, rank): [(attempt, loss), ...]}"""
        found = {}
        for text in self.logs().values():
            for attempt, rank, step, loss in LINE.findall(text):
                found.setdefault((int(step), int(rank)), []).append((int(attempt), loss))
        return found

    def has_stepped(self, attempt, step, rank=None):
        return any(a == attempt and s >= step and rank in (None, r)
                   for (s, r), seen in self.progress().items() for a, _ in seen)

    def weights(self):
        return [digest for text in self.logs().values() for digest in WEIGHTS.findall(text)]


class AsUnbroken:
    """Of a test case that has what a run printed in which nothing happened: `expected` weights and `losses`."""

    def assert_as_unbroken(self, run):
        code, output = run.finish()
        self.assertEqual(code, 0, f"{output}\n{run.logs()}")
        self.assertEqual(run.weights(), self.expected, f"{output}\n{run.logs()}")
        self.assertEqual(run.progress().keys(), self.losses.keys(), "each rank has said each step")
        for place, seen in run.progress().items():
            for attempt, loss in seen:
                self.assertEqual(loss, self.losses[place][0][1], f"step and rank {place}, attempt {attempt}")

    def kill_at_random_moments(self, run, chance, ranks, kills, steps):
        """Of a run that is held before its first step. In each attempt it may make so many steps more, which is at least one:
        none is at its end before it was hurt."""
        for attempt in range(1, kills + 1):
            run.let_pass(attempt * steps // (kills + 1))
            step = chance.choice([0, 0, 1, 5])
            wait_until(lambda a=attempt, s=step: run.has_stepped(a, s) or run.job_status()["attempt"] > a
                       or run.job_status()["attempt"] == a and run.job_status()["formed"] and s == 0,
                       f"attempt {attempt}")
            run.hurt(chance.randrange(ranks))
            wait_until(lambda a=attempt: run.job_status()["attempt"] > a, f"an attempt after {attempt}")
        run.let_pass(steps)

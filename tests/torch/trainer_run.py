"""Drives `ratoon run` on the examples with LibTorch, and reads what they print. Used by the tests beside it."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from local_run import LocalRun  # noqa: E402

LINE = re.compile(r"^attempt (\d+) rank (\d+) step (\d+) loss (\S+)$", re.M)
WEIGHTS = re.compile(r"^weights ([0-9a-f]{16})$", re.M)


class TrainerRun(LocalRun):
    def __init__(self, program, members, *words):
        super().__init__(program.replace("_", "-"), {"numNodes": members}, [program, *map(str, words)])

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

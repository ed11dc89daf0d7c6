"""Runs of ratoon.train() under `ratoon run` whose members hurt themselves as a plan says, and what their processes print."""
import json
import pathlib
import re
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[1] / "integration"))
from local_run import LocalRun  # noqa: E402

ATTEMPT = re.compile(r"\battempt (\d+) rank (\d+) of (\d+) pid (\d+) calls (\d+)", re.MULTILINE)
PATIENCE_SECONDS = 3000

# The first lines of a program. hurt() does in this attempt what the plan, {attempt: [what, rank]}, says, once the attempt has
# made some steps; ends_early() says whether the attempt behind the plan has, too.
HURTING = """
import json, os, signal, sys
plan = {int(attempt): hurt for attempt, hurt in json.loads(sys.argv[1]).items()}
end = int(sys.argv[2])
kept = {"calls": 0}
def tell(session, more=""):
    kept["calls"] += 1
    print("attempt", session.attempt, "rank", session.rank, "of", session.world_size, "pid", os.getpid(), "calls",
          kept["calls"], more, flush=True)
def hurt(session, made):
    what, rank = plan.get(session.attempt, (None, None))
    if rank == session.rank and made == 12:
        os.kill(os.getpid(), signal.SIGKILL if what == "kill" else signal.SIGTERM)
def ends_early(session, made):
    return bool(plan) and session.attempt > max(plan) and made == 12
"""


class TrainRun(LocalRun):
    """A run of a program with that plan; without one it goes to the step `end`."""

    def __init__(self, program: str, plan: dict, end: int = 10**6, python=sys.executable, spec=None, shell: str = "", words=()):
        self.text = HURTING + program
        folder = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-train-"))
        (folder / "program.py").write_text(self.text)
        command = [str(python), str(folder / "program.py"), json.dumps(plan), str(end), *words]
        super().__init__(command=["sh", "-c", shell, *command] if shell else command,
                         spec={"checkpointPolicy": {"intervalSteps": 5}, **(spec or {})})

    def run(self) -> str:
        """All that the run and its members have printed, once it is complete."""
        self.start()
        code, output = self.finish(PATIENCE_SECONDS)
        said = output + "\n".join(f"== {name}\n{text}" for name, text in self.logs().items())
        if code != 0:
            raise AssertionError(f"the run ended with {code}:\n{said[-20000:]}")
        return said


def calls_in(said: str) -> dict[int, dict[int, tuple[int, int]]]:
    """{attempt: {rank: (process, how often its function was called)}}"""
    found: dict = {}
    for attempt, rank, _, process, calls in ATTEMPT.findall(said):
        found.setdefault(int(attempt), {})[int(rank)] = (int(process), int(calls))
    return found


def results_in(said: str) -> set[str]:
    return set(re.findall(r"^result (.*)$", said, re.MULTILINE))


def last_step_in(said: str) -> int:
    return int(re.findall(r"completed at step (\d+)", said)[-1])

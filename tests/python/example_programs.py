"""The programs of examples/python, run as their users run them, killed at random points, and compared with unbroken runs. They
need PyTorch, and so run in the environment of the peers, which scripts/bench --peers makes."""
import contextlib
import os
import pathlib
import random
import re
import signal
import subprocess
import threading
import time
import zipfile

from torch_peers import find_peers, find_trainers

PROGRAMS = pathlib.Path(__file__).resolve().parents[2] / "examples/python"
LINE = re.compile(r"^step (\d+) .*$")


def environment():
    """The environment of a program, or nothing where PyTorch, Lightning or accelerate is missing."""
    peers, trainers = find_peers(), find_trainers()
    if peers is None or trainers is None:
        return None
    return {**os.environ, "PYTHONPATH": f"{os.environ['PYTHONPATH']}:{trainers}", "PATH": f"{peers.parent}:{os.environ['PATH']}",
            "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "ignore", "GLOO_SOCKET_IFNAME": "lo"}


def descendants(pid):
    """torchrun gives its processes sessions of their own."""
    parents = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


class Life:
    """One start of a program."""

    def __init__(self, process):
        self.lines, self._is_new, self._process = [], threading.Condition(), process
        self._times = []  # of steps
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            with self._is_new:
                self.lines.append(line.rstrip("\n"))
                if LINE.match(self.lines[-1]):
                    self._times.append(time.monotonic())
                self._is_new.notify()
        with self._is_new:
            self._is_new.notify()

    def steps(self):
        """{step: its line}"""
        return {int(found[1]): line for line in self.lines if (found := LINE.match(line))}

    def pace(self):
        """Seconds a step."""
        return (self._times[-1] - self._times[0]) / len(self._times)

    def wait_for_step(self, step, limit_s=300):
        """Whether it has printed this step or a later one. Otherwise it has ended."""
        with self._is_new:
            reached = self._is_new.wait_for(lambda: not self._reader.is_alive() or max(self.steps(), default=0) >= step
                                            or self._process.poll() is not None, limit_s)
        assert reached, f"step {step} is not reached:\n" + "\n".join(self.lines[-40:])
        return max(self.steps(), default=0) >= step

    def kill(self):
        """Kills all its processes. Returns whether it was still running."""
        pids = descendants(self._process.pid)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return self.end() == -signal.SIGKILL

    def end(self, limit_s=600):
        try:
            code = self._process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("it does not end:\n" + "\n".join(self.lines[-40:])) from None
        self._reader.join()
        self._process.stdout.close()
        return code


class Run:
    """All starts of a program in one folder."""

    def __init__(self, folder, command, variables):
        self.folder, self._command, self._variables = folder, command, variables
        folder.mkdir()
        self.kills, self.printed, self.pace = 0, {}, 0.0

    def start(self, *words):
        command = [str(word) for word in (*self._command, *words)]
        return Life(subprocess.Popen(command, cwd=self.folder, env=self._variables, text=True, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT))

    def note(self, life):
        """A step that is made again prints what it printed before."""
        for step, line in life.steps().items():
            assert self.printed.setdefault(step, line) == line, f"step {step}: '{self.printed[step]}', then '{line}'"

    def finish(self, *words):
        """Lets it come to its end. Returns the decisions that it prints there."""
        life = self.start(*words)
        code = life.end()
        assert code == 0, f"exit code {code}:\n" + "\n".join(life.lines[-60:])
        self.note(life)
        self.pace = life.pace() if life.steps() else self.pace
        return [line for line in life.lines if line.startswith("best ")]

    def kill_at(self, step, pause_seconds, *words):
        """Kills it so long after the end of a step."""
        life = self.start(*words)
        if life.wait_for_step(step):
            time.sleep(pause_seconds)
        self.kills += life.kill()
        self.note(life)

    def kill_often(self, kills, unbroken, draws, *words, first=2):
        """Kills it at random points of an unbroken run: within a step, or in the save behind it."""
        for step in sorted(draws.sample(range(first, max(unbroken.printed) - 2), kills)):
            self.kill_at(step, draws.uniform(0, 2 * unbroken.pace), *words)


def weights(path):
    """All parts of a file of torch.save() but its own identity."""
    with zipfile.ZipFile(path) as file:
        parts = {name.split("/", 1)[1]: file.read(name) for name in file.namelist()}
    parts.pop(".data/serialization_id", None)
    assert any(name.startswith("data/") for name in parts), path
    return parts


def draw_seed():
    seed = int(os.environ.get("RATOON_SEED", random.randrange(1 << 20)))
    print("RATOON_SEED", seed, flush=True)
    return seed

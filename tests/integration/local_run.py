"""Drives `ratoon run` on the counter example: starts it, reads its folder, hurts it. Used by the tests beside it."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

BIN = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin"
LINE = re.compile(r"^attempt (\d+) rank (\d+) step (\d+) sum (\d+)$")


# How long a test waits for what must come: it ends a test that hangs, and says nothing about speed.
PATIENCE_SECONDS = 180
SUSPECT_AFTER_SECONDS = 60


def wait_until(condition, what, seconds=PATIENCE_SECONDS):
    """The value of `condition` once it is true; a test must not hang."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"waited {seconds} s for {what}")


def process_state(pid):
    """The letter that /proc gives for the state of a process, or nothing once the process is gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # the latter if it goes after the file was opened
        return None


def is_running(pid):
    """A process that has ended and is not waited for yet does not run."""
    return process_state(pid) not in (None, "Z", "X")


def keep_figures(figures):
    """What a measurement found, as a line of JSON; RATOON_FIGURES=file.json keeps it."""
    figures = {**figures, "load": round(os.getloadavg()[0], 1)}
    print(json.dumps(figures))
    if "RATOON_FIGURES" in os.environ:
        pathlib.Path(os.environ["RATOON_FIGURES"]).write_text(json.dumps(figures, indent=1) + "\n")


class Gate:
    """How many steps the processes of a test may make: gated_counter and in_place_probe wait at it. What is to be hurt at a
    step cannot be at its end before, however busy the machine is."""

    def __init__(self, folder):
        self.path = folder / "gate"
        self.passing = 0
        self.environment = {"TEST_STEP_GATE": str(self.path)}

    def let_pass(self, steps):
        partial = self.path.with_suffix(".partial")
        partial.write_text(str(steps))
        partial.rename(self.path)
        self.passing = steps

    def let_pass_until(self, condition, what, end, pause_seconds=0.05):
        """One step more after each pause, until that holds: a process that acts at its next step has one, and none comes to
        `end`."""
        due = 0

        def look():
            nonlocal due
            value = condition()
            if not value and time.monotonic() >= due and self.passing + 1 < end:
                self.let_pass(self.passing + 1)
                due = time.monotonic() + pause_seconds
            return value

        return wait_until(look, what)


class LocalRun:
    """One folder, and the runs of one job in it.

    `held_at`: the steps that the run makes before it is let_pass(): its command is one that waits at a gate."""

    def __init__(self, job="counter", spec=None, command=None, limits=None, held_at=None):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-integration-"))
        self.folder = self.root / "run"
        self.process = None
        self.gate = Gate(self.root)
        if held_at is not None:
            self.let_pass(held_at)
        counter = "counter" if held_at is None else "gated_counter"
        command = command or [counter, "--steps", "200", "--pause-ms", "10"]
        container = {"name": "trainer", "command": command} | ({"resources": {"limits": limits}} if limits else {})
        self.document = {
            "apiVersion": "ratoon.dev/v1alpha1",
            "kind": "TrainingJob",
            "metadata": {"name": job},
            "spec": {
                "numNodes": 2,
                "roles": [{"name": "worker", "template": {"spec": {"containers": [container]}}}],
                "checkpointPolicy": {"intervalSteps": 10},
                # A process that waits long for a processor is no loss. A test of silence says when silence counts.
                "disruptionPolicy": {"suspectAfterSeconds": SUSPECT_AFTER_SECONDS},
                **(spec or {}),
            },
        }
        self.job_file = self.root / "job.yaml"
        self.write_job()

    def let_pass(self, steps):
        self.gate.let_pass(steps)

    def let_pass_until(self, *words):
        return self.gate.let_pass_until(*words)

    def write_job(self):
        self.job_file.write_text(json.dumps(self.document))  # JSON is YAML

    def start(self, *options, within=()):
        """`within`: a command that runs another one in surroundings of its own."""
        gate = self.gate.environment if self.gate.path.exists() else {}
        # A session of its own, so that a Ctrl-C for it reaches it alone.
        with open(self.root / "output.txt", "w") as output:
            self.process = subprocess.Popen([*within, BIN / "ratoon", "run", self.job_file, "--folder", self.folder, *options],
                                            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                            start_new_session=True, env={**os.environ, **gate})
        return self

    def output(self):
        """What the last start printed so far."""
        return (self.root / "output.txt").read_text()

    def finish(self, seconds=PATIENCE_SECONDS):
        """(exit code, what was printed)"""
        return self.process.wait(timeout=seconds), self.output()

    def status(self):
        try:
            return json.loads((self.folder / "status.json").read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return {"members": [], "job": {}}

    def job_status(self):
        return self.status()["job"].get("status", {"attempt": 0, "formed": False, "progress": {"step": 0}})

    def pids_of(self, index):
        return [pid for m in self.status()["members"] if f"-worker-{index}-" in m["name"] for pid in m["pids"]]

    def hurt(self, index, number=signal.SIGKILL):
        pid = wait_until(lambda: self.pids_of(index), f"member {index} to have a process")[0]
        with contextlib.suppress(ProcessLookupError):  # it may have ended, and the status does not say so yet
            os.kill(pid, number)

    def reclaim(self, node, notice):
        """The node goes after the notice, "30s" say."""
        subprocess.run([BIN / "ratoon", "reclaim", node, "--notice", notice, "--run", self.folder], check=True,
                       timeout=PATIENCE_SECONDS, stdout=subprocess.DEVNULL)

    def wait_for_commit(self, step, attempt=1):
        """Until a checkpoint of that attempt and at least that step is committed. Returns its step."""
        return wait_until(lambda: max((s for a, s in self.commits() if a == attempt and s >= step), default=0),
                          f"a commit of step {step} in attempt {attempt}")

    def commits(self):
        """(attempt, step) of every manifest."""
        pattern = re.compile(r"^s(\d{10})\.a(\d{4,})\.json$")
        found = [pattern.match(p.name) for p in self.folder.glob("checkpoints/*/manifests/*.json")]
        return sorted((int(m[2]), int(m[1])) for m in found if m)

    def claim(self):
        """The state of the newest claim on the run's place."""
        newest = max(self.folder.glob("checkpoints/*/claims/c*.txt"))
        return re.search(r"^state (\w+)$", newest.read_text(), re.MULTILINE)[1]

    def receipts(self, rank):
        return sum(1 for _ in self.folder.glob(f"checkpoints/*/receipts/*/*/r{rank:04}.json"))

    def logs(self):
        return {p.stem: p.read_text() for p in sorted(self.folder.glob("logs/*.log"))}

    def lines(self):
        """(attempt, rank, step, sum) of every progress line of every member."""
        return [tuple(int(x) for x in m.groups()) for text in self.logs().values()
                for m in map(LINE.match, text.splitlines()) if m]

    def first_line_of(self, attempt, rank):
        return min(line for line in self.lines() if line[:2] == (attempt, rank))

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.root, ignore_errors=True)

"""What a batch script and its ranks see of Slurm: sbatch reads the script's own lines, srun numbers the ranks, a signal says that
the time limit is near, scontrol puts the job back into the queue. Slurm itself needs daemons, accounts and a munge key."""

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import time

from local_run import wait_until

# One step of the job, whose code is the highest of its ranks'. Their ids are left for whoever is to signal them.
SRUN = """#!/usr/bin/env python3
import json, os, pathlib, subprocess, sys
words = sys.argv[1:]
while words[0].startswith("--"):
    words.pop(0)
size = int(os.environ["SLURM_NTASKS"])
ranks = []
for rank in range(size):
    env = dict(os.environ, SLURM_PROCID=str(rank), SLURM_LOCALID="0", SLURM_STEP_ID="0", SLURM_STEP_NUM_TASKS=str(size),
               SLURM_STEP_NUM_NODES=os.environ["SLURM_NNODES"], RATOON_POD_IP="127.0.0.1")
    ranks.append(subprocess.Popen(words, env=env))
note = pathlib.Path(os.environ["STAND_IN"]) / ("ranks." + os.environ["SLURM_JOB_ID"])
new = note.with_name(note.name + ".new")
new.write_text(json.dumps([r.pid for r in ranks]))
os.rename(new, note)
codes = [rank.wait() for rank in ranks]
sys.exit(max(128 - code if code < 0 else code for code in codes))
"""
SCONTROL = """#!/bin/sh
echo "$*" >> "$STAND_IN/scontrol.txt"
"""
# A site may let jobs run over (OverTimeLimit). Here they may for long: a busy machine is no reason to cut one off.
OVER_TIME_LIMIT_SECONDS = 60


@dataclasses.dataclass
class Job:
    number: int
    words: list  # script and arguments
    options: dict
    variables: dict
    ends: list = dataclasses.field(default_factory=list)  # of each life: "requeued", "node failed", "time limit", a code
    process: subprocess.Popen = None
    began: float = 0
    ended: float = 0
    is_warned: bool = False
    requeues_asked: int = 0

    def warning(self):
        """(signal, seconds before the end); to the ranks alone, since there is no B: before it."""
        name, ahead = re.fullmatch(r"(\w+)@(\d+)", self.options["signal"]).groups()
        return signal.Signals[f"SIG{name}"], int(ahead)

    def limit(self):
        """Of minutes:seconds or hours:minutes:seconds, in seconds."""
        total = 0
        for part in self.options["time"].split(":"):
            total = total * 60 + int(part)
        return total

    def is_over(self):
        return bool(self.ends) and self.ends[-1] not in ("requeued", "node failed")


def directives(script):
    """The options in the script's #SBATCH lines."""
    return dict(re.findall(r"^#SBATCH --([\w-]+)=?(\S*)$", pathlib.Path(script).read_text(), re.MULTILINE))


class Slurm:
    """One cluster, whose clock goes on in wait() alone."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.jobs = []
        self.may_warn = lambda: True  # beside what Slurm itself waits for
        for name, text in (("srun", SRUN), ("scontrol", SCONTROL)):
            (self.root / name).write_text(text)
            (self.root / name).chmod(0o755)

    def sbatch(self, *words, **variables):
        """Options, the script and its arguments. Returns a job, or one for each element of an array."""
        words = [str(word) for word in words]
        given = {}
        while words[0].startswith("--"):
            name, _, value = words.pop(0)[2:].partition("=")
            given[name] = value
        options = {**directives(words[0]), **given}
        elements = [None]
        if "array" in options:
            first, last = map(int, options["array"].split("-"))
            elements = range(first, last + 1)
        made = []
        for element in elements:
            own = {} if element is None else {"SLURM_ARRAY_JOB_ID": 4711, "SLURM_ARRAY_TASK_ID": element}
            made.append(Job(4711 + len(self.jobs), words, options, {**own, **variables}))
            self.jobs.append(made[-1])
        return made if "array" in options else made[0]

    def wait(self, condition=None, seconds=240.0):
        """Until that holds, or all jobs are over."""
        wait_until(lambda: self.look() or (condition() if condition else all(job.is_over() for job in self.jobs)),
                   f"the jobs: {[(job.number, job.ends) for job in self.jobs]}\n{self.output()}", seconds)

    def output(self):
        return "".join(file.read_text() for file in sorted(self.root.glob("slurm-*.out")))

    def ranks(self, job):
        note = self.root / f"ranks.{job.number}"
        return json.loads(note.read_text()) if note.exists() else []

    def requeues(self):
        note = self.root / "scontrol.txt"
        return note.read_text().splitlines() if note.exists() else []

    def fail_node(self, job):
        self.stop(job, "node failed")

    def close(self):
        for job in self.jobs:
            if job.process:
                self.stop(job, "closed")

    def look(self):
        for job in self.jobs:
            if job.process:
                self.attend(job)
            elif not job.is_over():
                self.begin(job)

    def begin(self, job):
        (self.root / f"ranks.{job.number}").unlink(missing_ok=True)
        nodes = int(job.options["nodes"])
        own = {"PATH": f"{self.root}:{os.environ['PATH']}", "STAND_IN": self.root, "SLURM_JOB_ID": job.number,
               "SLURM_JOB_NAME": job.options["job-name"], "SLURM_NNODES": nodes,
               "SLURM_NTASKS": nodes * int(job.options["ntasks-per-node"]), "SLURM_JOB_END_TIME": int(time.time()) + job.limit()}
        if job.ends:
            own["SLURM_RESTART_COUNT"] = len(job.ends)
        environment = {**os.environ, **{name: str(value) for name, value in {**own, **job.variables}.items()}}
        with open(self.root / f"slurm-{job.number}.out", "a") as output:
            job.process = subprocess.Popen(job.words, env=environment, cwd=self.root, stdin=subprocess.DEVNULL, stdout=output,
                                           stderr=subprocess.STDOUT, start_new_session=True)
        job.began, job.is_warned = time.monotonic(), False

    def attend(self, job):
        passed = time.monotonic() - job.began
        number, ahead = job.warning()
        if not job.is_warned and passed >= job.limit() - ahead and self.ranks(job) and self.may_warn():
            self.send(job, number)
        asked = self.requeues().count(f"requeue {job.number}")
        if asked > job.requeues_asked:
            job.requeues_asked = asked
            self.stop(job, "requeued")  # as Slurm does, whatever the script still had in mind
        elif passed >= job.limit() + OVER_TIME_LIMIT_SECONDS:
            self.stop(job, "time limit")
        elif job.process.poll() is not None:
            self.note_end(job, job.process.returncode)

    def send(self, job, number):
        job.is_warned = True
        for pid in self.ranks(job):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def stop(self, job, why):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.process.pid, signal.SIGKILL)
        job.process.wait()
        self.note_end(job, why if why != "node failed" or "requeue" in job.options else "not requeued")

    def note_end(self, job, why):
        job.process, job.ended = None, time.monotonic()
        job.ends.append(why)

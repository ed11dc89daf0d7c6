"""Starts the shards example, and puts together what several lives of a run consumed. Used by the tests beside it."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

SHARDS = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin" / "shards"
BEGIN = re.compile(r"attempt (\d+) rank (\d+) of (\d+) goes on with step (\d+) of (\d+)")
STEP = re.compile(r"rank (\d+) step (\d+) epoch (\d+)((?: \d+:[0-9a-f]{8})*)")
DONE = re.compile(r"done: (\d+) steps, (\d+) samples, digest ([0-9a-f]{16}), model ([0-9a-f]{16})")


def scratch_folder():
    """In memory where there is room: SIGKILL loses no page of a file, and syncing would only take time."""
    memory = pathlib.Path("/dev/shm")
    in_memory = os.access(memory, os.W_OK) and os.statvfs(memory).f_bavail * os.statvfs(memory).f_frsize > 1 << 28
    return pathlib.Path(tempfile.mkdtemp(prefix="ratoon-shards-", dir=memory if in_memory else None))


def start(folder, *words, log=subprocess.PIPE, env=None):
    return subprocess.Popen([SHARDS, *map(str, words)], cwd=folder, env=env, text=True, stdout=log,
                            stderr=subprocess.STDOUT)


def run(folder, *words, seconds=180, env=None):
    """(exit code, what was printed)"""
    process = start(folder, *words, env=env)
    try:
        output, _ = process.communicate(timeout=seconds)
    finally:
        process.kill()
    return process.returncode, output


class Life:
    """What one process did in one attempt, from what it printed. A line that a kill cut off does not count."""

    def __init__(self, attempt, rank, world, first, total):
        self.attempt, self.rank, self.world, self.first, self.total = attempt, rank, world, first, total
        self.steps = []  # of each step its samples, each with the digest of what it looked like
        self.done = None

    @staticmethod
    def of(text):
        lives = []
        for line in text[:text.rfind("\n") + 1].splitlines():
            if begin := BEGIN.fullmatch(line):
                lives.append(Life(*map(int, begin.groups())))
            elif step := STEP.fullmatch(line):
                life = lives[-1]
                if (int(step[1]), int(step[2])) != (life.rank, life.first + len(life.steps)):
                    raise AssertionError(f"after {len(life.steps)} steps from {life.first}: {line}")
                life.steps.append(step[4].split())
            elif done := DONE.fullmatch(line):
                lives[-1].done = done.groups()
        return lives


def merge_ranks(lives):
    """One life of all ranks of an attempt: of each step that all of them made the samples of all."""
    lives = sorted(lives, key=lambda life: life.rank)
    whole = Life(lives[0].attempt, 0, 1, lives[0].first, lives[0].total)
    if [life.rank for life in lives] != list(range(lives[0].world)) or len({life.first for life in lives}) != 1:
        raise AssertionError(f"not one world: {[(life.rank, life.world, life.first) for life in lives]}")
    whole.steps = [sum(parts, []) for parts in zip(*(life.steps for life in lives))]
    return whole


class History:
    """What is in the weights in the end: of each life the steps that a later one does not make again."""

    def __init__(self):
        self.steps, self.redone, self.resumed_at = [], 0, 0

    def add(self, life):
        if not self.resumed_at <= life.first <= len(self.steps):
            raise AssertionError(f"{len(self.steps)} steps were made and {self.resumed_at} were committed, "
                                 f"and the next life begins with step {life.first}")
        again = self.steps[life.first:]
        for number, (before, now) in enumerate(zip(again, life.steps), life.first):
            if before != now:
                raise AssertionError(f"step {number} is made again with other samples: {before}, then {now}")
        self.resumed_at = life.first
        self.redone += min(len(again), len(life.steps))
        self.steps[life.first:] = life.steps


class Shards(unittest.TestCase):
    """A data set that the example made, and what it printed of an unbroken run over it."""

    @classmethod
    def setUpClass(cls):
        cls.made = scratch_folder()
        cls.addClassCleanup(shutil.rmtree, cls.made, ignore_errors=True)
        code, cls.unbroken = run(cls.made, "--samples", 1000, "--epochs", 2, "--batch", 7, "--list", "--pause-ms", 0,
                                 "--threads", 0)
        if code != 0:
            raise AssertionError(cls.unbroken)

    def setUp(self):
        self.folder = scratch_folder()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.data = self.made / "shards-data"

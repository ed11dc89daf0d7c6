"""Trainers in which one call of the C library fails: which one, when, with what error and how often follows from a seed.
Used by the tests beside it; tests/support/failing_calls makes the call fail."""

import collections
import concurrent.futures
import errno
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time

from local_run import BIN

LIBRARY = BIN / "libfailing_calls.so"
STEPS = 20
DONE = f"done: {STEPS} steps, sum {STEPS * (STEPS - 1) // 2}"
PATIENCE_SECONDS = 120
HEAD = struct.Struct("<IIIiIIII")
COUNT = struct.Struct("<24sII")
CALLS_MAX = 64

FOR_GOOD = 1_000_000
ONCE_OR_MORE = (1, 1, 1, 2, 5, FOR_GOOD)
# What is tried again at once would never return, and a coordinator that cannot be reached is called without a limit.
A_FEW = (1, 1, 2, 3)
# By which ranks look for each other, and one that commits nothing for what is committed. Where these fail for good a
# rank of a group ends after a minute, and one that looks for the run's last checkpoint only after the patience of the
# end: a test would be as long.
LOOKS = ("open_to_read", "open_to_write", "read_file", "stat", "lock")
TO_OTHERS = ("socket", "bind", "connect", "send", "recv", "poll", "descriptors", "dup", "read_other", "write_other")
DISK = ("EIO", "ESTALE", "ENOMEM")
FULL = ("ENOSPC", "EDQUOT")
TABLES = ("EMFILE", "ENFILE", "ENOMEM")
# Each call, how often it comes in an unharmed run of a process alone, of rank 0 and 1 of a group, of rank 0 and 1 under a
# coordinator, and the errors that it may have.
CALLS = {
    "open_to_read": ((425, 697, 236, 535, 269), (*DISK, "EMFILE", "ENFILE", "EINTR")),
    "open_to_write": ((19, 27, 13, 21, 11), (*DISK, *FULL, "EMFILE", "ENFILE", "EROFS", "EINTR")),
    "fopen": ((22, 22, 22, 24, 24), (*DISK, "EMFILE", "ENFILE")),
    "mkdir": ((29, 31, 28, 31, 30), (*DISK, *FULL, "EROFS")),
    "rename": ((18, 21, 12, 20, 14), (*DISK, *FULL, "EROFS")),
    "unlink": ((5, 7, 1, 10, 2), (*DISK, "EROFS")),
    "link": ((4, 4, 1, 4, 4), (*DISK, *FULL, "EROFS")),
    "fsync": ((51, 59, 40, 57, 44), ("EIO", "ESTALE", *FULL, "EINTR", "EROFS")),
    "write_file": ((23, 26, 15, 24, 15), ("EIO", "ESTALE", *FULL, "EINTR")),
    "write_other": ((1, 2, 2, 48, 58), ("EPIPE", "EINTR", "ENOMEM")),
    "write_output": ((2, 2, 0, 2, 0), ("EPIPE", "EIO", "ENOSPC", "EINTR", "EBADF", "EAGAIN")),
    "read_file": ((71, 88, 61, 115, 67), ("EIO", "ESTALE", "ENOMEM", "EINTR")),
    "read_other": ((1, 2, 2, 29, 34), ("EINTR", "ENOMEM")),
    "close": ((304, 527, 209, 421, 257), ("EIO", "EINTR", *FULL)),
    "fallocate": ((13, 13, 9, 15, 10), ("EIO", "ESTALE", *FULL, "EINTR", "EOPNOTSUPP")),
    "stat": ((64, 90, 27, 115, 43), DISK),
    "opendir": ((71, 75, 9, 93, 18), (*DISK, "EMFILE", "ENFILE")),
    "readdir": ((351, 398, 35, 465, 67), ("EIO", "ESTALE")),
    "lock": ((1, 8, 5, 1, 1), ("EINTR", "ENOLCK", "ESTALE", "EIO")),
    "readlink": ((3, 4, 1, 3, 3), DISK),
    "socket": ((0, 1, 1, 4, 5), (*TABLES, "ENOBUFS")),
    "bind": ((0, 2, 2, 4, 4), ("ENOMEM", "ENOBUFS")),
    "connect": ((0, 0, 0, 4, 6), ("ENOMEM", "EAGAIN", "ETIMEDOUT", "ECONNREFUSED")),
    "send": ((0, 0, 0, 20, 24), ("EPIPE", "ENOMEM", "ENOBUFS", "EINTR", "ECONNRESET")),
    "recv": ((0, 0, 0, 20, 24), ("ENOMEM", "EINTR", "ECONNRESET")),
    "poll": ((1, 2, 2, 80, 103), ("EINTR", "ENOMEM")),
    "descriptors": ((1, 1, 1, 20, 23), TABLES),
    "dup": ((0, 3, 2, 2, 3), ("EMFILE",)),
    "pthread_create": ((9, 11, 12, 17, 18), ("EAGAIN",)),
    "mmap": ((2, 2, 2, 2, 2), ("ENOMEM", "EAGAIN")),
    "getrandom": ((5, 10, 8, 5, 5), ("EINTR",)),
}


class Page:
    """The draw for one process, and what it says of its calls: draw.h."""

    def __init__(self, path, draw=None, numbers=()):
        self.path = path
        names = list(numbers)
        head = (names.index(draw.call), draw.first, draw.times, getattr(errno, draw.error)) if draw else (0, 0, 0, 0)
        path.write_bytes(HEAD.pack(*head, 0, 0, 0, 0).ljust(HEAD.size + COUNT.size * CALLS_MAX, b"\0"))

    def failed(self):
        return HEAD.unpack_from(self.path.read_bytes())[4]

    def counts(self):
        data = self.path.read_bytes()
        calls = HEAD.unpack_from(data)[6]
        rows = (COUNT.unpack_from(data, HEAD.size + COUNT.size * i) for i in range(calls))
        return {name.rstrip(b"\0").decode(): count for name, count, _ in rows}


class Draw:
    """What fails, in which process of which world: all of it follows from the seed."""

    def __init__(self, seed):
        self.seed = seed
        dice = random.Random(seed)
        self.world = dice.choice((Alone, Alone, Group, Coordinated))
        self.rank = dice.randrange(2) if self.world is not Alone else 0
        column = self.world.FIRST_COLUMN + self.rank
        self.call = dice.choice([name for name, (times, _) in CALLS.items() if times[column] > 0])
        times, errors = CALLS[self.call]
        self.first = dice.randint(1, times[column])
        self.error = dice.choice(errors)
        looks_at_others = self.call in LOOKS and (self.world is Group or self.rank == 1)
        is_short = looks_at_others or self.error in ("EINTR", "EAGAIN") or self.call in TO_OTHERS
        self.times = dice.choice(A_FEW if is_short else ONCE_OR_MORE)

    def __str__(self):
        times = "for good" if self.times == FOR_GOOD else f"{self.times} times"
        return (f"seed {self.seed}: {self.world.NAME}, rank {self.rank}: {self.call} fails from call {self.first} on, "
                f"{times}, with {self.error}")

    @property
    def sentence(self):
        return os.strerror(getattr(errno, self.error))


class Broken(Exception):
    """A law does not hold."""


def expect(holds, sentence):
    if not holds:
        raise Broken(sentence)


def with_faults(page):
    return {"LD_PRELOAD": str(LIBRARY), "TEST_FAILING_CALLS": str(page.path)}


class World:
    """The processes of one small run, of which one has a fault, and what they leave."""

    def __init__(self, root):
        self.root = root
        self.journal = root / "journal"
        self.run_folder = root / "s" / "a"
        self.processes = []
        self.told_before = 0

    def probe(self):
        return [BIN / "fault_probe", "--steps", STEPS, "--journal", self.journal]

    def start(self, words, log, environment):
        with open(self.root / log, "a") as output:
            process = subprocess.Popen([str(word) for word in words], stdout=output, stderr=subprocess.STDOUT,
                                       stdin=subprocess.DEVNULL, env={**os.environ, **environment}, start_new_session=True)
        self.processes.append(process)
        return process

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def log(self):
        return "".join(f"[{path.name}]\n{path.read_text(errors='replace')}"
                       for path in sorted([*self.root.glob("*.log"), *self.root.glob("run/logs/*.log")]))

    def wait(self, *processes):
        """Until the first of them ends."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            for process in processes:
                if process.poll() is not None:
                    return process
            time.sleep(0.002)
        raise Broken(f"it hangs, and says:\n{self.log()}")

    def committed(self):
        return max((int(path.name[1:11]) for path in self.run_folder.glob("manifests/s*.json")), default=0)

    def judge(self, draw, page, code, log):
        """How the process with the fault ended, its code and what it said."""
        expect(code in (0, 81, 84), f"it ends with {code}, and says:\n{log}")
        if code == 0:
            return
        expect(page.failed() > 0, f"it ends with {code} though nothing failed, and says:\n{log}")
        expect(draw.call == "write_output" or draw.sentence in log, f"it ends with {code} and does not say why:\n{log}")

    def begin_anew(self):
        """What was said so far is forgotten, and what was committed is known."""
        self.told_before = self.journal.stat().st_size if self.journal.exists() else 0
        return self.committed()

    def judge_what_follows(self, committed):
        journal = self.journal.read_text() if self.journal.exists() else ""
        begun = [int(step) for step in re.findall(r"begins at step (\d+)", journal[self.told_before:])]
        expect(all(step >= committed for step in begun),
               f"step {committed} was committed, and a later run begins at {begun}:\n{self.log()}")
        expect(DONE in journal or not begun and committed == STEPS, f"it is not done, and says:\n{self.log()}")
        expect(self.committed() == STEPS, f"it ends at step {self.committed()}, and says:\n{self.log()}")
        verified = subprocess.run([BIN / "ratoon", "checkpoint", "verify", self.run_folder], capture_output=True, text=True)
        expect(verified.returncode == 0, f"ratoon checkpoint verify ends with {verified.returncode}:\n"
                                         f"{verified.stdout}{verified.stderr}{self.log()}")


class Alone(World):
    """One process without a coordinator."""

    NAME = "alone"
    FIRST_COLUMN = 0

    def train(self, page=None):
        words = [*self.probe(), "--save-folder", self.root / "s", "--run-name", "a", "--save-every", 5]
        return self.wait(self.start(words, "trainer.log", with_faults(page) if page else {})).returncode

    def run(self, draw, page):
        code = self.train(page)
        self.judge(draw, page, code, self.log())
        committed = self.begin_anew() if code != 0 else 0
        expect(self.train() == 0, f"started again it fails:\n{self.log()}")
        self.judge_what_follows(committed)
        return code


class Group(World):
    """Two processes that torchrun numbered: they meet in the run's folder."""

    NAME = "a group"
    FIRST_COLUMN = 1

    def train(self, rank, page=None):
        words = [*self.probe(), "--save-folder", self.root / "s", "--run-name", "a", "--save-every", 5]
        ranks = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": 2, "TORCHELASTIC_RUN_ID": "none",
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 29500}
        environment = {name: str(value) for name, value in ranks.items()} | (with_faults(page) if page else {})
        return self.start(words, f"rank{rank}.log", environment)

    def log_of(self, rank):
        return (self.root / f"rank{rank}.log").read_text(errors="replace")

    def run(self, draw, page):
        bad = draw.rank
        running = {rank: self.train(rank, page if rank == bad else None) for rank in (0, 1)}
        faulty = running[bad]
        outcome = None
        committed = starts = 0
        while running:
            ended = self.wait(*running.values())
            rank = next(rank for rank, process in running.items() if process is ended)
            del running[rank]
            if ended is faulty:
                outcome = ended.returncode
                self.judge(draw, page, outcome, self.log_of(rank))
            else:
                expect(ended.returncode in (0, 81, 84), f"rank {rank} ends with {ended.returncode}:\n{self.log()}")
            if ended.returncode == 0:
                continue
            expect(starts < 3, f"it is started again and again:\n{self.log()}")
            starts += 1
            for process in running.values():  # as torchrun does: it starts all anew
                process.kill()
                process.wait()
            committed = self.begin_anew()
            running = {one: self.train(one) for one in (0, 1)}
        if starts == 0:
            expect("is gone" not in self.log() and "has left the attempt" not in self.log(),
                   f"a rank is taken for lost:\n{self.log()}")
        self.judge_what_follows(committed)
        return 0 if outcome is None else outcome


class Coordinated(World):
    """Two members under `ratoon run`."""

    NAME = "under a coordinator"
    FIRST_COLUMN = 3

    def __init__(self, root):
        super().__init__(root)
        self.run_folder = root / "run" / "checkpoints" / "counter"

    def write_job(self, bad, page):
        faults = " ".join(f"{name}={value}" for name, value in with_faults(page).items())
        script = (f'if [ "$RATOON_INDEX-$RATOON_INCARNATION" = {bad}-0 ]; then export {faults}; fi; exec "$@"')
        container = {"name": "trainer", "command": ["sh", "-c", script, "sh", *map(str, self.probe())]}
        job = {"apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "counter"},
               "spec": {"numNodes": 2, "roles": [{"name": "worker", "template": {"spec": {"containers": [container]}}}],
                        "checkpointPolicy": {"intervalSteps": 5}, "restartPolicy": {"maxRestarts": 3, "backoffSeconds": 0}}}
        (self.root / "job.yaml").write_text(json.dumps(job))

    def train(self):
        words = [BIN / "ratoon", "run", self.root / "job.yaml", "--folder", self.root / "run"]
        return self.wait(self.start(words, "run.log", {})).returncode

    def events(self):
        return list(map(json.loads, (self.root / "run" / "events.jsonl").read_text().splitlines()))

    def codes(self):
        """[(member, code)] of the processes that ended."""
        return [(line["member"], line["exitCode"]) for line in self.events() if "exitCode" in line]

    def run(self, draw, page):
        bad = draw.rank
        self.write_job(bad, page)
        code = self.train()
        durable = 0
        for line in self.events():
            if line["kind"] == "checkpoint":
                durable = max(durable, line["step"])
            elif line.get("reason") == "WorldFormed":
                begins = int(re.search(r"from step (\d+)", line["message"])[1])
                expect(begins >= durable, f"step {durable} was durable, and a world begins at {begins}:\n{self.log()}")
        outcome = 0
        for member, left in self.codes():
            if member.startswith(f"counter-worker-{bad}-"):
                outcome = outcome or left
            expect(left in (0, 81, 84), f"{member} ends with {left}:\n{self.log()}")
        expect(code == 0, f"ratoon run ends with {code}:\n{self.log()}")
        if outcome != 0:
            self.judge(draw, page, outcome, self.log())
        self.judge_what_follows(0)
        return outcome


def names_of_calls():
    """In the order of the library, which writes them into a page."""
    with Folder() as root:
        page = Page(root / "page")
        subprocess.run(["true"], env={**os.environ, **with_faults(page)}, check=True)
        return list(page.counts())


def run_once(draw, names):
    """How the process with the fault ended: 0, 81 or 84. Broken where a law does not hold."""
    with Folder() as root:
        page = Page(root / "page", draw, names)
        world = draw.world(root)
        try:
            outcome = world.run(draw, page)
        finally:
            world.close()
        return outcome if page.failed() else "none failed"


class Folder:
    """In memory, where there is such a place: each draw makes hundreds of files durable."""

    def __init__(self):
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-calls-", dir=place))

    def __enter__(self):
        return self.root

    def __exit__(self, *_):
        shutil.rmtree(self.root, ignore_errors=True)


def first_seed():
    """RATOON_FIRST_SEED, or what the name of the commit begins with."""
    try:
        of_commit = int(os.environ.get("RATOON_COMMIT", "")[:8], 16)
    except ValueError:
        of_commit = 1
    return int(os.environ.get("RATOON_FIRST_SEED", of_commit or 1))


def run_draws(first, count, at_once):
    """The sentences of the draws that broke a law, and how all of them ended."""
    names = names_of_calls()
    broken, outcomes = [], collections.Counter()
    began = time.monotonic()

    def run(seed):
        draw = Draw(seed)
        try:
            return draw, run_once(draw, names), ""
        except Broken as why:
            return draw, "broken", str(why)

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for draw, outcome, why in pool.map(run, range(first, first + count)):
            outcomes[f"{draw.world.NAME}: {outcome}"] += 1
            if why:
                broken.append(f"{draw}\n{why}\nagain: RATOON_FIRST_SEED={draw.seed} RATOON_SEEDS=1 with this test")
                print(broken[-1], flush=True)
            if (done := outcomes.total()) % 1000 == 0:
                print(f"{done} of {count} draws after {time.monotonic() - began:.0f} s, {len(broken)} broke a law", flush=True)
    return broken, outcomes

"""Runs an example under `ratoon run` in stages, each in a world of its own size, and disturbs it at steps that a seed draws: what
it decides and prints and its bits at the end are those of an undisturbed run of the same stages. Used by tests of examples."""

import os
import random
import re
import signal
import subprocess

from decisions import check_same, read_decisions
from format_reader import read_newest
from local_run import LocalRun, is_running, wait_until

LINE = re.compile(r"^attempt (\d+) rank (\d+) step (\d+) (.*)$", re.M)
RESULT = re.compile(r"^(?:weights|the generator) .*$", re.M)
NOTICE = "3600s"  # so that the hand-over comes before its end on a machine with any load
INTERVAL = 7  # between saves
DISTURBANCES = ("kill_one", "kill_all", "kill_the_runner", "hand_over", "interrupt")


class ExampleRun(LocalRun):
    def __init__(self, command):
        super().__init__("example", {
            "checkpointPolicy": {"intervalSteps": INTERVAL, "keepLast": "All", "graceSeconds": 3600},
            # Silence is none of the disturbances, nor are many losses without a step a fault.
            "disruptionPolicy": {"heartbeatSeconds": 1, "suspectAfterSeconds": 3600},
            "restartPolicy": {"maxLossesWithoutStep": 1000}}, [str(word) for word in command])

    def start_stage(self, size, until, pause_ms):
        self.document["spec"]["numNodes"] = size
        self.write_job()
        self.words = ["--pause-ms", str(pause_ms), *(["--max-duration", f"{until}st"] if until else [])]
        self.start("--", *self.words)

    @property
    def place(self):
        return self.folder / "checkpoints" / "example"

    def lines(self):
        """(attempt, rank, step, the rest) of every line of every member."""
        return [(int(match[1]), int(match[2]), int(match[3]), match[4])
                for text in self.logs().values() for match in LINE.finditer(text)]

    def is_over(self):
        return self.process.poll() is not None

    def attempt_at(self, step, after):
        """The number of an attempt after that one that has made the step, or 0 if the stage ended before."""
        def look():
            found = [attempt for attempt, _, made, _ in self.lines() if attempt > after and made >= step]
            return max(found, default=0) or self.is_over()
        found = wait_until(look, f"step {step} in an attempt after {after}; {self.output()}")
        return 0 if found is True else found

    def wait_for_attempt_after(self, attempt):
        wait_until(lambda: self.job_status()["attempt"] > attempt or self.is_over(), f"an attempt after {attempt}")

    def members(self):
        """Those that have processes; none if the stage is over."""
        def look():
            return [member for member in self.status()["members"] if member["pids"]] or self.is_over()
        found = wait_until(look, "a member with a process")
        return [] if found is True else found

    def pids(self):
        return sorted(pid for member in self.members() for pid in member["pids"])

    def kill(self, pids):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended meanwhile

    # ---------------------------------------------------------------- disturbances of an attempt

    def kill_one(self, chance, attempt):
        pids = self.pids()
        self.kill(chance.sample(pids, min(1, len(pids))))
        self.wait_for_attempt_after(attempt)

    def kill_all(self, chance, attempt):
        del chance
        self.kill(self.pids())
        self.wait_for_attempt_after(attempt)

    def kill_the_runner(self, chance, attempt):
        del chance, attempt
        pids = self.pids()
        self.process.kill()
        self.process.wait()
        wait_until(lambda: not any(is_running(pid) for pid in pids), "members to end by themselves")
        self.start("--", *self.words)

    def hand_over(self, chance, attempt):
        noticed = {node["name"] for node in self.status()["nodes"] if node.get("ends_at")}
        nodes = sorted(member["node"] for member in self.members() if member["node"] not in noticed)
        try:
            if nodes:  # else the hand-over from a node before is in progress, or the stage is over
                self.reclaim(chance.choice(nodes), NOTICE)
        except subprocess.CalledProcessError:
            wait_until(self.is_over, "the end of a run that takes no request")
        self.wait_for_attempt_after(attempt)

    def interrupt(self, chance, attempt):
        """Ctrl-C, and the same command again."""
        del chance, attempt
        self.process.send_signal(signal.SIGINT)
        code, output = self.finish()
        if code not in (0, 130):  # 0: it was at its end
            raise AssertionError(f"Ctrl-C ends with {code}: {output}")
        self.start("--", *self.words)


class Outcome:
    """What a run decided, printed and left behind."""

    def __init__(self, run):
        self.decisions = read_decisions(run.place)
        newest, _ = read_newest(run.place)
        self.bits = [{name: tensor.data for name, tensor in own.items()} for own in newest.own]
        self.printed = {}
        for _, rank, step, rest in run.lines():
            self.printed.setdefault((step, rank), set()).add(rest)
        self.results = {line for text in run.logs().values() for line in RESULT.findall(text)}
        self.files = {path.name: path.read_text() for path in (run.place / "files").glob("*.csv")}

    def check_as(self, unbroken):
        check_same(self.decisions, unbroken.decisions)
        for what in ("printed", "results", "files", "bits"):
            if getattr(self, what) != getattr(unbroken, what):
                raise AssertionError(f"{what}: {getattr(self, what)}, and the unbroken run has {getattr(unbroken, what)}")


class Stages:
    """`stages`: (the size of the world, the step at its end) of each stage; None is the end that the program has by itself.
    `pause_ms` is that of a step, so that steps are left when a disturbance comes."""

    def __init__(self, command, stages, pause_ms=20):
        self.command, self.stages, self.pause_ms = command, stages, pause_ms
        self.unbroken, _ = self.play()

    def play(self, chance=None, count=0):
        """The outcome, and how often the run was disturbed."""
        run = ExampleRun(self.command)
        try:
            done = begin = 0
            for number, (size, until) in enumerate(self.stages):
                run.start_stage(size, until, self.pause_ms if chance else 0)
                if chance:
                    end = until or self.unbroken.decisions.end
                    due = -(-(count - done) // (len(self.stages) - number))
                    done += self.disturb(run, chance, sorted(chance.sample(range(begin + 1, end - 3), due)))
                code, output = run.finish()
                if code != 0:
                    raise AssertionError(f"stage {number} ends with {code}: {output}\n{run.logs()}")
                begin = until
            return Outcome(run), done
        finally:
            run.close()

    def disturb(self, run, chance, steps):
        done = attempt = 0
        for step in steps:
            attempt = run.attempt_at(step, after=attempt)
            if not attempt:
                break
            kind = chance.choice(DISTURBANCES)
            print(f"{kind} in attempt {attempt} at step {step}", flush=True)
            getattr(run, kind)(chance, attempt)
            done += 1
        return done

    def check_through(self, seed, disturbances, at_once):
        """Plays the stages until they were disturbed so often, `at_once` times in each run: (how often, in how many runs)."""
        print(f"RATOON_SEED={seed}", flush=True)
        chance, done, runs = random.Random(seed), 0, 0
        while done < disturbances:
            outcome, more = self.play(chance, min(at_once, disturbances - done))
            outcome.check_as(self.unbroken)
            done, runs = done + more, runs + 1
            if runs > 3 + 3 * disturbances:
                raise AssertionError(f"{runs} runs were disturbed {done} times: they end too early")
        return done, runs


def seed_and_count(in_ci):
    """(RATOON_SEED, RATOON_DISTURBANCES); trainers take the first variable for their own."""
    seed = int(os.environ.pop("RATOON_SEED", random.randrange(2**32)))
    return seed, int(os.environ.get("RATOON_DISTURBANCES", in_ci))

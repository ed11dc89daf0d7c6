"""A run of deciding_probe under `ratoon run`, and what is done to it: kills, notices, resizes, suspensions, each at a third of a
step at which all ranks are held. Used by the tests beside it."""

import os
import random
import re
import signal
import subprocess

from decisions import check_same, check_saves, handed_over, manifests, read_decisions
from local_run import BIN, PATIENCE_SECONDS, LocalRun, wait_until

LEAVE, STOP = 1 << 1, 1 << 3  # of agent/src/session/engine/control_word.h
HELD = re.compile(r"(\d+)-(\d+)")
NOTICE = "3600s"  # so that what follows from it comes before its end, however busy the machine is
# A member that comes back while the file is there waits for its end.
WAITS = 'while [ -e "$0" ]; do sleep 0.05; done; exec "$@"'


class DecidingRun:
    def __init__(self, best_at, size, is_elastic=False, interval=2, program=None):
        spec = {"numNodes": size,
                "checkpointPolicy": {"intervalSteps": interval, "keepLast": "All", "graceSeconds": 3600},
                # Silence is none of what is done here, nor are many losses without a step a fault.
                "disruptionPolicy": {"heartbeatSeconds": 1, "suspectAfterSeconds": 3600},
                "restartPolicy": {"maxLossesWithoutStep": 1000}}
        if is_elastic:
            spec["elasticPolicy"] = {"minReplicas": 1, "shrinkAfterSeconds": 0, "growCooldownSeconds": 0}
        self.run = LocalRun("deciding", spec, ["unknown yet"], held_at=0)
        self.words, self.closed = self.run.root / "words", self.run.root / "closed"
        (self.words / "held").mkdir(parents=True)
        self.run.document["spec"]["roles"][0]["template"]["spec"]["containers"][0]["command"] = [
            "sh", "-c", WAITS, str(self.closed), str(program or BIN / "deciding_probe"), "--agree", str(self.words),
            "--best-at", str(best_at), "--steps", str(10 * best_at + 100), "--seed", str(best_at)]
        self.run.write_job()
        self.third = 0  # at which ranks are held
        self.asked = set()  # attempts that somebody asked to save

    def close(self):
        self.run.close()

    @property
    def folder(self):
        return self.run.folder / "checkpoints" / "deciding"

    def marks(self):
        """(attempt, {rank: (third, world size, wishes)}) of the newest attempt."""
        found = [(int(match[1]), int(match[2]), path) for path in (self.words / "held").iterdir()
                 if (match := HELD.fullmatch(path.name))]
        newest = max((attempt for attempt, _, _ in found), default=0)
        return newest, {rank: tuple(map(int, path.read_text().split())) for attempt, rank, path in found if attempt == newest}

    def wait_until_held(self, after=0, size=None):
        """The attempt, one after that, and its size, once all of its ranks stand at the gate."""
        def standing():
            attempt, marks = self.marks()
            sizes = {of for _, of, _ in marks.values()}
            if attempt <= after or sizes != {len(marks)} or (size or len(marks)) != len(marks):
                return None
            return (attempt, len(marks)) if {at for at, _, _ in marks.values()} == {self.third} else None
        try:
            ranks = f"all {size} ranks" if size else "all ranks"
            return wait_until(standing, f"{ranks} of an attempt after {after} to be held at third {self.third}")
        except AssertionError as why:
            raise AssertionError(f"{why}; held are {self.marks()}\n{self.run.output()[-4000:]}\n{self.run.logs()}") from why

    def wait_for_wish(self, attempt, bits):
        """Until a rank of that attempt has heard that it is to do that after the step."""
        def is_told():
            now, marks = self.marks()
            return now != attempt or any(wishes & bits for _, _, wishes in marks.values())
        wait_until(is_told, f"attempt {attempt} to be told")

    def let_pass(self, third):
        self.third = third
        self.run.let_pass(third)

    def pass_an_agreement(self):
        """And the end of the step that it is for."""
        self.let_pass((self.third + 2) // 3 * 3 + 3)

    def start(self):
        self.run.start()
        return self

    def to_the_end(self):
        """What it decided."""
        self.run.let_pass(10**9)
        code, output = self.run.finish()
        if code != 0:
            raise AssertionError(f"the run ends with {code}: {output}\n{self.run.logs()}")
        decided = read_decisions(self.folder)
        reason = decided.finished["reason"]
        if f"completed at step {decided.end}: {reason}" not in output or self.run.job_status()["finishReason"] != reason:
            raise AssertionError(f"the reason is not {reason}: {output}")
        return decided

    def seated(self, attempt):
        """{name: [pid]} of the members of that world."""
        def found():
            status = self.run.job_status()
            if status["attempt"] != attempt or not status["formed"]:
                return None
            names = {f"deciding-worker-{m['index']}-i{m['incarnation']}" for m in status["members"] if not m.get("absent")}
            pids = {m["name"]: m["pids"] for m in self.run.status()["members"] if m["name"] in names and m["pids"]}
            return pids if pids.keys() == names else None
        return wait_until(found, f"the members of attempt {attempt}")

    def kill(self, pids):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # the runner ended it, since another one is lost

    # ---------------------------------------------------------------- what is done to it: each takes a step at most

    def kill_some(self, chance, attempt):
        pids = sorted(pid for pids in self.seated(attempt).values() for pid in pids)
        self.kill(chance.sample(pids, chance.randint(1, len(pids))))
        self.wait_until_held(after=attempt)

    def kill_while_it_trains(self, chance, attempt):
        pids = sorted(pid for pids in self.seated(attempt).values() for pid in pids)
        victims = chance.sample(pids, chance.randint(1, len(pids)))
        self.let_pass(self.third + chance.randint(1, 3))
        self.kill(victims)
        self.wait_until_held(after=attempt)

    def kill_the_runner(self, chance, attempt):
        pids = [pid for pids in self.seated(attempt).values() for pid in pids]
        self.run.process.kill()
        self.run.process.wait()
        if chance.random() < 0.5:
            self.kill(pids)
        wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), "members to end by themselves")
        self.run.start()
        self.wait_until_held(after=attempt)

    def hand_over(self, chance, attempt):
        """The node of one member has notice: a successor takes over beside it."""
        node = chance.choice(sorted(m["node"] for m in self.run.status()["members"] if m["name"] in self.seated(attempt)))
        self.asked.add(attempt)
        self.run.reclaim(node, NOTICE)
        self.wait_for_wish(attempt, LEAVE)
        self.pass_an_agreement()
        self.wait_until_held(after=attempt)

    def suspend(self, chance, attempt):
        del chance
        self.asked.add(attempt)
        self.control("suspend")
        self.wait_for_wish(attempt, LEAVE | STOP)
        self.pass_an_agreement()
        wait_until(lambda: self.run.job_status()["phase"] == "Suspended" and not self.run.status()["members"],
                   "no process to be held")
        self.control("resume")
        self.wait_until_held(after=attempt)

    def stop_and_resize(self, chance, attempt):
        """Ctrl-C, and the same command again with a job of another size."""
        self.asked.add(attempt)
        self.run.process.send_signal(signal.SIGINT)
        self.wait_for_wish(attempt, LEAVE | STOP)
        self.pass_an_agreement()
        code, output = self.run.finish()
        if code != 130:
            raise AssertionError(f"Ctrl-C ends with {code}: {output}")
        size = chance.choice([1, 2, 4])
        self.run.document["spec"]["numNodes"] = size
        self.run.write_job()
        self.run.start()
        self.wait_until_held(after=attempt, size=None if "elasticPolicy" in self.run.document["spec"] else size)

    def shrink_and_grow(self, chance, attempt):
        """A member is lost and comes back late: the world goes on without it, and hands over to a larger one. Where others are
        on their way back meanwhile, the next size is theirs to decide: then some are killed."""
        seated = self.seated(attempt)
        if len(seated) == 1 or len(seated) < self.run.document["spec"]["numNodes"]:
            return self.kill_some(chance, attempt)
        self.closed.touch()
        self.kill(seated[chance.choice(sorted(seated))])
        smaller, _ = self.wait_until_held(after=attempt, size=len(seated) - 1)
        self.pass_an_agreement()
        self.wait_until_held(after=attempt, size=len(seated) - 1)
        self.closed.unlink()
        self.asked.add(smaller)
        self.wait_for_wish(smaller, LEAVE)
        self.pass_an_agreement()
        return self.wait_until_held(after=smaller)

    def control(self, word):
        subprocess.run([BIN / "ratoon", word, self.run.folder], check=True, timeout=PATIENCE_SECONDS, stdout=subprocess.DEVNULL)


class Trial:
    """Runs of one program, of which one is unbroken."""

    def __init__(self, best_at, interval=2, program=None):
        self.best_at, self.interval, self.program = best_at, interval, program
        run = self.new(1)
        try:
            self.unbroken = run.start().to_the_end()
            # A wish that is made in a step that is saved, and takes effect with the next one.
            self.pending = sorted(step for (_, step), manifest in manifests(run.folder).items() if "wishes" in manifest["run"])
        finally:
            run.close()

    def new(self, size, is_elastic=False):
        return DecidingRun(self.best_at, size, is_elastic, self.interval, self.program)

    def check_unbroken(self, size):
        run = self.new(size)
        try:
            decided = run.start().to_the_end()
        finally:
            run.close()
        check_same(decided, self.unbroken)
        if decided.saves != self.unbroken.saves:
            raise AssertionError(f"{size} ranks save {sorted(decided.saves)}, and one rank {sorted(self.unbroken.saves)}")

    def check_disturbed(self, seed, size, kinds, is_elastic=False):
        """Each of the kinds in that order, at moments that the seed draws, in about half of them with a wish pending in what is
        saved."""
        chance = random.Random(seed)
        run = self.new(size, is_elastic)
        try:
            run.start()
            run.wait_until_held()
            for number, kind in enumerate(kinds):
                self.go_on(run, chance, len(kinds) - number)
                attempt, _ = run.wait_until_held()
                print(f"seed {seed}, {size} ranks: {kind} in attempt {attempt} at step {run.third / 3:.2f}", flush=True)
                getattr(run, kind)(chance, attempt)
            decided = run.to_the_end()
            check_same(decided, self.unbroken)
            check_saves(run.folder, self.unbroken, run.asked | handed_over(run.run.logs()))
            return decided
        finally:
            run.close()

    def go_on(self, run, chance, left):
        """To the moment of the next disturbance, of so many that are left."""
        step = run.third // 3
        furthest = step + max(1, (self.unbroken.end - 3 - step) // left - 3)
        if furthest >= self.unbroken.end - 2:
            raise AssertionError(f"at step {step} of {self.unbroken.end} with {left} disturbances left: take a longer run")
        pending = [one for one in self.pending if step < one <= furthest + 3]
        if pending and chance.random() < 0.5:
            run.let_pass(3 * chance.choice(pending))
            run.wait_until_held()
            saved = run.third // 3
            wait_until(lambda: any(one == saved for _, one in run.run.commits()), f"step {saved} to be committed")
        else:
            run.let_pass(3 * chance.randint(step + 1, furthest) + chance.randint(0, 2))
            run.wait_until_held()

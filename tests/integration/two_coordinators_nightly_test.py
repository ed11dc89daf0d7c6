"""Two coordinators of two jobs on one save folder and run name: `ratoon run` and `ratoon launch`, by the same path, a link, a
bind mount and a relative path, and at the moments at which a claim changes hands. One job is let in; what is saved is of one
job; no step that was said to be durable is lost."""

import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from local_run import BIN, PATIENCE_SECONDS, LocalRun, wait_until

STEPS = 3000
HELD_AT = 25
LEASE_SECONDS = 30
DURABLE = re.compile(r"checkpoint of step (\d+) is durable")
MOUNT = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
         'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh"]
KINDS = ("run", "launch")
PATHS = ("same", "link", "mount", "relative")
# Of the first and of the second job. Each moment has each pair once, and each path another pair in each moment.
PAIRS = [(first, second) for first in KINDS for second in KINDS]


def what_is_missing():
    if os.geteuid() != 0:
        return "a bind mount in a mount namespace takes root"
    if shutil.which("unshare") is None or subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        return "no mount namespace can be made here"
    return None


class Contender(LocalRun):
    """A job with a folder of its own, that saves at `place`, reached by a path of this kind."""

    def __init__(self, kind, path, place):
        super().__init__(command=["gated_counter", "--steps", str(STEPS), "--pause-ms", "0"], held_at=HELD_AT)
        self.kind = kind
        self.within = []
        self.save_folder = place
        if path == "link":
            self.save_folder = self.root / "link"
            self.save_folder.symlink_to(place)
        elif path == "mount":
            self.save_folder = self.root / "mount"
            self.save_folder.mkdir()
            self.within = [*MOUNT, place, self.save_folder]
        elif path == "relative":
            self.save_folder = os.path.relpath(place)

    def begin(self):
        flags = ["--save-folder", str(self.save_folder), "--run-name", "shared", "--hang-after", "1h"]
        if self.kind == "run":
            return self.start("--", *flags, within=self.within)
        with open(self.root / "output.txt", "w") as output:
            self.process = subprocess.Popen(
                [*self.within, BIN / "ratoon", "launch", "--nproc", "2", "--folder", self.folder, "--", "gated_counter",
                 "--steps", str(STEPS), "--pause-ms", "0", "--save-every", "10", *flags],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                env={**os.environ, **self.gate.environment})
        return self

    def signal_all(self, number):
        """The coordinator first: it is to do nothing about what becomes of its members."""
        for pid in (self.process.pid, *self.pids_of(0), *self.pids_of(1)):
            os.kill(pid, number)

    def said(self):
        return self.output() + "".join(self.logs().values())

    def durable(self):
        """The last step that was said to be."""
        return max((int(step) for step in DURABLE.findall(self.output())), default=0)

    def uid(self):
        return (self.folder / "uid").read_text().strip()


class Place:
    """Where both save, watched: the owners of each manifest that ever stood there."""

    def __init__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-two-coordinators-"))
        self.run = self.root / "shared"
        self.owners = {}
        self.is_over = threading.Event()
        self.watch = threading.Thread(target=self.look_until_over, daemon=True)
        self.watch.start()

    def look(self):
        for path in self.run.glob("manifests/*.json"):
            if path.name not in self.owners:
                try:
                    manifest = json.loads(path.read_text().rpartition("crc32c:")[0])
                except FileNotFoundError:
                    continue  # a newer one took its place
                self.owners[path.name] = {pack["owner"] for pack in manifest["packs"]}

    def look_until_over(self):
        while not self.is_over.wait(0.005):
            self.look()

    def claims(self):
        return {path.name for path in self.run.glob("claims/c*.txt")}

    def newest_step(self):
        return max((int(path.name[1:11]) for path in self.run.glob("manifests/s*.json")), default=0)

    def close(self):
        self.is_over.set()
        self.watch.join()
        shutil.rmtree(self.root, ignore_errors=True)


class Contest:
    """One pair of jobs, and what `test` demands of them."""

    def __init__(self, test, path, first, second):
        self.test = test
        self.name = f"{first}, then {second} by the path '{path}'"
        self.place = Place()
        test.addCleanup(self.place.close)
        self.first = Contender(first, "same", self.place.root)
        self.second = Contender(second, path, self.place.root)
        for contender in (self.first, self.second):
            test.addCleanup(contender.close)

    def assert_refused(self, loser, winner):
        code, _ = loser.finish()
        said = loser.said()
        self.test.assertEqual(code, 82, said)
        self.test.assertIn(f"of {winner.uid()} trains here, and the job is alive: end it, or give this run another name; "
                           "nothing was changed", said)
        self.test.assertEqual(loser.durable(), 0, said)

    def assert_wins(self, winner, others=()):
        """It ends as if it had been alone; `others` had the place before."""
        reported = max([winner.durable(), *(other.durable() for other in others)])
        self.test.assertIsNone(winner.process.poll(), winner.said())
        winner.let_pass(STEPS)
        code, output = winner.finish()
        self.test.assertEqual(code, 0, winner.said())
        self.test.assertIn(f"done: {STEPS} steps, sum {STEPS * (STEPS - 1) // 2}", "".join(winner.logs().values()))
        first = min((step for _, _, step, _ in winner.lines()), default=None)
        durable_before = max((other.durable() for other in others), default=0)
        self.test.assertGreaterEqual(first, durable_before, "no step that was said to be durable is made again")
        self.test.assertGreaterEqual(self.place.newest_step(), max(reported, winner.durable(), STEPS))
        self.place.look()
        allowed = {contender.uid() for contender in (winner, *others)}
        for manifest, owners in self.place.owners.items():
            self.test.assertEqual(len(owners), 1, f"{manifest} is of two jobs: {owners}")
            self.test.assertLessEqual(owners, allowed, manifest)
        self.test.assertEqual(set().union(*(owners for name, owners in self.place.owners.items() if f"s{STEPS:010}" in name)),
                         {winner.uid()})
        verified = subprocess.run([BIN / "ratoon", "checkpoint", "verify", self.place.run], text=True, capture_output=True,
                                  timeout=PATIENCE_SECONDS)
        self.test.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        manifests = list(self.place.run.glob("manifests/*.json"))
        self.test.assertEqual(verified.stdout.count(": good"), len(manifests), verified.stdout)

    def let_the_first_train(self):
        self.first.begin()
        passed = itertools.count(HELD_AT)

        def is_told_after_a_step():
            self.first.let_pass(next(passed))
            return self.first.durable() >= 20

        wait_until(is_told_after_a_step, f"{self.name}: two checkpoints of the first job")

    def at_once(self):
        both = [self.first.begin(), self.second.begin()]
        loser = wait_until(lambda: next((one for one in both if one.process.poll() is not None), None),
                           f"{self.name}: one to end")
        winner = next(one for one in both if one is not loser)
        self.assert_refused(loser, winner)
        self.assert_wins(winner)

    def while_the_first_trains(self):
        self.let_the_first_train()
        self.assert_refused(self.second.begin(), self.first)
        self.assert_wins(self.first)

    def as_the_claim_is_renewed(self):
        self.let_the_first_train()
        before = self.place.claims()
        wait_until(lambda: self.place.claims() - before, f"{self.name}: a renewal")
        self.assert_refused(self.second.begin(), self.first)
        self.assert_wins(self.first)

    def after_a_kill_of_the_coordinator(self):
        """Its members see that it is gone, and let go of the claim."""
        self.let_the_first_train()
        os.kill(self.first.process.pid, signal.SIGKILL)
        self.second.begin()
        wait_until(self.second.lines, f"{self.name}: the second job's first step")
        self.assert_wins(self.second, [self.first])

    def after_a_kill_of_all(self):
        """As a machine dies: nobody lets go of the claim."""
        self.let_the_first_train()
        self.first.signal_all(signal.SIGSTOP)  # or a member would be started again
        self.first.signal_all(signal.SIGKILL)
        self.let_the_second_take_over()
        self.assert_wins(self.second, [self.first])

    def as_a_stopped_job_wakes(self):
        """It has slept for longer than its claim lasts, and would go on."""
        self.let_the_first_train()
        self.first.signal_all(signal.SIGSTOP)
        self.let_the_second_take_over()
        self.first.let_pass(STEPS)
        self.first.signal_all(signal.SIGCONT)
        code, _ = self.first.finish()
        self.test.assertEqual(code, 82, self.first.said())
        self.test.assertIn(f"of {self.second.uid()}", self.first.said())
        self.assert_wins(self.second, [self.first])

    def let_the_second_take_over(self):
        began = time.monotonic()
        self.second.begin()
        wait_until(self.second.lines, f"{self.name}: the second job's first step")
        self.test.assertGreaterEqual(time.monotonic() - began, LEASE_SECONDS, self.second.said())


class TwoCoordinators(unittest.TestCase):
    contests = 0

    @classmethod
    def tearDownClass(cls):
        print(f"{cls.contests} contests were judged")

    def contend(self, moment, turn):
        """All paths side by side: each contest mostly waits."""
        contests = [Contest(self, path, *PAIRS[(number + turn) % len(PAIRS)]) for number, path in enumerate(PATHS)]
        with concurrent.futures.ThreadPoolExecutor(len(contests)) as pool:
            results = {contest.name: pool.submit(moment, contest) for contest in contests}
        for name, result in results.items():
            with self.subTest(name):
                result.result()
                TwoCoordinators.contests += 1

    def test_at_once(self):
        self.contend(Contest.at_once, 0)

    def test_while_the_first_trains(self):
        self.contend(Contest.while_the_first_trains, 1)

    def test_as_the_claim_is_renewed(self):
        self.contend(Contest.as_the_claim_is_renewed, 2)

    def test_after_a_kill_of_the_coordinator(self):
        self.contend(Contest.after_a_kill_of_the_coordinator, 3)

    def test_after_a_kill_of_all(self):
        self.contend(Contest.after_a_kill_of_all, 4)

    def test_as_a_stopped_job_wakes(self):
        self.contend(Contest.as_a_stopped_job_wakes, 5)


if __name__ == "__main__":
    if missing := what_is_missing():
        print(f"SKIPPED: {missing}")
        sys.exit(77)
    unittest.main()

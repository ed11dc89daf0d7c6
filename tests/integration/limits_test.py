"""resources.limits on one machine, by real cgroups of version 1: the runner is in one of the test's own, below which it makes
those of its members. What version 2 asks for is in the unit tests."""

import os
import pathlib
import random
import signal
import sys
import tempfile
import unittest

from local_run import LocalRun, wait_until
from trainer_words_test import TRAINER, told_words, words_of

ROOT = pathlib.Path("/sys/fs/cgroup")
MIB = 1 << 20
HUNGRY = ["dd", "if=/dev/zero", "of=/dev/null", "bs=512M", "count=1"]  # takes its block at once
TELLS_ITS_OPTION = TRAINER + 'os.write(1, os.environb[b"my.option"])\n'
OUT_OF_MEMORY = "ended by signal 9: its memory limit was reached (OOMKilled)"


def why_not():
    for controller in ("memory", "cpu"):
        if not (ROOT / controller / "cgroup.procs").exists():
            return f"there are no cgroups of version 1 with a {controller} controller"
        if not os.access(ROOT / controller, os.W_OK):
            return f"{ROOT / controller} is not this user's to write"
    return None


class Limits(unittest.TestCase):
    def setUp(self):
        self.own = []
        for controller in ("memory", "cpu"):
            self.own.append(pathlib.Path(tempfile.mkdtemp(prefix="ratoon-test-", dir=ROOT / controller)))
            self.addCleanup(self.remove, self.own[-1])

    def remove(self, own):
        """Whatever a test that failed has left in it."""
        for folder, _, _ in os.walk(own, topdown=False):
            path = pathlib.Path(folder)
            for pid in (path / "cgroup.procs").read_text().split():
                os.kill(int(pid), signal.SIGKILL)
            wait_until(lambda path=path: not (path / "cgroup.procs").read_text(), "its processes to end")
            path.rmdir()

    def begin(self, run, before="", words=()):
        enter = "".join(f"echo 0 > {own}/cgroup.procs && " for own in self.own)
        return run.start(*words, within=("unshare", "--mount", "sh", "-c", enter + before + 'exec "$@"', "sh"))

    def make_run(self, **arguments):
        run = LocalRun(**arguments)
        self.addCleanup(run.close)
        return run

    def members(self, own):
        return sorted(path for run in own.glob("ratoon-run-*") for path in run.iterdir() if path.is_dir())

    def assert_nothing_is_left(self):
        for own in self.own:
            self.assertEqual([path for path in own.iterdir() if path.is_dir()], [])

    def test_a_member_that_reaches_its_limit_has_failed_and_it_is_said_why(self):
        run = self.begin(self.make_run(command=HUNGRY, limits={"memory": "64Mi"},
                                       spec={"numNodes": 1, "restartPolicy": {"maxRestarts": 1, "backoffSeconds": 0}}))
        code, output = run.finish()
        self.assertEqual(code, 1, output)
        self.assertIn(f"counter-worker-0-i0: {OUT_OF_MEMORY}\n", output)
        self.assertIn("maxRestarts (1) is used up", output)
        self.assertIn(OUT_OF_MEMORY, run.job_status()["lastFailure"]["reason"])
        self.assert_nothing_is_left()

    def test_a_rule_takes_it_for_what_the_job_says(self):
        rules = [{"reasons": ["OOMKilled"], "action": "Fail"}]
        run = self.begin(self.make_run(command=HUNGRY, limits={"memory": "64Mi"},
                                       spec={"numNodes": 1, "restartPolicy": {"rules": rules}}))
        code, output = run.finish()
        self.assertEqual(code, 1, output)
        self.assertIn(f"{OUT_OF_MEMORY} (rules[0]: Fail)", output)
        self.assertNotIn("restartPolicy.rules", output, "nothing of it passes here")

    def test_each_member_has_its_limits_and_a_kill_is_still_a_kill(self):
        run = self.begin(self.make_run(limits={"memory": "256Mi", "cpu": "1500m"}, held_at=195))
        run.wait_for_commit(10)
        memory, cpu = self.own
        names = ["counter-worker-0-i0", "counter-worker-1-i0"]
        self.assertEqual([[path.name for path in self.members(own)] for own in self.own], [names, names])
        for path in self.members(memory):
            self.assertEqual(int((path / "memory.limit_in_bytes").read_text()), 256 * MIB)
        for path in self.members(cpu):
            self.assertEqual(int((path / "cpu.cfs_quota_us").read_text()) / int((path / "cpu.cfs_period_us").read_text()), 1.5)
        pids = [int(line) for path in self.members(memory) for line in (path / "cgroup.procs").read_text().split()]
        self.assertEqual(pids, run.pids_of(0) + run.pids_of(1))
        run.hurt(0)
        wait_until(lambda: run.job_status()["attempt"] == 2, "attempt 2")
        run.let_pass(200)
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        self.assertIn("counter-worker-0-i0: ended by signal 9\n", output)
        self.assert_nothing_is_left()

    def test_words_and_variables_reach_the_trainer_byte_for_byte(self):
        """A shell stands before the trainer. It drops variables whose names have a '.', and must expand none of the words."""
        seed = int(os.environ.get("RATOON_SEED", random.randrange(1 << 30)))
        words = words_of(seed)
        run = self.make_run(command=[sys.executable, "-c", TELLS_ITS_OPTION, "of the file"],
                            limits={"memory": "256Mi", "cpu": "1500m"}, spec={"numNodes": 1})
        told, option = run.root / "told", "a 'b' [64,32] \"$HOME\" \\"
        role = run.document["spec"]["roles"][0]
        role["agent"] = "None"  # its end is a success
        role["template"]["spec"]["containers"][0]["env"] = [{"name": "WORDS", "value": str(told)},
                                                            {"name": "my.option", "value": option}]
        run.write_job()
        code, output = self.begin(run, words=["--", *words]).finish()
        self.assertEqual(code, 0, output)
        self.assertNotIn("not enforced", output)
        self.assertEqual(told_words(told), [["of the file", *words]], f"RATOON_SEED={seed}")
        self.assertEqual(run.logs(), {"counter-worker-0-i0": option})
        self.assert_nothing_is_left()

    def test_the_next_run_clears_what_a_killed_runner_left(self):
        # In a session of its own nothing else would end it.
        run = self.begin(self.make_run(command=["sh", "-c", "setsid sleep 600 & exec gated_counter --steps 200 --pause-ms 10"],
                                       limits={"memory": "256Mi"}, held_at=15))
        run.wait_for_commit(10)
        inside = {int(pid) for path in self.members(self.own[0]) for pid in (path / "cgroup.procs").read_text().split()}
        left = inside - {*run.pids_of(0), *run.pids_of(1)}
        self.assertEqual(len(left), 2)
        run.process.kill()
        run.process.wait()
        self.assertTrue(self.members(self.own[0]))
        run.let_pass(195)
        self.begin(run)
        run.wait_for_commit(20, attempt=2)
        for pid in left:
            self.assertFalse(os.path.exists(f"/proc/{pid}/exe"), "it ended with the cgroup that it was in")
        run.let_pass(200)
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        self.assert_nothing_is_left()

    def test_what_cannot_be_enforced_is_said_once_and_passes(self):
        run = self.begin(self.make_run(limits={"memory": "256Mi"}),
                         before=f"mount -o bind,remount,ro {ROOT / 'memory'} && ")
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        said = [line for line in output.splitlines() if "resources" in line]
        self.assertEqual(len(said), 1, output)
        self.assertRegex(said[0], "^resources.limits.memory is not enforced here: creating .*/ratoon-run-[0-9a-f]{32}: "
                                  "Read-only file system; members are not limited$")

    def test_a_program_that_is_missing_is_refused_as_without_limits(self):
        run = self.begin(self.make_run(command=["no-such-trainer"], limits={"memory": "256Mi"}))
        code, output = run.finish()
        self.assertEqual(code, 82, output)
        self.assertIn("starting 'no-such-trainer': No such file or directory", output)
        self.assert_nothing_is_left()

    def test_a_limit_that_is_no_quantity_is_refused(self):
        run = self.begin(self.make_run(limits={"memory": "64 megabytes"}))
        code, output = run.finish()
        self.assertEqual(code, 82, output)
        self.assertIn("resources.limits.memory must be a quantity like 512Mi", output)


if __name__ == "__main__":
    if reason := why_not():
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    unittest.main()

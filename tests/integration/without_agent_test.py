"""A plain Python program under `ratoon run`: its members are numbered at their start, and the loss of one starts all anew."""

import json
import pathlib
import signal
import sys
import unittest

from local_run import LocalRun, is_running, wait_until

TRAINER = pathlib.Path(__file__).with_name("plain_trainer.py")
STEPS = 300
WORLD = 3


class WithoutAgent(unittest.TestCase):
    def run_job(self, steps=STEPS, command=None, **spec):
        run = LocalRun(spec={"numNodes": WORLD, **spec}, held_at=STEPS - 5)
        self.addCleanup(run.close)
        role = run.document["spec"]["roles"][0]
        role["agent"] = "None"
        role["template"]["spec"]["containers"][0]["command"] = \
            command or [sys.executable, str(TRAINER), str(run.root), str(steps)]
        run.write_job()
        return run

    def kept(self, run):
        path = run.root / "kept.json"
        return json.loads(path.read_text())["step"] if path.exists() else 0

    def check_end(self, run, attempt):
        wait_until(lambda: run.job_status()["attempt"] == attempt and run.job_status()["formed"], f"attempt {attempt}")
        run.let_pass(STEPS)
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        self.assertEqual(run.job_status()["attempt"], attempt, output)
        total = sum(step * (1 + 2 + 3) for step in range(STEPS))
        newest = {m: max(n for n in run.logs() if n.startswith(f"counter-worker-{m}-")) for m in range(WORLD)}
        for member, name in newest.items():
            text = run.logs()[name]
            self.assertIn(f"rank {member} of {WORLD}, told of an agent: []", text)
            self.assertIn(f"total {total}\n", text, "each step counts once, whoever was lost")
        return output

    def test_the_loss_of_one_starts_all_anew_and_costs_no_restart(self):
        run = self.run_job(restartPolicy={"maxRestarts": 0}).start()
        wait_until(lambda: self.kept(run) >= 20, "20 steps")
        run.hurt(1)
        wait_until(lambda: run.job_status()["attempt"] == 2 and run.job_status()["formed"], "another group")
        reached = self.kept(run)
        run.hurt(0)  # the one with the address
        output = self.check_end(run, attempt=3)
        self.assertGreater(reached, 19)
        status = run.job_status()
        self.assertEqual(status["restarts"]["disruption"], 2, output)
        self.assertEqual(status["restarts"]["application"], 0, output)
        self.assertEqual([m["incarnation"] for m in status["members"]], [2, 2, 2], "all of them, each time")
        self.assertIn("all members run again after", output)

    def test_a_failure_uses_up_one_restart_whoever_follows_it(self):
        fails_once = f'[ $RATOON_INCARNATION$RANK = 01 ] && exit 3; exec {sys.executable} {TRAINER} "$0" {STEPS}'
        run = self.run_job(command=["sh", "-c", fails_once, "."], restartPolicy={"maxRestarts": 1, "backoffSeconds": 0})
        run.document["spec"]["roles"][0]["template"]["spec"]["containers"][0]["command"][-1] = str(run.root)
        run.write_job()
        run.let_pass(STEPS)
        run.start()
        output = run.finish()[1]
        self.assertEqual(run.job_status()["restarts"]["application"], 1, output)
        self.assertIn("counter-worker-1-i0: exit code 3", output)
        self.assertEqual(run.process.returncode, 0, output)

    def test_ctrl_c_and_another_run_make_all_members_anew(self):
        run = self.run_job().start()
        wait_until(lambda: self.kept(run) >= 20, "20 steps")
        run.process.send_signal(signal.SIGINT)
        self.assertEqual(run.finish()[0], 130)
        run.start()
        self.check_end(run, attempt=2)

    def test_nobody_outlives_a_run_that_is_killed(self):
        run = self.run_job(steps=1_000_000).start()
        wait_until(lambda: self.kept(run) >= 5, "5 steps")
        pids = [pid for m in run.status()["members"] for pid in m["pids"]]
        self.assertEqual(len(pids), WORLD)
        run.process.kill()
        run.process.wait()
        wait_until(lambda: not any(is_running(pid) for pid in pids), "the members to end with their run")


if __name__ == "__main__":
    unittest.main()

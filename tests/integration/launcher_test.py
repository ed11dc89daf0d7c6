"""Programs that know nothing of Ratoon under `agent: Launcher` and `ratoon run`: losses, notice, failures, restarts in place.
ratoon-launcher runs on its own in launcher_alone_test.py."""

import json
import os
import pathlib
import re
import signal
import sys
import unittest

from local_run import LocalRun, is_running, wait_until

PLAIN = pathlib.Path(__file__).with_name("plain_trainer.py")
TRAINER = pathlib.Path(__file__).with_name("launched_trainer.py")
STEPS = 300
WORLD = 3


def children_of(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class Launched(unittest.TestCase):
    def run_job(self, trainer=PLAIN, steps=STEPS, words=(), **spec):
        run = LocalRun("any", spec={"numNodes": WORLD, **spec}, held_at=STEPS - 5)
        self.addCleanup(run.close)
        role = run.document["spec"]["roles"][0]
        role["agent"] = "Launcher"
        role["template"]["spec"]["containers"][0]["command"] = [sys.executable, str(trainer), str(run.root), str(steps), *words]
        run.write_job()
        return run

    def wait_for(self, run, attempt):
        wait_until(lambda: run.job_status()["attempt"] == attempt and run.job_status()["formed"], f"attempt {attempt}")

    def wait_for_step(self, run, step):
        kept = run.root / "kept.json"
        wait_until(lambda: kept.exists() and json.loads(kept.read_text())["step"] >= step, f"step {step}")

    def wait_for_programs(self, run):
        """Returns once each program of launched_trainer.py listens for SIGTERM: before, the signal ends it without a word."""
        for index in range(WORLD):
            log = f"any-worker-{index}-i0"
            wait_until(lambda name=log: " begins at " in run.logs().get(name, ""), f"the program of rank {index}")

    def launchers(self, run):
        return {m["name"]: m["pids"] for m in run.status()["members"] if m["phase"] == "Running"}

    def check_totals(self, run, attempt):
        run.let_pass(STEPS)
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        self.assertEqual(run.job_status()["attempt"], attempt, output)
        total = sum(step * (1 + 2 + 3) for step in range(STEPS))
        for index in range(WORLD):
            newest = max(name for name in run.logs() if name.startswith(f"any-worker-{index}-"))
            text = run.logs()[newest]
            self.assertIn(f"rank {index} of {WORLD}, told of an agent: []", text)
            self.assertIn(f"total {total}\n", text, "each step counts once, whichever member was lost")
        return output

    def test_a_lost_member_is_replaced_alone_and_the_others_start_again_in_their_pods(self):
        run = self.run_job(restartPolicy={"maxRestarts": 0}).start()
        self.wait_for(run, 1)
        self.wait_for_step(run, 2)
        before = self.launchers(run)
        run.hurt(1)
        self.wait_for(run, 2)
        output = self.check_totals(run, attempt=2)
        status = run.job_status()
        self.assertEqual([m["incarnation"] for m in status["members"]], [0, 1, 0], output)
        self.assertEqual(status["restarts"]["disruption"], 1, output)
        self.assertEqual(status["restarts"]["application"], 0, "failures that follow from the loss count for nothing")
        self.assertIn("all members run again after", output)
        self.assertEqual(len(before), WORLD)

    def test_a_silent_member_is_replaced(self):
        run = self.run_job(disruptionPolicy={"suspectAfterSeconds": 15}).start()
        self.wait_for(run, 1)
        self.wait_for_step(run, 2)
        launcher = run.pids_of(1)[0]
        tree = [launcher, *children_of(launcher)]
        self.assertEqual(len(tree), 2)
        for pid in tree:
            os.kill(pid, signal.SIGSTOP)
        self.wait_for(run, 2)
        self.check_totals(run, attempt=2)
        self.assertEqual(run.job_status()["members"][1]["incarnation"], 1)
        for pid in tree:
            wait_until(lambda p=pid: not pathlib.Path(f"/proc/{p}").exists(), "the silent processes to be killed")

    def test_a_killed_program_starts_again_in_its_pod(self):
        run = self.run_job(restartPolicy={"maxRestarts": 0}).start()
        self.wait_for(run, 1)
        self.wait_for_step(run, 2)
        launcher = run.pids_of(1)[0]
        os.kill(children_of(launcher)[0], signal.SIGKILL)
        self.wait_for(run, 2)
        self.assertEqual(run.pids_of(1), [launcher])
        output = self.check_totals(run, attempt=2)
        status = run.job_status()
        self.assertEqual([m["incarnation"] for m in status["members"]], [0, 0, 0], output)
        self.assertIn("ratoon-launcher: the program was ended by signal 9", run.logs()["any-worker-1-i0"])

    def test_notice_reaches_all_programs_as_sigterm_with_its_deadline(self):
        run = self.run_job(TRAINER, words=("0", "--rank=$(RANK)", "--size=$(WORLD_SIZE)")).start()
        self.wait_for(run, 1)
        self.wait_for_programs(run)
        run.reclaim("node-2", "60s")
        wait_until(lambda: run.job_status()["attempt"] == 2 and run.job_status()["formed"], "the hand-over")
        wait_until(lambda: "any-worker-1-i1" in run.logs() and "begins at" in run.logs()["any-worker-1-i1"], "the successor")
        run.let_pass(STEPS)
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        self.assertEqual(run.job_status()["restarts"]["disruption"], 0, "notice that is kept is no loss")
        # On a slow machine a member may hear first that the next world forms, and then it has two seconds.
        for index in range(WORLD):
            self.assertRegex(run.logs()[f"any-worker-{index}-i0"],
                             "ratoon-launcher: the program gets SIGTERM and has [0-9]+ ms: ")
        told = re.findall(r"rank \d told to leave in ([0-9.]+) s: ", "".join(run.logs().values()))
        self.assertTrue(told, run.logs())
        self.assertTrue(all(0 <= float(seconds) <= 30 for seconds in told), told)
        self.assertIn("with ['--rank=1', '--size=3'], told of a coordinator: []", run.logs()["any-worker-1-i1"])

    def test_a_failure_keeps_its_exit_code_and_last_lines(self):
        run = self.run_job(TRAINER, steps=5, words=("3",), restartPolicy={"maxRestarts": 0}).start()
        code, output = run.finish()
        self.assertEqual(code, 1, output)
        failure = run.job_status()["lastFailure"]
        self.assertEqual(failure["exitCode"], 3, failure)
        self.assertRegex(failure["lastLines"], r"rank \d done")
        self.assertEqual(run.job_status()["restarts"]["application"], 1, output)

    def test_ctrl_c_tells_the_programs_and_another_run_goes_on(self):
        run = self.run_job(TRAINER).start()
        self.wait_for(run, 1)
        self.wait_for_programs(run)
        run.process.send_signal(signal.SIGINT)
        self.assertEqual(run.finish()[0], 130)
        self.assertIn("rank 0 told to leave in ", run.logs()["any-worker-0-i0"])
        run.let_pass(STEPS)
        code, output = run.start().finish()
        self.assertEqual(code, 0, output)

    def test_no_program_outlives_a_run_that_is_killed(self):
        run = self.run_job(steps=1_000_000).start()
        self.wait_for(run, 1)
        self.wait_for_step(run, 2)
        launchers = [pid for m in run.status()["members"] for pid in m["pids"]]
        pids = [*launchers, *(child for pid in launchers for child in children_of(pid))]
        self.assertEqual(len(pids), 2 * WORLD)
        run.process.kill()
        run.process.wait()
        wait_until(lambda: not any(is_running(pid) for pid in pids), "launchers and programs to end with their run")


if __name__ == "__main__":
    unittest.main()

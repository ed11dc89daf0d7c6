"""What a run says of its losses is right and the same in its status, its report and its metrics: members that die before the
first save, a runner that is killed, an end that the program asked for, a job that fails."""

import json
import pathlib
import signal
import subprocess
import unittest

from local_run import BIN, LocalRun, wait_until


class Accounts(unittest.TestCase):
    def make_run(self, held_at, interval, **spec):
        run = LocalRun(command=["gated_counter", "--steps", "60"], held_at=held_at,
                       spec={"numNodes": 1, "checkpointPolicy": {"intervalSteps": interval}, **spec})
        self.addCleanup(run.close)
        return run

    def report(self, run):
        done = subprocess.run([BIN / "ratoon", "report", run.folder, "--json"], capture_output=True, text=True, timeout=180,
                              check=True)
        return json.loads(done.stdout)

    def wait_until_known(self, run, step):
        """Until the status and the history of the run have that step."""
        wait_until(lambda: run.job_status()["progress"]["step"] == step, f"step {step} in the status")
        wait_until(lambda: any(f'"step":{step},' in line and '"ledger"' in line
                               for path in run.folder.glob("checkpoints/*/history/*.jsonl")
                               for line in path.read_text().splitlines()), f"step {step} in the history")

    def kill_all(self, run):
        """The kernel kills the members after their runner: a member that lived on would make a step of the next run."""
        members = [pid for member in run.status()["members"] for pid in member["pids"]]
        run.process.kill()
        run.process.wait()
        wait_until(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in members), "the members' end")

    def finish(self, run, code=0):
        run.let_pass(60)
        ended, output = run.finish()
        self.assertEqual(ended, code, f"{output}\n{run.logs()}")
        return self.report(run)

    def check_agreement(self, run, report):
        status = run.job_status()
        ledger, restarts = status["ledger"], status["restarts"]
        self.assertEqual(report["steps_made_again"], ledger["stepsMadeAgain"])
        self.assertEqual(report["losses_in_all"], sum(restarts[each] for each in ("application", "hung", "disruption")))
        self.assertEqual(len(report["losses"]), report["losses_in_all"], "each loss is drawn")
        account = report["account"]
        within = ("useful", "unfinished", "save_stall", "data_wait", "validation")
        self.assertAlmostEqual(sum(account.get(each, 0) for each in within), ledger["usefulSeconds"], delta=0.02)
        self.assertAlmostEqual(account.get("recomputed", 0), ledger["recomputedSeconds"], delta=0.02)
        self.assertAlmostEqual(sum(account.values()), report["seconds"], delta=0.02)
        shown = subprocess.run([BIN / "ratoon", "status", run.folder], capture_output=True, text=True, timeout=180, check=True)
        self.assertIn(f"{restarts['disruption']} lost, {restarts['application']} failed", shown.stdout)

    def test_a_member_that_dies_before_the_first_save(self):
        run = self.make_run(held_at=12, interval=40)
        run.start()
        self.wait_until_known(run, 12)
        run.hurt(0)
        wait_until(lambda: run.job_status()["attempt"] == 2 and run.job_status()["formed"], "attempt 2")
        wait_until(lambda: run.status().get("recoveries"), "the recovery")
        report = self.finish(run)
        self.assertEqual(report["steps_made_again"], 12)
        self.assertEqual([each["lost_steps"] for each in report["recoveries"]], [12])
        self.check_agreement(run, report)

    def test_a_runner_that_is_killed_and_its_members_with_it(self):
        run = self.make_run(held_at=35, interval=20)
        run.start()
        self.wait_until_known(run, 35)
        run.wait_for_commit(20)
        self.kill_all(run)
        self.assertEqual(run.commits()[-1][1], 20)
        run.start()
        report = self.finish(run)
        self.assertEqual(report["steps_made_again"], 15)
        self.assertGreater(report["account"]["away"], 0)
        self.check_agreement(run, report)

    def test_what_only_the_history_knows(self):
        """The status is older than the kill: of the last attempt only the history has the last step."""
        run = self.make_run(held_at=35, interval=20)
        run.start()
        self.wait_until_known(run, 35)
        run.wait_for_commit(20)
        self.kill_all(run)
        status = json.loads((run.folder / "status.json").read_text())
        status["job"]["status"]["progress"]["step"] = 21
        (run.folder / "status.json").write_text(json.dumps(status))
        run.start()
        self.assertEqual(self.finish(run)["steps_made_again"], 15)

    def test_a_job_that_fails_and_is_started_again(self):
        run = self.make_run(held_at=25, interval=10, restartPolicy={"maxRestarts": 0})
        run.start()
        self.wait_until_known(run, 25)
        run.hurt(0, signal.SIGSEGV)
        code, output = run.finish()
        self.assertEqual(code, 1, output)
        report = self.report(run)
        self.assertEqual((report["standing"], report["restarts"]["application"]), ("failed", 1))
        self.assertNotIn("useful", report["account"], "a failed run has no useful time")
        self.assertGreater(report["account"]["unfinished"], 0)
        self.check_agreement(run, report)
        run.start()
        report = self.finish(run)
        self.assertEqual(report["restarts"], {"application": 1, "hung": 0, "disruption": 0, "ignored": 1})
        self.assertGreater(report["account"]["useful"], 0)
        self.check_agreement(run, report)

    def test_a_job_that_a_configuration_ends_has_failed_once(self):
        run = LocalRun(command=["counter", "--steps", "60", "--save-every", "never-ever"])
        self.addCleanup(run.close)
        run.start()
        code, output = run.finish()
        self.assertEqual(code, 82, output)
        report = self.report(run)
        self.assertGreaterEqual(report["restarts"]["application"], 1)
        self.assertNotIn("useful", report["account"])
        self.check_agreement(run, report)


if __name__ == "__main__":
    unittest.main(verbosity=2)

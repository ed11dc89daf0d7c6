"""The promise, in its smallest form: lose a process at any moment, go on from the last committed count, end with the
same sum."""

import os
import random
import re
import shutil
import signal
import unittest

from local_run import LocalRun, wait_until

STEPS = 200
ENDLESS = 10**9
HELD_AT = STEPS - 5  # until a test has hurt it as it wants
SUM = STEPS * (STEPS - 1) // 2


class KillAndResume(unittest.TestCase):
    def setUp(self):
        self.run_ = LocalRun(held_at=HELD_AT)
        self.addCleanup(self.run_.close)

    def assert_completed(self, world=2, steps=STEPS):
        self.run_.let_pass(steps)
        code, output = self.run_.finish()
        self.assertEqual(code, 0, output)
        self.assertIn(f"completed at step {steps}", output)
        done = [text for text in self.run_.logs().values() if f"done: {steps} steps, sum {steps * (steps - 1) // 2}" in text]
        self.assertEqual(len(done), world, self.run_.logs())
        for attempt, rank, step, total in self.run_.lines():
            self.assertEqual(total, step * (step - 1) // 2, f"attempt {attempt} rank {rank} step {step}")
        return output

    def test_unbroken(self):
        self.run_.start()
        self.assert_completed()
        self.assertEqual(self.run_.job_status()["attempt"], 1)
        self.assertEqual(self.run_.claim(), "released")

    def test_a_commit_is_told_at_once(self):
        # Beats of twice an hour would tell of none.
        self.run_.document["spec"]["disruptionPolicy"] = {"heartbeatSeconds": 1800, "suspectAfterSeconds": 3600}
        self.run_.write_job()
        self.run_.let_pass(ENDLESS)
        self.run_.start("--", "--steps", str(ENDLESS))
        wait_until(lambda: self.run_.output().count("is durable") >= 3, "news of three commits")

    def test_kill_of_one_member_goes_on_from_the_last_commit(self):
        # This test looks for checkpoints of attempt 1 when attempt 2 commits others.
        self.run_.document["spec"]["checkpointPolicy"]["keepLast"] = "All"
        self.run_.write_job()
        self.run_.let_pass(55)  # no save is in flight when the member is killed
        self.run_.start()
        self.run_.wait_for_commit(50)
        self.run_.hurt(0)
        wait_until(lambda: self.run_.job_status()["attempt"] == 2, "attempt 2")
        # Nobody commits for attempt 1 any more once attempt 2 is formed.
        wait_until(lambda: self.run_.job_status()["formed"], "the world of attempt 2")
        wait_until(lambda: {(2, 0), (2, 1)} <= {line[:2] for line in self.run_.lines()}, "both ranks to step again")
        resumed = {self.run_.first_line_of(2, rank)[2] for rank in (0, 1)}
        last = max(step for attempt, step in self.run_.commits() if attempt == 1)
        self.assertEqual(resumed, {last}, "both ranks go on from the last committed count")
        self.assertGreaterEqual(last, 50)
        self.assert_completed()
        names = self.run_.logs().keys()
        self.assertIn("counter-worker-0-i1", names, "the lost member came back under a new name")
        self.assertNotIn("counter-worker-1-i1", names, "the survivor kept its process")

    def test_survivor_restarts_in_process(self):
        self.run_.start()
        self.run_.wait_for_commit(20)
        before = wait_until(lambda: self.run_.pids_of(1), "rank 1 in the status")
        self.run_.hurt(0)
        wait_until(lambda: (2, 1) in {line[:2] for line in self.run_.lines()}, "rank 1 to step in attempt 2")
        self.assertEqual(self.run_.pids_of(1), before)
        self.assert_completed()

    def test_kills_at_random_moments(self):
        seed = int(os.environ.get("RATOON_SEED", random.randrange(2**32)))
        print(f"RATOON_SEED={seed}")
        chance = random.Random(seed)
        self.run_.start()
        attempt = 0
        for _ in range(4):
            # A world that loses the second one of two that are killed may never step: the next one does.
            attempt = wait_until(lambda: max((line[0] for line in self.run_.lines() if line[0] > attempt), default=0),
                                 f"steps in an attempt after {attempt}")
            # The status may be stored later than the lines, and would name processes that are gone.
            wait_until(lambda: self.run_.job_status()["attempt"] >= attempt, f"attempt {attempt} in the status")
            for index in chance.sample([0, 1], chance.choice([1, 1, 2])):
                self.run_.hurt(index)
            wait_until(lambda: self.run_.job_status()["attempt"] > attempt, f"an attempt after {attempt}")
        self.assert_completed()
        self.assertGreaterEqual(self.run_.job_status()["restarts"]["disruption"], 4)
        self.assertEqual(self.run_.job_status()["restarts"]["application"], 0)

    def test_a_silent_member_is_replaced(self):
        self.run_.document["spec"]["disruptionPolicy"] = {"suspectAfterSeconds": 20}
        self.run_.write_job()
        self.run_.start()
        self.run_.wait_for_commit(20)
        stopped = self.run_.pids_of(1)[0]
        os.kill(stopped, signal.SIGSTOP)
        wait_until(lambda: self.run_.job_status()["attempt"] == 2, "attempt 2")
        self.assert_completed()
        self.assertFalse(os.path.exists(f"/proc/{stopped}"), "the silent process is gone")

    def test_ctrl_c_and_the_same_command_again(self):
        output = self.interrupt_after(50)
        self.assertEqual(self.run_.claim(), "released", "the whole job has left")
        last = max(self.run_.commits())
        self.assertRegex(output, r"goes on from step \d+")
        self.go_on_to_an_end()
        self.assertEqual(self.run_.first_line_of(2, 0)[2], last[1])

    def test_members_end_with_their_runner(self):
        self.run_.start()
        self.run_.wait_for_commit(30)
        pids = self.run_.pids_of(0) + self.run_.pids_of(1)
        self.run_.process.kill()
        self.run_.process.wait()
        wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), "members to end by themselves")
        self.assertEqual(self.run_.claim(), "released")
        last = max(self.run_.commits())
        self.run_.start()
        self.assert_completed()
        self.assertEqual(self.run_.first_line_of(2, 0)[2], last[1])

    def test_a_lagging_rank_ends_too(self):
        # Rank 0 commits and retires more than it keeps while rank 1 stands still, and the other way round.
        self.run_.document["spec"]["disruptionPolicy"] = {"suspectAfterSeconds": 60}
        self.run_.document["spec"]["checkpointPolicy"] = {"intervalSteps": 10, "keepLast": 2}
        self.run_.write_job()
        self.run_.let_pass(15)
        self.run_.start()
        self.run_.wait_for_commit(10)
        first, second = self.run_.pids_of(0)[0], self.run_.pids_of(1)[0]
        os.kill(first, signal.SIGSTOP)
        self.run_.let_pass(STEPS)
        wait_until(lambda: self.run_.receipts(rank=1) >= 20, "rank 1 to run far ahead")
        os.kill(second, signal.SIGSTOP)
        os.kill(first, signal.SIGCONT)
        wait_until(lambda: max(self.run_.commits()) == (1, STEPS), "rank 0 to commit the last step")
        os.kill(second, signal.SIGCONT)
        self.assert_completed()

    def test_damage_of_the_newest_checkpoint_costs_steps_and_no_run(self):
        self.interrupt_after(50)
        newest = max(self.run_.commits())
        older = sorted(self.run_.commits())[-2]
        pack = next(self.run_.folder.glob(f"checkpoints/*/packs/a0001/s{newest[1]:010}/r0001.safetensors"))
        data = bytearray(pack.read_bytes())
        data[-1] ^= 1
        pack.write_bytes(data)
        output = self.go_on_to_an_end()
        self.assertIn(f"the checkpoint of step {newest[1]} cannot be read; the run goes back to step {older[1]}", output)

    def test_checkpoints_that_vanished_do_not_lead_back_to_zero(self):
        self.interrupt_after(30)
        last = self.run_.job_status()["lastCheckpoint"]["step"]  # one may have been committed that nobody was told of
        self.assertLessEqual(last, max(self.run_.commits())[1])
        shutil.rmtree(self.run_.folder / "checkpoints")
        self.run_.start()
        code, output = self.run_.finish()
        self.assertEqual(code, 1, output)
        self.assertIn(f"the checkpoint of step {last} was durable and cannot be found", output)

    def test_a_broken_status_is_moved_away_as_it_says_and_the_run_goes_on(self):
        self.interrupt_after(30)
        last = max(self.run_.commits())
        status = self.run_.folder / "status.json"
        status.write_text(status.read_text()[:100])
        self.run_.start()
        code, output = self.run_.finish()
        self.assertEqual(code, 82, output)
        self.assertIn("move it away, and the next `ratoon run` goes on from the newest checkpoint", output)
        status.rename(status.with_suffix(".broken"))
        self.go_on_to_an_end()
        self.assertEqual(self.run_.first_line_of(last[0] + 1, 0)[2], last[1])

    def interrupt_after(self, step):
        """Of a run without an end: ranks that agree on nothing must step to leave."""
        self.run_.let_pass(ENDLESS)
        self.run_.start("--", "--steps", str(ENDLESS))
        self.run_.wait_for_commit(step)
        self.run_.process.send_signal(signal.SIGINT)
        code, output = self.run_.finish()
        self.assertEqual(code, 130, output)
        return output

    def go_on_to_an_end(self):
        """The same command, but that the end is near."""
        steps = max(self.run_.commits())[1] + 20
        self.run_.start("--", "--steps", str(steps))
        return self.assert_completed(steps=steps)

    def test_several_processes_a_member(self):
        self.run_.document["spec"]["processesPerNode"] = 2
        self.run_.write_job()
        self.run_.start()
        self.run_.wait_for_commit(20)
        self.run_.hurt(1)
        wait_until(lambda: self.run_.job_status()["attempt"] == 2, "attempt 2")
        self.run_.let_pass(STEPS)
        code, output = self.run_.finish()
        self.assertEqual(code, 0, output)
        self.assertEqual({line[1] for line in self.run_.lines() if line[0] == 2}, {0, 1, 2, 3})
        self.assertEqual(len(re.findall(f"sum {SUM}", "".join(self.run_.logs().values()))), 4)


if __name__ == "__main__":
    unittest.main()

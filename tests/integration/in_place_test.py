"""A session in place: the loop stays in main(), and a process ends where train() would begin again in it."""
import subprocess
import unittest

from local_run import BIN, LocalRun, wait_until

STEPS = 200
SUM = STEPS * (STEPS - 1) // 2


class InPlace(unittest.TestCase):
    def setUp(self):
        self.run_ = LocalRun(job="in-place", command=["in_place_probe", "--steps", str(STEPS), "--pause-ms", "10"],
                             held_at=STEPS - 5)
        self.addCleanup(self.run_.close)

    def test_a_kill_of_one_starts_all_again_from_the_last_commit(self):
        self.run_.start()
        self.run_.wait_for_commit(50)
        survivor = wait_until(lambda: self.run_.pids_of(1), "the survivor in the status")
        self.run_.hurt(0)
        wait_until(lambda: {(2, 0), (2, 1)} <= {line[:2] for line in self.run_.lines()}, "both ranks to go on")
        # The status may be stored later than the lines.
        wait_until(lambda: self.run_.pids_of(1) not in ([], survivor), "the survivor to have ended and to be started again")
        self.run_.let_pass(STEPS)
        code, output = self.run_.finish()
        self.assertEqual(code, 0, output)
        self.assertIn(f"completed at step {STEPS}", output)
        logs = self.run_.logs()
        self.assertIn("start the program again", "".join(logs.values()))
        self.assertEqual(sum(f"done: {STEPS} steps, sum {SUM}" in text for text in logs.values()), 2, logs)
        resumed = {self.run_.first_line_of(2, rank)[2:] for rank in (0, 1)}
        self.assertEqual(len(resumed), 1, "both go on from the same commit")
        step, total = resumed.pop()
        self.assertEqual((step % 10, total), (0, step * (step - 1) // 2))
        self.assertGreaterEqual(step, 50)

    def test_alone_it_says_in_one_sentence_what_is_missing(self):
        done = subprocess.run([BIN / "in_place_probe"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 82)
        self.assertRegex(done.stderr, r"^ratoon: [^\n]*--save-folder[^\n]*\n$")


if __name__ == "__main__":
    unittest.main()

"""Gradients that are averaged over the program's own process group: over nothing else, through the loss of a rank, and refused
where it is not one of this world."""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from local_run import LocalRun  # noqa: E402

SAVE_EVERY = 10  # steps, as LocalRun sets it; weights are compared over the group before each save
END = re.compile(r"^attempt (\d+): (\d+) steps, (\d+) calls$", re.M)


class OwnGroup(unittest.TestCase):
    def begin(self, *mode):
        run = LocalRun("own")
        self.addCleanup(run.close)
        container = run.document["spec"]["roles"][0]["template"]["spec"]["containers"][0]
        container["command"] = ["own_group_probe", str(run.root), *mode]
        run.write_job()
        return run.start()

    def ends(self, run):
        """[(attempt, steps, calls)] of each rank that came to its end."""
        code, output = run.finish()
        self.assertEqual(code, 0, f"{output}\n{run.logs()}")
        return [tuple(map(int, end)) for text in run.logs().values() for end in END.findall(text)]

    def test_it_is_what_gradients_are_averaged_over(self):
        self.assertEqual(self.ends(self.begin()), [(1, 60, 60 + 1 + 60 // SAVE_EVERY)] * 2)

    def test_after_a_loss_a_new_one_is_used(self):
        run = self.begin("dies")
        ends = self.ends(run)
        self.assertEqual(len(ends), 2, run.logs())
        for attempt, steps, calls in ends:
            self.assertEqual(attempt, 2)
            self.assertEqual(calls, steps + 1 + steps // SAVE_EVERY)
        self.assertNotIn("own-worker-0-i1", run.logs(), "the survivor's process stayed")

    def assert_refused(self, mode, sentence):
        run = self.begin(mode)
        code, output = run.finish()
        self.assertEqual(code, 82, f"{output}\n{run.logs()}")
        for text in run.logs().values():
            self.assertRegex(text, sentence)

    def test_ranks_that_begin_with_other_weights_are_told(self):
        self.assert_refused("other-weights", "rank 1 has other weights than rank 0 at step 0")

    def test_a_group_of_another_world_is_refused(self):
        self.assert_refused("other-size", r"use_group\(\) was given rank 0 of 1, but this is rank [01] of 2: create the group")


if __name__ == "__main__":
    unittest.main()

"""Gradients that are averaged while backward() goes on, under `ratoon run`: unequal numbers of samples, gradients that ranks
lack, accumulation, clipping; and a process that dies in the middle."""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from local_run import LocalRun  # noqa: E402


class AverageDuring(unittest.TestCase):
    def run_probe(self, *words):
        run = LocalRun("during", {"numNodes": 3, "checkpointPolicy": {"intervalSteps": 2}},
                       ["average_during_probe", *words])
        self.addCleanup(run.close)
        code, output = run.start().finish(280)
        logs = run.logs()
        self.assertEqual(code, 0, f"{output}\n{logs}")
        weights = [found for text in logs.values() for found in re.findall("^weights (.+)$", text, re.M)]
        self.assertEqual(len(weights), 3, logs)
        return weights, "\n".join(logs.values())

    def test_a_kill_in_the_middle_leaves_no_half_applied_weights(self):
        expected, text = self.run_probe()
        self.assertEqual(len(set(expected)), 1)
        self.assertNotIn("attempt 2", text)

        weights, text = self.run_probe("kill")
        self.assertEqual(weights, expected)
        self.assertIn("attempt 1 step 4\n", text)
        self.assertNotIn("attempt 1 step 5\n", text)
        self.assertIn("attempt 2 step 5\n", text)

        weights, _ = self.run_probe("tensors")
        self.assertEqual(weights, expected, "a list of tensors has the buckets of a module with these parameters")

    def test_several_modules_are_averaged_by_one_call(self):
        """The program compares the means. Their last bits depend on where the buckets end."""
        for mode in ("modules", "mixed"):
            weights, _ = self.run_probe(mode)
            self.assertEqual(len(set(weights)), 1)


if __name__ == "__main__":
    unittest.main()

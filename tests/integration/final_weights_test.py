"""Where a job left its weights: in its status, in what `ratoon run` and `ratoon status` print, and on the disk."""

import json
import subprocess
import unittest

from local_run import BIN, LocalRun


class FinalWeights(unittest.TestCase):
    def finished(self, *words):
        run = LocalRun(command=["places_probe", "20", "1", "1", *words])
        self.addCleanup(run.close)
        code, output = run.start().finish()
        self.assertEqual(code, 0, output)
        return run, output

    def told(self, run, *flags):
        return subprocess.run([BIN / "ratoon", "status", run.folder, *flags], capture_output=True, text=True,
                              check=True).stdout

    def test_are_named_wherever_the_job_is_looked_at(self):
        run, output = self.finished()
        weights = run.folder / "checkpoints/counter/weights.safetensors"
        self.assertTrue(weights.is_file())
        self.assertEqual(run.job_status()["finalWeights"], str(weights))
        self.assertIn(f"completed at step 20; weights: {weights}", output)
        self.assertIn(f"weights  {weights}\n", self.told(run))
        self.assertEqual(json.loads(self.told(run, "--json"))["job"]["status"]["finalWeights"], str(weights))

    def test_that_nobody_wants_are_not_there(self):
        run, output = self.finished("--final-weights", "")
        self.assertNotIn("finalWeights", run.job_status())
        self.assertNotIn("weights", output + self.told(run))


if __name__ == "__main__":
    unittest.main()

"""A rank that leaves an attempt has nothing of its collectives left, though the rank that it waited for is stuck: memory of
gradients is free at once, and not when the other one has died."""
import os
import pathlib
import subprocess
import tempfile
import unittest

BIN = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin"


class GivenUp(unittest.TestCase):
    def test_collectives_end_with_the_attempt(self):
        with tempfile.TemporaryDirectory(prefix="ratoon-given-up-") as folder:
            processes = []
            for rank in range(2):
                group = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": 2,
                         "TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 29500}
                processes.append(subprocess.Popen(
                    [BIN / "given_up_probe", folder, "--run-name", "a", "--save-folder", f"{folder}/s",
                     "--save-every", "1000st"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                    env={**os.environ, **{name: str(value) for name, value in group.items()}}))
            try:
                outputs = [process.communicate()[0] for process in processes]
            finally:
                for process in processes:
                    process.kill()
                    process.wait()
        for process, output in zip(processes, outputs):
            self.assertEqual(process.returncode, 0, output)
        self.assertIn("all has ended", outputs[0])


if __name__ == "__main__":
    unittest.main()

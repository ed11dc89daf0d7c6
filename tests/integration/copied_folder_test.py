"""A copy of a run's folder, as a backup or a second try has it: it is another job's, and commands on it are about it alone."""

import shutil
import subprocess
import unittest

from local_run import BIN, PATIENCE_SECONDS, LocalRun, wait_until

HELD_BY_RUNS = ("control", "lock")


def copy_folder(source, target):
    """A run that goes on renames and retires files meanwhile. If one vanishes during the copy, the copy begins again."""
    def copy():
        shutil.rmtree(target, ignore_errors=True)
        try:
            return shutil.copytree(source, target, ignore=lambda _, names: [name for name in names if name in HELD_BY_RUNS])
        except (shutil.Error, FileNotFoundError):
            return None

    wait_until(copy, f"a copy of {source}")


def checkpoint(*words):
    return subprocess.run([BIN / "ratoon", "checkpoint", *map(str, words)], text=True, capture_output=True,
                          timeout=PATIENCE_SECONDS)


class CopiedFolder(unittest.TestCase):
    def run_of(self, steps, pause):
        run = LocalRun(command=["counter", "--steps", str(steps), "--pause-ms", str(pause)])
        self.addCleanup(run.close)
        return run

    def test_a_copy_of_a_jobs_folder_is_another_job(self):
        first, copy = self.run_of(1_000_000, 100), self.run_of(1_000_000, 100)
        saves = first.root / "saves"
        words = ("--", "--save-folder", str(saves), "--run-name", "shared")
        first.start(*words)
        wait_until(lambda: list((saves / "shared/manifests").glob("*.json")), "the first job to save")
        copy_folder(first.folder, copy.folder)
        code, output = copy.start(*words).finish()
        said = output + "".join(copy.logs().values())
        self.assertNotEqual(code, 0, said)
        self.assertIn("the job is alive: end it, or give this run another name; nothing was changed", said)
        self.assertIsNone(first.process.poll(), "the first is not disturbed")
        self.assertEqual(first.job_status()["attempt"], 1)
        self.assertNotEqual((copy.folder / "uid").read_text(), (first.folder / "uid").read_text())

    def test_of_a_folder_and_its_copy_one_fills_the_store(self):
        root = self.run_of(1, 1).root
        command = [BIN / "counter", "--steps", "1000000", "--pause-ms", "100", "--save-every", "10st", "--run-name", "r",
                   "--stores", root / "store", "--save-folder"]
        with open(root / "first.txt", "w") as output:
            first = subprocess.Popen([*command, root / "first"], stdout=output, stderr=subprocess.STDOUT)
        self.addCleanup(first.wait)
        self.addCleanup(first.kill)
        wait_until(lambda: list((root / "store/r/manifests").glob("*.json")), "a copy in the store")
        copy_folder(root / "first", root / "copy")
        second = subprocess.run([*command, root / "copy"], text=True, capture_output=True, timeout=PATIENCE_SECONDS)
        said = second.stdout + second.stderr
        self.assertEqual(second.returncode, 82, said)
        self.assertIn("trains here, and the job is alive", said)
        self.assertIsNone(first.poll(), "the first is not disturbed")

    def test_commands_on_a_copy_are_about_the_copy(self):
        run = self.run_of(40, 1)
        code, output = run.start().finish()
        self.assertEqual(code, 0, output)
        copy = run.root / "copy"
        copy_folder(run.folder, copy)
        newest = max((copy / "checkpoints/counter/manifests").glob("*.json"))
        kept = min((copy / "checkpoints/counter/manifests").glob("*.json"))
        newest.unlink()
        listed = checkpoint("list", copy)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertNotRegex(listed.stdout, rf"(?m)^{int(newest.name[1:11])} ", "the original's row")
        self.assertRegex(listed.stdout, rf"(?m)^{int(kept.name[1:11])} ")
        pinned = checkpoint("pin", copy, "--step", int(kept.name[1:11]))
        self.assertEqual(pinned.returncode, 0, pinned.stdout + pinned.stderr)
        self.assertTrue(list(copy.glob("checkpoints/counter/pins/*")))
        self.assertEqual(list(run.folder.glob("checkpoints/counter/pins/*")), [])
        pack = next((copy / "checkpoints/counter").glob(f"packs/*/{kept.name[:11]}/*"))
        pack.write_bytes(pack.read_bytes()[:-1] + b"?")
        self.assertNotEqual(checkpoint("verify", copy).returncode, 0, "of the copy, which is damaged")
        self.assertEqual(checkpoint("verify", run.folder).returncode, 0)


if __name__ == "__main__":
    unittest.main()

"""Two jobs, of two folders, that save under one folder and run name: one of them is let in, by whatever path they come, and
what is saved is of one job. `ratoon checkpoint verify` and `ratoon report` follow them to where they save."""

import contextlib
import json
import os
import signal
import subprocess
import unittest

from local_run import BIN, LocalRun, wait_until

STEPS = 400


class TwoJobs(unittest.TestCase):
    def run_to(self, saves, pause=10, steps=STEPS):
        run = LocalRun(command=["counter", "--steps", str(steps), "--pause-ms", str(pause)])
        self.addCleanup(run.close)
        return run.start("--", "--save-folder", str(saves), "--run-name", "shared")

    def owners(self, place):
        found = set()
        for path in place.glob("manifests/*.json"):
            with contextlib.suppress(FileNotFoundError):  # the oldest ones are removed meanwhile
                manifest = json.loads(path.read_text().rpartition("crc32c:")[0])
                found |= {pack["owner"] for pack in manifest["packs"]}
        return found

    def assert_refused(self, run):
        code, output = run.finish(120)
        said = output + "".join(run.logs().values())
        self.assertNotEqual(code, 0, said)
        self.assertIn("says that the job ", said)
        self.assertIn("the job is alive: end it, or give this run another name; nothing was changed", said)

    def test_a_second_job_is_refused_by_whatever_path_it_comes(self):
        first = LocalRun()
        self.addCleanup(first.close)
        saves = first.root / "saves"
        saves.mkdir()
        link = first.root / "link"
        os.symlink(saves, link)
        owner = self.run_to(saves, pause=100, steps=1_000_000)
        wait_until(lambda: list((saves / "shared/manifests").glob("*.json")), "the first job to save")
        for path in (saves, link):
            self.assert_refused(self.run_to(path))
        self.assertIsNone(owner.process.poll(), "the first is not disturbed")
        uid = (owner.folder / "uid").read_text().strip()
        self.assertEqual(self.owners(saves / "shared"), {uid})
        verified = subprocess.run([BIN / "ratoon", "checkpoint", "verify", owner.folder], text=True, capture_output=True,
                                  timeout=60)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        report = subprocess.run([BIN / "ratoon", "report", owner.folder, "--json"], text=True, capture_output=True, timeout=60)
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertTrue(json.loads(report.stdout)["checkpoints"])
        self.assert_found_by_status(owner, saves / "shared")

    def alone(self, root, saves, *words):
        """A program that no coordinator starts."""
        output = (root / f"{saves.name}.log").open("w+")
        self.addCleanup(output.close)
        process = subprocess.Popen([BIN / "counter", "--save-folder", saves, "--run-name", "shared", "--steps", "1000000",
                                    "--pause-ms", "100", *map(str, words)], stdout=output, stderr=subprocess.STDOUT)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_until(lambda: process.poll() is not None or list((saves / "shared/manifests").glob("*.json")), "a save or an end")
        output.seek(0)
        return process, output.read()

    def test_a_folder_in_which_a_program_trains_alone_takes_no_copies_of_another(self):
        root = LocalRun()
        self.addCleanup(root.close)
        own, others = root.root / "own", root.root / "others"
        first, said = self.alone(root.root, own)
        self.assertIsNone(first.poll(), said)
        second, said = self.alone(root.root, others, "--stores", own)
        self.assertEqual(second.poll(), 82, said)
        self.assertIn(f"another process trains in {own}/shared", said)
        member = LocalRun(command=["counter", "--steps", "50"])
        self.addCleanup(member.close)
        code, output = member.start("--", "--stores", str(own), "--run-name", "shared").finish(120)
        self.assertEqual(code, 82, output)
        self.assertIn(f"another process trains in {own}/shared", output + "".join(member.logs().values()))
        self.assertIsNone(first.poll(), "the first is not disturbed")

    def test_no_program_trains_alone_in_a_folder_that_takes_copies_of_another(self):
        root = LocalRun()
        self.addCleanup(root.close)
        own, others = root.root / "own", root.root / "others"
        first, said = self.alone(root.root, others, "--stores", own)
        self.assertIsNone(first.poll(), said)
        wait_until(lambda: list((own / "shared/manifests").glob("*.json")), "the first copy")
        second, said = self.alone(root.root, own)
        second.wait(120)
        self.assertEqual(second.poll(), 82, (root.root / "own.log").read_text())
        self.assertIsNone(first.poll(), "the first is not disturbed")

    def assert_found_by_status(self, owner, place):
        """By its folder, and by the place where it saves once its folder is in ratoon-runs/."""
        def status(run):
            return subprocess.run([BIN / "ratoon", "status", run], text=True, capture_output=True, timeout=60, cwd=owner.root)

        self.assertRegex(status(owner.folder).stdout, f"(?m)^saves in +{place}$")
        unknown = status(place)
        self.assertEqual(unknown.returncode, 82, unknown.stdout)
        self.assertIn("no run in ratoon-runs/, here or beside these checkpoints, saves there: name the folder of the run; "
                      f"`ratoon checkpoint list {place}` and "
                      f"`ratoon report {place}` show the checkpoints", unknown.stderr)
        (owner.root / "ratoon-runs").mkdir()
        (owner.root / "ratoon-runs/it").symlink_to(owner.folder)
        self.assertRegex(status(place).stdout, f"(?m)^saves in +{place}$")

    def test_of_two_that_start_at_once_one_is_let_in(self):
        root = LocalRun()
        self.addCleanup(root.close)
        saves = root.root / "saves"
        both = [self.run_to(saves, pause=50, steps=1_000_000) for _ in range(2)]
        first_to_end = wait_until(lambda: next((run for run in both if run.process.poll() is not None), None), "one to end", 120)
        self.assert_refused(first_to_end)
        other = next(run for run in both if run is not first_to_end)
        wait_until(lambda: list((saves / "shared/manifests").glob("*.json")), "the other one to save")
        other.process.send_signal(signal.SIGINT)
        code, output = other.finish(120)
        self.assertEqual(code, 130, output)
        self.assertEqual(self.owners(saves / "shared"), {(other.folder / "uid").read_text().strip()})


if __name__ == "__main__":
    unittest.main()

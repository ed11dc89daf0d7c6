"""Ranks that mpirun started: Open MPI's, and Hydra of MPICH. A rank is killed, mpirun ends the others, and the same command goes
on. A second launch in the same folder is refused. Skipped where neither is installed (PATH is searched)."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts" / "lib"))
import machine_facts  # noqa: E402
from local_run import BIN, LINE, PATIENCE_SECONDS, Gate, wait_until  # noqa: E402

STEPS = 150
# Open MPI refuses root and more ranks than cores, unless it is told otherwise.
VARIABLES = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
             "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def descendants(pid):
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
        for child in map(int, (task / "children").read_text().split()):
            yield child
            yield from descendants(child)


def is_counter(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe") == str((BIN / "gated_counter").resolve())
    except FileNotFoundError:
        return False


class Mpirun(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-mpirun-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.gate = Gate(self.root)

    def start(self, program, log, *before):
        words = [program, "-np", "2", *before, BIN / "gated_counter", "--run-name", "a", "--save-folder", self.root / "s",
                 "--save-every", "10", "--steps", STEPS, "--pause-ms", "1"]
        with open(self.root / log, "a") as output:
            process = subprocess.Popen(list(map(str, words)), stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                       env={**os.environ, **VARIABLES, **self.gate.environment}, start_new_session=True)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        # Hydra's ranks have process groups of their own, and outlive it.
        for place in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.fsencode(self.root) in (place / "cmdline").read_bytes():
                    os.kill(int(place.name), signal.SIGKILL)

    def log(self, name):
        return (self.root / name).read_text()

    def ranks(self, process):
        return sorted(filter(is_counter, descendants(process.pid)))

    def go_through_losses(self, said):
        program = machine_facts.find_mpirun(said)
        if program is None:
            self.skipTest(f"there is no mpirun here whose version says '{said}'")
        self.gate.let_pass(25)
        first = self.start(program, "first.txt")
        wait_until(lambda: list(self.root.glob("s/a/manifests/*.a0001.json")), "a checkpoint")

        second = self.start(program, "second.txt")
        self.assertNotEqual(second.wait(timeout=PATIENCE_SECONDS), 0, self.log("second.txt"))
        self.assertIn("another process trains in", self.log("second.txt"))
        self.assertNotRegex(self.log("second.txt"), LINE)
        self.assertIsNone(first.poll(), self.log("first.txt"))
        launches = [place.name for place in self.root.glob("s/a/meeting/*") if place.is_dir()]
        self.assertEqual(len(launches), 2, f"each launch has its own: {launches}")

        ranks = self.ranks(first)
        self.assertEqual(len(ranks), 2)
        os.kill(ranks[1], signal.SIGKILL)
        self.assertNotEqual(first.wait(timeout=PATIENCE_SECONDS), 0, self.log("first.txt"))
        wait_until(lambda: not any(map(is_counter, ranks)), "the end of the other rank")

        self.gate.let_pass(STEPS)
        # A program between the launcher and the ranks makes no difference.
        third = self.start(program, "third.txt", "sh", "-c", '"$0" "$@"; exit $?')
        self.assertEqual(third.wait(timeout=PATIENCE_SECONDS), 0, self.log("third.txt"))
        self.assertEqual(self.log("third.txt").count(f"done: {STEPS} steps, sum {STEPS * (STEPS - 1) // 2}"), 2)
        begun = [(int(m[1]), int(m[2]), int(m[3])) for m in map(LINE.match, self.log("third.txt").splitlines()) if m]
        self.assertEqual({(attempt, rank) for attempt, rank, _ in begun}, {(2, 0), (2, 1)})
        self.assertGreaterEqual(min(step for _, _, step in begun), 10, "it goes on from a checkpoint")

    def test_open_mpi(self):
        self.go_through_losses("Open MPI|OpenRTE|PRRTE")

    def test_mpich(self):
        self.go_through_losses("HYDRA")


if __name__ == "__main__":
    unittest.main()

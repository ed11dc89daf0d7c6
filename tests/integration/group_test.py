"""Processes that torchrun, srun or mpirun numbered: they find each other in the run's folder and survive losses. The
launchers are stood in for by their variables, which is all that the processes see of them."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

from local_run import BIN, LINE, Gate, wait_until

STEPS = 150
STEPS_OF_AN_ATTEMPT = 25  # two saves at least


def torchrun(rank, size):
    return {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": size,
            "TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 29500}


def srun(rank, size):
    return {"SLURM_PROCID": rank, "SLURM_NTASKS": size, "SLURM_LOCALID": rank, "SLURM_JOB_ID": 12,
            "SLURM_STEP_ID": 0, "SLURM_NNODES": 1}


def open_mpi(rank, size):
    return {"OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_SIZE": size, "OMPI_COMM_WORLD_LOCAL_RANK": rank,
            "OMPI_COMM_WORLD_LOCAL_SIZE": size, "PMIX_RANK": rank, "PMIX_NAMESPACE": "prterun-node-1-2085@1"}


def hydra(rank, size):
    return {"PMI_RANK": rank, "PMI_SIZE": size, "MPI_LOCALRANKID": rank, "MPI_LOCALNRANKS": size, "PMI_FD": 9}


class GroupOfCounters(unittest.TestCase):
    FLAGS = ()

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-group-"))
        self.gate = Gate(self.root)
        self.gate.let_pass(STEPS_OF_AN_ATTEMPT)
        self.processes = {}

    def tearDown(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
            process.wait()
        shutil.rmtree(self.root)

    def words(self, *flags):
        return [BIN / "gated_counter", "--run-name", "a", "--save-folder", self.root / "s", "--save-every", "10",
                "--steps", str(STEPS), "--pause-ms", "10", *flags]

    def start(self, rank, variables):
        with open(self.root / f"r{rank}.log", "a") as log:
            self.processes[rank] = subprocess.Popen(
                self.words(*self.FLAGS), stdout=log, stderr=subprocess.STDOUT,
                env={**os.environ, **self.gate.environment, **{name: str(value) for name, value in variables.items()}})

    def start_all(self, launcher, size):
        for rank in range(size):
            self.start(rank, launcher(rank, size))

    def log(self, rank):
        return (self.root / f"r{rank}.log").read_text()

    def attempts(self, rank):
        return sorted({int(m[1]) for m in map(LINE.match, self.log(rank).splitlines()) if m})

    def manifests(self, attempt):
        return list(self.root.glob(f"s/a/manifests/*.a{attempt:04}.json"))

    def wait_for_commit(self, attempt):
        self.gate.let_pass(attempt * STEPS_OF_AN_ATTEMPT)  # and no further before a rank is lost
        # Or of a later one: a rank that is started again may be seen to have left twice.
        wait_until(lambda: any(self.manifests(one) for one in range(attempt, attempt + 10)), f"a checkpoint of attempt {attempt}")

    def kill(self, rank):
        self.processes[rank].send_signal(signal.SIGKILL)
        self.processes[rank].wait()

    def assert_all_done(self, attempts):
        wait_until(lambda: all(self.attempts(rank)[-1:] >= [attempts] for rank in self.processes), f"attempt {attempts}")
        self.gate.let_pass(STEPS)
        for rank, process in self.processes.items():
            self.assertEqual(process.wait(timeout=180), 0, self.log(rank))
            self.assertIn(f"done: {STEPS} steps, sum {STEPS * (STEPS - 1) // 2}", self.log(rank))
            # A rank that is started again before another one looked is seen to have left later, or twice.
            self.assertGreaterEqual(self.attempts(rank)[-1], attempts, self.log(rank))


class Group(GroupOfCounters):
    def test_lost_ranks_are_waited_for_and_the_run_goes_on(self):
        self.start_all(torchrun, 3)
        for attempt, rank in ((1, 1), (2, 0)):
            self.wait_for_commit(attempt)
            self.kill(rank)
            self.start(rank, torchrun(rank, 3))
        self.assert_all_done(3)
        for rank in (1, 0):
            self.assertRegex(self.log(2), f"attempt .* ends at step .*: rank {rank} (is gone|has left the attempt)")

    def test_a_launch_that_is_started_again_goes_on(self):
        for launcher in (torchrun, srun, open_mpi, hydra):
            with self.subTest(launcher=launcher.__name__):
                shutil.rmtree(self.root / "s", ignore_errors=True)
                for log in self.root.glob("r*.log"):
                    log.unlink()
                self.gate.let_pass(STEPS_OF_AN_ATTEMPT)
                self.start_all(launcher, 2)
                self.wait_for_commit(1)
                for rank in (1, 0):
                    self.kill(rank)
                self.start_all(launcher, 2)
                self.assert_all_done(2)

    def test_ranks_of_two_launches_at_the_same_moment_form_no_world(self):
        """Both have the variables of `torchrun` alone. A rank of each launch comes first; the launch whose rank 0 comes last is
        refused as a whole, and the other one trains."""
        def of_launch(name, rank):
            return torchrun(rank, 2) | {"TORCHELASTIC_ERROR_FILE": f"/tmp/torchelastic_x/none_{name}/attempt_0/{rank}/error.json"}

        def call_of(rank):
            return wait_until(lambda: list(self.root.glob(f"s/a/meeting/*/r000{rank}.json")), f"a call of rank {rank}")[0]

        self.gate.let_pass(STEPS)
        self.start(0, of_launch("a", 0))
        zero = call_of(0)
        self.start(1, of_launch("b", 1))
        self.assertNotEqual(zero.parent, call_of(1).parent)
        self.start(3, of_launch("b", 0))
        for number in (3, 1):
            self.assertEqual(self.processes[number].wait(timeout=180), 82, self.log(number))
            self.assertIn("another process trains in", self.log(number))
            self.assertEqual(self.attempts(number), [])
        self.start(2, of_launch("a", 1))
        for number in (2, 0):
            self.assertEqual(self.processes[number].wait(timeout=180), 0, self.log(number))
            self.assertEqual(self.attempts(number), [1])

    def test_another_size_goes_on_too(self):
        self.start_all(srun, 3)
        self.wait_for_commit(1)
        for rank in (2, 0, 1):
            self.kill(rank)
        del self.processes[2]
        self.start_all(srun, 2)
        self.assert_all_done(2)

    def test_a_contradiction_is_one_sentence_and_82(self):
        self.start(0, {"RANK": 2, "WORLD_SIZE": 2})
        self.assertEqual(self.processes[0].wait(timeout=180), 82)
        self.assertEqual(len(self.log(0).splitlines()), 1, self.log(0))
        self.assertIn("RANK is 2 and WORLD_SIZE is 2", self.log(0))


if __name__ == "__main__":
    unittest.main()

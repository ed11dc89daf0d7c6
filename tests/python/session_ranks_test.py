"""ratoon.Session without PyTorch: several ranks, and functions for epochs, in runs that lose processes."""
import json
import re
import subprocess
import sys
import unittest

import ratoon
from session_programs import BIN, Programs

EPOCHS = """
import sys, ratoon
gates = set(map(int, sys.argv[2:]))
with ratoon.Session(save_folder=sys.argv[1], run_name="py", save_every="2st") as session:
    stream = ratoon.Stream(samples=12, global_batch=4, seed=3, source="s")
    state = {{"calls": []}}
    session.track(state=state, stream=stream)
    session.on_epoch_begin(lambda epoch: state["calls"].append(("begin", epoch, session.steps_done)))
    session.on_epoch_end(lambda epoch: state["calls"].append(("end", epoch, session.steps_done)))
    for step in session.steps({steps}):
        stream.take()
        print("step", step, flush=True)
        if step in gates:
            sys.stdin.readline()
        {act}
    print("result", state["calls"])
"""


class Epochs(Programs):
    def test_each_epoch_begins_and_ends_once_although_a_process_is_killed(self):
        unbroken = self.result_in(self.run_through(program=EPOCHS, steps=9, folder="unbroken"))
        self.assertEqual(unbroken[0].count("'begin'"), 3)
        self.assertEqual(unbroken[0].count("'end'"), 3)
        for gate in (2, 3, 6):
            child = self.start(gate, program=EPOCHS, steps=9)
            self.read_until(child, f"step {gate}")
            child.kill()
            self.end(child)
        self.assertEqual(self.result_in(self.run_through(program=EPOCHS, steps=9)), unbroken)

    def test_an_error_of_a_function_for_epochs_reaches_the_program(self):
        broken = EPOCHS.replace('state["calls"].append(("end", epoch, session.steps_done))', "[][epoch]")
        code, _, errors = self.end(self.start(program=broken, steps=9))
        self.assertEqual(code, 1)
        self.assertIn("IndexError: list index out of range", errors)


RANKS = """
import os, sys, ratoon
with ratoon.Session(run_name="ranks", save_every="5st") as session:
    state = {{"total": 0.0}}
    session.track(state=state)
    for step in session.steps(40):
        right, count = session.sum(step + session.rank, 1)
        exact, rounded = session.sum(2**53 + session.rank, whole=True), session.sum(2**53 + session.rank)
        mixed = session.sum(session.rank or 0.5)  # an empty part of a validation leaves the int 0
        state["total"] += right + session.mean("loss", float(step), session.rank + 1)
        if step == 20 and session.attempt == 1 and session.rank == 1 and {kills}:
            os.kill(os.getpid(), 9)
        if step == 30 and session.rank == session.world_size - 1:
            session.finish("the last rank says so")
    print("result", session.rank, count, session.steps_done, state["total"], exact == 2**54 + 1, rounded == 2.0**54, mixed == 1.5)
"""


class Ranks(Programs):
    def run_ranks(self, name, kills, *flags):
        words = [BIN / "ratoon", "launch", "--nproc", "2", "--folder", self.folder / name, "--", sys.executable, "-c",
                 RANKS.format(kills=kills), *flags]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        logs = "\n".join(file.read_text() for file in sorted((self.folder / name).rglob("*.log")))
        self.assertEqual(done.returncode, 0, done.stdout + logs)
        return sorted(set(re.findall(r"result (\d .*)", done.stdout + logs)))

    def test_two_ranks_agree_without_a_library_for_collectives(self):
        unbroken = self.run_ranks("unbroken", kills=False)
        self.assertEqual(len(unbroken), 2)
        self.assertTrue(all(" 2.0 32 " in line and line.endswith("True True True") for line in unbroken), unbroken)
        self.assertEqual(self.run_ranks("killed", kills=True), unbroken)

    def test_checkpoints_are_looked_for_where_the_program_saves(self):
        """A flag behind -- may be the program's own. `ratoon run` and `launch` would take it for Ratoon's."""
        self.run_ranks("run", False, "--save-folder", str(self.folder / "of-the-program"))
        self.assertFalse((self.folder / "of-the-program").exists())
        saves = json.loads((self.folder / "run/status.json").read_text())["saves"]
        self.assertEqual(max(one.step for one in ratoon.checkpoints.list(self.folder / "run" / saves)), 32)

    def test_a_job_that_has_lost_ranks_ends_at_the_same_step(self):
        """Under a coordinator a world of one may have had several ranks: a request takes effect in the same step."""
        for nodes in (1, 2):
            with self.subTest(nodes=nodes):
                trainer = {"name": "trainer", "image": "none",
                           "command": [sys.executable, "-c", RANKS.format(kills=False)]}
                workers = {"name": "worker", "template": {"spec": {"containers": [trainer]}}}
                job = {"apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": f"job{nodes}"},
                       "spec": {"numNodes": nodes, "roles": [workers]}}
                path = self.folder / f"job{nodes}.yaml"
                path.write_text(json.dumps(job))
                done = subprocess.run([BIN / "ratoon", "run", path, "--folder", self.folder / f"run{nodes}"],
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertIn("completed at step 32: the last rank says so\n", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)

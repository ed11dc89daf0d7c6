"""ratoon.Session without PyTorch: several ranks, and functions for epochs, in runs that lose processes."""
import itertools
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


# Each of two ranks has an array of its own name. A rank alone looks for both arrays, and reads the other rank's pack for that.
ARRAYS = """
import sys, numpy, ratoon
with ratoon.Session(run_name="arrays", save_every="5st", keep_last=3) as session:
    mine = [rank for rank in range(2) if rank % session.world_size == session.rank]
    arrays = {{f"array{{rank}}": numpy.zeros(100) for rank in mine}}
    session.track(**arrays)
    print("goes on from", session.resumes_at, flush=True)
    for step in session.steps({steps}):
        for array in arrays.values():
            array += 1
    print("result", session.steps_done, [float(array[0]) for array in arrays.values()], flush=True)
"""


class Jobs(Programs):
    def run_job(self, name, ranks, program, *words):
        """(exit code, what `ratoon run` and the members printed)"""
        trainer = {"name": "trainer", "image": "none", "command": [sys.executable, "-c", program, *words]}
        workers = {"name": "worker", "template": {"spec": {"containers": [trainer]}}}
        # A busy machine may keep a process silent for the three seconds that are the default.
        job = {"apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": name},
               "spec": {"numNodes": ranks, "roles": [workers], "disruptionPolicy": {"suspectAfterSeconds": 60}}}
        path = self.folder / f"{name}.yaml"
        path.write_text(json.dumps(job))
        done = subprocess.run([BIN / "ratoon", "run", path, "--folder", self.folder / name], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=300)
        logs = "\n".join(file.read_text() for file in sorted((self.folder / name).rglob("*.log")))
        return done.returncode, done.stdout + logs


class Resize(Jobs):
    def run_arrays(self, ranks, steps):
        return self.run_job("arrays", ranks, ARRAYS.format(steps=steps))

    def test_a_damaged_pack_of_a_rank_that_is_gone_leads_to_the_older_checkpoint(self):
        """A Python object makes the session read that pack. The program is refused at the older checkpoint: a whole array of
        another rank is not taken over."""
        code, said = self.run_arrays(2, 20)
        self.assertEqual(code, 0, said)
        pack = max((self.folder / "arrays").rglob("r0001.safetensors"), key=lambda file: file.parent.name)
        content = bytearray(pack.read_bytes())
        content[20] ^= 1  # in the header
        pack.write_bytes(content)
        _, said = self.run_arrays(1, 30)
        self.assertRegex(said, "its header is not the one that was committed .*; an older checkpoint is requested")
        self.assertIn("goes on from 15", said)
        self.assertNotIn("Traceback", said)


class Ranks(Jobs):
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
                code, said = self.run_job(f"job{nodes}", nodes, RANKS.format(kills=False))
                self.assertEqual(code, 0, said)
                self.assertIn("completed at step 32: the last rank says so\n", said)


# A collective of another library notices a loss before the session does, within a call of the session.
LOSS = """
import os, pathlib, sys, time, ratoon
def learn(session):
    def collective(name):
        if name == {where!r} and session.attempt == 1 and session.steps_done >= 3:
            if session.rank == 1:
                while not os.path.exists({met!r}):  # a slow rank 0 would notice the loss before it is here, or before it begins
                    time.sleep(0.001)
                os.kill(os.getpid(), 9)
            pathlib.Path({met!r}).touch()
            {act}
    class Counts:
        def state_dict(self):
            collective("state_dict")
            return {{"n": 1}}
        def load_state_dict(self, state):
            pass
    print("rank", session.rank, "attempt", session.attempt, "pid", os.getpid(), flush=True)
    stream = ratoon.Stream(samples=16, global_batch=4, seed=3, source="s")
    session.track(stream=stream, counts=Counts())
    session.on_epoch_begin(lambda epoch: collective("on_epoch_begin"))
    session.on_epoch_end(lambda epoch: collective("on_epoch_end"))
    for step in session.steps(12):
        stream.take()
if "train" in sys.argv:
    ratoon.train(learn, run_name="ranks", save_every="5st")
else:
    with ratoon.Session(run_name="ranks", save_every="5st") as session:
        learn(session)
"""


class Loss(Jobs):
    def lose_a_rank(self, where, act, *words):
        """What `ratoon run` and the members print, and the processes of rank 0."""
        name = f"{where}-{len(act)}".replace("_", "-")
        code, said = self.run_job(name, 2, LOSS.format(where=where, act=act, met=str(self.folder / f"{name}.met")), *words)
        self.assertEqual(code, 0, said)
        self.assertNotIn("exit code 1;", said)
        processes = re.findall(r"rank 0 attempt \d pid (\d+)", said)
        self.assertEqual(len(processes), 2, said)
        return said, processes

    def cases(self):
        return itertools.product(("on_epoch_begin", "on_epoch_end", "state_dict"), (
            'raise TimeoutError("no answer")', 'raise RuntimeError("gloo: connection closed")', "session.sum(1)"))

    def test_a_survivor_starts_again_wherever_it_meets_the_loss(self):
        for where, act in self.cases():
            with self.subTest(where, act=act):
                said, processes = self.lose_a_rank(where, act)
                self.assertNotEqual(*processes)
                self.assertRegex(said, r"worker-0-i0: exit code 81\b")

    def test_a_survivor_of_train_goes_on_wherever_it_meets_the_loss(self):
        for where, act in self.cases():
            with self.subTest(where, act=act):
                said, processes = self.lose_a_rank(where, act, "train")
                self.assertEqual(*processes, said)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Programs of Python that use ratoon.Session, in processes of their own, for the tests beside it."""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

import ratoon

BIN = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin"

# Prints each step. It stops at a step named on the command line until a line comes from its input.
PROGRAM = """
import atexit, random, sys, ratoon
atexit.register(lambda: print("atexit", flush=True))
gates = set(map(int, sys.argv[2:]))
try:
    with ratoon.Session(save_folder=sys.argv[1], run_name="py", save_every={every!r}, grace_seconds=30) as session:
        stream = ratoon.Stream(samples=1000, global_batch=7, seed=3, source="s")
        state = {{"sum": 0, "chain": 0.0, "seen": []}}
        own = random.Random(5)
        session.track(state=state, stream=stream, own=own)
        for step in session.steps({steps}):
            state["sum"] += sum(slot.sample for slot in stream.take())
            state["chain"] = state["chain"] * 0.5 + random.random() + own.gauss(0, 1)
            state["seen"] = (state["seen"] + [(step, state["chain"])])[-3:]
            session.report("loss", state["chain"])
            print("step", step, flush=True)
            if step in gates:
                sys.stdin.readline()
            {act}
        print("result", state["sum"], state["chain"].hex(), state["seen"][-1][0], random.random().hex(), flush=True)
finally:
    print("finally", flush=True)
"""


class Programs(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-session-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def start(self, *gates, act="pass", every="10st", folder="runs", steps=60, program=PROGRAM):
        text = textwrap.dedent(program).format(act=act, every=every, steps=steps)
        return subprocess.Popen([sys.executable, "-c", text, str(self.folder / folder), *map(str, gates)],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self, child, timeout=120):
        said, errors = child.communicate(timeout=timeout)
        return child.returncode, said, errors

    def run_through(self, **arguments):
        code, said, errors = self.end(self.start(**arguments))
        self.assertEqual(code, 0, errors)
        return said

    def read_until(self, child, line):
        for found in child.stdout:
            if found == line + "\n":
                return
        self.fail(f"the program never printed '{line}': {child.communicate()}")

    def wait_for_a_checkpoint(self):
        for _ in range(12000):
            if ratoon.checkpoints.list(self.folder / "runs/py"):
                return
            time.sleep(0.01)
        self.fail("no checkpoint was committed")

    @staticmethod
    def result_in(said):
        return [line for line in said.splitlines() if line.startswith("result")]

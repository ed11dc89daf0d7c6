"""Jobs of launched programs on a stand-in cluster. Used by the launcher's tests beside it."""

import os
import pathlib
import signal
import sys

from local_run import Gate, wait_until
from stand_in_cluster import Operator, StandInCluster

PLAIN = pathlib.Path(__file__).with_name("plain_trainer.py")


class LaunchedCluster:
    def __init__(self, test):
        self.cluster = StandInCluster(test)
        self.gate = Gate(self.cluster.folder)
        self.operator = Operator(test, self.cluster, "operator-1", 1, "--launcher-image=ratoon-operator:dev")

    def start(self, name, steps, members, held_at=None, **spec):
        """`held_at`: the steps that the job makes before the gate lets more pass."""
        if held_at:
            self.gate.let_pass(held_at)
        folder = self.cluster.kubelet.save_folder(name)
        trainer = {"name": "trainer", "image": "example.org/python:3",
                   "command": [sys.executable, str(PLAIN), str(folder), str(steps)],
                   "env": [{"name": "TEST_STEP_GATE", "value": str(self.gate.path)}] if held_at else []}
        self.cluster.start_job(name, steps, numNodes=members, roles=[
            {"name": "worker", "agent": "Launcher", "template": {"spec": {"containers": [trainer]}}}], **spec)
        return folder

    def wait_until_formed(self, name, attempt):
        return self.cluster.wait_for(name, f"attempt {attempt}",
                                     lambda s: s.get("attempt") == attempt and s.get("formed"))

    def said(self, pod):
        path = self.cluster.folder / f"{pod}.out"
        return path.read_text() if path.exists() else ""

    def freeze(self, pod):
        """All processes of the pod stop, as on a node that has lost its power: no kubelet and no program says so."""
        launcher = self.cluster.kubelet.process_of(pod).pid
        children = pathlib.Path(f"/proc/{launcher}/task/{launcher}/children")
        program = int(wait_until(lambda: children.read_text().split(), "the program to run")[0])
        for pid in (launcher, program):
            os.kill(pid, signal.SIGSTOP)

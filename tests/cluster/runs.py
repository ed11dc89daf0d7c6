"""What tests on a cluster do with a run of digits, and what holds for each: nobody can tell from its weights what was lost."""
import os
import time

from lab import is_stepping

STEPS = int(os.environ.get("RATOON_STEPS", "1000"))
PAUSE_MS = 60
END_SECONDS = 300 + STEPS * 0.1  # a step takes its pause and a little more, and some are made again


class Runs:
    """Beside a TestCase. `lab` is the cluster, `unbroken` the weights of a run in which nothing happened."""
    lab, unbroken = None, None

    @classmethod
    def run_unbroken(cls, name="unbroken", **spec):
        cls.lab.start(name, STEPS, pause_ms=0, **spec)
        cls.lab.wait(name, "success", lambda status: status.get("phase") == "Succeeded", END_SECONDS)
        return cls.lab.weights(name)

    def begin(self, name, pause_ms=PAUSE_MS, **spec):
        self.lab.start(name, STEPS, pause_ms, **spec)
        self.lab.wait(name, "first steps", is_stepping(0), 180)

    def let_it_train(self, name, steps):
        """Until it has made about so many more, and one checkpoint at least."""
        begun = self.lab.status(name)
        goal = begun["progress"]["step"] + steps
        return self.lab.wait(name, f"step {goal}",
                             lambda status: is_stepping(goal)(status) and "lastCheckpoint" in status, 180)

    def wait_for_world(self, name, size):
        return self.lab.wait(name, f"a world of {size}", lambda now: now.get("phase") == "Running" and
                             now["worldSize"] == size and is_stepping(0)(now), 180)

    def wait_recovered(self, name, before, lost_at, seconds=180):
        """Returns the seconds from the loss until this test sees that all members step again, and the job's own account."""
        old = before.get("lastDisruption")
        status = self.lab.wait(name, "recovery",
                               lambda now: now.get("lastDisruption") != old and now["phase"] == "Running", seconds)
        return time.time() - lost_at, status["lastDisruption"]

    def wait_free(self, name, node):
        """Until members may be placed on a node that came back: the next loss is to find a free one. A job that is over places
        no more members, and its list of nodes stays as it was."""
        self.lab.wait(name, f"trust in {node}", lambda now: now.get("phase") == "Succeeded" or
                      node not in [suspect["name"] for suspect in now.get("suspectNodes", [])], 600)

    def expect_unbroken_weights(self, name, unbroken=None):
        status = self.lab.wait(name, "success", lambda now: now.get("phase") == "Succeeded", END_SECONDS)
        self.assertEqual(status["progress"]["step"], STEPS)
        self.assertEqual(status["restarts"]["application"], 0)
        self.assertEqual(self.lab.weights(name), unbroken or self.unbroken, "the weights of a run in which nothing happened")
        return status

"""Two ranks whose checkpoints have copies in a store: when all that they had at home is gone, both go on from the store, at
one step."""

import shutil
import signal
import unittest

from local_run import LocalRun, wait_until


def newest_in(store):
    """The newest step that is there. A copy may skip a step, and an older step may be retired."""
    return max((int(path.name[1:11]) for path in (store / "counter/manifests").glob("s*.json")), default=0)


class PlacesOfAWorld(unittest.TestCase):
    def test_the_folder_is_lost(self):
        run = LocalRun(command=["counter", "--steps", "1000000", "--pause-ms", "10"])
        self.addCleanup(run.close)
        store = run.root / "store"
        container = run.document["spec"]["roles"][0]["template"]["spec"]["containers"][0]
        container["env"] = [{"name": "RATOON_STORES", "value": f"file://{store}"}]
        run.write_job()
        run.start()
        wait_until(lambda: newest_in(store) >= 40, "a checkpoint of step 40 or later in the store")
        run.process.send_signal(signal.SIGINT)
        self.assertEqual(run.finish()[0], 130)
        copied = newest_in(store)
        shutil.rmtree(run.folder / "checkpoints")
        steps = copied + 20
        run.start("--", "--steps", str(steps))
        code, output = run.finish()
        # What the runner was told of as durable would be missed: who is told to leave waits for the copy.
        self.assertEqual(code, 0, output)
        self.assertEqual({run.first_line_of(2, rank)[2] for rank in (0, 1)}, {copied})
        done = f"done: {steps} steps, sum {steps * (steps - 1) // 2}"
        self.assertEqual(sum(done in text for text in run.logs().values()), 2, run.logs())


if __name__ == "__main__":
    unittest.main()

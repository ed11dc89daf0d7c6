"""Notice of a node's end under `ratoon run`, with members that agree once a step: a successor takes over beside them, and no step
is made twice. And what notice is to members without the agent."""

import pathlib
import shutil
import signal
import sys
import tempfile
import unittest

from local_run import LocalRun, wait_until
from noticed_ranks import STEP

TRAINER = pathlib.Path(__file__).with_name("plain_trainer.py")


class LocalNotice(unittest.TestCase):
    def begin(self, **spec):
        words = tempfile.mkdtemp(prefix="ratoon-words-")
        self.addCleanup(shutil.rmtree, words)
        run = LocalRun("noticed", {"checkpointPolicy": {"intervalSteps": 1_000_000}, **spec},
                       ["drain_probe", "--agree", words, "--steps", "1000000"])
        self.addCleanup(run.close)
        return run.start()

    @staticmethod
    def steps(run):
        """{rank: [step]} that were trained, over all attempts."""
        found = {}
        for text in run.logs().values():
            for rank, step, _ in STEP.findall(text):
                found.setdefault(int(rank), []).append(int(step))
        return {rank: sorted(steps) for rank, steps in found.items()}

    def take_node(self, run, node):
        wait_until(lambda: run.job_status()["progress"]["step"] > 0, "a step")
        run.reclaim(node, "60s")
        wait_until(lambda: len(run.status().get("recoveries", [])) == 1, "all to step again", 180)

    def check_no_step_was_lost(self, run, node, processes):
        wait_until(lambda: node not in [m["node"] for m in run.status()["members"]], "the member to be off its node", 180)
        last = run.job_status()["lastDisruption"]
        run.process.send_signal(signal.SIGINT)
        code, output = run.finish()
        self.assertEqual(code, 130, output)
        self.assertEqual(last["lostSteps"], 0, last)
        self.assertEqual(run.job_status()["restarts"]["disruption"], 0, "notice that is kept is no loss")
        ((_, saved),) = run.commits()[-1:]
        self.assertEqual(self.steps(run), {rank: list(range(saved)) for rank in range(processes)}, "each step once")
        return output

    def test_one_of_three_hands_over_and_no_step_is_made_again(self):
        run = self.begin(numNodes=3)
        self.take_node(run, "node-2")
        output = self.check_no_step_was_lost(run, "node-2", 3)
        self.assertIn("attempt 2 trains with 3 processes from step ", output)
        names = [f"noticed-worker-{name}" for name in ("0-i0", "1-i0", "1-i1", "2-i0")]
        self.assertEqual(sorted(run.logs()), names, "one successor alone, and the others stay")

    def test_all_processes_of_the_member_hand_over(self):
        run = self.begin(numNodes=2, processesPerNode=2)
        self.take_node(run, "node-1")
        self.check_no_step_was_lost(run, "node-1", 4)

    def test_members_without_the_agent_work_until_the_end_and_are_made_anew_as_a_group(self):
        run = LocalRun(spec={"numNodes": 2, "restartPolicy": {"maxRestarts": 0}}, held_at=295)
        self.addCleanup(run.close)
        role = run.document["spec"]["roles"][0]
        role["agent"] = "None"
        role["template"]["spec"]["containers"][0]["command"] = [sys.executable, str(TRAINER), str(run.root), "300"]
        run.write_job()
        run.start()
        wait_until(lambda: (run.root / "kept.json").exists(), "a step that is kept")
        run.reclaim("node-2", "1s")
        wait_until(lambda: run.job_status()["attempt"] == 2 and run.job_status()["formed"], "another group")
        run.let_pass(300)
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        told = output.index("node-2 got a preemption notice and is removed in 1 s")
        gone = output.index("node-2 was removed with its members: counter-worker-1-i0")
        self.assertNotIn("trains with", output[told:gone], "nobody is made beside it")
        self.assertEqual([m["incarnation"] for m in run.job_status()["members"]], [1, 1])
        self.assertEqual(run.job_status()["restarts"], {**run.job_status()["restarts"], "disruption": 1, "application": 0})


if __name__ == "__main__":
    unittest.main()

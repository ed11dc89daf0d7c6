"""ratoon.train() without PyTorch: when another process is lost or told to leave, the function is called again in the same
process, and the run ends with the bits of an unbroken one."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest

from train_runs import HURTING, TrainRun, calls_in, last_step_in, results_in

BIN = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin"

# `own` and `outer` outlive the function.
PROGRAM = """
import random, threading, weakref, ratoon
own = random.Random(5)
outer = {"steps": 0}
alive = weakref.WeakSet()
class Part:
    pass
def learn(session):
    tell(session, f"holds {len(alive)} parts {threading.active_count()} threads")
    part = Part()
    part.itself = part
    alive.add(part)
    stream = ratoon.Stream(samples=1000, global_batch=6, seed=3, source="s")
    state = {"sum": 0, "chain": 0.0}
    session.track(state=state, stream=stream, own=own, outer=outer)
    for made, step in enumerate(session.steps(end)):
        mine = sum(slot.sample for slot in stream.take(session.rank, session.world_size))
        total, draws = session.sum(mine, random.random() + own.gauss(0, 1))
        state["sum"] += int(total)
        state["chain"] = state["chain"] * 0.5 + draws
        outer["steps"] += 1
        hurt(session, made)
        if ends_early(session, made):
            session.finish("the plan is carried out")
    print("result", session.steps_done, state["sum"], state["chain"].hex(), outer["steps"], flush=True)
ratoon.train(learn, grace_seconds=3)
"""


class Disturbances(unittest.TestCase):
    def run_plan(self, plan, end=10**6, program=PROGRAM, **how):
        run = TrainRun(program, plan, end, **how)
        self.addCleanup(run.close)
        return run.run()

    def check_processes(self, said, plan):
        """A process that was not hurt is called once more, and no other process takes its place."""
        calls = calls_in(said)
        self.assertEqual(sorted(calls), list(range(1, max(plan) + 2)), said[-6000:])
        self.assertEqual(set(re.findall(r"holds .*", said)), {"holds 0 parts 1 threads"}, "nothing is left of an attempt")
        for attempt, (_, hurt) in plan.items():
            for rank, (process, count) in calls[attempt].items():
                following = calls[attempt + 1][rank]
                if rank == hurt:
                    self.assertNotEqual(following[0], process)
                    self.assertEqual(following[1], 1)
                else:
                    self.assertEqual(following, (process, count + 1), f"rank {rank} behind attempt {attempt}")

    def test_the_process_that_is_not_hurt_stays_and_no_bit_changes(self):
        plan = {1: ["kill", 1], 2: ["kill", 0], 3: ["notice", 1]}
        said = self.run_plan(plan)
        self.check_processes(said, plan)
        unbroken = self.run_plan({}, last_step_in(said))
        self.assertEqual(len(results_in(said)), 1, said[-4000:])
        self.assertEqual(results_in(said), results_in(unbroken))

    def test_before_the_first_checkpoint_all_goes_back_to_the_first_step(self):
        plan = {1: ["kill", 1], 2: ["kill", 1]}
        generator_alone = PROGRAM.replace(", outer=outer", "").replace(""", outer["steps"], flush""", ", flush")
        for program in (PROGRAM, generator_alone):
            with self.subTest(generator_alone=program is generator_alone):
                said = self.run_plan(plan, program=program, spec={"checkpointPolicy": {"intervalSteps": 100000}})
                self.check_processes(said, plan)
                self.assertEqual(last_step_in(said), 14, "each attempt begins at step 0")
                self.assertEqual(results_in(said), results_in(self.run_plan({}, 14, program=program)))

    def test_ranks_of_a_launch_stay_too(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-train-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        (folder / "program.py").write_text(HURTING + PROGRAM)

        def launch(name, plan, end):
            words = [BIN / "ratoon", "launch", "--nproc", "2", "--folder", folder / name, "--", sys.executable,
                     folder / "program.py", json.dumps(plan), str(end)]
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
                                  env=os.environ | {"RATOON_SAVE_EVERY": "5st"})
            logs = "\n".join(file.read_text() for file in sorted((folder / name).rglob("*.log")))
            self.assertEqual(done.returncode, 0, done.stdout + logs)
            return done.stdout + logs

        # A busy machine may keep a rank silent for three seconds, and then that is one loss more: tried again.
        for number in range(5):
            said = launch(f"killed-{number}", {1: ["kill", 1]}, 40)
            calls = calls_in(said)
            if len(calls) == 2:
                break
        self.assertEqual(sorted(calls), [1, 2], said[-6000:])
        self.assertEqual(calls[2][0], (calls[1][0][0], 2), said[-6000:])
        self.assertNotEqual(calls[2][1][0], calls[1][1][0])
        results = {re.search(r"result .*", line)[0] for line in said.splitlines() if "result " in line}
        unbroken = launch("unbroken", {}, int(next(iter(results)).split()[1]))
        self.assertEqual(results, {re.search(r"result .*", line)[0] for line in unbroken.splitlines() if "result " in line})


SWALLOWING = """
import pathlib, time, ratoon
within_try = pathlib.Path(__file__).with_name("within-try")
def wait_for_rank_0(session, made):
    # Rank 0 may be slow: before its `try` the loop itself would notice the loss, and nothing would be caught.
    if session.attempt == 1 and made == 12:
        if session.rank == 0:
            within_try.touch()
        while not within_try.exists():
            time.sleep(0.001)
def learn(session):
    tell(session)
    state = {"sum": 0.0}
    session.track(state=state)
    for made, step in enumerate(session.steps(end)):
        try:
            wait_for_rank_0(session, made)
            hurt(session, made)  # the other rank waits in sum()
            state["sum"] += session.sum(step)
            if ends_early(session, made):
                session.finish("the plan is carried out")
        except BaseException as error:
            print("caught", type(error).__name__, isinstance(error, Exception), flush=True)
            if %(returns)s:
                return
    print("result", session.steps_done, state["sum"], flush=True)
ratoon.train(learn)
"""


class Swallowing(unittest.TestCase):
    def test_what_the_program_catches_is_noticed_and_raised_again(self):
        for returns, act in ((False, "ended a step"), (True, "returned")):
            with self.subTest(returns=returns):
                run = TrainRun(SWALLOWING % {"returns": returns}, {1: ["kill", 1]})
                self.addCleanup(run.close)
                said = run.run()
                self.assertIn("caught Interrupted False", said)
                self.assertIn(f"the training function caught ratoon.Interrupted and {act}: let it pass", said)
                steps = last_step_in(said)
                self.assertEqual(results_in(said), {f"{steps} {steps * (steps - 1):.1f}"})
                self.assertEqual(len({process for process, _ in calls_in(said)[2].values()} &
                                     {process for process, _ in calls_in(said)[1].values()}), 1)


class Alone(unittest.TestCase):
    """One process without a coordinator: its function is called once, and its ends have the exit codes of C++."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-train-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def start(self, act, steps=20, signals=True):
        program = f"""
            import atexit, os, signal, sys, time, ratoon
            atexit.register(lambda: print("atexit", flush=True))
            def learn(session):
                state = {{"sum": 0}}
                session.track(state=state)
                try:
                    for step in session.steps({steps}):
                        state["sum"] += step
                        {act}
                finally:
                    print("finally", flush=True)
            ratoon.train(learn, save_folder=sys.argv[1], run_name="py", save_every="5st", grace_seconds=4,
                         signals={signals})
            print("behind")
        """
        return subprocess.Popen([sys.executable, "-c", textwrap.dedent(program), str(self.folder)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self, child):
        said, errors = child.communicate(timeout=180)
        return child.returncode, said, errors

    def test_the_run_is_complete_when_its_loop_ends(self):
        self.assertEqual(self.end(self.start("pass"))[:2], (0, "finally\nbehind\natexit\n"))

    def test_an_exception_is_the_programs(self):
        code, said, errors = self.end(self.start("1 / 0 if step == 12 else None"))
        self.assertEqual((code, said), (1, "finally\natexit\n"), errors)
        self.assertEqual(errors.count("ratoon: the program threw ZeroDivisionError: division by zero"), 1)
        self.assertIn("in learn\nZeroDivisionError", errors, "its traceback is whole")

    def test_sys_exit(self):
        code, said, errors = self.end(self.start("sys.exit(7) if step == 12 else None"))
        self.assertEqual((code, said), (7, "finally\natexit\n"), errors)
        code, _, errors = self.end(self.start("sys.exit(0) if step == 12 else None"))
        self.assertEqual(code, 82, errors)
        self.assertIn("the training function returned at step 12 of 20", errors)

    def test_sys_exit_at_the_end_completes_the_run_and_exits(self):
        act = "session.finish('enough') if step == 12 else None\n                    sys.exit(0)"
        code, said, errors = self.end(self.start(act))
        self.assertEqual((code, said), (0, "finally\natexit\n"), errors)

    def test_a_wrong_call_ends_with_82(self):
        code, said, errors = self.end(self.start("session.complete()"))
        self.assertEqual(code, 82, errors)
        self.assertIn("return from the training function instead", errors)

    def test_an_interruption_of_the_program_itself_is_its_error(self):
        code, said, errors = self.end(self.start("""if step == 12: raise ratoon.Interrupted("my own")"""))
        self.assertEqual(code, 1, errors)
        self.assertIn("the program threw ratoon::Interrupted: my own", errors)
        self.assertIn("so the training function is not called again", errors)

    def test_signals_save_the_step(self):
        for number, ended in ((signal.SIGTERM, 80), (signal.SIGINT, 130)):
            with self.subTest(number):
                shutil.rmtree(self.folder / "py", ignore_errors=True)
                act = f"os.kill(os.getpid(), {int(number)}) if step == 12 else time.sleep(0.01)"
                code, said, errors = self.end(self.start(act, steps=10**9))
                self.assertEqual((code, said), (ended, "finally\natexit\n"), errors)
                self.assertNotIn("KeyboardInterrupt", errors)
                self.assertIn("SIGTERM" if ended == 80 else "Ctrl-C", errors)

    def test_without_its_signals_ctrl_c_is_pythons(self):
        code, said, errors = self.end(self.start("os.kill(os.getpid(), signal.SIGINT) if step == 12 else None", signals=False))
        self.assertEqual((code, said), (-signal.SIGINT, "finally\natexit\n"), errors)
        self.assertIn("KeyboardInterrupt", errors)

    def test_a_forked_child_ends_as_it_likes(self):
        for ends, ended in (("sys.exit(3)", 3), ("session.rank", 82), ("1 / 0", 1)):
            with self.subTest(ends):
                shutil.rmtree(self.folder / "py", ignore_errors=True)
                act = f"""if step == 5:
                            child = os.fork()
                            if child == 0:
                                {ends}
                            print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)"""
                code, said, errors = self.end(self.start(act))
                self.assertEqual((code, said.count(f"child {ended}\n")), (0, 1), errors)

    def test_another_session_within_the_function_is_refused(self):
        code, _, errors = self.end(self.start("ratoon.Session(save_folder='x', run_name='y')"))
        self.assertEqual(code, 82, errors)
        self.assertIn("this process has a Session already", errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)

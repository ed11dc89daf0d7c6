"""ratoon.Session without PyTorch: programs of Python that are killed, told to leave, interrupted and wrong end as those of
C++ do, and go on with the same bits."""
import importlib.util
import os
import random
import signal
import sys
import unittest
import unittest.mock

import ratoon
from session_programs import PROGRAM, Programs
from uncaught_error_cases import Uncaught  # noqa: F401 - its cases run with those of this file

SEED = int(os.environ.get("RATOON_SEED", random.randrange(1 << 20)))

class Resume(Programs):
    def test_kills_change_no_bit(self):
        unbroken = self.result_in(self.run_through(folder="unbroken"))
        draws = random.Random(SEED)
        print("RATOON_SEED", SEED)
        # One of them comes after the first save.
        late = draws.randrange(21, 58)
        for step in sorted([late, *draws.sample([step for step in range(3, 58) if step != late], 3)]):
            child = self.start(step)
            self.read_until(child, f"step {step}")
            if step > 20:
                self.wait_for_a_checkpoint()
            child.kill()
            self.end(child)
        said = self.run_through()
        self.assertNotIn("step 0\n", said, "the saves were resumed from")
        self.assertEqual(self.result_in(said), unbroken)

    def test_a_run_that_is_complete_is_complete(self):
        first = self.run_through()
        self.assertEqual(self.result_in(first)[0].split()[3], "59")
        self.assertEqual(self.run_through(), first[first.index("result"):], "no step is made again")

    def test_a_save_on_wish_is_kept_and_finish_ends_the_run(self):
        said = self.run_through(act="session.save('it is good') if step == 17 else None\n"
                                    "            session.finish('enough') if step == 33 else None")
        self.assertIn("step 33\n", said)
        self.assertNotIn("step 35\n", said)
        pinned = [one.step for one in ratoon.checkpoints.list(self.folder / "runs/py") if one.is_pinned]
        self.assertEqual(len(pinned), 1, "the one that was saved for a reason")

    def test_the_best_steps_are_kept(self):
        said = self.run_through(act="print('best', step, session.save_best('error', (step * 7 + 3) % 11, keep=2))")
        found = [line.split() for line in said.splitlines() if line.startswith("best ")]
        self.assertEqual([int(step) for _, step, is_best in found if is_best == "True"], [0, 1, 2, 3, 6, 9, 20])
        pinned = sorted(one.step for one in ratoon.checkpoints.list(self.folder / "runs/py") if one.is_pinned)
        self.assertEqual(pinned, [10, 21])

    def test_a_pin_is_removed_on_request(self):
        self.run_through(act="session.save('it is good') if step == 17 else None\n"
                             "            session.unpin(18) if step == 40 else None")
        found = {one.step: one.is_pinned for one in ratoon.checkpoints.list(self.folder / "runs/py")}
        self.assertFalse(any(found.values()), found)


class Ends(Programs):
    def test_a_notice_saves_the_step(self):
        # It trains on until two seconds are left. A busy disk may need more for the last save: tried again.
        for number in range(4):
            folder = f"runs{number}"
            child = self.start(25, every="1000000st", steps=10**9, folder=folder)
            self.read_until(child, "step 25")
            child.send_signal(signal.SIGTERM)
            child.stdin.write("\n")
            code, said, errors = self.end(child)
            self.assertEqual(code, 80, errors)
            self.assertIn("finally\natexit\n", said, "Python ends the process, and not the session")
            if "is saved" in errors:
                break
        self.assertIn("is saved", errors)
        last = max(int(line.split()[1]) for line in f"step 25\n{said}".splitlines() if line.startswith("step"))
        following = self.start(last + 1, steps=10**9, folder=folder)
        first = following.stdout.readline()
        following.kill()
        self.assertEqual(first, f"step {last + 1}\n", "no step was lost")
        self.end(following)

    def test_ctrl_c_saves_the_step(self):
        child = self.start(25, every="1000st")
        self.read_until(child, "step 25")
        child.send_signal(signal.SIGINT)
        child.stdin.write("\n")
        code, said, errors = self.end(child)
        self.assertEqual(code, 130, errors)
        self.assertNotIn("KeyboardInterrupt", errors)
        self.assertIn("finally", said)
        self.assertIn("stopped by Ctrl-C", errors)
        self.assertTrue(self.run_through(every="1000st").startswith("step 2"))

    def test_python_has_its_own_ctrl_c_back_after_the_session(self):
        program = """
            import os, signal, sys, ratoon
            with ratoon.Session(save_folder=sys.argv[1], run_name="py") as session:
                for step in session.steps(3):
                    {act}
            try:
                os.kill(os.getpid(), signal.SIGINT)
                while True: pass
            except KeyboardInterrupt:
                print("interrupted")
        """
        self.assertEqual(self.run_through(program=program), "interrupted\n")

    def test_an_exception_is_the_programs(self):
        child = self.start(act="1 / 0 if step == 12 else None")
        code, said, errors = self.end(child)
        self.assertEqual(code, 1)
        self.assertIn("ratoon: the program threw ZeroDivisionError: division by zero", errors)
        self.assertIn("Traceback", errors)
        self.assertTrue(self.run_through().startswith("step 10\n"))

    def test_a_loop_that_is_left_is_no_end_of_the_run(self):
        for act in ("break", "sys.exit(0)"):
            with self.subTest(act):
                folder = "left-" + act.split(".")[-1][:4]
                code, _, errors = self.end(self.start(act=act, folder=folder))
                self.assertEqual(code, 82, errors)
                self.assertIn("step", errors)
        code, _, _ = self.end(self.start(act="sys.exit(7)", folder="other"))
        self.assertEqual(code, 7, "another exit code is the program's own choice")

    def test_an_end_that_the_program_swallows_keeps_its_code(self):
        program = """
            import sys, ratoon
            session = ratoon.Session(save_folder=sys.argv[1], run_name="py", grace_seconds=12)
            try:
                for step in session.steps(10**9):
                    print("step", step, flush=True)
                    sys.stdin.readline()
                    {act}
            except BaseException as error:
                print(type(error).__name__, error)
        """
        child = self.start(program=program)
        self.read_until(child, "step 0")
        child.send_signal(signal.SIGTERM)
        code, said, errors = self.end(child)
        self.assertEqual((code, said.splitlines()[-1]), (80, "SystemExit 80"), errors)

    def test_a_forked_child_ends_as_it_likes(self):
        act = ("""if step == 5:
                child = __import__("os").fork()
                if child == 0:
                    sys.exit(0)
                print("child", __import__("os").waitpid(child, 0)[1])""")
        self.assertIn("child 0\n", self.run_through(act=act))


class Refusals(Programs):
    def refusal(self, track, options=""):
        program = f"""
            import collections, sys, ratoon
            session = ratoon.Session(save_folder=sys.argv[1], run_name="py"{options})
            {track}
            for step in session.steps(2):
                pass
            session.complete()
        """
        program = program.replace("{", "{{").replace("}", "}}")
        code, _, errors = self.end(self.start(program=program))
        self.assertEqual(code, 82, errors)
        return errors

    def test_what_cannot_be_tracked_is_refused_with_the_way_out(self):
        for track, said in (
                ("session.track(best=0.5)", "track a dict that holds it, for example progress = {'best': 0.5}"),
                ("session.track(it=object())", "has no state_dict() and load_state_dict()"),
                ("session.track(it={'f': lambda: 1})", "tracked 'it': its value ['f'] is of type builtins.function"),
                ("session.track(a=[]); session.track(a=[])", "'a'"),
                ("ratoon.Session(save_folder='x', run_name='y')", "this process has a Session already")):
            with self.subTest(track):
                self.assertIn(said, self.refusal(track))

    def test_options_are_refused_by_name(self):
        self.assertIn("there is no option save_evry: give save_every", self.refusal("pass", ", save_evry='1st'"))
        self.assertIn("save_every", self.refusal("pass", ", save_every='often'"))
        self.assertIn("seed is a text, a number", self.refusal("pass", ", seed=1.5"))

    def test_the_job_decides_on_seed_and_batch(self):
        program = """
            import sys, ratoon
            with ratoon.Session(save_folder=sys.argv[1], run_name="py") as session:
                stream = session.stream(samples=100, global_batch=4, seed=3)
                print(stream.global_batch, stream.seed)
                for step in session.steps(1):
                    {act}
        """
        self.assertEqual(self.run_through(program=program), "4 3\n")
        with unittest.mock.patch.dict(os.environ, RATOON_GLOBAL_BATCH="9", RATOON_SEED="5"):
            self.assertEqual(self.run_through(program=program, folder="of-the-job"), "9 5\n")

    def test_without_its_signals_ctrl_c_is_pythons(self):
        program = """
            import os, signal, sys, ratoon
            with ratoon.Session(save_folder=sys.argv[1], run_name="py", signals=False) as session:
                for step in session.steps(3):
                    {act}
                    try:
                        os.kill(os.getpid(), signal.SIGINT)
                        while True: pass
                    except KeyboardInterrupt:
                        print("interrupted", step)
        """
        self.assertEqual(self.run_through(program=program), "interrupted 0\ninterrupted 1\ninterrupted 2\n")

    def test_another_program_does_not_resume(self):
        self.run_through()
        act = "pass"
        program = PROGRAM.replace("own=own", "another=own")
        code, _, errors = self.end(self.start(program=program, act=act))
        self.assertEqual(code, 82, errors)
        self.assertIn("another", errors)


class Faults(Programs):
    def test_a_save_may_call_the_session(self):
        """The memory of what was collected before is not freed meanwhile."""
        program = """
            import sys, ratoon
            class Counts:
                def state_dict(self): return {{"n": session.sum(1.0)}}
                def load_state_dict(self, state): print("count", state["n"])
            with ratoon.Session(save_folder=sys.argv[1], run_name="py", save_every="1st") as session:
                state = {{"blob": b"A" * 100000}}
                session.track(a=state, b=Counts())
                for step in session.steps({steps}):
                    {act}
                print(state["blob"] == b"A" * 100000)
        """
        self.assertEqual(self.run_through(program=program, steps=2), "True\n")
        self.assertEqual(self.run_through(program=program, steps=3), "count 1.0\nTrue\n")

    def test_an_exception_that_is_its_own_cause_ends_the_program(self):
        code, _, errors = self.end(self.start(act="""error = ValueError("round")
            error.__cause__ = error
            raise error"""))
        self.assertEqual(code, 1, errors)

    def test_an_exception_in_a_state_is_shown_whole(self):
        program = """
            import sys, ratoon
            class Broken:
                def state_dict(self): return {{"n": 1 / 0}}
                def load_state_dict(self, state): pass
            with ratoon.Session(save_folder=sys.argv[1], run_name="py") as session:
                session.track(broken=Broken())
                for step in session.steps(2):
                    {act}
        """
        code, _, errors = self.end(self.start(program=program))
        self.assertEqual(code, 1, errors)
        self.assertIn("in state_dict", errors)
        self.assertIn("ZeroDivisionError: division by zero", errors)

    def test_values_without_a_byte_come_back(self):
        program = """
            import sys, ratoon
            try:
                import numpy
                state, more = {{"bytes": b"", "table": numpy.empty((0, 3))}}, {{"array": numpy.empty(0)}}
            except ImportError:
                state, more = {{"bytes": b""}}, {{}}
            with ratoon.Session(save_folder=sys.argv[1], run_name="py", save_every="1st") as session:
                session.track(state=state, **more)
                for step in session.steps({steps}):
                    {act}
            print(state["bytes"], getattr(state.get("table"), "shape", (0, 3)))
        """
        for steps in (2, 3):
            self.assertEqual(self.run_through(program=program, steps=steps), "b'' (0, 3)\n")

    def test_a_program_knows_where_it_resumes(self):
        program = """
            import sys, ratoon
            with ratoon.Session(save_folder=sys.argv[1], run_name="py", save_every="5st") as session:
                print(session.resumes_at)
                for step in session.steps({steps}):
                    {act}
            print(session.resumes_at)
        """
        self.assertEqual(self.run_through(program=program, steps=7), "None\nNone\n")
        self.assertEqual(self.run_through(program=program, steps=9), "7\n7\n")

    def test_an_array_that_changes_its_shape_is_not_saved(self):
        program = """
            import sys, numpy, ratoon
            array = numpy.zeros(3)
            with ratoon.Session(save_folder=sys.argv[1], run_name="py", save_every="5st") as session:
                session.track(array=array)
                for step in session.steps({steps}):
                    if step == 12:
                        array.resize(4, refcheck=False)
                    {act}
        """
        if importlib.util.find_spec("numpy") is None:
            return
        code, _, errors = self.end(self.start(program=program))
        self.assertEqual(code, 82, errors)
        self.assertIn("tracked 'array': it is of type float64 and shape [4], and was of type float64 and shape [3]", errors)
        self.assertIn("keep it in a tracked dict", errors)
        self.assertEqual([one.step for one in ratoon.checkpoints.list(self.folder / "runs/py")], [10, 5])

    def test_facts_stay_when_the_session_is_over(self):
        program = """
            import sys, ratoon
            with ratoon.Session(save_folder=sys.argv[1], run_name="py") as session:
                session.mean("before the loop", 2.0, 3)
                for step in session.steps(7):
                    {act}
            print(session.rank, session.world_size, session.steps_done)
        """
        self.assertEqual(self.run_through(program=program), "0 1 7\n")

    def test_a_session_of_another_thread_is_refused(self):
        program = """
            import sys, threading, ratoon
            def run():
                try:
                    ratoon.Session(save_folder=sys.argv[1], run_name="py")
                except ratoon.RatoonError as error:
                    print(error)
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
            {act}
        """
        self.assertIn("is made on the main thread", self.run_through(program=program))


if __name__ == "__main__":
    unittest.main(verbosity=2)

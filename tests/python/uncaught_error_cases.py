"""How a process of Python ends after a ratoon.RatoonError that the program does not catch. session_test.py runs these cases."""
import os
import subprocess
import sys
import unittest
import unittest.mock

from session_programs import Programs

WRONG = "ratoon.Stream(samples=0, global_batch=4)"
CAUGHT = f"try: {WRONG}\nexcept ratoon.RatoonError: pass"

# As torch.distributed.init_process_group() does.
REWRITING = """
import contextlib, io
found = sys.excepthook
def hook(*error):
    with contextlib.redirect_stderr(io.StringIO()) as shown:
        found(*error)
    print("hook", shown.getvalue().count("Traceback"))
sys.excepthook = hook
"""


class Uncaught(Programs):
    """The end of a process that a RatoonError leaves, and of processes that one does not end."""

    def check(self, lines, code, said, tracebacks=1):
        ended, found, errors = self.end(self.start(program="\n".join(["import atexit, sys, threading, ratoon", *lines])))
        self.assertEqual((ended, found, errors.count("Traceback")), (code, said, tracebacks), errors)
        return errors

    def test_the_process_ends_with_the_code_of_the_error(self):
        place, seed = "save_folder=sys.argv[1], run_name='py'", {"RATOON_SEED": "many"}
        for call, variables, code, said in (
                (f"ratoon.Session({place}, save_evry='1st')", {}, 82, "there is no option save_evry"),
                (f"ratoon.train(print, {place}, save_every='often')", {}, 82, "save_every"),
                (f"ratoon.Session({place})", seed, 82, "RATOON_SEED"), (f"ratoon.train(print, {place})", seed, 82, "RATOON_SEED"),
                ("raise ratoon.RatoonError('no disk', 84)", {}, 84, "RatoonError: no disk"),
                ("raise ratoon.RatoonError('a code of 0', 256)", {}, 1, "RatoonError: a code of 0")):
            with self.subTest(call, **variables), unittest.mock.patch.dict(os.environ, variables):
                self.assertIn(said, self.check(["atexit.register(print, 'atexit')", call], code, "atexit\n"))

    def test_a_hook_of_the_program_does_its_part(self):
        for hook, code, said in ((REWRITING, 82, "hook 1\n"), ("sys.excepthook = lambda *error: print('hook')", 82, "hook\n"),
                                 ("sys.excepthook = lambda *error: sys.exit(7)", 7, "")):
            for before in ("", CAUGHT):  # with the latter, the program finds the hook of the package
                with self.subTest(hook, before=before):
                    self.check([before, hook, WRONG], code, said, tracebacks=0)

    def test_other_ends_are_as_they_were(self):
        shown = CAUGHT.replace("pass", "sys.excepthook(*sys.exc_info())")
        thread = f"thread = threading.Thread(target=lambda: {WRONG}); thread.start(); thread.join()"
        for line, code, said in ((shown, 0, "on\n"), (thread, 0, "on\n"), (f"{CAUGHT}\n1 / 0", 1, "")):
            with self.subTest(line):
                self.check([line, "print('on')"], code, said)

    def test_an_interactive_interpreter_reads_on(self):
        for words, tracebacks in ((["-i", "-c", f"import ratoon; {WRONG}"], 2),
                                  (["-c", "import code, ratoon; code.interact('', local=globals())"], 1)):
            with self.subTest(words):
                done = subprocess.run([sys.executable, *words], input=f"{WRONG}\nprint('on')\n", capture_output=True, text=True,
                                      timeout=120)
                self.assertEqual((done.returncode, done.stderr.count("Traceback")), (0, tracebacks), done.stderr)
                self.assertIn("on\n", done.stdout)

    def test_open_files_are_written(self):
        opened = "file = open(sys.argv[1] + '.{name}', 'w'); file.write('text')"
        self.check(["def fail():", "    " + opened.replace("{name}", "function"), f"    {WRONG}",
                    opened.replace("{name}", "module"), "fail()"], 82, "")
        self.assertEqual([path.read_text() for path in self.folder.iterdir()], ["text", "text"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

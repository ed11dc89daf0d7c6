"""run_python.py FILE [ARGUMENT ...]: runs a test file as `python3 FILE` does, and tells at the end which of its cases were
skipped: a line "SKIPPED CASE class.case: reason" each, which scripts/lib/ctest_report.py reads."""
import os
import runpy
import signal
import sys
import unittest


class Result(unittest.TextTestResult):
    def stopTestRun(self):
        super().stopTestRun()
        for case, reason in self.skipped:
            # The module is always __main__; what follows a blank tells one sub-test of the case from another.
            name = case.id().split()[0].removeprefix("__main__.")
            print(f"\nSKIPPED CASE {name}: {' '.join(reason.split())}", flush=True)


def main(path, *arguments):
    # Behind the '&' of a script or nohup they are ignored, and so they would be in every program that a test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    # A proxy of this machine is none for the servers that a test starts on it.
    for name in ("no_proxy", "NO_PROXY"):
        hosts = [os.environ[name]] if os.environ.get(name) else []
        os.environ[name] = ",".join([*hosts, "127.0.0.1", "::1", "localhost"])
    unittest.TextTestRunner.resultclass = Result
    sys.argv = [path, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    runpy.run_path(path, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])

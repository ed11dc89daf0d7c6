"""Two programs of examples/python, killed once; example_programs_nightly_test.py kills each of them often."""
from torch_peers import run_cases

if __name__ == "__main__":
    run_cases("example_kill_cases.py")

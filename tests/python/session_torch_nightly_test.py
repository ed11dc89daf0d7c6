"""ratoon.Session in programs of PyTorch, alone and as ranks of `ratoon launch`."""
from torch_peers import run_cases

if __name__ == "__main__":
    run_cases("session_torch_cases.py")

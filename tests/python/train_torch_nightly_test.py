"""ratoon.train() in programs of PyTorch, as ranks of `ratoon run`."""
from torch_peers import run_cases

if __name__ == "__main__":
    run_cases("train_torch_cases.py", limit_s=3500)

"""ratoon.torch under PyTorch itself: a resumed run sees the batches of an unbroken one, bit for bit, with 0 and 2 workers."""
from torch_peers import run_cases

if __name__ == "__main__":
    run_cases("torch_loader_cases.py")

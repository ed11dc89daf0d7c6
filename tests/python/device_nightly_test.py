"""Checkpoints and Trainers on machines with other devices, with PyTorch and Lightning."""
from torch_peers import run_cases

if __name__ == "__main__":
    run_cases("device_cases.py", needs_trainers=True)

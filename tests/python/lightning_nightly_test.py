"""ratoon.lightning under Lightning itself, alone and as ranks of `ratoon launch`."""
from torch_peers import run_cases

if __name__ == "__main__":
    run_cases("lightning_cases.py", needs_trainers=True, limit_s=1740)

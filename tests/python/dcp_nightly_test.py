"""ratoon.dcp under torch.distributed.checkpoint with ranks over Gloo: FSDP2, DDP, other numbers of ranks, all values."""
from torch_peers import run_cases

if __name__ == "__main__":
    run_cases("dcp_cases.py")

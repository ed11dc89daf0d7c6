"""Saves by ratoon.dcp that are killed, refused or damaged: what newest() names is whole and no older than the last save."""
from torch_peers import run_cases

if __name__ == "__main__":
    run_cases("dcp_kill_cases.py")

"""torch.distributed.checkpoint over checkpoints of Ratoon: a save is whole, verified and durable, or it is not there.

The files are those of other runs (docs/reference/checkpoint.md): `ratoon checkpoint list`, verify and export, and
ratoon.checkpoints read them. They contain tensors and JSON, and no pickle.
"""
import ratoon.torch  # noqa: F401 - it says what to do where PyTorch is not installed
from ratoon._dcp import newest
from ratoon._dcp_reader import Reader
from ratoon._dcp_writer import Writer

__all__ = ["Reader", "Writer", "newest"]

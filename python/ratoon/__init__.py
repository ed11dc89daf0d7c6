"""Ratoon for Python: fault tolerant training, over the same library as C++ trainers.

This package has no need of PyTorch; ratoon.torch has.
"""
from ratoon import checkpoints
from ratoon._atomic import atomic_save
from ratoon._core import (AcceptedDifference, AtomicDirectory, Slot, Source, SourceAccount, Stream, share_of,
                          share_weight)
from ratoon._core import version as __version__
from ratoon._errors import Interrupted, RatoonError
from ratoon._mds import MdsDataset, MdsWriter
from ratoon._session import Session
from ratoon._store import StoreOptions
from ratoon._tensor import Tensor
from ratoon._train import train

__all__ = ["AcceptedDifference", "AtomicDirectory", "Interrupted", "MdsDataset", "MdsWriter", "RatoonError", "Session",
           "Slot", "Source", "SourceAccount", "StoreOptions", "Stream", "Tensor", "atomic_save", "checkpoints", "share_of",
           "share_weight", "train"]

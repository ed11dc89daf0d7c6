"""Checkpoints of runs, looked at from outside: nothing is written, and a run may be training meanwhile.

A place is a run's folder, <save folder>/<run name>, or its place in a store, "s3://bucket/runs/digits".
"""
import dataclasses
import os

from ratoon import _core
from ratoon._errors import RatoonError
from ratoon._store import StoreOptions
from ratoon._tensor import Tensor

__all__ = ["Checkpoint", "Loaded", "Verified", "list", "load", "verify"]

_list = list


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """One of the checkpoints of a run. `state` is "complete", "damaged", "unreadable" or "set aside"; `why` says it
    where it is not complete."""

    step: int
    attempt: int
    state: str
    why: str
    digest: str
    ranks: int
    size_bytes: int
    is_pinned: bool


@dataclasses.dataclass(frozen=True)
class Verified:
    """What verify() found. `verdict` is "good", "bad", "unreadable", "set aside" or "retired"."""

    step: int
    attempt: int
    verdict: str
    why: str
    size_bytes: int

    @property
    def is_good(self) -> bool:
        return self.verdict == "good"


class Loaded(dict):
    """Tensors by their names, with where they are from: `step` (None of a file), `what` (the manifest or file) and
    `passed_over`, why newer checkpoints were not taken."""

    step: int | None
    what: str
    passed_over: "_list[str]"


def _place_of(place: "str | os.PathLike") -> str:
    text = os.fspath(place)
    if "://" not in text and not os.path.exists(text):
        raise RatoonError(f"there is no run in {text}, and no such file: give <save folder>/<run name>")
    return text


def list(place: "str | os.PathLike", *, store: StoreOptions | None = None) -> "_list[Checkpoint]":
    """The checkpoints of a run, newest first; those that a run has set aside come last."""
    return [Checkpoint(**row) for row in _core.list_checkpoints(_place_of(place), store)]


def verify(place: "str | os.PathLike", *, step: int | None = None, attempt: int | None = None,
           store: StoreOptions | None = None) -> "_list[Verified]":
    """Reads every byte of all checkpoints, or of those of a step or attempt, against their sums."""
    return [Verified(**row) for row in _core.verify_checkpoints(_place_of(place), step, attempt, store)]


def load(place: "str | os.PathLike", names: "_list[str] | None" = None, *, step: int | None = None, rank: int = 0,
         store: StoreOptions | None = None) -> Loaded:
    """Tensors of the newest checkpoint that is sound, or of a step; all of a rank, or those that are named.

    A place may also be one manifest of a run, or a file NAME.safetensors. Every byte of a checkpoint is verified;
    a file of safetensors has no sums.
    """
    found = _core.load_checkpoint(_place_of(place), None if names is None else _list(names), step, rank, store)
    loaded = Loaded({name: Tensor(*tensor) for name, tensor in found["tensors"].items()})
    loaded.step, loaded.what, loaded.passed_over = found["step"], found["what"], found["passed_over"]
    return loaded

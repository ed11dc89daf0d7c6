"""Saves of torch.distributed.checkpoint as checkpoints of Ratoon."""
import dataclasses
import json
import os
import warnings

import torch
from torch.distributed.checkpoint.default_planner import DefaultSavePlanner
from torch.distributed.checkpoint.metadata import Metadata, MetadataIndex
from torch.distributed.checkpoint.planner import SavePlan, SavePlanner, WriteItem, WriteItemType
from torch.distributed.checkpoint.storage import StorageWriter, WriteResult
from torch.futures import Future

from ratoon import _core
from ratoon._dcp import BAD, OURS, VERSION, place_of, step_of
from ratoon._errors import RatoonError
from ratoon._layout import Array, Encoder, array_of_bytes, array_of_tensor
from ratoon._tracked import SIZES


class Writer(StorageWriter):
    """Gives torch.distributed.checkpoint.save() and async_save() checkpoints that are whole or not there.

    >>> import tempfile, warnings, torch, ratoon.dcp
    >>> import torch.distributed.checkpoint as dcp
    >>> warnings.simplefilter("ignore")            # DCP warns that one process is alone
    >>> folder = tempfile.mkdtemp()
    >>> writer = ratoon.dcp.Writer(folder, run_name="titan", keep_last=3)
    >>> state = {"weights": torch.ones(4), "progress": {"step": 1200}}
    >>> _ = dcp.save(state, storage_writer=writer, checkpoint_id=1200)
    >>> ratoon.dcp.newest(folder, run_name="titan").step
    1200
    >>> state = {"weights": torch.zeros(4), "progress": {"step": 0}}
    >>> dcp.load(state, storage_reader=ratoon.dcp.Reader(folder, run_name="titan"))
    >>> state["weights"].sum().item(), state["progress"]["step"]
    (4.0, 1200)

    The folder is <folder>/<run_name>. `checkpoint_id` is the step; without it a save has the step after the newest one. Of
    the checkpoints the `keep_last` newest stay; none is removed before the newest was read back from the disk. One program
    at a time saves under a run name. One Writer serves all saves, and a new one for each save does no harm.
    """

    def __init__(self, folder: "str | os.PathLike", *, run_name: str, keep_last: int = 2):
        if keep_last < 1:
            raise RatoonError(f"keep_last is how many checkpoints stay, at least 1, and not {keep_last}")
        self._place, self._keep_last = place_of(folder, run_name), keep_last
        self._step: int | None = None

    def reset(self, checkpoint_id: "str | os.PathLike | None" = None) -> None:
        self._step = step_of(checkpoint_id)

    def set_up_storage_writer(self, is_coordinator: bool, *args, **kwargs) -> None:
        if not kwargs.get("use_collectives", True):
            raise RatoonError("dcp.save(use_collectives=False) makes a checkpoint for each rank, of which some may be whole "
                              "and others not: leave it out")

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        step, self._step = self._step, None
        if os.path.exists(os.path.join(self._place, "lock")):
            raise RatoonError(f"{self._place} has the checkpoints of a Session, which are of another kind: give the Writer a "
                              "run_name of its own")
        self._id = _begin_save(self._place, step)
        return [dataclasses.replace(plan, storage_data=(*self._id, rank)) for rank, plan in enumerate(plans)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        if getattr(planner, "_enable_plan_caching", False):
            raise RatoonError("a planner with enable_plan_caching=True hides from a rank to which checkpoint it writes: leave "
                              "it out")
        attempt, step, rank = plan.storage_data
        pack = _Pack(rank)
        for item in plan.items:
            pack.add(item, planner)
        pack.add_layout(plan)
        # All tensors of the rank are in memory at once: the header, in front of them, has their sums.
        record = _core.write_parts(self._place, (attempt, step), rank, pack.parts)
        results = [WriteResult(MetadataIndex(f"{OURS}{rank}"), record[0], (rank, record))]
        done: Future[list[WriteResult]] = Future()
        done.set_result(results)
        return done

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        attempt, step = self._id
        written = dict(result.storage_data for of_rank in results for result in of_rank)
        _core.commit(self._place, (attempt, step), [written[rank] for rank in range(len(results))])
        try:
            _core.retire(self._place, self._keep_last, attempt)
        except RatoonError as error:
            if error.exit_code == BAD:  # what was just written does not read back
                raise
            warnings.warn(f"step {step} is saved, but: {error}", stacklevel=2)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: "str | os.PathLike") -> bool:
        return False  # no id alone says that it is for this Writer


_begun: dict[tuple[int, str], tuple[int, int]] = {}  # process and place -> attempt and step of its newest save


def _begin_save(place: str, step: int | None) -> tuple[int, int]:
    """Attempt and step of a new checkpoint, which is newer than all others. A start of the program has an attempt of its
    own, and so has a save of a step that this process has saved before."""
    newest_attempt, newest_step = _core.newest_in(place)
    key = os.getpid(), os.path.realpath(place)  # a forked child saves as a program of its own
    attempt, last_step = _begun.get(key, (0, 0))
    if step is None:
        step = max(last_step, newest_step or 0) + 1
    if attempt != newest_attempt or step <= last_step or not attempt:
        attempt = newest_attempt + 1
    _begun[key] = attempt, step
    try:
        _core.sweep(place, (attempt, step))  # of saves that failed: they take room
    except RatoonError as error:
        warnings.warn(f"files of unfinished saves stay: {error}", stacklevel=2)
    return attempt, step


class _Pack:
    """What one rank writes: parts of tensors, and its other values as JSON and arrays."""

    def __init__(self, rank: int):
        self.parts: list[tuple] = []
        self._rank, self._encoder = rank, Encoder()
        self._values: dict[str, dict] = {}
        self._names: set[str] = set()
        self._owners: list = []

    def add(self, item: WriteItem, planner: SavePlanner) -> None:
        name = item.index.fqn
        if name.startswith(OURS):
            raise RatoonError(f"'{name}' of the state begins with '{OURS}', as names of ratoon.dcp do: rename it")
        if name in self._names:
            raise RatoonError(f"'{name}' has several parts on rank {self._rank}, as a ShardedTensor may have, and a checkpoint "
                              "takes one of a rank: use DTensors, as fully_shard() makes them")
        self._names.add(name)
        if item.type == WriteItemType.BYTE_IO:
            self._values[name] = self._encoded(name, planner, item)
            return
        try:
            array = array_of_tensor(planner.resolve_data(item))
        except RatoonError as error:
            raise RatoonError(f"'{name}' of the state: {error}") from None
        self._put(name, array, item.tensor_data.chunk.offsets, item.tensor_data.size)

    def _encoded(self, name: str, planner: SavePlanner, item: WriteItem) -> dict:
        try:
            return self._encoder.layout(_value_of(planner, item), (name, ))
        except RatoonError as error:
            raise RatoonError(f"dcp.save() got a state that it cannot store: {error}") from None

    def _put(self, name: str, array: Array, begin, whole) -> None:
        if array.dtype not in SIZES:
            raise RatoonError(f"'{name}' of the state is of type {array.dtype}, which checkpoints do not have: convert it")
        self.parts.append((name, array.dtype, list(array.shape), list(begin), list(whole), array.address, array.nbytes))
        self._owners.append(array.owner)

    def _put_whole(self, name: str, array: Array) -> None:
        self._put(name, array, [0] * len(array.shape), array.shape)

    def add_layout(self, plan: SavePlan) -> None:
        paths = plan.planner_data
        if paths is not None and not isinstance(paths, dict):
            raise RatoonError(f"the planner has data of type {type(paths).__name__}, which checkpoints do not have: give "
                              "dcp.save() a DefaultSavePlanner, or none")
        for name, array in self._encoder.arrays.items():
            self._put_whole(f"{OURS}{self._rank}:{name}", array)
        layout = {"version": VERSION, "values": self._values,
                  "paths": None if paths is None else {name: paths[name] for name in sorted(self._names) if name in paths}}
        self._put_whole(f"{OURS}{self._rank}", array_of_bytes(json.dumps(layout).encode()))


def _value_of(planner: SavePlanner, item: WriteItem):
    """What is no tensor, as it is: what a planner of DCP resolves it to is its pickle."""
    if isinstance(planner, DefaultSavePlanner) and type(planner).transform_object is DefaultSavePlanner.transform_object:
        return planner.lookup_object(item.index)
    try:
        data = planner.resolve_data(item)
        data.seek(0)
        return torch.load(data, weights_only=True)
    except Exception as error:
        raise RatoonError(f"its value ['{item.index.fqn}'] comes pickled from {type(planner).__name__}.transform_object() and "
                          "is more than numbers, texts, lists, dicts and tensors: leave it out of state_dict()") from error

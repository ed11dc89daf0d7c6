"""Loads of torch.distributed.checkpoint from checkpoints of Ratoon."""
import dataclasses
import io
import json
import os
import re

import torch
import torch.distributed
from torch.distributed.checkpoint.metadata import (BytesStorageMetadata, ChunkStorageMetadata, Metadata, StorageMeta,
                                                   TensorProperties, TensorStorageMetadata)
from torch.distributed.checkpoint.planner import LoadItemType, LoadPlan, LoadPlanner
from torch.distributed.checkpoint.storage import StorageReader
from torch.futures import Future

from ratoon import _core, checkpoints
from ratoon._dcp import BAD, OURS, VERSION, newest, place_of, step_of
from ratoon._errors import RatoonError
from ratoon._layout import Decoder, arrays_in, memory_of
from ratoon._tracked import SIZES


class Reader(StorageReader):
    """Gives torch.distributed.checkpoint.load() what a Writer saved, in any number of ranks.

    Without a step it takes the newest checkpoint that is sound: each rank reads every byte before it chooses. With a
    `step`, or a checkpoint_id that is one, each rank verifies what it reads. `chosen` is the checkpoint of the last load.
    """

    def __init__(self, folder: "str | os.PathLike", *, run_name: str, step: int | None = None):
        self._folder, self._run_name = folder, run_name
        self._place = place_of(folder, run_name)
        self._default = self._step = step_of(step)
        self._refusal: RatoonError | None = None
        self.chosen: checkpoints.Checkpoint | None = None

    def reset(self, checkpoint_id: "str | os.PathLike | None" = None) -> None:
        self._step = self._default if checkpoint_id is None else step_of(checkpoint_id)

    def read_metadata(self) -> Metadata:
        try:
            self._refusal = None
            return self._read_metadata()
        except RatoonError as error:
            self._refusal = error  # DCP drops what is raised here
            return Metadata({})
        finally:
            self._step = self._default

    def _read_metadata(self) -> Metadata:
        self.chosen = _choose(self._folder, self._run_name, self._step)
        self._id = self.chosen.attempt, self.chosen.step
        self._saved: dict[str, TensorStorageMetadata] = {}
        self._arrays: dict[str, tuple[str, list[int]]] = {}
        for name, dtype, shape, begin, whole in _core.read_parts(self._place, self._id):
            if name.startswith(OURS):
                self._arrays[name] = dtype, shape
                continue
            saved = self._saved.setdefault(name, TensorStorageMetadata(TensorProperties(getattr(torch, dtype)),
                                                                       torch.Size(whole), []))
            saved.chunks.append(ChunkStorageMetadata(torch.Size(begin), torch.Size(shape)))
        layouts = self._read_layouts()
        self._values = {name: (rank, value) for rank, layout in layouts.items() for name, value in layout["values"].items()}
        paths = {name: tuple(path) for layout in layouts.values() for name, path in (layout["paths"] or {}).items()}
        has_paths = all(layout["paths"] is not None for layout in layouts.values())
        return Metadata({**self._saved, **{name: BytesStorageMetadata() for name in self._values}},
                        planner_data=paths if has_paths else None, storage_meta=StorageMeta(checkpoint_id=self._place))

    def _read_layouts(self) -> dict[int, dict]:
        names = [name for name in self._arrays if re.fullmatch(OURS + "[0-9]+", name)]
        if not names:
            raise RatoonError(f"step {self.chosen.step} in {self._place} was not saved by torch.distributed.checkpoint: read "
                              "it with ratoon.Session or ratoon.checkpoints.load()")
        layouts = {}
        for name, (_, _, data) in self._read_arrays(names).items():
            layout = json.loads(bytes(data))
            if layout.get("version") != VERSION:
                raise RatoonError(f"step {self.chosen.step} in {self._place} has a layout of version {layout.get('version')}, "
                                  f"and this package reads version {VERSION}: install the version of ratoon that saved it")
            layouts[int(name.removeprefix(OURS))] = layout
        return layouts

    def _read_arrays(self, names) -> dict[str, tuple[str, list[int], bytearray]]:
        found, wanted, kept = {}, [], []
        for name in names:
            dtype, shape = self._arrays[name]
            size = SIZES[dtype]
            for length in shape:
                size *= length
            data, pinned, address = memory_of(size)
            kept.append(pinned)
            wanted.append((name, dtype, shape, [0] * len(shape), shape, address, size))
            found[name] = dtype, shape, data
        self._load(wanted)
        return found

    def _load(self, wanted: list[tuple]) -> None:
        rank, readers = 0, 1
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            rank, readers = torch.distributed.get_rank(), torch.distributed.get_world_size()
        _core.load_parts(self._place, self._id, wanted, rank, readers)

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args, **kwargs) -> None:
        if self._refusal is not None:
            raise self._refusal

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return dataclasses.replace(plan, storage_data=self._id)

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        steps = {plan.storage_data for plan in plans}
        if len(steps) > 1:
            shown = " and ".join(f"step {step} of attempt {attempt}" for attempt, step in sorted(steps))
            raise RatoonError(f"the ranks do not see the same checkpoints in {self._place}, of which they would take {shown}: "
                              "start them again, or give the Reader the step", BAD)
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        wanted, targets = [], []
        for item in plan.items:
            if item.type == LoadItemType.BYTE_IO:
                continue
            target = planner.resolve_tensor(item).detach()
            saved = self._saved[item.storage_index.fqn]
            if target.size() != item.lengths:
                raise RatoonError(f"'{item.dest_index.fqn}' has the shape {list(target.size())} here, and the checkpoint has "
                                  f"{list(item.lengths)} for it")
            memory = target if _is_filled_in_place(target, saved.properties.dtype) else torch.empty(
                item.lengths, dtype=saved.properties.dtype)
            begin = [chunk + within for chunk, within in zip(item.storage_index.offset, item.storage_offsets, strict=True)]
            wanted.append((item.storage_index.fqn, str(memory.dtype).removeprefix("torch."), list(item.lengths), begin,
                           list(saved.size), memory.data_ptr(), memory.nbytes))
            targets.append((item, target, memory))
        self._load(wanted)
        for item, target, memory in targets:
            if memory is not target:
                target.copy_(memory)
            planner.commit_tensor(item, target)
        self._read_values(plan, planner)
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def _read_values(self, plan: LoadPlan, planner: LoadPlanner) -> None:
        items = [(item, *self._values[item.storage_index.fqn]) for item in plan.items if item.type == LoadItemType.BYTE_IO]
        names = {f"{OURS}{rank}:{name}" for _, rank, layout in items for name in arrays_in(layout)}
        arrays = self._read_arrays(sorted(names))
        for item, rank, layout in items:
            pickled = io.BytesIO()  # in memory, of a value that was made of JSON: that is what planners of DCP take
            torch.save(Decoder(lambda name, rank=rank: arrays[f"{OURS}{rank}:{name}"]).value(layout), pickled)
            pickled.seek(0)
            planner.load_bytes(item, pickled)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: "str | os.PathLike") -> bool:
        return False


def _is_filled_in_place(tensor: torch.Tensor, dtype: torch.dtype) -> bool:
    is_plain = not tensor.is_conj() and not tensor.is_neg()
    return tensor.device.type == "cpu" and tensor.is_contiguous() and tensor.dtype == dtype and is_plain


def _choose(folder, run_name: str, step: int | None) -> checkpoints.Checkpoint:
    place = place_of(folder, run_name)
    if step is None:
        found = newest(folder, run_name=run_name)
        if found is None:
            raise RatoonError(f"there is no checkpoint in {place}: ask ratoon.dcp.newest() before dcp.load()")
        return found
    there = checkpoints.list(place) if os.path.isdir(place) else []
    for one in there:
        if one.step == step and one.state == "complete":
            return one
    steps = ", ".join(str(one.step) for one in there if one.state == "complete") or "none"
    raise RatoonError(f"there is no checkpoint of step {step} in {place}; of these steps there are: {steps}")

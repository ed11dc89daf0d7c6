"""ratoon.dcp under torch.distributed.checkpoint: what is saved is loaded, in any number of ranks. Run by
dcp_nightly_test.py."""
import collections
import copy
import doctest
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import unittest

import numpy
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed._shard import sharded_tensor
from torch.distributed._shard.sharding_spec import ChunkShardingSpec, EnumerableShardingSpec, ShardMetadata
from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner, _EmptyStateDictLoadPlanner
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.state_dict_loader import _load_state_dict, _load_state_dict_from_keys
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

import ratoon.dcp
import ratoon.torch
from dcp_ranks import Case

ROOT = pathlib.Path(__file__).resolve().parents[2]
RATOON = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin/ratoon"


def make_net():
    torch.manual_seed(11)
    return torch.nn.Sequential(torch.nn.Linear(7, 3), torch.nn.ReLU(), torch.nn.Linear(3, 5), torch.nn.LayerNorm(5))


def learn(net, optimizer, steps):
    rank, world = dist.get_rank(), dist.get_world_size()
    for step in steps:
        torch.manual_seed(100 + step)
        optimizer.zero_grad()
        net(torch.randn(12, 7)[rank::world]).pow(2).mean().backward()
        optimizer.step()


def sharded():
    net = make_net()
    for layer in net:
        fully_shard(layer)
    fully_shard(net)
    return net, torch.optim.AdamW(net.parameters(), lr=1e-2)


def whole(state):
    """A state_dict with whole tensors, as text that can be compared."""
    flat, _ = dcp._nested_dict.flatten_state_dict(state)
    full = {name: value.full_tensor() if hasattr(value, "full_tensor") else value for name, value in flat.items()}
    return {name: hashlib.sha256(value.numpy().tobytes()).hexdigest()[:8] if isinstance(value, torch.Tensor) else repr(value)
            for name, value in full.items()}


def save_sharded(rank, writer, is_async):
    net, optimizer = sharded()
    learn(net, optimizer, range(3))
    model, optim = get_state_dict(net, optimizer)
    state = {"model": model, "optim": optim, "progress": {"step": 3, "best": 0.25}}
    if is_async:
        dcp.async_save(state, storage_writer=writer, checkpoint_id=3).result()
    else:
        dcp.save(state, storage_writer=writer, checkpoint_id="3")
    return whole(state)


def load_sharded(rank, reader):
    net, optimizer = sharded()
    model, optim = get_state_dict(net, optimizer)
    state = {"model": model, "optim": optim, "progress": {"step": 0, "best": 0.0}}
    dcp.load(state, storage_reader=reader)
    set_state_dict(net, optimizer, model_state_dict=state["model"], optim_state_dict=state["optim"])
    model, optim = get_state_dict(net, optimizer)
    return whole({"model": model, "optim": optim, "progress": state["progress"]})


class Worlds(Case):
    def test_fsdp2_is_saved_and_loaded_by_any_number_of_ranks(self):
        for world, others, is_async in ((4, (3, 1), False), (4, (4, ), True), (2, (4, ), False), (1, (2, ), True)):
            saved = self.run_ranks(world, save_sharded, self.writer(), is_async)
            for other in others:
                with self.subTest(world=world, other=other, is_async=is_async):
                    self.assertEqual(self.run_ranks(other, load_sharded, self.reader()), [saved[0]] * other)

    def test_a_ddp_run_goes_on_with_the_bits_of_an_unbroken_one(self):
        def train(rank, steps, loads, saves, reader, writer):
            net = make_net()
            optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
            wrapped = torch.nn.parallel.DistributedDataParallel(net)
            model, optim = get_state_dict(wrapped, optimizer)
            state = {"model": model, "optim": optim}
            if loads:
                dcp.load(state, storage_reader=reader)
                set_state_dict(wrapped, optimizer, model_state_dict=state["model"], optim_state_dict=state["optim"])
            learn(wrapped, optimizer, steps)
            model, optim = get_state_dict(wrapped, optimizer)
            if saves:
                dcp.save({"model": model, "optim": optim}, storage_writer=writer)
            return whole(model)

        words = (self.reader(), self.writer())
        unbroken = self.run_ranks(2, train, range(6), False, False, *words)
        self.run_ranks(2, train, range(3), False, True, *words)
        self.assertEqual(self.run_ranks(2, train, range(3, 6), True, False, *words), unbroken)

    def test_rows_become_columns_and_wholes(self):
        """As torch's test_file_system_checkpoint_cpu.py: parts that are cut in another way, of DTensor and ShardedTensor."""
        def shards(*rows):
            places = zip(rows, [0, *(sum(rows[:at]) for at in range(1, len(rows)))], (1, 0))
            return EnumerableShardingSpec([ShardMetadata([begin, 0], [length, 20], f"rank:{rank}")
                                           for length, begin, rank in places])

        def make(how, values):
            mesh = init_device_mesh("cpu", (2, ))
            if how in ("rows", "columns", "copies"):
                place = {"rows": Shard(0), "columns": Shard(1), "copies": Replicate()}[how]
                return distribute_tensor(values.clone(), mesh, [place])
            if how == "plain":
                return values.clone()
            spec = {"chunks": ChunkShardingSpec(0, ["rank:0", "rank:1"]), "uneven": shards(8, 2)}[how]
            made = sharded_tensor.zeros(spec, *values.shape)
            for shard in made.local_shards():
                begin, length = shard.metadata.shard_offsets[0], shard.metadata.shard_sizes[0]
                shard.tensor.copy_(values[begin:begin + length])
            return made

        def change(rank, before, after, writer, reader):
            values = torch.arange(200.0).reshape(10, 20)
            dcp.save({"w": make(before, values)}, storage_writer=writer)
            state = {"w": make(after, torch.zeros_like(values))}
            dcp.load(state, storage_reader=reader)
            wanted = make(after, values)
            if hasattr(wanted, "local_shards"):
                pairs = zip(state["w"].local_shards(), wanted.local_shards(), strict=True)
                return all(torch.equal(one.tensor, other.tensor) for one, other in pairs)
            local = (tensor.to_local() if hasattr(tensor, "to_local") else tensor for tensor in (state["w"], wanted))
            return torch.equal(*local)

        for before, after in (("rows", "columns"), ("columns", "copies"), ("plain", "rows"), ("copies", "plain"),
                              ("uneven", "rows"), ("rows", "uneven"), ("uneven", "plain"), ("chunks", "columns"),
                              ("plain", "chunks")):
            with self.subTest(before=before, after=after):
                self.assertEqual(self.run_ranks(2, change, before, after, self.writer(), self.reader()), [True, True])

    def test_a_save_by_a_process_of_its_own(self):
        def save(rank, writer):
            kind = dcp.state_dict_saver.AsyncCheckpointerType.PROCESS
            for step in (1, 2):
                dcp.async_save({"w": torch.full((4, ), float(step))}, storage_writer=writer, checkpoint_id=step,
                               async_checkpointer_type=kind).result()

        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
        self.run_ranks(1, save, self.writer())
        self.assertEqual(self.newest().step, 2)


class Values(Case):
    def round_trip(self, state, target=None, **how):
        dcp.save(state, storage_writer=self.writer(), planner=how.get("planner"))
        target = copy.deepcopy(state) if target is None else target
        dcp.load(target, storage_reader=self.reader(), planner=how.get("load_planner"))
        return target

    def test_tensors_of_all_types_and_shapes(self):
        types = [torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2,
                 torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.uint16, torch.uint32, torch.uint64,
                 torch.bool, torch.complex64]
        state = {str(dtype): torch.arange(6).reshape(2, 3).to(dtype) for dtype in types}
        state |= {"number": torch.tensor(3.5), "empty": torch.empty(0, 4), "turned": torch.randn(3, 4).t(),
                  "part": torch.randn(8, 8)[2:5, 1:7], "last": torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last),
                  "conjugate": torch.randn(3, dtype=torch.complex64).conj(), "ä\n\"": torch.ones(1)}
        target = {name: torch.zeros_like(value) for name, value in state.items()}
        target["turned"] = torch.zeros(4, 3).t().contiguous().t()
        target["conjugate"] = torch.zeros(3, dtype=torch.complex64).conj()
        found = self.round_trip(state, target)
        for name, value in state.items():
            self.assertEqual((found[name].dtype, found[name].shape), (value.dtype, value.shape), name)
            one, other = (tensor.resolve_conj().contiguous().reshape(-1) for tensor in (found[name], value))
            self.assertTrue(torch.equal(one.view(torch.uint8), other.view(torch.uint8)), name)

    def test_values_that_are_no_tensors_keep_their_types(self):
        values = {"none": None, "text": "ä", "number": 7, "real": 0.1, "complex": 1 + 2j, "bytes": b"\x00\xff",
                  "list": [1, [2, (3, )]], "tuple": (1, torch.arange(3)), "set": {1, 2}, "deque": collections.deque([1], 4),
                  "ordered": collections.OrderedDict(b=1, a=2), "keys": {1: "one", (2, 3): "two"},
                  "array": numpy.arange(6, dtype="int16").reshape(2, 3), "scalar": numpy.float32(0.5),
                  "dtype": torch.bfloat16, "random": torch.get_rng_state()}
        blank = {name: None for name in values} | {"random": torch.zeros_like(values["random"]), "ordered": {"b": 0, "a": 0},
                                                   "keys": {1: "", (2, 3): ""}}
        found = self.round_trip({"values": values}, {"values": blank})["values"]
        for name in ("none", "text", "number", "real", "complex", "bytes", "list", "set", "deque", "dtype", "scalar"):
            self.assertEqual((type(found[name]), found[name]), (type(values[name]), values[name]))
        self.assertTrue(torch.equal(found["tuple"][1], torch.arange(3)) and found["tuple"][0] == 1)
        self.assertTrue((found["array"] == values["array"]).all() and found["array"].dtype == "int16")
        self.assertTrue(torch.equal(found["random"], values["random"]))

    def test_objects_with_state_and_a_loader_go_along(self):
        data = torch.utils.data.TensorDataset(torch.arange(40))
        loader = ratoon.torch.DataLoader(data, global_batch=4, seed=17)
        batches = iter(loader)
        next(batches)
        dcp.save({"loader": loader}, storage_writer=self.writer())
        following = next(batches)[0]
        other = ratoon.torch.DataLoader(data, global_batch=4, seed=17)
        dcp.load({"loader": other}, storage_reader=self.reader())
        self.assertTrue(torch.equal(next(iter(other))[0], following))

    def test_planners_have_their_way(self):
        nested = {"a": {"b": torch.ones(2), "c": 5}}
        with self.subTest("not flattened"):
            found = self.round_trip(nested, {"a": {}}, planner=DefaultSavePlanner(flatten_state_dict=False),
                                    load_planner=DefaultLoadPlanner(flatten_state_dict=False, flatten_sharded_tensors=False))
            self.assertTrue(torch.equal(found["a"]["b"], torch.ones(2)) and found["a"]["c"] == 5)
        with self.subTest("values of its own"):
            class Doubling(DefaultSavePlanner):
                def transform_object(self, item, value):
                    return super().transform_object(item, value if isinstance(value, torch.Tensor) else value * 2)

            found = self.round_trip(nested, {"a": {"b": torch.zeros(2), "c": 0}}, planner=Doubling())
            self.assertEqual(found["a"]["c"], 10)
        with self.subTest("less than all"):
            found = self.round_trip(nested, {"a": {"b": torch.zeros(2)}, "new": torch.full((1, ), 7.0)},
                                    load_planner=DefaultLoadPlanner(allow_partial_load=True))
            self.assertTrue(torch.equal(found["a"]["b"], torch.ones(2)) and found["new"].item() == 7)
        with self.subTest("all that is there"):
            found = {}
            _load_state_dict(found, self.reader(), no_dist=True, planner=_EmptyStateDictLoadPlanner())
            self.assertTrue(torch.equal(found["a"]["b"], torch.ones(2)) and found["a"]["c"] == 5)
            self.assertEqual(list(_load_state_dict_from_keys("a.c", storage_reader=self.reader())), ["a"])

    def test_a_tensor_of_another_type_is_converted(self):
        found = self.round_trip({"w": torch.arange(4.0)}, {"w": torch.zeros(4, dtype=torch.bfloat16)})
        self.assertTrue(torch.equal(found["w"], torch.arange(4, dtype=torch.bfloat16)))

    def test_the_files_are_those_of_other_runs_and_have_no_pickle(self):
        dcp.save({"w": torch.arange(4.0), "s": {"rate": 0.5}}, storage_writer=self.writer(), checkpoint_id=12)
        place = self.folder / "run"
        self.assertEqual(ratoon.checkpoints.load(place)["w"].array().tolist(), [0, 1, 2, 3])
        out = subprocess.run([RATOON, "checkpoint", "verify", place], capture_output=True, text=True, timeout=60)
        self.assertEqual((out.returncode, out.stdout.split(":")[0]), (0, "step 12 of attempt 1"), out.stderr)
        subprocess.run([RATOON, "checkpoint", "export", place, self.folder / "out.safetensors"], check=True,
                       capture_output=True, timeout=60)
        exported = ratoon.checkpoints.load(self.folder / "out.safetensors")
        self.assertEqual(exported["w"].array().tolist(), [0, 1, 2, 3])
        for file in place.rglob("*"):
            self.assertFalse(file.is_file() and b"\x80\x02" in file.read_bytes(), file)

    def test_the_examples_run(self):
        for module in (ratoon._dcp, ratoon._dcp_writer):
            self.assertEqual(doctest.testmod(module).failed, 0)
        page = (ROOT / "docs/train/python.md").read_text()
        program, = [text for text in re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S) if "ratoon.dcp" in text]
        (self.folder / "train.py").write_text(program)
        for ranks, amount in ((2, "40"), (3, "60")):  # the second run goes on
            (self.folder / "train.py").write_text(program.replace("< 40", f"< {amount}"))
            job = subprocess.Popen([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
                                    str(ranks), "train.py"], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True,
                                   env=os.environ | {"OMP_NUM_THREADS": "1"})
            try:
                said, _ = job.communicate(timeout=200)
            except subprocess.TimeoutExpired:
                job.terminate()  # it ends its ranks
                said, _ = job.communicate()
            self.assertEqual(job.returncode, 0, said)
        found = ratoon.checkpoints.list(self.folder / "checkpoints/sharded")
        self.assertEqual([(one.attempt, one.step, one.ranks) for one in found], [(2, 60, 3), (2, 50, 3), (1, 40, 2)])


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")

"""Saves by ratoon.dcp that are killed, refused or damaged. Run by dcp_kill_nightly_test.py."""
import os
import pickle
import random
import resource
import select
import signal
import time
import unittest
import warnings

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed._shard import sharded_tensor
from torch.distributed._shard.sharding_spec import ChunkShardingSpec
from torch.distributed.checkpoint.default_planner import DefaultSavePlanner
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

import ratoon.dcp
from dcp_ranks import Case

SEED = int(os.environ.get("RATOON_SEED", random.randrange(1 << 20)))
KILLS = int(os.environ.get("RATOON_TRIALS", 48))


def make_state(value, world):
    """Tensors of equal elements, one of them divided over the ranks, and a number. Torn, they would differ."""
    state = {"net": torch.full((3000, ), float(value)), "step": {"done": value}}
    if dist.is_initialized():
        mesh = init_device_mesh("cpu", (world, ))
        state["rows"] = distribute_tensor(torch.full((4 * world + 1, 500), float(value)), mesh, [Shard(0)])
    return state


def save_forever(rank, world, writer, first, acknowledged):
    for value in range(first, first + 1_000_000):
        state = make_state(value, world)
        if value % 3:
            dcp.save(state, storage_writer=writer, checkpoint_id=value)
        else:
            dcp.async_save(state, storage_writer=writer, checkpoint_id=value).result()
        if rank == 0:
            os.write(acknowledged, value.to_bytes(8, "little"))


class Kills(Case):
    def load_all(self):
        """The step of the newest checkpoint, after every value of it was read and compared; 0 before the first one."""
        found = self.newest()
        if found is None:
            return 0
        self.assertTrue(ratoon.checkpoints.verify(self.folder / "run", step=found.step, attempt=found.attempt)[0].is_good)
        saved = ratoon.checkpoints.load(self.folder / "run", ["rows"], step=found.step)["rows"]
        state = {"net": torch.zeros(3000), "rows": torch.zeros(saved.shape), "step": {"done": 0}}
        reader = self.reader()
        dcp.load(state, storage_reader=reader)
        self.assertEqual(reader.chosen, found)
        values = {*state["net"].tolist(), *state["rows"].flatten().tolist(), state["step"]["done"]}
        self.assertEqual(values, {found.step})
        return found.step

    def last_of(self, reading):
        data = b""
        while select.select([reading], [], [], 0)[0] and (more := os.read(reading, 1 << 16)):
            data += more
        return int.from_bytes(data[-8:], "little")

    def test_what_is_newest_after_a_kill_is_whole_and_no_older_than_the_last_save(self):
        print("RATOON_SEED", SEED)
        draws, last, ahead, unfinished = random.Random(SEED), 0, 0, 0
        for number in range(KILLS):
            world = draws.choice([1, 2, 4])
            reading, writing = os.pipe()
            ranks = self.start(world, save_forever, world, self.writer(keep_last=draws.choice([1, 2, 3])), last + 1, writing)
            os.close(writing)
            for _ in range(draws.randrange(3)):  # so many acknowledged saves, then a moment within the next one
                select.select([reading], [], [], 120)
                last = max(last, self.last_of(reading))
            time.sleep(draws.uniform(0, 0.08) if last else draws.uniform(0, 0.5))
            for rank in draws.sample(ranks, world):
                rank.kill()
            for rank in ranks:
                rank.wait()
            last = max(last, self.last_of(reading))
            os.close(reading)
            with self.subTest(number=number, seed=SEED):
                found = self.load_all()
                self.assertGreaterEqual(found, last)
                ahead += found > last
                last = found
                named = {path.name.split(".")[0] for path in (self.folder / "run/manifests").glob("s*")}
                unfinished += any(path.name not in named for path in (self.folder / "run/packs").glob("a*/s*"))
        print(f"{KILLS} kills, {last} saves; {unfinished} left packs without a manifest, {ahead} a save that never returned")
        self.assertGreater(unfinished, KILLS // 10)

    def test_a_rank_that_dies_in_a_save_leaves_the_older_one(self):
        def save(rank, writer):
            dcp.save(make_state(1, 3), storage_writer=writer, checkpoint_id=1)
            if rank == 1:
                ratoon._core.write_parts = lambda *words: os.kill(os.getpid(), signal.SIGKILL)
            dcp.save(make_state(2, 3), storage_writer=writer, checkpoint_id=2)

        ended = [rank.wait()[0] for rank in self.start(3, save, self.writer())]
        self.assertEqual(ended[1], -signal.SIGKILL)
        self.assertNotIn(0, ended)
        self.assertEqual((self.load_all(), self.steps()), (1, [1]))
        self.assertGreaterEqual(len(self.packs(2)), 1)  # without a manifest

        def again(rank, writer):
            dcp.save(make_state(2, 2), storage_writer=writer, checkpoint_id=2)

        self.run_ranks(2, again, self.writer())
        self.assertEqual((self.load_all(), self.steps()), (2, [2, 1]))
        self.assertEqual({path.parent.parent.name for path in self.packs(2)}, {"a0002"})


class Refusals(Case):
    def save(self, state, step=None, **how):
        dcp.save(state, storage_writer=self.writer(**how), checkpoint_id=step)

    def test_the_newest_ones_stay(self):
        writer = self.writer(keep_last=3)
        for step in (1, 2, 3, 5, 8):
            dcp.save({"w": torch.ones(2)}, storage_writer=writer, checkpoint_id=step)
        self.assertEqual(self.steps(), [8, 5, 3])
        self.assertEqual([len(self.packs(step)) for step in (1, 2, 3, 5, 8)], [0, 0, 1, 1, 1])

    def test_steps_go_on_by_themselves_and_a_step_may_be_saved_anew(self):
        writer = self.writer(keep_last=9)
        for value, step in ((1, 7), (2, None), (3, 5), (4, 5), (5, None)):
            dcp.save({"w": torch.tensor(value)}, storage_writer=writer, checkpoint_id=step)
            state = {"w": torch.tensor(0)}
            dcp.load(state, storage_reader=self.reader())
            self.assertEqual(state["w"].item(), value)
        self.save({"w": torch.tensor(6)}, keep_last=9)  # a Writer of its own
        self.assertEqual(self.steps(), [7, 6, 5, 5, 8, 7])
        state = {"w": torch.tensor(0)}
        dcp.load(state, storage_reader=self.reader(step=8))
        self.assertEqual(state["w"].item(), 2)
        reader = self.reader()
        for step, value in (("5", 4), (None, 6)):  # one Reader serves all loads
            dcp.load(state, storage_reader=reader, checkpoint_id=step)
            self.assertEqual(state["w"].item(), value)

    def test_a_flipped_byte_is_noticed_and_passed_over(self):
        for step in (1, 2, 3):
            self.save({"w": torch.full((50_000, ), float(step)), "v": {"n": step}}, step, keep_last=3)
        state = {"w": torch.zeros(50_000), "v": {"n": 0}}
        for step, at in ((3, -1000), (2, 200)):  # in the data, in the header
            pack, = self.packs(step)
            self.flip(pack, at)
            self.assertIn(str(pack), self.refusal(dcp.load, state, storage_reader=self.reader(step=step)))
            reader = self.reader()
            dcp.load(state, storage_reader=reader)
            self.assertEqual((self.newest().step, reader.chosen.step, state["v"]["n"]), (step - 1, ) * 3)
            self.assertEqual(set(state["w"].tolist()), {step - 1})
        pack, = self.packs(1)
        self.flip(pack)
        for act in (self.newest, lambda: dcp.load(state, storage_reader=self.reader())):
            said = self.refusal(act)
            self.assertIn("is sound", said)
            self.assertIn("safetensors", said)
        with self.assertRaises(ratoon.RatoonError) as raised:
            self.newest()
        self.assertEqual(raised.exception.exit_code, 83)

    def test_a_manifest_that_is_damaged_or_lacks_a_pack_is_passed_over(self):
        for step in (1, 2, 3):
            self.save({"w": torch.ones(9)}, step, keep_last=3)
        self.packs(3)[0].unlink()
        self.flip(next((self.folder / "run/manifests").glob("s0000000002.*")), 30)
        self.assertEqual(self.newest().step, 1)

    def test_a_disk_that_is_full_leaves_the_older_one(self):
        def save(rank, writer):
            dcp.save(make_state(1, 2), storage_writer=writer, checkpoint_id=1)
            if rank == 1:
                resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
            for step in (2, 3):
                try:
                    dcp.save(make_state(step, 2), storage_writer=writer, checkpoint_id=step)
                except dcp.api.CheckpointException as error:
                    said = {rank: (type(one), str(one), one.exit_code) for rank, (one, _) in error.failures.items()}
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, ) * 2)
            left = sorted(str(path.relative_to(folder)) for path in folder.glob("s000000000[23]/*"))
            dist.barrier()
            dcp.save(make_state(4, 2), storage_writer=writer, checkpoint_id=4)
            return said, left

        folder = self.folder / "run/packs/a0001"
        (said, left), (same, _) = self.run_ranks(2, save, self.writer())
        self.assertEqual(said, same)
        self.assertEqual(list(said), [1])
        kind, sentence, code = said[1]
        self.assertEqual((kind, code), (ratoon.RatoonError, 84), sentence)
        self.assertIn("r0001.safetensors", sentence)
        self.assertEqual(left, ["s0000000003/r0000.safetensors"])  # of an earlier try, nothing takes room
        self.assertEqual((self.newest().step, self.steps(), self.packs(3)), (4, [4, 1], []))

    def test_what_cannot_be_stored_is_refused_by_its_name(self):
        class Opaque:
            pass

        class Planner(DefaultSavePlanner):
            def transform_object(self, item, value):
                return super().transform_object(item, value)

        tensor = torch.ones(3)
        for state, how, said in (
                ({"a": {"f": lambda: 0}}, {}, "['a.f'] is of type builtins.function, which only pickle could store"),
                ({"a": {"o": [1, {"x": (Opaque(), )}]}}, {}, "Opaque, which only pickle"),
                ({"a": {"o": Opaque()}}, {"planner": Planner()}, "['a.o'] comes pickled from Planner.transform_object()"),
                ({"w": tensor.to(torch.complex128)}, {}, "'w' of the state is of type complex128"),
                ({"w": tensor.to_sparse()}, {}, "'w' of the state: tensors of layout torch.sparse_coo"),
                ({"dcp:1": tensor}, {}, "begins with 'dcp:'"),
                ({"w": tensor}, {"use_collectives": False}, "use_collectives=False"),
                ({"w": tensor}, {"planner": DefaultSavePlanner(enable_plan_caching=True)}, "enable_plan_caching"),
                ({"w": tensor}, {"checkpoint_id": "out/step-3"}, "is the step, such as 1200, and not 'out/step-3'")):
            with self.subTest(said):
                self.assertIn(said, self.refusal(dcp.save, state, storage_writer=self.writer(), **how))
        self.assertIsNone(self.newest())

    def test_a_divided_tensor_within_another_value_is_refused(self):
        def save(rank, writer):
            return self.refusal(dcp.save, {"a": (make_state(1, 2)["rows"], )}, storage_writer=writer)

        self.assertIn("['a'][0]: a DTensor has no memory of its own", self.run_ranks(2, save, self.writer())[0])

    def test_several_parts_of_a_tensor_on_one_rank_are_refused(self):
        def save(rank, writer):
            two = sharded_tensor.zeros(ChunkShardingSpec(0, ["rank:0", "rank:0"]), 4, 3)
            return self.refusal(dcp.save, {"w": two}, storage_writer=writer)

        self.assertIn("'w' has several parts on rank 0", self.run_ranks(1, save, self.writer())[0])

    def test_each_process_has_an_attempt_of_its_own(self):
        def save(rank, step):
            self.save({"w": torch.ones(2)}, step, keep_last=9)

        for step, is_forked in ((1, False), (2, False), (3, True), (4, False)):
            self.run_ranks(1, save, step) if is_forked else save(0, step)
        found = ratoon.checkpoints.list(self.folder / "run")
        self.assertEqual([(one.attempt, one.step) for one in found], [(3, 4), (2, 3), (1, 2), (1, 1)])

    def test_wrong_places_and_loads_are_refused(self):
        self.save({"w": torch.ones(3), "v": {"n": 1}}, 4)
        load, state = dcp.load, {"w": torch.zeros(3)}
        for act, words, more, said in (
                (ratoon.dcp.Writer, ("s3://bucket/runs", ), {"run_name": "run"}, "is a store"),
                (ratoon.dcp.Reader, (self.folder, ), {"run_name": "a/b"}, "'a/b' cannot be one"),
                (ratoon.dcp.Writer, (self.folder, ), {"run_name": "run", "keep_last": 0}, "at least 1, and not 0"),
                (load, (state, ), {"storage_reader": self.reader(step=5)}, "of step 5 in {}/run; of these steps there are: 4"),
                (load, (state, ), {"storage_reader": ratoon.dcp.Reader(self.folder, run_name="none")}, "no checkpoint in")):
            with self.subTest(said):
                self.assertIn(said.format(self.folder), self.refusal(act, *words, **more))
        with self.assertRaisesRegex(dcp.api.CheckpointException, "Missing key in checkpoint state_dict: other"):
            dcp.load({"other": torch.zeros(3)}, storage_reader=self.reader())

    def test_runs_of_another_kind_are_left_alone(self):
        with ratoon.Session(save_folder=str(self.folder), run_name="run", save_every="1st") as session:
            session.track(state={"n": 1})
            for _ in session.steps(2):
                pass
        before = self.newest()
        self.assertIn("has the checkpoints of a Session", self.refusal(self.save, {"w": torch.ones(2)}))
        self.assertIn("was not saved by torch.distributed.checkpoint",
                      self.refusal(dcp.load, {"w": torch.ones(2)}, storage_reader=self.reader()))
        self.assertEqual(self.newest(), before)

    def test_packs_whose_manifests_are_lost_are_not_removed(self):
        self.save({"w": torch.ones(2)}, 1)
        next((self.folder / "run/manifests").iterdir()).unlink()
        self.assertIn("bring the manifests back", self.refusal(self.save, {"w": torch.ones(2)}, 2))
        self.assertEqual(len(self.packs(1)), 1)

    def test_ranks_that_see_different_checkpoints_load_none(self):
        def load(rank, folder):
            reader = ratoon.dcp.Reader(folder, run_name="run", step=rank + 1)
            return self.refusal(dcp.load, {"w": torch.zeros(2)}, storage_reader=reader)

        for step in (1, 2):
            self.save({"w": torch.ones(2)}, step)
        for said in self.run_ranks(2, load, self.folder):
            self.assertIn("step 1 of attempt 1 and step 2 of attempt 1", said)

    def test_a_removal_that_fails_is_a_warning_and_the_save_counts(self):
        def refuse(*words):
            raise ratoon.RatoonError("cannot remove it", 84)

        retire, ratoon._core.retire = ratoon._core.retire, refuse
        self.addCleanup(setattr, ratoon._core, "retire", retire)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.save({"w": torch.ones(2)}, 1)
        self.assertIn("step 1 is saved, but: cannot remove it", [str(one.message) for one in caught])
        self.assertEqual(self.newest().step, 1)

    def test_a_writer_goes_to_another_process_by_pickle(self):
        writer = pickle.loads(pickle.dumps(self.writer()))
        dcp.save({"w": torch.ones(2)}, storage_writer=writer)
        self.assertEqual(self.newest().step, 1)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")

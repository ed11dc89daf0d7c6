"""The cases of torch_loader_nightly_test.py, run by a Python that has PyTorch."""
import doctest
import itertools
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

import numpy
import torch
import torch.utils.data

import ratoon
import ratoon.torch

ROOT = pathlib.Path(__file__).resolve().parents[2]


# What README leaves to the reader: a model and its data.
LEFT_TO_READERS = """
import torch, ratoon, ratoon.torch
torch.manual_seed(17)
data = torch.utils.data.TensorDataset(torch.randn(192, 8), torch.randint(0, 10, (192,)))
def Net():
    return torch.nn.Sequential(torch.nn.Linear(8, 10), torch.nn.LogSoftmax(1))
"""


class Noisy(torch.utils.data.Dataset):
    """Every sample with noise of all three generators."""

    def __init__(self, size=50):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return torch.tensor([index, random.random(), numpy.random.rand(), torch.rand(()).item()], dtype=torch.float64)


class OnStore(Noisy):
    """Samples of a store that does not answer."""

    def __getitem__(self, index):
        raise ratoon.RatoonError("the store is away", 84)


def write_numbers(folder, count):
    """Shards of the numbers 0, 1, 2, ..."""
    with ratoon.MdsWriter(folder, {"y": "int"}) as writer:
        for number in range(count):
            writer.write({"y": number})


class NoisyShards(ratoon.MdsDataset):
    """Shards of numbers: every sample scaled, and with noise of all three generators."""

    def __init__(self, folder, scale):
        super().__init__(folder)
        self.scale = scale

    def __getitem__(self, index):
        return Noisy()[super().__getitem__(index)["y"] * self.scale]


def noisy_loader(**options):
    return ratoon.torch.DataLoader(Noisy(), **{"global_batch": 8, "seed": 17, **options})


def with_noise(batch):
    """A collate_fn that draws from all three generators for each sample."""
    numbers = torch.utils.data.default_collate(batch)
    rows = numbers["y"].double().unsqueeze(1) if isinstance(numbers, dict) else numbers
    noise = [[random.random(), numpy.random.rand(), torch.rand(()).item()] for _ in batch]
    return torch.cat([rows, torch.tensor(noise, dtype=torch.float64)], 1)


def batches_of(loader, epochs):
    taken = []
    while loader.epoch < epochs:
        taken += list(loader)
    return torch.cat(taken)


def resumed_batches(make, workers, cut, epochs):
    """The batches of a loader that ends after `cut` of them, and those of a second one with another number of workers."""
    first, taken = make(num_workers=workers), []
    while len(taken) < cut:
        for batch in first:
            taken.append(batch)
            if len(taken) == cut:
                break
    state = json.loads(json.dumps(first.state_dict()))
    second = make(num_workers=2 - workers)
    second.load_state_dict(state)
    return torch.cat([*taken, batches_of(second, epochs)])


def train(loader, until, state=None, stop_after=None):
    """A model with dropout and a schedule: (weights, losses, state of all)."""
    torch.manual_seed(5)
    net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Dropout(0.2), torch.nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 5)
    parts = {"net": net, "optimizer": optimizer, "schedule": schedule, "loader": loader}
    if state:
        for name, part in parts.items():
            part.load_state_dict(state[name])
        torch.set_rng_state(state["random"])
    losses = []
    while loader.epoch < until:
        for batch in loader:
            optimizer.zero_grad()
            loss = net(batch.float()).square().mean()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            if len(losses) == stop_after:
                return losses, {**{name: part.state_dict() for name, part in parts.items()},
                                "random": torch.get_rng_state()}
    return losses, {"net": net.state_dict()}


class Resumed(unittest.TestCase):
    def test_batches_are_equal_for_any_workers(self):
        unbroken = batches_of(noisy_loader(), 3)
        self.assertEqual(sorted(unbroken[:50, 0].tolist()), list(range(50)))
        for workers in (0, 2):
            for cut in (1, 6, 7, 12):
                with self.subTest(workers=workers, cut=cut):
                    self.assertTrue(torch.equal(resumed_batches(noisy_loader, workers, cut, 3), unbroken))

    def test_a_collate_function_draws_equal_numbers_for_any_workers(self):
        with tempfile.TemporaryDirectory() as folder:
            write_numbers(f"{folder}/data", 50)
            shards = ratoon.MdsDataset(f"{folder}/data")
            for data in (Noisy(), shards):
                def make(seed=17, **options):
                    return ratoon.torch.DataLoader(data, global_batch=8, seed=seed, collate_fn=with_noise, **options)
                with self.subTest(type(data).__name__):
                    unbroken = batches_of(make(), 2)
                    for workers in (0, 2):
                        self.assertTrue(torch.equal(resumed_batches(make, workers, 3, 2), unbroken))
                    spawned = make(num_workers=1, multiprocessing_context="spawn")
                    self.assertTrue(torch.equal(batches_of(spawned, 1), unbroken[:56]))
                    ranks = [batches_of(make(rank=rank, world_size=2), 2) for rank in range(2)]
                    drawn = torch.cat([unbroken, batches_of(make(seed=18), 2), ranks[1]])[:, -3:]
                    self.assertEqual(len(drawn.unique()), drawn.numel(), "batches, epochs, ranks and seeds draw other numbers")

    def test_training_is_equal_bit_for_bit(self):
        for workers in (0, 2):
            losses, whole = train(noisy_loader(num_workers=workers), 3)
            for cut in (3, 7, 11):
                with self.subTest(workers=workers, cut=cut), tempfile.TemporaryDirectory() as folder:
                    first, state = train(noisy_loader(num_workers=workers), 3, stop_after=cut)
                    with ratoon.atomic_save(f"{folder}/all.pt") as file:
                        torch.save(state, file)
                    state = torch.load(f"{folder}/all.pt", weights_only=True)
                    rest, resumed = train(noisy_loader(num_workers=workers), 3, state)
                    self.assertEqual(first + rest, losses)
                    for name, weight in whole["net"].items():
                        self.assertTrue(torch.equal(weight, resumed["net"][name]), name)

    def test_persistent_workers_and_a_loop_that_is_left(self):
        unbroken = batches_of(noisy_loader(), 2)
        loader = noisy_loader(num_workers=2, persistent_workers=True)
        taken = [next(iter(loader)) for _ in range(3)]
        self.assertTrue(torch.equal(torch.cat([*taken, batches_of(loader, 2)]), unbroken))

    def test_ways_to_start_workers(self):
        unbroken = batches_of(noisy_loader(), 1)
        for way in ("fork", "forkserver", "spawn"):
            with self.subTest(way):
                loader = noisy_loader(num_workers=2, multiprocessing_context=way)
                self.assertTrue(torch.equal(batches_of(loader, 1), unbroken))

    def test_parts_of_ranks_are_the_batch(self):
        whole = list(noisy_loader())
        for world_size in (2, 3):
            ranks = [list(noisy_loader(rank=rank, world_size=world_size)) for rank in range(world_size)]
            for number, batch in enumerate(whole):
                self.assertTrue(torch.equal(torch.cat([part[number] for part in ranks]), batch))


class Changed(unittest.TestCase):
    """A program changes the stream in the body of its loop."""

    @staticmethod
    def trained(change):
        """The samples of a loop without a loader, to the end of the epoch, and the stream."""
        stream, taken = ratoon.Stream(samples=50, global_batch=4, seed=17), []
        for number in itertools.count():
            if stream.epoch > 0:
                return taken, stream
            taken += [slot.sample for slot in stream.take()]
            if number == 2:
                change(stream)

    def test_the_batches_that_follow_are_those_of_the_stream(self):
        earlier = noisy_loader(global_batch=4)
        next(iter(earlier))
        changes = {"skip_to": lambda stream: stream.skip_to(30),
                   "change_global_batch": lambda stream: stream.change_global_batch(7),
                   "load_state_dict": lambda stream: stream.load_state_dict(earlier.state_dict()),
                   "to another epoch": lambda stream: stream.skip_to(61)}
        for options in ({}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}):
            for name, change in changes.items():
                with self.subTest(name, **options):
                    loader, taken = noisy_loader(global_batch=4, **options), []
                    for number, batch in enumerate(loader):
                        taken += batch[:, 0].int().tolist()
                        if number == 2:
                            change(loader.stream)
                    expected, stream = self.trained(change)
                    self.assertEqual((taken, loader.state_dict()), (expected, stream.state_dict()))
                    following = [slot.sample for slot in stream.take()]
                    self.assertEqual(next(iter(loader))[:, 0].int().tolist(), following)


class Shards(unittest.TestCase):
    def test_shards_with_workers_of_any_kind(self):
        with tempfile.TemporaryDirectory() as folder:
            with ratoon.MdsWriter(f"{folder}/data", {"x": "ndarray:float32:3", "y": "int"}) as writer:
                for number in range(40):
                    writer.write({"x": numpy.full(3, number, "float32"), "y": number})
            data = ratoon.MdsDataset(f"{folder}/data")
            self.assertEqual(data[0]["y"], 0)  # before the workers are forked
            taken = []
            for options in ({"num_workers": 0}, {"num_workers": 2, "multiprocessing_context": "fork"},
                            {"num_workers": 1, "multiprocessing_context": "spawn"}):
                loader = ratoon.torch.DataLoader(data, global_batch=16, seed=3, **options)
                taken.append([(batch["x"][:, 0].tolist(), batch["y"].tolist()) for batch in loader])
            self.assertEqual(taken[0], taken[1])
            self.assertEqual(taken[0], taken[2])
            self.assertEqual(taken[0][0][0], taken[0][0][1])

    def test_a_subclass_reads_and_draws_as_any_data_set(self):
        with tempfile.TemporaryDirectory() as folder:
            write_numbers(f"{folder}/data", 50)
            data = NoisyShards(f"{folder}/data", 1000)
            whole = torch.cat(list(ratoon.torch.DataLoader(data, global_batch=10, seed=17)))
            self.assertEqual(sorted(whole[:, 0].tolist()), [1000.0 * number for number in range(50)])
            for options in ({"global_batch": 25}, {"num_workers": 2}, {"num_workers": 1, "multiprocessing_context": "spawn"}):
                with self.subTest(options):
                    loader = ratoon.torch.DataLoader(data, **{"global_batch": 10, "seed": 17, **options})
                    self.assertTrue(torch.equal(torch.cat(list(loader)), whole))


class Rest(unittest.TestCase):
    def test_the_program_s_random_numbers_stay(self):
        for workers in (0, 2):
            torch.manual_seed(1), random.seed(1), numpy.random.seed(1)
            before = torch.get_rng_state(), random.getstate(), numpy.random.get_state()[1].tolist()
            list(noisy_loader(num_workers=workers, collate_fn=with_noise))
            self.assertTrue(torch.equal(torch.get_rng_state(), before[0]))
            self.assertEqual((random.getstate(), numpy.random.get_state()[1].tolist()), before[1:])

    def test_the_generators_of_a_sample_draw_other_numbers(self):
        drawn = batches_of(noisy_loader(), 1)[:, 1:]
        self.assertEqual(len(drawn.unique()), drawn.numel())

    def test_samples_need_not_be_seeded(self):
        seeded, plain = batches_of(noisy_loader(), 1), batches_of(noisy_loader(seeds_samples=False), 1)
        self.assertTrue(torch.equal(seeded[:, 0], plain[:, 0]))
        self.assertIs(noisy_loader(seeds_samples=False, collate_fn=with_noise).collate_fn, with_noise)
        torch.manual_seed(1), random.seed(1), numpy.random.seed(1)
        self.assertTrue(torch.equal(batches_of(noisy_loader(seeds_samples=False), 1)[0, 1:],
                                    torch.tensor([random.Random(1).random(), numpy.random.RandomState(1).rand(),
                                                  torch.rand((), generator=torch.Generator().manual_seed(1)).item()],
                                                 dtype=torch.float64)))

    def test_epochs_have_their_length(self):
        loader = noisy_loader()  # 50 samples by 8: the batches over the ends carry on
        lengths = []
        for epoch in range(4):
            self.assertEqual(loader.epoch, epoch)
            lengths.append((len(loader), sum(1 for _ in loader)))
        self.assertEqual(lengths, [(7, 7), (6, 6), (6, 6), (6, 6)])
        self.assertEqual([len(batch) for batch in noisy_loader(epoch_end="short")], [8] * 6 + [2])
        self.assertEqual([len(batch) for batch in noisy_loader(epoch_end="drop")], [8] * 6)

    def test_what_is_refused(self):
        for options, word in (({"shuffle": True}, "shuffle"), ({"batch_size": 4}, "global_batch"),
                              ({"global_batch": None}, "stream"), ({"rank": 1}, "together"),
                              ({"rank": 2, "world_size": 2}, "rank 2"),
                              ({"global_batch": None, "stream": ratoon.Stream(samples=49, global_batch=8)}, "49")):
            with self.subTest(word), self.assertRaisesRegex(ratoon.RatoonError, word):
                noisy_loader(**options)
        state = noisy_loader().state_dict()
        longer = ratoon.torch.DataLoader(Noisy(51), global_batch=8, seed=17)
        with self.assertRaisesRegex(ratoon.RatoonError, "50.*51|51.*50"):
            longer.load_state_dict(state)

    def test_a_failure_of_a_store_has_its_exit_code_behind_a_worker_too(self):
        for workers in (0, 1):
            with self.subTest(workers=workers):
                loader = ratoon.torch.DataLoader(OnStore(), global_batch=8, num_workers=workers)
                with self.assertRaisesRegex(ratoon.RatoonError, "the store is away") as caught:
                    next(iter(loader))
                self.assertEqual(caught.exception.exit_code, 84)

    def test_a_batch_smaller_than_the_world_is_refused_on_all_ranks_before_the_first_one(self):
        for options, said in (({"epoch_end": "short"}, "batch 6 has 2 samples, and each of the 8 ranks needs one"),
                              ({"global_batch": 7}, "batch 0 has 7 samples")):
            for rank in range(8):
                with self.subTest(said, rank=rank), self.assertRaisesRegex(ratoon.RatoonError, said):
                    next(iter(noisy_loader(rank=rank, world_size=8, **options)))

    def test_a_run_with_short_batches_goes_on_in_a_larger_world(self):
        first = noisy_loader(epoch_end="short", rank=1, world_size=2)
        next(iter(first))
        for epoch_end, left in (("drop", 5), ("carry", 6)):
            second = noisy_loader(epoch_end=epoch_end, rank=7, world_size=8)
            second.stream.accept(order=True)
            second.load_state_dict(first.state_dict())
            self.assertEqual([len(batch) for batch in second], [1] * left)

    def test_tensors_of_each_type(self):
        for name in ("uint8", "int16", "float16", "float32", "bfloat16", "float8_e4m3fn", "float8_e5m2", "bool",
                     "complex64"):
            dtype = getattr(torch, name)
            want = torch.arange(6).reshape(2, 3).to(torch.float32).to(dtype)
            data = bytearray(want.contiguous().view(torch.uint8).numpy().tobytes())
            made = ratoon.torch.tensor(ratoon.Tensor(name, (2, 3), data))
            self.assertEqual((made.dtype, made.shape), (want.dtype, want.shape))
            self.assertTrue(torch.equal(made.view(torch.uint8), want.view(torch.uint8)))
        self.assertEqual(ratoon.torch.tensor(ratoon.Tensor("float32", (0, 3), bytearray())).shape, (0, 3))

    def test_examples(self):
        for thing in (ratoon.torch.DataLoader, ratoon.torch.tensor):
            test = doctest.DocTestParser().get_doctest(thing.__doc__, {}, thing.__name__, None, 0)
            report = []
            doctest.DocTestRunner().run(test, out=report.append)
            self.assertEqual(report, [])
        page = (ROOT / "docs/train/python.md").read_text()
        programs = [text for text in re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
                    if "import torch" in text and "lightning" not in text and "ratoon.dcp" not in text]
        self.assertEqual(len(programs), 3)
        shown, = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
        programs.append(LEFT_TO_READERS + shown)
        with tempfile.TemporaryDirectory(prefix="ratoon-page-") as folder:
            for program in programs:
                done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=300)
                self.assertEqual(done.returncode, 0, program + done.stderr)
            for name in ("linear", "digits"):
                self.assertTrue(ratoon.checkpoints.list(f"{folder}/checkpoints/{name}"))
            self.assertTrue(ratoon.AtomicDirectory(f"{folder}/training").latest())


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Writes torch_vectors.json beside itself: what PyTorch, torchdata and DLRover themselves give, for the tests of the
torch-exact order.

    python3 -m venv env && env/bin/pip install torch==2.11.0 torchdata==0.11.0
    env/bin/pip install --no-deps dlrover==0.6.1
    env/bin/python make_torch_vectors.py

Nothing here knows how our side computes it. Two packages cannot be installed and are restated from their sources:
cycling_utils (its sampler skips the first `progress` samples of DistributedSampler's) and Megatron-LM's legacy samplers.
"""
import itertools
import json
import pathlib

import torch
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, RandomSampler
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader import sampler as torchdata_samplers

MASK = 2 ** 64 - 1


class Ids(torch.utils.data.Dataset):
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return index


def digest(values, start=1469598103934665603):
    for value in values:
        start = (start ^ value) * 1099511628211 & MASK
    return start


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def next_number(generator):
    """What the generator gives next, without moving it: proof of how many numbers were drawn."""
    state = generator.get_state()
    value = torch.empty((), dtype=torch.int64).random_(generator=generator).item()
    generator.set_state(state)
    return value


def ids(batches):
    return [int(index) for batch in batches for index in batch]


def randperm():
    sizes = [0, 1, 2, 3, 4, 5, 7, 10, 31, 32, 33, 64, 128, 129, 130, 257, 623, 624, 625, 626, 1000, 1249, 4096, 100000]
    seeds = [0, 1, 7, 42, 1234, -1, -5, -(2 ** 63), 2 ** 32, 2 ** 32 + 42, 2 ** 63, 2 ** 64 - 1, 67280421310721]
    for size, seed in itertools.product(sizes, seeds):
        if size > 5000 and seed not in (0, 7, -5):
            continue
        generator = seeded(seed)
        order = torch.randperm(size, generator=generator).tolist()
        yield {"size": size, "seed": seed & MASK, "first": order[:10], "digest": digest(order),
               "next": next_number(generator)}


def generator_states():
    for seed, numbers in [(0, 0), (5, 1), (-3, 624)]:
        generator = seeded(seed)
        torch.randperm(numbers + 1, generator=generator)
        yield {"seed": seed & MASK, "numbers": numbers, "state": bytes(generator.get_state().tolist()).hex(),
               "next": next_number(generator)}


def distributed():
    grid = itertools.product([0, 1, 2, 3, 7, 10, 16, 37, 100], [1, 2, 3, 4, 5, 8, 13], [True, False], [False, True],
                             [0, -3], [0, 5])
    for size, world, shuffle, drop_last, seed, epoch in grid:
        if not shuffle and (seed, epoch) != (0, 0):
            continue
        of_ranks = []
        for rank in range(world):
            sampler = DistributedSampler(Ids(size), world, rank, shuffle, seed, drop_last)
            sampler.set_epoch(epoch)
            of_ranks.append(list(sampler))
        assert len({len(samples) for samples in of_ranks}) == 1
        yield {"samples": size, "world": world, "shuffle": shuffle, "drop_last": drop_last, "seed": seed & MASK,
               "epoch": epoch, "size": len(of_ranks[0]), "last": of_ranks[-1][-2:],
               "digest": digest(itertools.chain(*of_ranks))}


def loader_batches():
    """A DataLoader over each rank's DistributedSampler: batch by batch, with and without workers."""
    for size, world, batch, drop_last, workers in [(37, 3, 4, False, 0), (37, 3, 4, True, 0), (16, 2, 8, False, 2),
                                                   (10, 4, 2, False, 0), (10, 4, 2, True, 2)]:
        of_ranks = []
        for rank in range(world):
            sampler = DistributedSampler(Ids(size), world, rank, seed=17)
            sampler.set_epoch(2)
            loader = DataLoader(Ids(size), batch_size=batch, sampler=sampler, drop_last=drop_last,
                                num_workers=workers)
            of_ranks.append([values.tolist() for values in loader])
        yield {"samples": size, "world": world, "batch": batch, "drop_last": drop_last, "seed": 17, "epoch": 2,
               "batches": of_ranks}


def batches():
    for samples, batch, drop_last in itertools.product([0, 1, 3, 8, 10], [1, 3, 4, 16], [False, True]):
        groups = [list(group) for group in BatchSampler(range(samples), batch, drop_last)]
        yield {"samples": samples, "batch": batch, "drop_last": drop_last,
               "ranges": [[group[0], group[-1] + 1] for group in groups]}


def random_samplers():
    """Three epochs, one after the other, from one generator."""
    grid = itertools.product([1, 10, 33, 700], [False, True], [None, 1, 32, 33, 100], ["torch", "torchdata"],
                             ["none", "loader"], [False, True])
    with_workers = itertools.product([33], [False, True], [None, 100], ["torch", "torchdata"],
                                     ["workers", "persistent"], [False])
    for size, replacement, num_samples, package, loader, is_default in itertools.chain(grid, with_workers):
        if is_default and package == "torchdata":
            continue
        generator = None if is_default else seeded(11)
        torch.manual_seed(11)
        make, make_loader = {"torch": (RandomSampler, DataLoader),
                             "torchdata": (torchdata_samplers.RandomSampler, StatefulDataLoader)}[package]
        sampler = make(Ids(size), replacement=replacement, num_samples=num_samples, generator=generator)
        if loader == "none":
            epochs = [list(sampler) for _ in range(3)]
        else:
            workers = {} if loader == "loader" else {"num_workers": 2, "persistent_workers": loader == "persistent"}
            source = make_loader(Ids(size), batch_size=4, sampler=sampler, generator=generator, **workers)
            epochs = [ids(source) for _ in range(3)]
        yield {"samples": size, "replacement": replacement, "num_samples": num_samples or size, "package": package,
               "default": is_default, "loader": loader, "seed": 11, "digests": [digest(epoch) for epoch in epochs],
               "first": epochs[1][:4], "next": next_number(generator or torch.default_generator)}


def wide_draws():
    """With replacement from data sets around the size where randint begins to take 64 bits."""
    for size in (2 ** 28 - 1, 2 ** 28, 2 ** 28 + 5, 2 ** 32, 2 ** 40):
        generator = seeded(3)
        sampler = RandomSampler(range(size), replacement=True, num_samples=40, generator=generator)
        order = list(sampler)
        yield {"samples": size, "num_samples": 40, "seed": 3, "order": order, "next": next_number(generator)}


def torchdata_distributed():
    """StatefulDistributedSampler alone and in a StatefulDataLoader: the state after some batches, and what follows."""
    for size, world, rank, batch, taken, workers, every in [(37, 3, 1, 4, 2, 0, 1), (37, 3, 1, 4, 2, 2, 1),
                                                            (37, 3, 0, 4, 3, 2, 2), (37, 3, 2, 4, 1, 2, 3),
                                                            (40, 4, 3, 5, 2, 0, 1), (37, 3, 1, 4, 4, 0, 1)]:
        sampler = torchdata_samplers.StatefulDistributedSampler(Ids(size), world, rank, seed=17)
        sampler.set_epoch(3)
        loader = StatefulDataLoader(Ids(size), batch_size=batch, sampler=sampler, num_workers=workers,
                                    snapshot_every_n_steps=every)
        iterator = iter(loader)
        for _ in range(taken):
            next(iterator)
        state = loader.state_dict()
        yield {"samples": size, "world": world, "rank": rank, "batch": batch, "seed": 17, "epoch": 3, "state": state,
               "rest": ids(iterator)}
    sampler = torchdata_samplers.StatefulDistributedSampler(Ids(37), 3, 1, seed=17)
    iterator = iter(sampler)
    for _ in range(5):
        next(iterator)
    yield {"samples": 37, "world": 3, "rank": 1, "batch": 0, "seed": 17, "epoch": 0, "state": sampler.state_dict(),
           "rest": list(iterator)}
    plain = StatefulDataLoader(Ids(37), batch_size=4, sampler=DistributedSampler(Ids(37), 3, 1, seed=17))
    iterator = iter(plain)
    next(iterator)
    yield {"samples": 37, "world": 3, "rank": 1, "batch": 4, "seed": 17, "epoch": 0, "state": plain.state_dict(),
           "rest": ids(iterator)}


def torchdata_random():
    """torchdata's RandomSampler in the second epoch of a StatefulDataLoader: the rest of it, and the unbroken third."""
    for size, replacement, num_samples, batch, taken, workers, every in [(37, False, None, 4, 3, 0, 1),
                                                                         (37, False, 90, 8, 7, 0, 1),
                                                                         (37, True, 70, 8, 5, 0, 1),
                                                                         (37, False, None, 4, 3, 2, 2)]:
        generator = seeded(23)
        sampler = torchdata_samplers.RandomSampler(Ids(size), replacement, num_samples, generator)
        loader = StatefulDataLoader(Ids(size), batch_size=batch, sampler=sampler, generator=generator,
                                    num_workers=workers, snapshot_every_n_steps=every)
        ids(loader)
        iterator = iter(loader)
        for _ in range(taken):
            next(iterator)
        state = json.loads(json.dumps(loader.state_dict(), default=lambda tensor: bytes(tensor.tolist()).hex()))
        yield {"samples": size, "replacement": replacement, "num_samples": num_samples or size, "batch": batch,
               "workers": workers, "state": state, "rest": ids(iterator), "then": ids(loader)}


def cycling_utils():
    for size, world, batch, epoch, progress, is_frozen in [(50, 4, 3, 4, 6, False), (50, 4, 3, 4, 6, True),
                                                           (50, 1, 5, 0, 50, False), (37, 3, 4, 2, 0, False)]:
        of_ranks = []
        for rank in range(world):
            sampler = DistributedSampler(Ids(size), world, rank, seed=13006555)
            sampler.set_epoch(0 if is_frozen else epoch)
            of_ranks.append(list(sampler)[progress:])
        yield {"samples": size, "world": world, "seed": 13006555, "is_frozen": is_frozen,
               "state": {"progress": progress, "epoch": epoch}, "rest": of_ranks}


def dlrover():
    """ElasticDistributedSampler loads its own state, in the same world and in others."""
    from dlrover.trainer.torch.elastic.sampler import ElasticDistributedSampler
    for size, world, steps, micro, drop_last, new_worlds in [(60, 4, 3, 2, False, [4, 2, 6, 1]),
                                                             (61, 4, 3, 2, True, [4, 3]), (64, 4, 0, 2, False, [4])]:
        state = ElasticDistributedSampler(Ids(size), world, 0, True, 5, drop_last).state_dict(steps, micro)
        state["epoch"] = 2
        for new_world in new_worlds:
            of_ranks = []
            for rank in range(new_world):
                sampler = ElasticDistributedSampler(Ids(size), new_world, rank, True, 5, drop_last)
                sampler.load_state_dict(state)
                sampler.total_size = sampler.num_samples * sampler.num_replicas  # set by their base class once
                of_ranks.append(list(sampler))
            yield {"samples": size, "world": world, "seed": 5, "drop_last": drop_last, "state": state,
                   "new_world": new_world, "rest": of_ranks}


def megatron():
    for total, micro, parallel, consumed in [(100, 4, 2, 24), (103, 4, 2, 24), (100, 4, 2, 96 + 16), (90, 3, 5, 180)]:
        round_size = micro * parallel
        an_epoch = total // round_size * round_size
        epoch, done = divmod(consumed, an_epoch)
        order = torch.randperm(total // micro * micro, generator=seeded(epoch)).tolist()[done:]
        of_ranks = [order[rank::parallel] for rank in range(parallel)]
        steps = min(len(mine) for mine in of_ranks) // micro
        yield {"total": total, "micro": micro, "parallel": parallel, "consumed": consumed,
               "rest": [mine[:steps * micro] for mine in of_ranks]}


def main():
    sections = [randperm, generator_states, distributed, loader_batches, batches, random_samplers, wide_draws,
                torchdata_distributed, torchdata_random, cycling_utils, dlrover, megatron]
    target = pathlib.Path(__file__).with_name("torch_vectors.json")
    with open(target, "w") as file:
        file.write(f'{{"made_with": "torch {torch.__version__.split("+")[0]}, torchdata 0.11.0, dlrover 0.6.1"')
        for section in sections:
            lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in section())
            file.write(f',\n"{section.__name__}": [\n{lines}]')
        file.write("}\n")


if __name__ == "__main__":
    main()

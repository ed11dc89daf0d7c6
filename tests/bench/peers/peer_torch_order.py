"""PyTorch's own order, and how long its loaders take to come back to the middle of an epoch.

    peer_torch_order.py RESULT.json [REPEATS]       every case, so often in a process of its own; medians

peak_bytes is what a case took at its most, above what the process had after its imports.
"""
import json
import statistics
import subprocess
import sys
import time

BATCH = 256


def memory(field):
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    return 0


class Ids:
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return index


def randperm(size):
    import torch
    generator = torch.Generator().manual_seed(0)

    def work():
        torch.randperm(size, generator=generator)
    return work


def distributed_sampler_to_the_middle(size):
    import itertools

    from torch.utils.data import DistributedSampler

    def work():
        sampler = DistributedSampler(Ids(size), num_replicas=8, rank=3, seed=17)
        sampler.set_epoch(1)
        places = iter(sampler)
        list(itertools.islice(places, size // 2 // 8, size // 2 // 8 + BATCH))
    return work


def stateful_data_loader(size, workers):
    import torch
    from torchdata.stateful_dataloader import StatefulDataLoader

    def loader():
        return StatefulDataLoader(Ids(size), batch_size=BATCH, shuffle=True, num_workers=workers,
                                  generator=torch.Generator().manual_seed(17))
    first = loader()
    batches = iter(first)
    for _ in range(size // 2 // BATCH):
        next(batches)
    state = first.state_dict()
    del first, batches

    def work():
        resumed = loader()
        resumed.load_state_dict(state)
        next(iter(resumed))
    return work


def stateful_data_loader_resume_at_half(size):
    return stateful_data_loader(size, 0)


def stateful_data_loader_resume_at_half_with_2_workers(size):
    return stateful_data_loader(size, 2)


CASES = [(randperm, 10 ** 6), (randperm, 10 ** 7), (randperm, 10 ** 8),
         (distributed_sampler_to_the_middle, 10 ** 6), (distributed_sampler_to_the_middle, 10 ** 7),
         (distributed_sampler_to_the_middle, 10 ** 8),
         (stateful_data_loader_resume_at_half, 10 ** 6), (stateful_data_loader_resume_at_half_with_2_workers, 10 ** 6)]


def run_here(name, size):
    """In a process of its own: imports and what comes before the case are not measured."""
    import torch
    torch.set_num_threads(1)
    work = globals()[name](size)
    with open("/proc/self/clear_refs", "w") as control:
        control.write("5")
    before = memory("VmRSS:")
    start, start_cpu = time.perf_counter(), time.process_time()
    work()
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak_bytes": max(0, memory("VmHWM:") - before)}))


def run(name, size):
    done = subprocess.run([sys.executable, "-W", "ignore", __file__, "--case", name, str(size)], check=True,
                          stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main(result, repeats=3):
    rows = []
    for case, size in CASES:
        runs = [run(case.__name__, size) for _ in range(int(repeats))]
        row = {key: statistics.median(each[key] for each in runs) for key in runs[0]}
        rows.append({"name": f"peer {case.__name__}/{size}", "real_time": row["seconds"] * 1000,
                     "cpu_time": row["cpu"] * 1000, "time_unit": "ms", "peak_bytes": row["peak_bytes"]})
        if case is randperm:
            rows[-1]["items_per_second"] = size / row["seconds"]
    with open(result, "w") as file:
        json.dump({"benchmarks": rows}, file, indent=1)


if __name__ == "__main__":
    if sys.argv[1] == "--case":
        run_here(sys.argv[2], int(sys.argv[3]))
    else:
        main(*sys.argv[1:])

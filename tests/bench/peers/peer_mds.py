"""MosaicML Streaming on the folder that bench_mds reads: how fast samples come, and how long a resume takes.

    peer_mds.py RESULT.json [REPEATS]       every case, so often in a process of its own; medians

The folder is made here where bench_mds has not made it: both writers write the same bytes. peak_bytes is what a case took at
its most above what the process had after its imports, torch's included. A resume is timed from making the data set to the first
batch, imports not counted. Each row does the same work as a row of bench_mds, and looks at both fields of each sample.
"""
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

BATCH = 256
SAMPLES = 200_000
TIMED = 40_000  # samples of an epoch that are read for a rate
SHARD_BYTES = 248_000
FOLDER = pathlib.Path(tempfile.gettempdir()) / "ratoon-bench-mds-small"


def make_folder():
    if (FOLDER / "index.json").exists():
        return
    import numpy
    from streaming import MDSWriter
    with MDSWriter(out=str(FOLDER), columns={"x": "ndarray:float32:16", "y": "int"}, size_limit=SHARD_BYTES) as out:
        for i in range(SAMPLES):
            out.write({"x": numpy.full(16, i % 1000, numpy.float32), "y": i})


def memory(field):
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    return 0


def dataset(algorithm="py1e"):
    from streaming import StreamingDataset
    return StreamingDataset(local=str(FOLDER), batch_size=BATCH, shuffle=True, shuffle_algo=algorithm, shuffle_seed=17)


def loader(workers):
    from streaming import StreamingDataLoader
    return StreamingDataLoader(dataset(), batch_size=BATCH, num_workers=workers)


class Watch:
    """Seconds since it was made, by the clock and of this process's own processor time; workers' is not in it."""

    def __init__(self):
        self._began, self._cpu_began = time.perf_counter(), time.process_time()

    def read(self, parts=1):
        return (time.perf_counter() - self._began) / parts, (time.process_time() - self._cpu_began) / parts


def rate_of(parts, count, samples_each=1):
    """What a sample takes, once the first part has come: of so many parts, each of which has so many samples."""
    parts = iter(parts)
    next(parts)
    watch = Watch()
    for _ in range(count):
        next(parts)
    return watch.read(count * samples_each)


def look_at(sample):
    return int(sample["x"][5]) + int(sample["y"])


def look_at_batch(batch):
    return int(batch["x"][:, 5].sum()) + int(batch["y"].sum())


def iterate_samples(algorithm):
    return rate_of((look_at(sample) for sample in dataset(algorithm)), TIMED)


def iterate_batches(_):
    """One worker makes them."""
    return rate_of((look_at_batch(batch) for batch in loader(1)), TIMED // BATCH, BATCH)


def read_any(_):
    """By number, in no order, without Streaming's own order."""
    data, numbers = dataset(), random.Random(17)
    return rate_of((look_at(data[numbers.randrange(SAMPLES)]) for _ in range(TIMED + 1)), TIMED)


def resume(percent, workers):
    begun = loader(workers)
    done = SAMPLES * percent // 100 // BATCH
    state = begun.dataset.state_dict(done * BATCH, from_beginning=True)
    del begun
    watch = Watch()
    resumed = loader(workers)
    resumed.load_state_dict(state)
    look_at_batch(next(iter(resumed)))
    return watch.read()


def resume_in_process(percent):
    return resume(percent, 0)


def resume_with_one_worker(percent):
    return resume(percent, 1)


CASES = [(iterate_samples, "py1e"), (iterate_samples, "py1s"), (iterate_batches, "py1e"), (read_any, "by_number"),
         *((resume_in_process, percent) for percent in (10, 50, 90)),
         *((resume_with_one_worker, percent) for percent in (10, 50, 90))]


def run_one(name, argument):
    from streaming.base.util import clean_stale_shared_memory
    clean_stale_shared_memory()
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # VmHWM counts from here
    before = memory("VmRSS:")
    case, argument = next((case, arg) for case, arg in CASES if case.__name__ == name and str(arg) == argument)
    seconds, cpu_seconds = case(argument)
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu_seconds, "peak_bytes": memory("VmHWM:") - before}), flush=True)
    clean_stale_shared_memory()


def measure(case, argument, repeats):
    runs = []
    for _ in range(repeats):
        done = subprocess.run([sys.executable, __file__, "--one", case.__name__, str(argument)], check=True,
                              capture_output=True, text=True)
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    seconds, cpu_seconds = (statistics.median(run[key] for run in runs) for key in ("seconds", "cpu_seconds"))
    row = {"name": f"streaming/{case.__name__}/{argument}", "run_type": "iteration", "real_time": seconds * 1e3,
           "cpu_time": cpu_seconds * 1e3, "time_unit": "ms",
           "peak_bytes": statistics.median(run["peak_bytes"] for run in runs)}
    if not case.__name__.startswith("resume"):
        row["items_per_second"] = 1 / seconds
    return row


def main(result, repeats=3):
    make_folder()
    rows = [measure(case, argument, int(repeats)) for case, argument in CASES]
    with open(result, "w") as out:
        json.dump({"context": {"samples": SAMPLES, "folder": str(FOLDER)}, "benchmarks": rows}, out, indent=1)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        run_one(*sys.argv[2:4])
    else:
        main(*sys.argv[1:])

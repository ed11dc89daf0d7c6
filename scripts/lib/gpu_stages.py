"""The stages of scripts/gpu: each is a few processes with a time limit, whose rows go to OUT/gpu.json at once."""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# A dry run names another build, and the device of its programs.
PROGRAMS = pathlib.Path(os.environ.get("RATOON_GPU_PROGRAMS", REPOSITORY / "build/gpu/bin"))
DEVICE = os.environ.get("RATOON_GPU_DEVICE", "cuda")
CONFIGURATION = 82


def libtorch_folder():
    root = os.environ.get("RATOON_LIBTORCH_ROOT")
    if root:
        return pathlib.Path(root)
    found = subprocess.run([sys.executable, "-c", "import torch; print(torch.__path__[0])"], capture_output=True, text=True)
    if found.returncode != 0:
        sys.exit("scripts/gpu: python3 cannot import torch, and RATOON_LIBTORCH_ROOT names no LibTorch with CUDA. Next: set it "
                 "to the folder that holds torch/ and nvidia/")
    return pathlib.Path(found.stdout.strip()).parent


def environment():
    root = libtorch_folder()
    folders = [root / "torch/lib", *sorted(root.glob("nvidia/*/lib"))]
    before = os.environ.get("LD_LIBRARY_PATH")
    path = ":".join([*map(str, folders), *([before] if before else [])])
    return {**os.environ, "LD_LIBRARY_PATH": path}


class Red(Exception):
    """A promise that was not kept, or a stage that could not run."""


class Figures:
    """OUT/gpu.json: one object, rewritten whole after each row, so that the loss of the machine costs one row at most."""

    def __init__(self, folder):
        self.file = folder / "gpu.json"
        self.all = json.loads(self.file.read_text()) if self.file.exists() else {"machine": {}, "stages": {}}

    def is_done(self, stage):
        known = self.all["stages"].get(stage, {})
        return known.get("state") == "green" and known.get("of") == self.all["machine"]

    def begin(self, stage):
        self.all["stages"][stage] = {"state": "under way", "of": self.all["machine"], "rows": []}
        self.write()

    def add(self, stage, row):
        self.all["stages"][stage]["rows"].append(row)
        self.write()

    def end(self, stage, state, seconds):
        self.all["stages"][stage].update(state=state, seconds=round(seconds, 1))
        self.write()

    def write(self):
        partial = self.file.with_suffix(".partial")
        partial.write_text(json.dumps(self.all, indent=1) + "\n")
        partial.replace(self.file)


class Stage:
    def __init__(self, name, figures, limit):
        self.name, self.figures = name, figures
        self.deadline = time.monotonic() + limit
        self.environment = environment()
        self.is_good = True
        self.started = []

    def left(self):
        return max(self.deadline - time.monotonic(), 0.1)

    def add(self, **row):
        print(f"{self.name}: {json.dumps(row)}", flush=True)
        self.figures.add(self.name, row)

    def expect(self, holds, what):
        self.add(check=what, holds=bool(holds))
        self.is_good = self.is_good and bool(holds)

    def program(self, name):
        path = PROGRAMS / name
        if not path.exists():
            raise Red(f"{path} is not built: cmake --preset gpu && cmake --build build/gpu")
        return str(path)

    def start(self, *command, **more):
        process = subprocess.Popen(command, env={**self.environment, **more}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, cwd=REPOSITORY)
        self.started.append(process)
        # A loop over its output has no limit of its own.
        watch = threading.Timer(self.left(), process.kill)
        watch.daemon = True
        watch.start()
        return process

    def end(self):
        """Ends all processes of the stage, so that none stays on the device."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()

    def end_of(self, process):
        """The output of the process; a process that does not end is killed and is red."""
        try:
            said, _ = process.communicate(timeout=self.left())
        except subprocess.TimeoutExpired:
            process.kill()
            said, _ = process.communicate()
            raise Red(f"did not end in time; it said last: {said[-2000:]}") from None
        return said

    def probe(self):
        process = self.start(self.program("gpu_probe"), self.name)
        said = self.end_of(process)
        for line in said.splitlines():
            if line.startswith("{"):
                self.add(**json.loads(line))
        if process.returncode != 0:
            raise Red(f"ended with {process.returncode}: {said[-3000:]}")


def machine_facts():
    query = "name,driver_version,memory.total,clocks.max.sm"
    seen = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"], capture_output=True,
                          text=True).stdout if shutil.which("nvidia-smi") else ""
    commit = os.environ.get("RATOON_COMMIT") or subprocess.run(
        ["git", "-C", REPOSITORY, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    return {"gpus": seen.strip().splitlines(), "commit": commit, "cores": os.cpu_count(),
            "date": time.strftime("%Y-%m-%d")}


def probe(stage):
    stage.probe()


def data(stage):
    process = stage.start(stage.program("data_on_gpu_test"))
    said = stage.end_of(process)
    stage.add(last_lines=said.splitlines()[-3:])
    stage.expect(process.returncode == 0 and "SKIPPED" not in said, "the tests of data on the GPU pass, and none is skipped")


def charlm(stage, folder, out, *words, **more):
    return stage.start(stage.program("charlm"), "--save-folder", folder, "--run-name", "charlm", "--save-every", "5st",
                       "--device", DEVICE, "--deterministic", "--steps", "200", "--batch", "64", "--out", out, *words, **more)


def digest_of(out):
    return pathlib.Path(out).read_text().strip()


def kill(stage):
    kills = 12
    draw = random.Random(17)
    with tempfile.TemporaryDirectory() as base:
        began = time.monotonic()
        unbroken = charlm(stage, f"{base}/unbroken", f"{base}/unbroken.txt")
        said = stage.end_of(unbroken)
        stage.expect(unbroken.returncode == 0, f"charlm trains on the GPU: {'' if unbroken.returncode == 0 else said[-2000:]}")
        stage.add(unbroken_s=round(time.monotonic() - began, 2))
        starts = []
        for _ in range(kills):
            began = time.monotonic()
            process = charlm(stage, f"{base}/killed", f"{base}/killed.txt")
            wanted = draw.randint(3, 12)
            for steps, _ in enumerate(line for line in process.stdout if re.match(r"attempt \d+ rank 0 step", line)):
                if steps == 0:
                    starts.append(time.monotonic() - began)
                if steps == wanted:
                    break
            process.send_signal(signal.SIGKILL)
            process.communicate()
        last = charlm(stage, f"{base}/killed", f"{base}/killed.txt")
        stage.end_of(last)
        stage.expect(last.returncode == 0, "the run that was killed ends with 0")
        starts.sort()
        stage.add(kills=kills, start_to_step_s=[round(starts[0], 2), round(starts[len(starts) // 2], 2), round(starts[-1], 2)])
        stage.expect(digest_of(f"{base}/unbroken.txt") == digest_of(f"{base}/killed.txt"),
                     "weights after the kills have the bits of the unbroken run")


def two_ranks(stage, base, name, *words):
    """Two processes of one launch, as torchrun starts them."""
    processes = []
    for rank in range(2):
        processes.append(charlm(stage, f"{base}/{name}", f"{base}/{name}-{rank}.txt", *words, RANK=str(rank), WORLD_SIZE="2",
                                LOCAL_RANK="0", LOCAL_WORLD_SIZE="2", TORCHELASTIC_RUN_ID=name, MASTER_ADDR="127.0.0.1",
                                MASTER_PORT="29500"))
    said = [stage.end_of(process) for process in processes]
    return [process.returncode for process in processes], said


def shared(stage):
    with tempfile.TemporaryDirectory() as base:
        if DEVICE == "cuda":
            codes, said = two_ranks(stage, base, "nccl")
            stage.add(over_nccl=codes, said=[text.strip().splitlines()[-1][-300:] for text in said])
            stage.expect(CONFIGURATION in codes, "two ranks of one GPU are refused over NCCL")
        digests = []
        for name in ("first", "second"):
            codes, said = two_ranks(stage, base, name, "--over-host")
            stage.expect(codes == [0, 0], f"two ranks of one GPU train over the host: {'' if codes == [0, 0] else said}")
            digests.append(digest_of(f"{base}/{name}-0.txt"))
        stage.expect(digests[0] == digests[1], "two such runs end with equal bits")


# name: (function, seconds)
STAGES = {
    "facts": (probe, 90), "bits": (probe, 120), "assert": (probe, 60), "stuck": (probe, 90), "memory": (probe, 60),
    "restart": (probe, 120), "own_group": (probe, 120), "averaging": (probe, 150),
    "data": (data, 60), "kill": (kill, 150), "shared": (shared, 100),
}


def run(name, figures):
    act, limit = STAGES[name]
    figures.begin(name)
    began = time.monotonic()
    try:
        stage = Stage(name, figures, limit)
        try:
            act(stage)
        finally:
            stage.end()
        state = "green" if stage.is_good else "red"
    except Exception as red:  # after any exception the later stages still run
        figures.add(name, {"red": f"{type(red).__name__}: {red}"})
        print(f"{name}: RED: {type(red).__name__}: {red}", flush=True)
        state = "red"
    figures.end(name, state, time.monotonic() - began)
    print(f"{name}: {state} after {time.monotonic() - began:.1f} s", flush=True)
    return state == "green"


def main(folder, *named):
    wrong = [name for name in named if name not in STAGES]
    if wrong:
        print(f"scripts/gpu: no stage is called '{wrong[0]}' ({' '.join(STAGES)})", file=sys.stderr)
        return CONFIGURATION
    out = pathlib.Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    figures = Figures(out)
    figures.all["machine"] = machine_facts()
    if DEVICE == "cuda" and shutil.which("nvidia-smi") is None:
        print("scripts/gpu: nvidia-smi is not here, so neither is a driver: no stage can run", file=sys.stderr)
        return 1
    chosen = named or [name for name in STAGES if not figures.is_done(name)]
    results = [run(name, figures) for name in chosen]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

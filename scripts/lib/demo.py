"""demo.py PROGRAMS FOLDER: the demonstration of scripts/quickstart.

Runs examples/digits with `ratoon run`, takes a process and two nodes away from it, runs it once more without losses, and
compares the results, bit for bit. PROGRAMS holds ratoon and digits; FOLDER gets with-losses/ and unbroken/, which start over each
time. Exit codes: 0 equal bits, 1 different bits, 130 stopped by Ctrl-C."""
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

JOB = pathlib.Path(__file__).resolve().parents[2] / "examples/digits/job.yaml"
STEPS = 600
PAUSE_MS = 40         # pause of the run with losses: longer steps change no bit, and leave time to watch
STEPS_TO_A_LOSS = 80  # durable steps from one loss to the next
NEXT = """
Next steps:
  {ratoon} run examples/digits/job.yaml --reclaim-every 5s -- --steps 4000
                        the same job, longer, which loses a node every five seconds; --help has what else can be done to it
  docs/train/loop.md    how to turn your training loop into such a program
  docs/README.md        all pages, one path for each reader"""


class Failure(Exception):
    """A fault, and the next command."""


def say(text):
    print(f"quickstart: {text}", flush=True)


def shown(path):
    """The path in the form in which a user would type it."""
    near = os.path.relpath(path)
    return str(path) if near.startswith("..") else near


class Run:
    """One `ratoon run` in a folder. It cannot outlive its `with`."""

    def __init__(self, programs, folder):
        self.ratoon, self.folder = programs / "ratoon", folder
        # The trainer in that folder comes first in PATH; exported variables of Ratoon do not change the example.
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("RATOON_")}
        self.environment["PATH"] = f"{programs}:{os.environ['PATH']}"
        self.process = None

    def start(self, pause_ms):
        command = [self.ratoon, "run", JOB, "--folder", self.folder, "--fresh", "--yes", "--", "--steps", str(STEPS),
                   "--pause-ms", str(pause_ms)]
        # In a group of its own: a Ctrl-C reaches it once, through us.
        self.process = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, process_group=0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        while self.process and self.process.poll() is None:
            try:
                self.process.send_signal(signal.SIGINT)
                self.process.wait()
            except KeyboardInterrupt:
                pass  # a second signal: it no longer waits for its members

    def finish(self):
        code = self.process.wait()
        if code != 0:
            raise Failure(f"the run ended with exit code {code}", f"read what its members printed in {shown(self.folder)}/logs")

    def ask(self, *words):
        """The output of another `ratoon` command."""
        done = subprocess.run([self.ratoon, *words], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True)
        if done.returncode != 0:
            raise Failure(f"`ratoon {' '.join(map(str, words))}` ended with exit code {done.returncode}: {done.stderr.strip()}",
                          "the same command again")
        return done.stdout

    def status(self):
        """status.json of this run, as soon as it exists: it is replaced atomically, never half written."""
        file = self.folder / "status.json"
        document = json.loads(file.read_text()) if file.exists() else {}
        return document if document.get("runner_pid") == self.process.pid else None

    def wait_until_ready(self, losses):
        """Waits until all train again after these losses, and further steps are durable. Returns the node of each member."""
        while self.process.poll() is None:
            found = nodes_when_ready(self.status(), losses)
            if found:
                return found
            time.sleep(0.1)
        self.finish()
        raise Failure(f"the run was done before its loss {losses + 1} could be made", "the same command again")


def nodes_when_ready(document, losses):
    if document is None or not document["job"].get("status", {}).get("formed") or len(document["recoveries"]) < losses:
        return None
    durable = document["job"]["status"].get("lastCheckpoint", {"step": 0})["step"]
    members = [member for member in document["members"] if member["phase"] == "Running" and member["pids"]]
    if durable < STEPS_TO_A_LOSS * (losses + 1) or len(members) != document["job"]["spec"]["numNodes"]:
        return None
    return [member["node"] for member in sorted(members, key=lambda member: member["name"])]


def lose(run):
    """Kills a process with kill -9, takes a node without notice, and takes a node with three seconds of notice."""
    at = ("--run", run.folder)
    run.wait_until_ready(0)
    run.ask("kill", "worker-1", *at)
    run.ask("reclaim", run.wait_until_ready(1)[2], "--silent", *at)
    run.ask("reclaim", run.wait_until_ready(2)[0], "--notice", "3s", *at)


def digest_of_weights(file):
    """Names, types, shapes and bytes of all tensors. The metadata is left out: it says which attempt wrote them."""
    data = file.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    del header["__metadata__"]
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode() + data[end:]).hexdigest()


def ends_of(run):
    """The values that must be equal."""
    report = json.loads(run.ask("report", run.folder, "--json"))
    (samples,) = report["samples"]
    return {"steps": str(report["step"]), "samples": str(samples["samples"]), "digest of the samples": samples["digest"],
            "sha256 of the tensors": digest_of_weights(run.folder / "checkpoints/digits/weights.safetensors")}


def compare(lossy, unbroken):
    ours, theirs = ends_of(lossy), ends_of(unbroken)
    print(f"\n{'':23}{'with losses':34}unbroken")
    for name in ours:
        print(f"{name:23}{ours[name][:32]:34}{theirs[name][:32]}")
    print(flush=True)
    different = [name for name in ours if ours[name] != theirs[name]]
    if different:
        raise Failure(f"the two runs differ ({', '.join(different)}), and they must not",
                      f"{shown(lossy.ratoon)} report of {shown(lossy.folder)} and of {shown(unbroken.folder)}")


def demonstrate(programs, folder):
    with Run(programs, folder / "with-losses") as lossy, Run(programs, folder / "unbroken") as unbroken:
        say("three processes train on four nodes; one process is killed, two nodes are taken away")
        lossy.start(PAUSE_MS)
        lose(lossy)
        lossy.finish()
        say("the same once more, and nothing happens to it")
        unbroken.start(0)
        unbroken.finish()
        compare(lossy, unbroken)
        recoveries = lossy.status()["recoveries"]
        say(f"equal, bit for bit, although {len(recoveries)} times something was taken away; all trained again after "
            f"{', '.join(format(one['seconds'], '.2f') for one in recoveries)} s, and "
            f"{sum(one['lost_steps'] for one in recoveries)} of {STEPS} steps were made again")
        say(f"the report, for a browser: {shown(lossy.ask('report', lossy.folder).strip())}")
        print(NEXT.format(ratoon=shown(lossy.ratoon)), flush=True)


def interrupt(number, frame):
    raise KeyboardInterrupt


def main():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, interrupt)
    try:
        demonstrate(*(pathlib.Path(word).absolute() for word in sys.argv[1:]))
    except KeyboardInterrupt:
        say("stopped; nothing is left running, and the next start begins afresh")
        return 130
    except Failure as failure:
        print("quickstart: {}. Next: {}".format(*failure.args), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Ranks of torch.distributed over Gloo as forked children of a test, which has PyTorch imported already."""
import itertools
import os
import pathlib
import pickle
import shutil
import signal
import sys
import tempfile
import traceback
import unittest

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp

import ratoon.dcp

os.environ["GLOO_SOCKET_IFNAME"] = "lo"
torch.set_num_threads(1)  # a forked child has none of the threads of a pool


class Rank:
    """A child that runs `function(rank, *words)` within a process group, and what came of it."""

    def __init__(self, function, rank, world, store, words):
        self._reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(writing)
            return
        code = 1
        try:
            os.close(self._reading)
            dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
            with os.fdopen(writing, "wb") as out:
                pickle.dump(function(rank, *words), out)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)

    def wait(self):
        """(how it ended, what the function returned)."""
        with os.fdopen(self._reading, "rb") as out:
            data = out.read()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]), pickle.loads(data) if data else None


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-dcp-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self._stores = itertools.count()

    def start(self, world, function, *words):
        store = self.folder / f"store-{next(self._stores)}"
        return [Rank(function, rank, world, store, words) for rank in range(world)]

    def run_ranks(self, world, function, *words):
        """What each rank returned."""
        ended = [rank.wait() for rank in self.start(world, function, *words)]
        self.assertEqual([code for code, _ in ended], [0] * world)
        return [value for _, value in ended]

    def writer(self, **how):
        return ratoon.dcp.Writer(self.folder, run_name="run", **how)

    def reader(self, **how):
        return ratoon.dcp.Reader(self.folder, run_name="run", **how)

    def newest(self):
        return ratoon.dcp.newest(self.folder, run_name="run")

    def steps(self):
        return [one.step for one in ratoon.checkpoints.list(self.folder / "run") if one.state == "complete"]

    def packs(self, step):
        return sorted((self.folder / "run").glob(f"packs/a*/s{step:010}/r*.safetensors"))

    def refusal(self, act, *words, **more):
        """The sentence of the RatoonError that DCP passes on of a rank."""
        try:
            act(*words, **more)
        except dcp.api.CheckpointException as error:
            first = next(iter(error.failures.values()))[0]
        except ratoon.RatoonError as error:
            first = error
        else:
            self.fail("nothing was refused")
        self.assertIsInstance(first, ratoon.RatoonError)
        return str(first)

    def flip(self, path, at=-1):
        data = bytearray(path.read_bytes())
        data[at] ^= 1
        path.write_bytes(data)

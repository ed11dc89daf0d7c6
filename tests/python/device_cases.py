"""Devices of a save and of a load differ: a GPU that is no longer there, a process that sees one GPU of several. torch.cuda is
patched, so that no GPU is needed. Run by device_nightly_test.py."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

import pytorch_lightning
import torch

import ratoon.lightning
from ratoon import _generators, _layout


def cuda(**facts):
    """torch.cuda of another machine."""
    return unittest.mock.patch.multiple(torch.cuda, **{name: lambda value=value: value for name, value in facts.items()})


# With "gpu" on its command line the program's layouts are those of a rank that trains on the GPU with the number 5.
PROGRAM = """
import json, sys, torch, ratoon
from ratoon import _generators, _layout
if "gpu" in sys.argv:
    plain, found = _layout.Encoder.layout, _generators.generators
    _layout.Encoder.layout = lambda self, *words: json.loads(
        json.dumps(plain(self, *words)).replace('"device": "cpu"', '"device": "cuda:5"'))
    _generators.generators = lambda **more: found(**more) | {"torch:cuda": found(**more)["python"]}
torch.manual_seed(3)
net = torch.nn.Linear(2, 1)
optimizer = torch.optim.AdamW(net.parameters(), lr=torch.tensor(0.1))
state = {"mean": torch.zeros(2)}
with ratoon.Session(save_folder=sys.argv[1], run_name="net", save_every="1st") as session:
    session.track(net=net, optimizer=optimizer, state=state)
    for step in session.steps(int(sys.argv[2])):
        optimizer.zero_grad()
        net(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        state["mean"] += net.weight.detach()[0]
print("result", net.weight.tolist(), state["mean"].tolist(), optimizer.param_groups[0]["lr"].item())
"""


class Resume(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-device-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def result(self, name, *words):
        done = subprocess.run([sys.executable, "-c", PROGRAM, self.folder / name, *words], capture_output=True, text=True,
                              timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr

    def test_a_run_goes_on_without_its_gpu(self):
        unbroken, _ = self.result("unbroken", "5")
        self.result("run", "3", "gpu")
        resumed, errors = self.result("run", "5")
        self.assertEqual(resumed, unbroken)
        self.assertEqual(len(re.findall("has the state of CUDA's random numbers, and PyTorch finds no CUDA device", errors)), 1)


class Places(unittest.TestCase):
    def test_a_tensor_comes_back_to_a_device_that_is_there(self):
        for facts, saved, found in (
                ({"is_available": False}, "cuda:5", "cpu"), ({"is_available": False}, "cuda", "cpu"),
                ({"is_available": True, "device_count": 2, "current_device": 1}, "cuda:5", "cuda:1"),
                ({"is_available": True, "device_count": 2, "current_device": 1}, "cuda", "cuda:1"),
                ({"is_available": True, "device_count": 2, "current_device": 1}, "cuda:0", "cuda:0"),
                ({"is_available": True, "device_count": 2, "current_device": 1}, "cpu", "cpu")):
            with self.subTest(saved=saved, found=found), cuda(**facts):
                self.assertEqual(_layout._device_of(torch, saved), found)

    def test_the_current_device_has_no_number_in_a_checkpoint(self):
        for current, device, name in ((5, "cuda:5", "cuda"), (0, "cuda:5", "cuda:5"), (5, "cpu", "cpu")):
            with self.subTest(device, current=current), cuda(current_device=current):
                self.assertEqual(_layout._name_of_device(torch, torch.device(device)), name)

    def test_tensors_of_an_old_checkpoint_come_back_on_the_cpu(self):
        encoder = _layout.Encoder()
        layout = json.loads(json.dumps(encoder.layout({"x": torch.ones(2)})).replace('"cpu"', '"cuda:5"'))
        decoded = _layout.Decoder(lambda name: ("float32", [2], bytearray(8))).value(layout)
        self.assertEqual(decoded["x"].device.type, "cpu")

    def test_the_state_of_a_generator_is_taken_before_cuda_is_used(self):
        with cuda(is_available=True, is_initialized=False):
            self.assertNotIn("torch:cuda", _generators.generators())
            self.assertIn("torch:cuda", _generators.generators(also=["torch:cuda"]))


class Lightning(unittest.TestCase):
    def trainer_of(self, **facts):
        """A Trainer of rank 3 of 4, which is the second of 2 processes of its node."""
        session = types.SimpleNamespace(rank=3, world_size=4, local_rank=1, local_size=2)
        with cuda(**facts), unittest.mock.patch.object(torch.distributed, "is_initialized", lambda: True):
            words = ratoon.lightning.Ratoon.ddp(session)
        trainer = pytorch_lightning.Trainer(accelerator="cpu", logger=False, enable_progress_bar=False, **words)
        return words["devices"], words["num_nodes"], trainer

    def test_a_process_that_sees_its_own_gpu_alone_is_a_node_of_lightning(self):
        devices, nodes, trainer = self.trainer_of(is_available=True, device_count=1)
        self.assertEqual((devices, nodes), (1, 4))
        self.assertEqual((trainer.world_size, trainer.global_rank, trainer.local_rank, trainer.node_rank), (4, 3, 0, 3))

    def test_processes_that_see_all_gpus_of_a_node_share_it(self):
        for facts in ({"is_available": True, "device_count": 2}, {"is_available": False}):
            with self.subTest(**facts):
                devices, nodes, trainer = self.trainer_of(**facts)
                self.assertEqual((devices, nodes), (2, 2))
                self.assertEqual((trainer.world_size, trainer.global_rank, trainer.local_rank, trainer.node_rank), (4, 3, 1, 1))


if __name__ == "__main__":
    unittest.main(verbosity=2)

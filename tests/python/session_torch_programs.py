"""Programs of PyTorch that use ratoon.Session, in processes of their own, for the cases of session_torch_nightly_test.py."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

# The part that the programs share.
MODEL = """
import os, sys, torch, ratoon, ratoon.torch
torch.set_num_threads(1)
class Noisy(torch.utils.data.Dataset):
    def __len__(self): return 200
    def __getitem__(self, index):
        x = torch.full((8,), float(index)) / 200 + 0.01 * torch.randn(8)
        return x, x.sum().reshape(1)
def make():
    torch.manual_seed(11)
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.Dropout(0.1), torch.nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=int(os.environ.get("PROGRAM_STEPS", 100)))
    return net, optimizer, schedule
def learn(net, optimizer, schedule, x, y, average=lambda: None):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x), y)
    loss.backward()
    average()
    optimizer.step()
    schedule.step()
    return loss
def tell(net):
    print("result", [tensor.numpy().tobytes().hex() for tensor in net.state_dict().values()], flush=True)
"""


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-session-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def start(self, program, *words, **how):
        return subprocess.Popen([sys.executable, "-c", program, *map(str, words)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)

    def end(self, child):
        said, errors = child.communicate(timeout=300)
        return child.returncode, said, errors

    def result(self, program, *words):
        code, said, errors = self.end(self.start(program, *words))
        self.assertEqual(code, 0, errors)
        return [line for line in said.splitlines() if line.startswith("result")][0]

    def read_until(self, child, line):
        for found in child.stdout:
            if found == line + "\n":
                return
        self.fail(f"the program never printed '{line}': {child.communicate()[1]}")

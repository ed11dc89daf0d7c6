"""ratoon.Session under PyTorch: killed, told to leave and started again, a run has the bits of its plain twin. Run by
session_torch_nightly_test.py."""
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import unittest

import torch

import ratoon.torch
from session_torch_programs import MODEL, Case
from session_torch_state_cases import States  # noqa: F401 - they run with the cases of this file

SEED = int(os.environ.get("RATOON_SEED", random.randrange(1 << 20)))
RATOON = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin/ratoon"
EPOCHS = 3

TWIN = MODEL + """
net, optimizer, schedule = make()
loader = ratoon.torch.DataLoader(Noisy(), global_batch=16, seed=4, num_workers=int(sys.argv[1]))
while loader.epoch < 3:
    for x, y in loader:
        learn(net, optimizer, schedule, x, y)
tell(net)
"""

PROGRAM = MODEL + """
gates = set(map(int, sys.argv[3:]))
net, optimizer, schedule = make()
with ratoon.Session(save_folder=sys.argv[2], run_name="net", save_every="7st") as session:
    torch.manual_seed(11); make()  # the twin's random numbers go on behind make()
    loader = ratoon.torch.DataLoader(Noisy(), global_batch=16, seed=4, num_workers=int(sys.argv[1]))
    session.track(net=net, optimizer=optimizer, schedule=schedule, loader=loader)
    for x, y in session.batches(loader, epochs=3):
        session.report("loss", learn(net, optimizer, schedule, x, y).item())
        print("step", session.steps_done, flush=True)
        if session.steps_done in gates:
            sys.stdin.readline()
tell(net)
"""

RANKS = MODEL + """
import pathlib, time
with ratoon.Session(save_every="5st", keep_last=5) as session:
    ratoon.torch.init_process_group(session)
    net, optimizer, schedule = make()
    if session.rank:
        torch.manual_seed(session.rank)
    loader = ratoon.torch.DataLoader(Noisy(), global_batch=16, seed=4)
    session.track(net=net, optimizer=optimizer, schedule=schedule, loader=loader)
    wrapped = torch.nn.parallel.DistributedDataParallel(net) if "ddp" in sys.argv else net
    for x, y in session.batches(loader, steps=80):
        average = (lambda: None) if "ddp" in sys.argv else lambda: session.average_gradients(net)
        loss = learn(wrapped, optimizer, schedule, x, y, average)
        session.report("loss", loss.item(), len(x))
        if session.steps_done == 40 and session.attempt == 1 and session.rank == 1 and "unbroken" not in sys.argv:
            run, = pathlib.Path(sys.argv[1]).rglob("manifests")
            end = time.monotonic() + 60
            while time.monotonic() < end and not any(one.step >= 30 and one.state == "complete"
                                                     for one in ratoon.checkpoints.list(run.parent)):
                time.sleep(0.01)
            os.kill(os.getpid(), 9)
"""


COPIES = """
class Copies(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.register_buffer("count", torch.zeros(1))
    def state_dict(self, *words, **more): return {name: value.clone() for name, value in super().state_dict().items()}
"""


class OneProcess(Case):
    def test_kills_change_no_bit(self):
        print("RATOON_SEED", SEED)
        draws = random.Random(SEED)
        for workers in (0, 2):
            with self.subTest(workers=workers):
                twin = self.result(TWIN, workers)
                folder = self.folder / str(workers)
                for step in sorted(draws.sample(range(2, 36), 3)):
                    child = self.start(PROGRAM, workers, folder, step)
                    self.read_until(child, f"step {step}")
                    child.kill()
                    self.end(child)
                self.assertEqual(self.result(PROGRAM, workers, folder), twin)

    def test_a_notice_to_the_whole_group_loses_no_step(self):
        forever = os.environ | {"RATOON_MAX_DURATION": "100000ep", "RATOON_GRACE_SECONDS": "4", "PROGRAM_STEPS": "1000000"}
        child = self.start(PROGRAM, 2, self.folder, 20, start_new_session=True, env=forever)
        self.read_until(child, "step 20")
        os.killpg(child.pid, signal.SIGTERM)
        child.stdin.write("\n")
        code, said, errors = self.end(child)
        self.assertEqual(code, 80, errors)
        self.assertIn("is saved", errors)
        last = max([20, *(int(line.split()[1]) for line in said.splitlines() if line.startswith("step"))])
        following = self.start(PROGRAM, 2, self.folder, env=forever)
        first = following.stdout.readline()
        following.kill()
        self.assertEqual(first, f"step {last + 1}\n", errors + self.end(following)[2])

    def test_the_checkpoint_has_the_names_of_the_state_dict(self):
        self.result(PROGRAM, 0, self.folder)
        found = ratoon.checkpoints.load(self.folder / "net")
        self.assertEqual(found["net.0.weight"].shape, (16, 8))
        self.assertIn("optimizer.state.0.exp_avg", found)
        weights = ratoon.checkpoints.load(self.folder / "net/weights.safetensors")
        self.assertEqual({name.split(".")[0] for name in weights}, {"net"})
        self.assertTrue(torch.equal(ratoon.torch.tensor(weights["net.0.weight"]),
                                    ratoon.torch.tensor(found["net.0.weight"])))

    def test_state_beside_a_stream_and_copies_of_tensors_are_restored(self):
        program = MODEL + COPIES + """
class Loader(ratoon.torch.DataLoader):
    extra = 0
    def state_dict(self): return {**super().state_dict(), "extra": self.extra}
    def load_state_dict(self, state): self.extra = state["extra"]; super().load_state_dict(state)
copies = Copies()
with ratoon.Session(save_folder=sys.argv[1], run_name="net", save_every="1st") as session:
    loader = Loader(Noisy(), global_batch=16, seed=4)
    session.track(copies=copies, loader=loader)
    for x, y in session.batches(loader, steps=int(sys.argv[2])):
        copies.count += 1
        loader.extra += 1
print("result", copies.count.item(), loader.extra, loader.stream.batches)
"""
        self.assertEqual(self.result(program, self.folder, 3), "result 3.0 3 3")
        self.assertEqual(self.result(program, self.folder, 8), "result 8.0 8 8")

    def test_an_optimizer_changes_a_module_whose_state_is_copies(self):
        program = MODEL + COPIES + """
copies = Copies()
optimizer = torch.optim.SGD(copies.parameters(), 1.0, momentum=0.5)
with ratoon.Session(save_folder=sys.argv[1], run_name="net", save_every="1st") as session:
    session.track(copies=copies, optimizer=optimizer)
    for step in session.steps(int(sys.argv[2])):
        optimizer.zero_grad()
        copies.weight.sum().backward()
        optimizer.step()
print("result", copies.weight.item())
"""
        self.assertEqual(self.result(program, self.folder, 2), "result -2.5")
        self.assertEqual(self.result(program, self.folder, 3), "result -4.25")

    def test_state_of_another_type_than_its_parameter_changes_no_bit(self):
        program = MODEL + """
class Moments(torch.optim.Optimizer):
    def __init__(self, parameters, lr): super().__init__(parameters, {"lr": lr})
    @torch.no_grad()
    def step(self):
        for parameter in self.param_groups[0]["params"]:
            state = self.state[parameter]
            if not state: state["moments"] = [torch.zeros_like(parameter, dtype=torch.float32)]
            parameter -= state["moments"][0].lerp_(parameter.grad.float(), 0.1)
torch.manual_seed(11)
kind, dtype = {"NAdam": (torch.optim.NAdam, torch.float64), "Moments": (Moments, torch.bfloat16)}[sys.argv[1]]
net, x = torch.nn.Linear(8, 1, dtype=dtype), torch.randn(64, 8, dtype=dtype)
optimizer = kind(net.parameters(), lr=0.05)
with ratoon.Session(save_folder=sys.argv[2], run_name="net", save_every="5st") as session:
    session.track(net=net, optimizer=optimizer)
    for step in session.steps(int(sys.argv[3])):
        optimizer.zero_grad()
        (net(x) - x.sum(1, keepdim=True)).square().mean().backward()
        optimizer.step()
print("result", [tensor.double().tolist() for tensor in net.state_dict().values()])
"""
        for kind in ("NAdam", "Moments"):
            with self.subTest(kind):
                unbroken = self.result(program, kind, self.folder / f"{kind}-unbroken", 40)
                self.result(program, kind, self.folder / kind, 17)
                self.assertEqual(self.result(program, kind, self.folder / kind, 40), unbroken)

    def test_the_epochs_of_a_run_are_those_of_its_loader(self):
        program = MODEL + """
with ratoon.Session(save_folder=sys.argv[1], run_name="net") as session:
    other, loader = (session.data_loader(Noisy(), global_batch=batch, seed=4) for batch in (10, 50))
    session.track(other=other, loader=loader)
    for x, y in session.batches(loader, epochs=2):
        if session.steps_done > 20: sys.exit("the run has no end")
print("result", session.steps_done, loader.epoch)
"""
        self.assertEqual(self.result(program, self.folder), "result 8 2")

    def test_a_loader_of_another_world_is_refused(self):
        program = MODEL + """
with ratoon.Session(save_folder=sys.argv[1], run_name="net") as session:
    loader = ratoon.torch.DataLoader(Noisy(), global_batch=16, seed=4, rank=1, world_size=2)
    session.track(loader=loader)
    for x, y in session.batches(loader, steps=2): pass
"""
        code, _, errors = self.end(self.start(program, self.folder))
        self.assertEqual(code, 82, errors)
        self.assertIn("a loader of rank 1 of 2, and this process is rank 0 of 1: make the loader with", errors)

    def test_a_module_that_changes_its_form_is_not_saved(self):
        program = MODEL + """
net = torch.nn.Linear(2, 2)
with ratoon.Session(save_folder=sys.argv[1], run_name="net", save_every="5st") as session:
    session.track(net=net)
    for step in session.steps(10):
        if step == 7: %s
"""
        for act, said in (("net.weight = torch.nn.Parameter(torch.zeros(3, 2))", "weight is of type float32 and shape [3, 2], "
                           "and was of type float32 and shape [2, 2] when the steps began"),
                          ("net.half()", "weight is of type float16 and shape [2, 2], and was of type float32"),
                          ("net.more = torch.nn.Linear(2, 1)", "more.weight did not exist when the steps began"),
                          ("net.bias = None", "bias no longer exists")):
            with self.subTest(act):
                code, _, errors = self.end(self.start(program % act, self.folder / act[:8]))
                self.assertEqual(code, 82, errors)
                self.assertIn(f"tracked 'net': {said}", errors)

    def test_an_optimizer_with_another_number_of_groups_is_refused_before_anything_is_loaded(self):
        program = MODEL + """
net, more = torch.nn.Linear(2, 1), torch.nn.Linear(1, 1)
optimizer = torch.optim.AdamW(net.parameters())
def add(): optimizer.add_param_group({"params": more.parameters(), "lr": 0.5})
with ratoon.Session(save_folder=sys.argv[1], run_name="net", save_every="1st") as session:
    session.track(net=net, more=more, optimizer=optimizer)
    if "again" in sys.argv and session.resumes_at >= 2: add()
    with torch.no_grad(): net.weight.fill_(7.0)
    try:
        for step in session.steps(int(sys.argv[2])):
            if step == 1 and session.resumes_at is None: add()
            more(net(torch.ones(1, 2))).backward()
            optimizer.step()
    finally:
        print("result", len(optimizer.param_groups), net.weight.tolist() == [[7.0, 7.0]], flush=True)
"""
        self.assertEqual(self.result(program, self.folder, 3), "result 2 False")
        code, said, errors = self.end(self.start(program, self.folder, 4))
        self.assertEqual((code, said), (82, "result 1 True\n"), errors)
        self.assertIn("tracked 'optimizer': the checkpoint has 2 groups of parameters, and the optimizer has 1", errors)
        self.assertEqual(self.result(program, self.folder, 4, "again"), "result 2 False")

    def test_tensors_without_an_element_come_back(self):
        program = MODEL + """
state = {"none": torch.empty(0, 3)}
with ratoon.Session(save_folder=sys.argv[1], run_name="net", save_every="1st") as session:
    session.track(state=state, alone=torch.empty(0), net=torch.nn.Linear(0, 1))
    for step in session.steps(int(sys.argv[2])): pass
print("result", state["none"].shape)
"""
        for steps in (1, 2):
            self.assertEqual(self.result(program, self.folder, steps), "result torch.Size([0, 3])")

    def test_a_loader_that_is_not_tracked_is_refused(self):
        program = MODEL + """
with ratoon.Session(save_folder=sys.argv[1], run_name="net") as session:
    loader = session.data_loader(Noisy(), global_batch=16, seed=4)
    for x, y in session.batches(loader, steps=2): pass
"""
        code, _, errors = self.end(self.start(program, self.folder))
        self.assertEqual(code, 82, errors)
        self.assertIn("a loader that is not tracked", errors)

    def test_a_model_that_is_divided_is_refused_with_and_without_a_checkpoint(self):
        program = MODEL + """
from torch.distributed.fsdp import fully_shard
torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
net = torch.nn.Linear(8, 8)
with ratoon.Session(save_folder=sys.argv[1], run_name="net", save_every="1st") as session:
    session.track(net=fully_shard(net) if "divided" in sys.argv else net)
    for step in session.steps(2 if "divided" in sys.argv else 1): pass
"""
        for words, ended in ((["divided"], 82), ([], 0), (["divided"], 82)):
            code, _, errors = self.end(self.start(program, self.folder, *words))
            self.assertEqual((code, "weight: a DTensor has no memory of its own" in errors), (ended, bool(words)), errors)

    def test_what_would_be_lost_is_refused(self):
        program = MODEL + """
net, optimizer, schedule = make()
with ratoon.Session(save_folder=sys.argv[1], run_name="net") as session:
    session.track(%s)
    for step in session.steps(1):
        pass
"""
        for track, said in (("optimizer=optimizer", "parameter 0 of its group 0"),
                            ("net=net, schedule=torch.optim.lr_scheduler.LambdaLR(optimizer, Table())",
                             "['lr_lambdas'][0]['f'] is of type builtins.builtin_function_or_method")):
            with self.subTest(track):
                text = ("class Table:\n    def __init__(self): self.f = print\n    def __call__(self, step): return 1.0\n"
                        + program % track)
                code, _, errors = self.end(self.start(text, self.folder / "refused"))
                self.assertEqual(code, 82, errors)
                self.assertIn(said, errors)


class Ranks(Case):
    def run_job(self, name, *words):
        """The steps from which its attempts went on."""
        folder = str(self.folder / name)
        command = [RATOON, "launch", "--nproc", "2", "--folder", folder, "--", sys.executable, "-c", RANKS, folder, *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, 0, said[-8000:])
        return list(map(int, re.findall(r"trains with 2 processes from step (\d+)", said)))

    def test_a_rank_that_is_killed_changes_no_bit(self):
        for words in ((), ("ddp", )):
            with self.subTest(words):
                name = "-".join(("run", *words))
                first, second = self.run_job(name, *words)
                self.assertEqual(first, 0)
                self.assertGreaterEqual(second, 30, "the interval and the number of checkpoints are the program's")
                run, = (self.folder / name).rglob("manifests")
                kept = [one for one in ratoon.checkpoints.list(run.parent) if one.state == "complete"]
                self.assertEqual([one.step for one in kept], [80, 75, 70, 65, 60])
                self.assertEqual(self.run_job(name + "-unbroken", "unbroken", *words), [0])
                one, other = (self.weights(folder) for folder in (name, name + "-unbroken"))
                self.assertEqual(one, other)

    def test_a_rank_without_samples_changes_no_mean(self):
        """Its own mean is that of no numbers."""
        program = """
import torch, ratoon, ratoon.torch
with ratoon.Session(run_name="padding") as session:
    ratoon.torch.init_process_group(session)
    net = torch.nn.Linear(2, 1)
    session.track(net=net)
    for step in session.steps(1):
        for parameter in net.parameters():
            parameter.grad = torch.full_like(parameter, float("nan") if session.rank else 3.0)
        session.average_gradients(net, samples=0 if session.rank else 4)
        print("mean", [parameter.grad.flatten().tolist() for parameter in net.parameters()])
"""
        command = [RATOON, "launch", "--nproc", "2", "--folder", self.folder / "padding", "--", sys.executable, "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("mean [[3.0, 3.0], [3.0]]"), 2, done.stdout + done.stderr)

    def weights(self, folder):
        place, = (self.folder / folder).rglob("weights.safetensors")
        return {name: bytes(tensor) for name, tensor in ratoon.checkpoints.load(place).items()}


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""ratoon.train() under PyTorch: 20 disturbances change no bit, and 100 attempts leave nothing behind. Run by
train_torch_nightly_test.py."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from train_runs import TrainRun, calls_in, last_step_in, results_in

# Networks of the function die with it; `kept` of train_runs.py does not. Each attempt tells what the process holds.
PROGRAM = """
import gc, pathlib, threading, weakref
import torch, ratoon, ratoon.torch
torch.set_num_threads(1)
alive = weakref.WeakSet()
way = sys.argv[3]
class Noisy(torch.utils.data.Dataset):
    def __len__(self): return 200
    def __getitem__(self, index):
        x = torch.full((8,), float(index)) / 200 + 0.01 * torch.randn(8)
        return x, x.sum().reshape(1)
def resident_kib():
    return int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS")))
def children():
    return pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
def learn(session):
    tell(session, f"holds {len(alive)} networks {threading.active_count()} threads {len(os.listdir('/proc/self/task'))} tasks "
                  f"{len(os.listdir('/proc/self/fd'))} descriptors {len(children())} children {resident_kib()} KiB")
    if way == "own":
        store = torch.distributed.FileStore(f"{sys.argv[0]}.{session.attempt}", session.world_size)
        torch.distributed.init_process_group("gloo", store=store, rank=session.rank, world_size=session.world_size)
    else:
        ratoon.torch.init_process_group(session)
    net = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.BatchNorm1d(64), torch.nn.Dropout(0.1), torch.nn.Linear(64, 1))
    alive.add(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    if session.rank:
        torch.manual_seed(session.rank)
    loader = session.data_loader(Noisy(), global_batch=16, seed=4, num_workers=1 if way == "workers" else 0)
    session.track(net=net, optimizer=optimizer, loader=loader)
    wrapped = torch.nn.parallel.DistributedDataParallel(net) if way == "ddp" else net
    for made, (x, y) in enumerate(session.batches(loader, steps=end)):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(wrapped(x), y)
        hurt(session, made)  # the others wait in a collective for this rank
        loss.backward()
        if way != "ddp":
            session.average_gradients(net)
        optimizer.step()
        session.report("loss", loss.item(), len(x))
        if way == "resize" and session.rank == 1 and made == 12:  # the third process of this member ends the run
            if int(os.environ["RATOON_INCARNATION"]) < 2:
                os.kill(os.getpid(), signal.SIGKILL)
            session.finish("the world has shrunk and grown twice")
        if ends_early(session, made):
            session.finish("the plan is carried out")
    own = [tensor.numpy().tobytes().hex() for name, tensor in net.state_dict().items() if "running" not in name]
    print("result", session.steps_done, own, flush=True)
ratoon.train(learn, grace_seconds=3)
"""

HOLDS = re.compile(r"holds (\d+) networks (\d+) threads (\d+) tasks (\d+) descriptors (\d+) children (\d+) KiB")


def plan_of(attempts):
    """The ranks are hurt by turns, three times by a kill and then by a notice."""
    return {attempt: ["notice" if attempt % 4 == 0 else "kill", attempt % 2] for attempt in range(1, attempts + 1)}


class Ranks(unittest.TestCase):
    def run_plan(self, plan, end=10**6, way="average", **how):
        run = TrainRun(PROGRAM, plan, end, words=[way], **how)
        self.addCleanup(run.close)
        return run.run()

    def check(self, plan, way):
        said = self.run_plan(plan, way=way)
        calls = calls_in(said)
        self.assertEqual(sorted(calls), list(range(1, max(plan) + 2)), said[-8000:])
        for attempt, (_, hurt) in plan.items():
            process, count = calls[attempt][1 - hurt]
            self.assertEqual(calls[attempt + 1][1 - hurt], (process, count + 1), f"behind attempt {attempt}: {said[-8000:]}")
        unbroken = self.run_plan({}, last_step_in(said), way=way)
        self.assertEqual(len(results_in(said)), 1, said[-4000:])
        self.assertEqual(results_in(said), results_in(unbroken))
        return said

    def test_20_disturbances_change_no_bit(self):
        self.check(plan_of(20), "average")

    def test_ddp_and_workers(self):
        for way in ("ddp", "workers"):
            with self.subTest(way):
                said = self.check(plan_of(4), way)
                self.assertEqual({found[4] for found in HOLDS.findall(said)}, {"0"}, "no worker outlives its attempt")

    def test_the_world_shrinks_and_grows_in_the_same_process(self):
        """The member that is hurt comes back late: meanwhile the other one trains alone, and then hands over."""
        late = 'if [ "$RATOON_INCARNATION" != 0 ]; then sleep 2; fi; exec "$0" "$@"'
        said = self.run_plan({}, way="resize", shell=late,
                             spec={"elasticPolicy": {"minReplicas": 1, "shrinkAfterSeconds": 0, "growCooldownSeconds": 1}})
        sizes = {int(attempt): size for attempt, size in re.findall(r"^attempt (\d+) rank 0 of (\d+)", said, re.MULTILINE)}
        last = sorted(sizes)[-5:]  # the first attempt may begin before both members are there
        self.assertEqual([sizes[attempt] for attempt in last], ["2", "1", "2", "1", "2"], said[-8000:])
        calls = calls_in(said)
        self.assertEqual(len({calls[attempt][0][0] for attempt in last}), 1, "rank 0 stays one process")

    def test_a_group_of_the_program_itself_needs_a_new_process(self):
        said = self.run_plan({1: ["kill", 1]}, way="own")
        self.assertIn("not made by ratoon.torch.init_process_group(session) with Gloo: this process starts again", said)
        calls = calls_in(said)
        self.assertEqual((calls[2][0][1], calls[2][1][1]), (1, 1))
        self.assertNotEqual(calls[2][0][0], calls[1][0][0])

    def test_100_attempts_leave_nothing_behind(self):
        plan = {attempt: ["kill", 1] for attempt in range(1, 101)}
        said = self.run_plan(plan)
        survivor = [tuple(map(int, HOLDS.search(line).groups())) for line in said.splitlines()
                    if re.match(r"attempt \d+ rank 0 ", line)]
        self.assertEqual(len(survivor), 101)
        for number, (networks, threads, tasks, descriptors, children, _) in enumerate(survivor[1:], 2):
            self.assertEqual((networks, threads, children), (0, 1, 0), f"attempt {number}")
        settled = survivor[10:]
        self.assertLessEqual(max(tasks for _, _, tasks, *_ in settled), survivor[10][2] + 2)
        self.assertLessEqual(max(descriptors for _, _, _, descriptors, *_ in settled), survivor[10][3] + 2)
        self.assertLess(settled[-1][5] - settled[0][5], 16 << 10, "KiB in 90 attempts")


GROUP_BEFORE = """
import sys, torch, ratoon, ratoon.torch
torch.distributed.init_process_group("gloo")
def learn(session):
    net = torch.nn.Linear(2, 1)
    data = torch.utils.data.TensorDataset(torch.ones(16, 2))
    loader = session.data_loader(data, global_batch=4, seed=4)
    session.track(net=net, loader=loader)
    for x, in session.batches(loader, epochs=2):
        net(x).sum().backward()
        session.average_gradients(net)
    print("result", session.rank, session.world_size, session.steps_done, flush=True)
ratoon.train(learn, save_folder=sys.argv[1], run_name="before")
torch.distributed.destroy_process_group()
"""


class GroupOfTheProgram(unittest.TestCase):
    def test_a_group_that_was_made_before_trains(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-train-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        (folder / "program.py").write_text(GROUP_BEFORE)
        for ranks in (1, 2):
            words = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks), "--standalone",
                     folder / "program.py", folder / str(ranks)]
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stdout[-6000:])
            found = sorted(re.findall(r"result (.*)", done.stdout))
            self.assertEqual(found, [f"{rank} {ranks} 8" for rank in range(ranks)], done.stdout[-6000:])


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)

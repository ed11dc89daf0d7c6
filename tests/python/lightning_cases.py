"""ratoon.lightning under Lightning: killed, told to leave and started again, a fit has the bits of its plain twin. Run by
lightning_nightly_test.py.

A start of a program is a fork of a process that has imported Lightning and has done nothing else: the import takes longer than
a whole run."""
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
import time
import unittest

import ratoon

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEED = int(os.environ.get("RATOON_SEED", random.randrange(1 << 20)))
RATOON = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin/ratoon"

SERVER = """
import json, os, signal, sys
import torch, pytorch_lightning, ratoon.lightning, ratoon.torch
for line in sys.stdin:
    order = json.loads(line)
    if (pid := os.fork()) == 0:
        break
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
else:
    sys.exit()
os.setsid()
for number, name in ((0, "/dev/null"), (1, order["output"]), (2, order["errors"])):
    os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644), number)
sys.argv = ["program", *order["words"]]
os.environ.update(order["environment"])
exec(compile(order["program"], "program", "exec"))
"""

# What both twins share: dropout, batch norm, two validations an epoch, summed gradients, a schedule that follows the loss of
# training, metrics that are summed up over an epoch, a stop by the loss of validation.
MODEL = """
import json, os, signal, sys, time, torch, torchmetrics, pytorch_lightning as L, ratoon.lightning, ratoon.torch
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint
torch.set_num_threads(1)
folder, workers = sys.argv[1], int(sys.argv[2])
class Noisy(torch.utils.data.Dataset):
    def __len__(self): return 200
    def __getitem__(self, index):
        x = torch.full((8,), float(index)) / 200 + 0.01 * torch.randn(8)
        return x, x.sum().reshape(1)
class Model(L.LightningModule):
    def __init__(self, most=0.0):
        super().__init__()
        self.save_hyperparameters({"most": most, "act": torch.nn.functional.relu})
        self.net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.Dropout(0.1),
                                       torch.nn.Linear(16, 1))
        self.error = torchmetrics.MeanSquaredError()
        self.register_buffer("epochs", torch.zeros(()))
    def loss(self, batch): return torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])
    def on_train_epoch_start(self): self.epochs += torch.rand(())
    def training_step(self, batch, number):
        loss = self.loss(batch)
        self.error(self.net(batch[0]), batch[1])
        self.log("error", self.error, on_step=False, on_epoch=True)
        self.log("loss", loss, on_step=True, on_epoch=True)
        self.log("most", loss, reduce_fx="max", on_step=False, on_epoch=True)
        return loss
    def validation_step(self, batch, number): self.log("val_loss", self.loss(batch))
    def configure_optimizers(self):
        optimizer = getattr(torch.optim, os.environ.get("OPTIMIZER", "AdamW"))(self.parameters(), lr=3e-3)
        falls = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.7, threshold=0.3)
        return [optimizer], [{"scheduler": falls, "monitor": "loss_epoch"}]
class Line(L.Callback):
    def on_train_batch_end(self, trainer, *more): print("batch", trainer.fit_loop.total_batch_idx, flush=True)
def make_trainer(*callbacks, **more):
    stop = EarlyStopping("val_loss", patience=3, min_delta=0.05)
    best = ModelCheckpoint(folder + "/best", monitor="val_loss", save_top_k=2, enable_version_counter=False)
    return L.Trainer(**dict(max_epochs=40, val_check_interval=0.5, accumulate_grad_batches=2, logger=False,
                            callbacks=[stop, *callbacks, Line(), best], enable_progress_bar=False,
                            enable_model_summary=False, accelerator="cpu") | more)
def bits(state): return {name: value.numpy().tobytes().hex() for name, value in state.items()}
def tell(trainer, model):
    stop, best = trainer.early_stopping_callback, trainer.checkpoint_callback
    moments = {at: bits(state) for at, state in trainer.optimizers[0].state_dict()["state"].items()}
    scores = {os.path.basename(path): score.item() for path, score in best.best_k_models.items()}
    print("result", json.dumps([bits(model.state_dict()), moments, trainer.optimizers[0].param_groups[0]["lr"],
        trainer.global_step, trainer.current_epoch, stop.stopped_epoch, stop.wait_count, scores, os.path.basename(
        best.best_model_path), sorted(os.listdir(folder + "/best")), bits(trainer.callback_metrics)], sort_keys=True), flush=True)
VALID = torch.utils.data.DataLoader(Noisy(), batch_size=50)
"""

TWIN = MODEL + """
L.seed_everything(11, verbose=False)
model, trainer = Model(), make_trainer()
trainer.fit(model, ratoon.torch.DataLoader(Noisy(), global_batch=16, seed=4, epoch_end="short", num_workers=workers), VALID)
tell(trainer, model)
"""

PROGRAM = MODEL + """
with ratoon.lightning.Ratoon(save_folder=folder, run_name="net", save_every="5st") as r:
    L.seed_everything(11, verbose=False)
    model, trainer = Model(), make_trainer(r)
    trainer.fit(model, r.data_loader(Noisy(), global_batch=16, seed=4, num_workers=workers), VALID)
tell(trainer, model)
"""

# A fit with other words: a run of so many epochs, without a stop.
PLAIN = MODEL + """
epochs, options, words = int(sys.argv[3]), *map(json.loads, sys.argv[4:6])
with ratoon.lightning.Ratoon(save_folder=folder, run_name="net", **options) as r:
    L.seed_everything(11, verbose=False)
    model, trainer = Model(), make_trainer(r, max_epochs=epochs, **words)
    trainer.early_stopping_callback.patience = 100
    trainer.fit(model, r.data_loader(Noisy(), global_batch=16, seed=4, num_workers=workers), VALID)
tell(trainer, model)
"""

# A run without an end of its own, which waits at a batch until a file is there.
GATED = MODEL + """
class Gate(L.Callback):
    def on_train_batch_start(self, trainer, *more):
        if trainer.fit_loop.total_batch_idx != int(sys.argv[3]): return
        print("at the gate", flush=True)
        while not os.path.exists(folder + "/go"): time.sleep(0.01)
with ratoon.lightning.Ratoon(save_folder=folder, run_name="net", save_every="5st") as r:
    model, trainer = Model(), make_trainer(r, Gate(), max_epochs=-1)
    trainer.early_stopping_callback.patience = 1 << 30
    trainer.fit(model, r.data_loader(Noisy(), global_batch=16, seed=4, num_workers=workers), VALID)
"""


class Start:
    """A program that runs."""

    def __init__(self, server, folder, program, words, environment):
        number = sum(1 for _ in folder.glob("*.out"))
        self._server, self.output, self._errors = server, folder / f"{number}.out", folder / f"{number}.err"
        self.output.touch()
        order = {"program": program, "words": [str(word) for word in words], "environment": environment,
                 "output": str(self.output), "errors": str(self._errors)}
        server.stdin.write(json.dumps(order) + "\n")
        server.stdin.flush()
        self.pid = int(server.stdout.readline())

    def said(self):
        return self.output.read_text()

    def errors(self):
        return self._errors.read_text() if self._errors.exists() else ""

    def wait_for(self, line):
        """Until it has printed a line, or is about to end without it."""
        end = time.monotonic() + 120
        while f"{line}\n" not in self.said() and "result" not in self.said():
            assert time.monotonic() < end, f"it never printed '{line}':\n{self.said()}{self.errors()}"
            time.sleep(0.002)

    def end(self):
        return int(self._server.stdout.readline())


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = subprocess.Popen([sys.executable, "-W", "ignore", "-c", SERVER], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)

    @classmethod
    def tearDownClass(cls):
        cls.server.stdin.close()
        cls.server.wait()
        cls.server.stdout.close()

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-lightning-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def start(self, program, *words, **environment):
        return Start(self.server, self.folder, program, words, environment)

    def result(self, program, *words, **environment):
        start = self.start(program, *words, **environment)
        self.assertEqual(start.end(), 0, start.errors()[-4000:])
        return [json.loads(line[7:]) for line in start.said().splitlines() if line.startswith("result")][0]

    def batches(self, start):
        return [int(line.split()[1]) for line in start.said().splitlines() if line.startswith("batch")]


class Fit(Case):
    def test_kills_change_no_bit(self):
        print("RATOON_SEED", SEED)
        draws = random.Random(SEED)
        for workers in (0, 2):
            with self.subTest(workers=workers):
                twin = self.result(TWIN, self.folder / "twin", workers)
                folder = self.folder / str(workers)
                self.assertGreater(twin[3], 40, "optimizer steps: the run is long enough")
                self.assertGreater(twin[5], 0, "the twin stops early")
                batches, kills = 13 * twin[4], 0
                for batch in sorted(draws.sample(range(2, batches - 3), 12)):
                    start = self.start(PROGRAM, folder, workers)
                    start.wait_for(f"batch {batch}")
                    os.kill(start.pid, signal.SIGKILL)
                    kills += start.end() == -signal.SIGKILL
                self.assertGreaterEqual(kills, 10)
                self.assertEqual(self.result(PROGRAM, folder, workers), twin)
                again = self.start(PROGRAM, folder, workers)
                self.assertEqual(again.end(), 0, again.errors())
                self.assertEqual(self.batches(again), [], "a run that is complete trains no further")
                self.assertEqual([json.loads(line[7:]) for line in again.said().splitlines() if line.startswith("result")][0][:8],
                                 twin[:8])

    def leave(self, number, at, code):
        """Tells the processes of a run to leave within a batch. Gives the last batch of it and the first of the next start."""
        start = self.start(GATED, self.folder, 2, at, RATOON_GRACE_SECONDS="15")
        start.wait_for("at the gate")
        os.killpg(start.pid, number)
        (self.folder / "go").touch()
        self.assertEqual(start.end(), code, start.errors())
        self.assertIn("is saved", start.errors())
        following = self.start(GATED, self.folder, 2, -1)
        following.wait_for(f"batch {self.batches(start)[-1] + 1}")
        os.kill(following.pid, signal.SIGKILL)
        following.end()
        return self.batches(start)[-1], self.batches(following)[0]

    def test_a_notice_to_the_whole_group_loses_no_step(self):
        for at in (0, 20):  # also before the first step has ended
            with self.subTest(at=at):
                (self.folder / "go").unlink(missing_ok=True)
                shutil.rmtree(self.folder / "net", ignore_errors=True)
                last, first = self.leave(signal.SIGTERM, at, 80)
                self.assertGreaterEqual(last, at)
                self.assertEqual(first, last + 1)

    def test_ctrl_c_loses_no_step(self):
        last, first = self.leave(signal.SIGINT, 20, 130)
        self.assertEqual(first, last + 1)

    def test_a_notice_after_fit_is_still_the_sessions(self):
        program = "import atexit\n" + PROGRAM.replace("max_epochs=40", "max_epochs=2").replace("\ntell(", """
    print("fitted", flush=True)
    while not os.path.exists(folder + "/go"): time.sleep(0.01)
tell(""").replace("with ratoon", "atexit.register(lambda: print(signal.getsignal(signal.SIGTERM).name))\nwith ratoon")
        for number, code in ((signal.SIGTERM, 80), (signal.SIGINT, 130)):
            with self.subTest(number):
                start = self.start(program, self.folder / number.name, 0)
                start.wait_for("fitted")
                os.kill(start.pid, number)
                (self.folder / number.name / "go").touch()
                self.assertEqual(start.end(), code, start.errors())
                self.assertEqual(start.said().splitlines()[-1], "SIG_DFL", "a closed session gives the signals back")

    def plain(self, folder, epochs, options=None, words=None, **environment):
        return self.result(PLAIN, self.folder / folder, 0, epochs, json.dumps(options or {}), json.dumps(words or {}),
                           **environment)

    def test_a_complete_run_goes_on_to_more_epochs(self):
        # NAdam has state of float32, also for parameters of float64.
        for words in ({}, {"limit_train_batches": 5, "val_check_interval": 1.0}, {"precision": "64-true"}):
            with self.subTest(words):
                starts = ("twice", 2), ("twice", 4), ("once", 4)
                found = [self.plain(f"{name}-{len(words)}", epochs, words=words, OPTIMIZER="NAdam") for name, epochs in starts]
                self.assertEqual(found[1], found[2])

    def test_a_limit_of_the_job_ends_the_run(self):
        found = self.plain("short", 40, words={"min_epochs": 10}, RATOON_MAX_DURATION="10st")
        self.assertEqual(found[3], 10)
        self.assertEqual(self.plain("short", 40, words={"min_epochs": 10}, RATOON_MAX_DURATION="10st")[:4], found[:4])
        self.plain("early", 1, RATOON_MAX_DURATION="1000st")

    def test_the_weights_of_another_run_are_a_beginning(self):
        first = self.plain("first", 1)
        second = self.plain("second", 1, {"load_from": str(self.folder / "first/net")})
        third = self.plain("third", 1)
        self.assertEqual(third[0], first[0])
        self.assertNotEqual(second[0], first[0])
        self.assertEqual(second[3:5], first[3:5])

    def test_a_checkpoint_callback_has_one_folder_in_all_starts(self):
        program = PROGRAM.replace("with ratoon", "best = ModelCheckpoint(monitor='val_loss')\nwith ratoon").replace(
            "make_trainer(r)", "make_trainer(callbacks=[r, best], max_epochs=int(sys.argv[3]), default_root_dir=folder, "
            "logger=L.loggers.CSVLogger(folder))").replace(
            "\ntell(trainer, model)",
            "\nprint('result', json.dumps([best.dirpath, best.best_model_score is not None]))")
        for epochs in (1, 2):
            self.assertEqual(self.result(program, self.folder, 0, epochs), [f"{self.folder}/checkpoints", True])

    def test_a_checkpoint_has_names_and_no_pickle(self):
        self.plain("named", 1)
        found = ratoon.checkpoints.load(self.folder / "named/net")
        self.assertEqual(found["model.net.0.weight"].shape, (16, 8))
        self.assertIn("trainer.optimizer_states.0.state.0.exp_avg", found)
        weights = ratoon.checkpoints.load(self.folder / "named/net/weights.safetensors")
        self.assertEqual({name.split(".")[0] for name in weights}, {"model"})
        packs = [path.read_bytes() for path in (self.folder / "named/net/packs").rglob("*") if path.is_file()]
        self.assertTrue(packs)
        for pack in packs:
            self.assertNotIn(b"\x80\x02c", pack)
            self.assertNotIn(b"data.pkl", pack)

    def test_what_cannot_be_saved_is_refused(self):
        self.plain("other", 1)
        other = next((self.folder / "other/best").iterdir())
        loader = "r.data_loader(Noisy(), global_batch=16, seed=4, num_workers=workers)"
        for old, new, said in (
                ("make_trainer(r)", "make_trainer(r, Odd())", "['callbacks']['Odd']['act'] is of type builtins.function"),
                (loader, "VALID", "a loader whose position cannot be saved"),
                (loader, loader.replace("seed=4", "epoch_end='carry'"), "give epoch_end='short'"),
                (loader, f"{loader} and {loader}", "data_loader() was called a second time"),
                ("VALID)", f"VALID, ckpt_path='{other}', weights_only=False)", "goes on from its own newest checkpoint"),
                ("make_trainer(r)", "make_trainer(r, fast_dev_run=True)", "fast_dev_run makes no run that goes on"),
                ("make_trainer(r)", "make_trainer(r, strategy=Sharded(torch.device('cpu')))", "this Trainer has Sharded"),
                ("make_trainer(r)", "make_trainer(r, strategy='ddp', devices=2, plugins=[Two()])", "the Trainer has 2 processes"),
                ("trainer.fit(model, ", f"x = {loader}; next(iter(x)); trainer.fit(model, ", "are for Trainer.fit()"),
                ("trainer.fit(", "Model.training_step = lambda self, dataloader_iter: None; trainer.fit(",
                 "fetches batches within a step"),
                ("trainer.fit(", "trainer.fit_loop.max_epochs = 1; trainer.fit(model, {x}, VALID); trainer.fit(".format(
                    x=loader.replace("r.data", "setattr(r, 'x', r.data") + ") or r.x"), "a second")):
            with self.subTest(new):
                program = PROGRAM.replace("with ratoon", ODD + "with ratoon").replace(old, new)
                self.assertNotEqual(program, PROGRAM)
                start = self.start(program, self.folder / "refused", 0)
                self.assertEqual(start.end(), 82, start.errors()[-3000:])
                self.assertIn(said, start.errors())


class Page(Case):
    def test_its_programs_run(self):
        page = (ROOT / "docs/train/python.md").read_text()
        before, after = [text for text in re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S) if "lightning" in text]
        plain = f"import os; os.chdir({str(self.folder)!r})\n" + before
        lines = plain.splitlines(keepends=True)
        self.assertEqual(sum("DataLoader(data, batch_size=64" in line for line in lines[-3:]), 1)
        for program in (plain, "".join(lines[:-3]) + after, "".join(lines[:-3]) + after):
            start = self.start(program)
            self.assertEqual(start.end(), 0, start.errors())
        self.assertEqual(ratoon.checkpoints.list(self.folder / "checkpoints/linear")[-1].step, 48)
        self.assertEqual(sum(line not in before for line in after.splitlines() if line), 5, "lines written or changed")


ODD = """
from pytorch_lightning.plugins.environments import LightningEnvironment
from pytorch_lightning.strategies import SingleDeviceStrategy
class Sharded(SingleDeviceStrategy): pass
class Odd(L.Callback):
    def state_dict(self): return {"act": tell}
class Two(LightningEnvironment):
    creates_processes_externally = True
    def world_size(self): return 2
torch.distributed.is_initialized() or torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0,
                                                                           world_size=1)
"""


class Ranks(unittest.TestCase):
    PROGRAM = MODEL + """
class Die(L.Callback):
    def on_train_batch_end(self, trainer, *more):
        if trainer.global_step == 18 and r.attempt == 1 and r.rank == 1 and "unbroken" not in sys.argv: os.kill(os.getpid(), 9)
class Synced(Model):
    def log(self, *words, **more): super().log(*words, **more, sync_dist=True)
with ratoon.lightning.Ratoon(save_every="4st") as r:
    L.seed_everything(11, verbose=False)
    model, trainer = Synced(), make_trainer(Die(), r, max_epochs=4, **r.ddp())
    torch.manual_seed(r.rank)
    trainer.fit(model, r.data_loader(Noisy(), global_batch=16, seed=4), VALID)
print("weights", r.rank, json.dumps(bits(model.state_dict()), sort_keys=True), flush=True)
"""

    def run_job(self, folder, *words, **variables):
        """What the ranks have at the end, and where the attempts began."""
        command = [RATOON, "launch", "--nproc", "2", "--folder", str(folder), "--", sys.executable, "-W", "ignore", "-c",
                   self.PROGRAM, str(folder / "files"), "0", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=os.environ | variables)
        self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr[-8000:])
        lines = (done.stdout + done.stderr).splitlines()
        return (dict(line.split("weights ")[1].split(" ", 1) for line in lines if "] weights " in line),
                [int(line.rsplit(" ", 1)[1]) for line in lines if "trains with 2 processes from step" in line])

    def test_a_rank_that_is_killed_changes_no_bit(self):
        with tempfile.TemporaryDirectory(prefix="ratoon-lightning-") as name:
            folder = pathlib.Path(name)
            # fit() ends before that limit, and so does the run
            unbroken, began = self.run_job(folder / "unbroken", "unbroken", RATOON_MAX_DURATION="1000st")
            self.assertEqual(began, [0])
            self.assertEqual(set(unbroken), {"0", "1"})
            broken, began = self.run_job(folder / "broken")
            self.assertEqual(began, [0, 16])
            self.assertEqual(broken, unbroken)


if __name__ == "__main__":
    unittest.main(verbosity=2)

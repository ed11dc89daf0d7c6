"""What needs Lightning: a Session that is a callback of its Trainer."""
import importlib
import os
import signal
import sys
from collections.abc import Iterator

import ratoon.torch  # before PyTorch: it says what to do where PyTorch is not installed
import torch

from ratoon import _generators, _tracked
from ratoon._errors import RatoonError
from ratoon._layout import array_of_tensor
from ratoon._session import Session
from ratoon._tensor import Tensor

__all__ = ["Ratoon", "TrainLoader"]


def _find_lightning():
    """The package whose Trainer the program uses: Lightning has two names."""
    names = ("lightning.pytorch", "pytorch_lightning")
    for name in [*(name for name in names if name in sys.modules), *names]:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise RatoonError("ratoon.lightning needs Lightning, which is not installed: pip install lightning")


_lightning = _find_lightning()
_plugins = importlib.import_module(f"{_lightning.__name__}.plugins.environments")
_Metric = importlib.import_module("torchmetrics").Metric


class TrainLoader:
    """The batches of Ratoon.data_loader(). Lightning takes len() of them for an epoch."""

    def __init__(self, run: "Ratoon", loader: "ratoon.torch.DataLoader"):
        self._run, self._loader = run, loader
        self._length = loader.stream.batches_until_epoch(1)
        if loader.stream.batches_until_epoch(2) != 2 * self._length:
            raise RatoonError("an epoch of Lightning has always as many batches: give epoch_end='short', the default, or 'drop'")
        self._batches: Iterator = iter(())

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator:
        while self._run._begin_batch():
            with self._run.phase("data"):
                batch = next(self._batches, _NO_BATCH)
                if batch is _NO_BATCH:
                    self._batches = iter(self._loader)
                    batch = next(self._batches)
            yield batch

    def close(self) -> None:
        """Ends the workers."""
        self._batches = iter(())


_NO_BATCH = object()


class Ratoon(Session, _lightning.Callback):
    """A Session whose steps are those of a Trainer of Lightning: give it to the Trainer as a callback.

        with ratoon.lightning.Ratoon(save_folder="checkpoints", run_name="gpt", save_every="10m") as r:
            trainer = lightning.Trainer(max_epochs=3, callbacks=[r])
            trainer.fit(model, r.data_loader(data, global_batch=64, num_workers=8))

    A step is a step of the optimizer, `trainer.global_step`. It ends where the Trainer asks for the next batch: validation,
    schedules and other callbacks have had their turn. There the session saves, and there a new start puts everything back.
    """

    def __init__(self, **options):
        super().__init__(**options)
        self._has_end = bool(os.environ.get("RATOON_MAX_DURATION") or options.get("max_duration"))
        self._loader: TrainLoader | None = None
        self._trainer = None
        self._handlers = {}
        self._step = 0  # of the Trainer, when the last step of the session ended
        self._is_in_place = False
        self._restored: dict = {}  # parts of a checkpoint, until they are in place
        self._random: dict = {}
        self._dumped: tuple[dict, dict, dict] | None = None
        keep = self._restored.__setitem__
        self._core.track_weights("model", _Weights(lambda: self._dump()[0], lambda weights: keep("model", weights)))
        self._core.track_state("trainer", _tracked.State(lambda: self._dump()[1], lambda state: keep("trainer", state)))
        self._core.track_state("metrics", _generators.OwnGenerator(  # each rank has its own
            lambda: self._dump()[2], lambda metrics: keep("metrics", metrics), lambda seed: None))

    def data_loader(self, dataset, *, global_batch: int, seed: int = 0, **arguments) -> TrainLoader:
        """The batches for Trainer.fit(). The arguments are those of ratoon.torch.DataLoader."""
        if self._loader is not None:
            raise RatoonError("a Trainer's fit() has one loader: data_loader() was called a second time. Keep the first one; "
                              "reload_dataloaders_every_n_epochs is not supported")
        loader = super().data_loader(dataset, global_batch=global_batch, seed=seed,
                                     **({} if "stream" in arguments else {"epoch_end": "short"}) | arguments)
        self._loader = TrainLoader(self, loader)
        self.track(loader=loader)
        return self._loader

    def ddp(self) -> dict:
        """Arguments of a Trainer whose processes are the ranks of this run: Trainer(callbacks=[r], **r.ddp()). The ranks meet
        over Gloo, or over NCCL where each has a GPU."""
        if not torch.distributed.is_initialized():
            ratoon.torch.init_process_group(self, "nccl" if torch.cuda.is_available() else "gloo")
        # `ratoon launch` shows each process its own GPU only, and Lightning counts the devices that it sees.
        has_own_device = torch.cuda.is_available() and torch.cuda.device_count() == 1
        size = 1 if has_own_device else self.local_size
        return {"strategy": "ddp", "plugins": [_Ranks(self, size)], "devices": size, "num_nodes": self.world_size // size}

    def setup(self, trainer, pl_module, stage: str) -> None:
        if stage != "fit":
            return
        self._check_processes(trainer)
        self._handlers = {number: signal.getsignal(number) for number in _SIGNALS_OF_LIGHTNING}
        for callback in trainer.checkpoint_callbacks:
            if getattr(callback, "dirpath", "") is None:  # a new start would have another one, and forget the best files
                callback.dirpath = f"{trainer.default_root_dir}/checkpoints"

    def on_train_start(self, trainer, pl_module) -> None:
        self._check_fit(trainer)
        self._trainer = trainer
        self._take_signals_back()
        self.resume()
        if "trainer" in self._restored:
            # Hooks that come before the first batch may draw random numbers.
            self._random = {name: generator.get() for name, generator in _generators.generators().items()}
            self._restore_epoch(trainer)
        if self._restored and not self._is_within_epoch():
            self._put_in_place()  # the hooks that come now are those of a new epoch
        if self.is_over:
            self._stop()

    def on_validation_start(self, trainer, pl_module) -> None:
        if self._trainer is not None:
            self._core.enter("validation")

    def on_validation_end(self, trainer, pl_module) -> None:
        if self._trainer is not None:
            self._core.leave_phase(False)

    def on_train_end(self, trainer, pl_module) -> None:
        if not self._is_in_place:  # the run was at its end already
            self._put_in_place()
        elif self._is_step_done() and not self.is_over:
            self._end_step("the Trainer has ended its fit()" if self._has_end else "")
        self._dump()  # what a later test() leaves behind is not for the last checkpoint

    def on_exception(self, trainer, pl_module, exception: BaseException) -> None:
        self.teardown(trainer, pl_module, "fit")

    def teardown(self, trainer, pl_module, stage: str) -> None:
        if stage == "fit" and self._loader is not None:
            self._loader.close()
            self._trainer = None

    def _check_processes(self, trainer) -> None:
        strategy = type(trainer.strategy).__name__
        if strategy not in ("SingleDeviceStrategy", "DDPStrategy"):
            raise RatoonError(f"ratoon.lightning saves training on one device and with DDP, and this Trainer has {strategy}: "
                              "give strategy='auto' or 'ddp'")
        if trainer.world_size != self.world_size:
            raise RatoonError(f"the Trainer has {trainer.world_size} processes, and the run {self.world_size}: start them by "
                              "'ratoon launch', and make the Trainer with **r.ddp()")

    def _check_fit(self, trainer) -> None:
        if trainer.fast_dev_run:
            raise RatoonError("fast_dev_run makes no run that goes on: leave ratoon.lightning.Ratoon out of it")
        if trainer.ckpt_path:
            raise RatoonError("fit() got a ckpt_path, and a run goes on from its own newest checkpoint: leave it out. The option "
                              "load_from takes the weights of another run")
        if self._loader is None or trainer.train_dataloader is not self._loader:
            raise RatoonError("fit() got a loader whose position cannot be saved: give it that of r.data_loader()")
        if type(trainer.fit_loop._data_fetcher).__name__ == "_DataLoaderIterDataFetcher":
            raise RatoonError("training_step(dataloader_iter) fetches batches within a step, so no step can be saved between two "
                              "batches: take a batch")

    def _take_signals_back(self) -> None:
        """Lightning answers SIGTERM by leaving without a save, and under Slurm SIGUSR1 by a checkpoint of its own."""
        if not self._signals.are_taken:
            return
        for number, handler in self._handlers.items():
            if signal.getsignal(number) is not handler:  # the session then sets its own before this one
                signal.signal(number, handler if callable(handler) else _do_nothing)
        # When fit() ends, Lightning sets the handlers that Python knows, and so would remove the session's.
        for number in (signal.SIGINT, *_SIGNALS_OF_LIGHTNING):
            self._trainer._signal_connector._original_handlers.pop(number, None)

    def close(self) -> None:
        super().close()
        for number, handler in self._handlers.items():
            if signal.getsignal(number) is _do_nothing:
                signal.signal(number, handler or signal.SIG_DFL)  # None: one that Python does not know

    def _begin_batch(self) -> bool:
        """Between two batches: ends the step that was made. The first time, puts back what was saved."""
        if self._trainer is None:
            raise RatoonError("the batches of r.data_loader() are for Trainer.fit(), with r among the callbacks")
        if not self._is_in_place:
            self._put_in_place()
            return True
        return self._end_step() if self._is_step_done() else True

    def _is_step_done(self) -> bool:
        return self._trainer.global_step != self._step  # or else gradients of several batches are summed

    def _end_step(self, ended_by: str = "") -> bool:
        self._step = self._trainer.global_step
        self._dumped = None
        goes_on = self._end_run_here(ended_by) if ended_by else self.step_done()
        if not goes_on:
            self._stop()
        return goes_on

    def _stop(self) -> None:
        """The run is at an end that the Trainer does not know: that of max_duration or finish()."""
        fit_loop = self._trainer.fit_loop
        fit_loop.min_epochs, fit_loop.epoch_loop.min_steps = 0, None
        self._trainer.should_stop = True

    def _dump(self) -> tuple[dict, dict, dict]:
        """The weights, the rest of what Lightning's own checkpoints have, and metrics. Made once a save."""
        if self._dumped is None:
            trainer = self._trainer
            state = trainer._checkpoint_connector.dump_checkpoint(weights_only=False)
            for owner in (trainer.lightning_module, trainer.datamodule):
                for name in _ARGUMENTS:  # each start gives them anew
                    state.pop(getattr(owner, name, None), None)
            values = state.pop("state_dict")
            weights = {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}
            state["more_of_state_dict"] = {name: value for name, value in values.items() if name not in weights}
            state["should_stop"] = trainer.should_stop
            self._dumped = weights, state, _metrics_of(trainer)
        return self._dumped

    def _is_within_epoch(self) -> bool:
        """Whether the checkpoint is of a step after which its epoch went on, or another one had begun."""
        if "trainer" not in self._restored:
            return False
        epochs = self._restored["trainer"]["loops"]["fit_loop"]["epoch_progress"]["current"]
        return epochs["ready"] > epochs["processed"]

    def _restore_epoch(self, trainer) -> None:
        """Makes the Trainer begin the epoch that the checkpoint is of, or end at once."""
        state = self._restored["trainer"]
        trainer.should_stop = state["should_stop"]
        _load_loops(trainer, state)
        if self._is_within_epoch():  # the Trainer begins it again
            for progress in (trainer.fit_loop.epoch_progress.total, trainer.fit_loop.epoch_progress.current):
                progress.ready -= 1
                progress.started -= 1

    def _put_in_place(self) -> None:
        """Hooks and callbacks have begun as at the first start. All that was saved replaces what they did."""
        self._is_in_place = True
        trainer, restored = self._trainer, self._restored
        if "trainer" in restored:
            state = restored["trainer"]
            connector = trainer._checkpoint_connector
            state["state_dict"] = restored.get("model", {}) | state.pop("more_of_state_dict")
            connector._loaded_checkpoint = state
            connector.restore_datamodule()
            connector.restore_model()
            connector.restore_callbacks()
            connector.restore_precision_plugin_state()
            connector.restore_optimizers_and_schedulers()
            for optimizer, saved in zip(trainer.optimizers, state["optimizer_states"], strict=True):
                _tracked.keep_types(optimizer, saved)
            connector._loaded_checkpoint = {}
            if self._is_within_epoch():
                _load_loops(trainer, state)
                trainer.fit_loop._data_fetcher.fetched = trainer.fit_loop.epoch_loop.batch_progress.current.ready
            if "metrics" in restored:
                _put_metrics(trainer, restored["metrics"])
            for name, generator in _generators.generators().items():
                if name in self._random:
                    generator.put(self._random[name])
        elif "model" in restored:  # the weights of another run
            trainer.strategy.load_model_state_dict({"state_dict": restored["model"]},
                                                   strict=trainer.lightning_module.strict_loading)
        restored.clear()
        self._step = trainer.global_step


class _Ranks(_plugins.ClusterEnvironment):
    """The ranks of a session, whose process group is there already, on nodes of `size` processes."""

    def __init__(self, session: Session, size: int):
        self._session, self._size = session, size

    creates_processes_externally = True
    main_address, main_port = "127.0.0.1", 0  # the process group is there already

    @staticmethod
    def detect() -> bool:
        return False

    def world_size(self) -> int:
        return self._session.world_size

    def set_world_size(self, size: int) -> None:
        pass

    def global_rank(self) -> int:
        return self._session.rank

    def set_global_rank(self, rank: int) -> None:
        pass

    def local_rank(self) -> int:
        return self._session.local_rank % self._size

    def node_rank(self) -> int:
        return self._session.rank // self._size


_ARGUMENTS = ("CHECKPOINT_HYPER_PARAMS_KEY", "CHECKPOINT_HYPER_PARAMS_NAME", "CHECKPOINT_HYPER_PARAMS_TYPE")
_SIGNALS_OF_LIGHTNING = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


def _do_nothing(number, frame) -> None:
    pass


class _Weights:
    """Named tensors, saved from their places and restored into new ones."""

    def __init__(self, get, put):
        self._get, self._put = get, put

    def save(self, out) -> None:
        for name, tensor in self._get().items():
            try:
                _tracked.put(out, name, array_of_tensor(tensor))
            except RatoonError as error:
                out.refuse(f"{name}: {error}")

    def load(self, reader) -> None:
        arrays = {name: _tracked.read(reader, name) for name in reader.names()}
        reader.at_end(lambda: self._put({name: ratoon.torch.tensor(Tensor(*array)) for name, array in arrays.items()}))


def _load_loops(trainer, state: dict) -> None:
    """Sets the counters. Where the Trainer goes on is not guessed from them: it is in the same place of its loops."""
    trainer.fit_loop.load_state_dict(state["loops"]["fit_loop"])
    loops = [trainer.fit_loop]
    for loop in loops:
        loop.on_iteration_done()  # not restarting
        loops += [part for part in vars(loop).values() if hasattr(part, "on_iteration_done")]


def _metrics_of(trainer) -> dict:
    """What self.log() has of the epoch so far, and torchmetrics: Lightning's own checkpoints lack it."""
    connector, results = trainer._logger_connector, trainer.fit_loop.epoch_loop._results
    return {"shown": {name: getattr(connector, name) for name in _SHOWN},
            "logged": [_logged(metric) for metric in results.values() if not metric.has_reset],
            "metrics": {name: [metric._update_count, {key: getattr(metric, key) for key in metric._defaults}]
                        for name, metric in _torchmetrics_of(trainer).items()}}


_SHOWN = ("_callback_metrics", "_logged_metrics", "_progress_bar_metrics", "_first_loop_iter", "_current_fx")
_FLAGS = ("fx", "name", "prog_bar", "logger", "on_step", "on_epoch", "enable_graph", "add_dataloader_idx", "metric_attribute")


def _torchmetrics_of(trainer) -> dict:
    return {name: module for name, module in trainer.lightning_module.named_modules() if isinstance(module, _Metric)}


def _logged(result) -> dict:
    meta = result.meta
    values = {key: getattr(result, key) for key in result._defaults}
    return {"flags": {name: getattr(meta, name) for name in _FLAGS}, "reduce_fx": meta.reduce_fx.__name__,
            "sync": [meta.sync.should, meta.sync.rank_zero_only], "values": values, "step": result._forward_cache}


def _put_metrics(trainer, saved: dict) -> None:
    own, results = _torchmetrics_of(trainer), trainer.fit_loop.epoch_loop._results
    for one in saved["logged"]:
        flags, (should, rank_zero_only) = one["flags"], one["sync"]
        metric = own.get(flags["metric_attribute"])
        results.log(value=torch.zeros(()) if metric is None else metric, reduce_fx=one["reduce_fx"], sync_dist=should,
                    sync_dist_fn=trainer.strategy.reduce, rank_zero_only=rank_zero_only, batch_size=1, **flags)
        result = results[f"{flags['fx']}.{flags['name']}"]
        for key, value in (one["values"] | {"_forward_cache": one["step"]}).items():
            setattr(result, key, value)
    for name, (updates, values) in saved["metrics"].items():
        if name in own:
            own[name]._update_count, own[name]._computed = updates, None
            for key, value in values.items():
                setattr(own[name], key, value)
    for name, value in saved["shown"].items():
        setattr(trainer._logger_connector, name, value)

"""The Trainer of Hugging Face. A run that is killed goes on from its newest whole checkpoint, which it verifies first."""
import argparse
import hashlib
import json

import ratoon
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

saver = ratoon.AtomicDirectory("checkpoints")


class Data(torch.utils.data.Dataset):
    """Sequences that count in steps of their own."""

    def __len__(self):
        return 1024

    def __getitem__(self, index):
        tokens = (torch.arange(16) * (index % 7 + 1) + index) % 64
        return {"input_ids": tokens, "labels": tokens}


class PrintLoss(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **more):
        if "loss" in logs:
            print(f"step {state.global_step} loss {logs['loss']:.4f} rate {logs['learning_rate']:.3e}", flush=True)


class AtomicTrainer(Trainer):
    """Saves into a directory that is whole, with a checksum of each file, or not there."""

    directory = None

    def _get_output_dir(self, trial):
        return self.directory or super()._get_output_dir(trial)

    def _save_checkpoint(self, model, trial):
        self.directory = saver.prepare()
        super()._save_checkpoint(model, trial)
        (self.directory / "sums.json").write_text(json.dumps(sums_of(self.directory)))
        saver.finalize(self.directory)
        self.directory = None


def sums_of(directory):
    return {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(directory.glob("checkpoint-*/*"))}


def find_checkpoint():
    directory = saver.latest()
    if directory is None:
        return None
    if json.loads((directory / "sums.json").read_text()) != sums_of(directory):
        raise SystemExit(f"{directory.resolve()} is damaged: remove it, and start again")
    return str(next(directory.glob("checkpoint-*")))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=120)
    arguments = parser.parse_args()

    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=16, n_embd=64, n_layer=2, n_head=4))
    settings = TrainingArguments(output_dir="output", max_steps=arguments.steps, per_device_train_batch_size=16, seed=1,
                                 learning_rate=1e-3, save_steps=5, logging_steps=1, report_to=[], use_cpu=True,
                                 disable_tqdm=True)
    trainer = AtomicTrainer(model=model, args=settings, train_dataset=Data(), callbacks=[PrintLoss()])
    trainer.train(resume_from_checkpoint=find_checkpoint())
    torch.save(model.state_dict(), "hugging_face.pt")


if __name__ == "__main__":
    main()

"""The Trainer of Hugging Face. A kill within a save may leave a checkpoint that cannot be loaded."""
import argparse
import pathlib

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=120)
    arguments = parser.parse_args()

    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=16, n_embd=64, n_layer=2, n_head=4))
    settings = TrainingArguments(output_dir="output", max_steps=arguments.steps, per_device_train_batch_size=16, seed=1,
                                 learning_rate=1e-3, save_steps=5, logging_steps=1, report_to=[], use_cpu=True,
                                 disable_tqdm=True)
    trainer = Trainer(model=model, args=settings, train_dataset=Data(), callbacks=[PrintLoss()])
    trainer.train(resume_from_checkpoint=any(pathlib.Path("output").glob("checkpoint-*")))
    torch.save(model.state_dict(), "hugging_face.pt")


if __name__ == "__main__":
    main()

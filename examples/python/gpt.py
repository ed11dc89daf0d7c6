"""A small GPT on characters, in the style of nanoGPT. A run that is killed goes on with the very next step."""
import argparse
import math
import pathlib

import ratoon
import torch
from torch import nn
from torch.nn import functional

BLOCK, WIDTH, HEADS, LAYERS, BATCH = 32, 64, 4, 2, 12
EVAL_INTERVAL, EVAL_ITERS, WARMUP, LEARNING_RATE = 25, 5, 20, 3e-3


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention, self.projection = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, HEADS, -1).transpose(1, 2) for part in self.attention(self.norm_1(x)).chunk(3, 2))
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(seen.transpose(1, 2).reshape(x.shape))
        return x + self.mlp(self.norm_2(x))


class GPT(nn.Module):
    def __init__(self, characters):
        super().__init__()
        self.token, self.position = nn.Embedding(characters, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.head = nn.Linear(WIDTH, characters)

    def forward(self, x, y):
        logits = self.head(self.blocks(self.token(x) + self.position.weight[:x.shape[1]]))
        return functional.cross_entropy(logits.flatten(0, 1), y.flatten())


def get_batch(data):
    at = torch.randint(len(data) - BLOCK, (BATCH, ))
    return torch.stack([data[i:i + BLOCK] for i in at]), torch.stack([data[i + 1:i + 1 + BLOCK] for i in at])


@torch.no_grad()
def estimate_loss(model, data):
    model.eval()
    loss = sum(model(*get_batch(data)).item() for _ in range(EVAL_ITERS)) / EVAL_ITERS
    model.train()
    return loss


def learning_rate_at(step, steps):
    if step < WARMUP:
        return LEARNING_RATE * (step + 1) / WARMUP
    return LEARNING_RATE * (0.1 + 0.45 * (1 + math.cos(math.pi * (step - WARMUP) / max(1, steps - WARMUP))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    arguments = parser.parse_args()

    torch.manual_seed(1337)
    text = pathlib.Path(argparse.__file__).read_text()
    characters = sorted(set(text))
    data = torch.tensor([characters.index(character) for character in text])
    train, val = data[:len(data) * 9 // 10], data[len(data) * 9 // 10:]
    model = GPT(len(characters))
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.99))
    best = {"loss": math.inf}

    with ratoon.Session(save_folder="checkpoints", run_name="gpt", save_every="5st") as session:
        session.track(model=model, optimizer=optimizer, best=best)
        for step in session.steps(arguments.steps):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate_at(step, arguments.steps)
            if step % EVAL_INTERVAL == 0:
                loss = estimate_loss(model, val)
                best["loss"] = min(best["loss"], loss)
                session.save_best("val loss", loss)
            x, y = get_batch(train)
            loss = model(x, y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            print(f"step {step + 1} loss {loss.item():.4f} best {best['loss']:.4f}", flush=True)
    torch.save(model.state_dict(), "gpt.pt")


if __name__ == "__main__":
    main()

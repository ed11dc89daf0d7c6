"""A classifier, trained by a plain loop of PyTorch. A run that is killed goes on with the next start."""
import argparse

import ratoon
import torch
from torch import nn


def make_data(samples=4096):
    """Points around ten centres."""
    generator = torch.Generator().manual_seed(1)
    centres = torch.randn(10, 64, generator=generator)
    labels = torch.randint(10, (samples, ), generator=generator)
    return torch.utils.data.TensorDataset(centres[labels] + 3 * torch.randn(samples, 64, generator=generator), labels)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    arguments = parser.parse_args()

    torch.manual_seed(1)
    data = make_data()
    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 10))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=64, gamma=0.8)

    with ratoon.Session(save_folder="checkpoints", run_name="loop", save_every="5st") as session:
        loader = session.data_loader(data, global_batch=64, seed=1)
        session.track(net=net, optimizer=optimizer, schedule=schedule, loader=loader)
        for points, labels in session.batches(loader, epochs=arguments.epochs):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(points), labels)
            loss.backward()
            optimizer.step()
            schedule.step()
            print(f"step {session.steps_done + 1} loss {loss.item():.4f}", flush=True)
    torch.save(net.state_dict(), "loop.pt")


if __name__ == "__main__":
    main()

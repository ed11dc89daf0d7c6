"""Training on files of MosaicML Streaming, without the package that wrote them. A run that is killed goes on with the very next
sample. The files are those that write_mds.py writes."""
import argparse

import ratoon
import torch
from torch import nn


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    arguments = parser.parse_args()

    torch.manual_seed(1)
    data = ratoon.MdsDataset("points")
    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)

    with ratoon.Session(save_folder="checkpoints", run_name="mds", save_every="5st") as session:
        loader = session.data_loader(data, global_batch=64, seed=1, num_workers=2)
        session.track(net=net, optimizer=optimizer, loader=loader)
        for batch in session.batches(loader, epochs=arguments.epochs):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(batch["point"]), batch["label"])
            loss.backward()
            optimizer.step()
            print(f"step {session.steps_done + 1} loss {loss.item():.4f}", flush=True)
    torch.save(net.state_dict(), "mds.pt")


if __name__ == "__main__":
    main()

"""Training on files of MosaicML Streaming. A run that is killed is lost. The files are those that write_mds.py writes."""
import argparse

import torch
from streaming import StreamingDataLoader, StreamingDataset
from torch import nn


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    arguments = parser.parse_args()

    torch.manual_seed(1)
    data = StreamingDataset(local="points", shuffle=True, shuffle_seed=1, batch_size=64)
    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)

    step = 0
    loader = StreamingDataLoader(data, batch_size=64, num_workers=2)
    for epoch in range(arguments.epochs):
        for batch in loader:
            step += 1
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(batch["point"]), batch["label"])
            loss.backward()
            optimizer.step()
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    torch.save(net.state_dict(), "mds.pt")


if __name__ == "__main__":
    main()

"""Data parallel training: torchrun --nproc-per-node 2 ddp.py. A launch that is killed is lost."""
import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


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

    dist.init_process_group("gloo")
    torch.manual_seed(1)
    data = make_data()
    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    model = DistributedDataParallel(net)

    step = 0
    sampler = torch.utils.data.DistributedSampler(data, seed=1)
    loader = torch.utils.data.DataLoader(data, batch_size=32, sampler=sampler)
    for epoch in range(arguments.epochs):
        sampler.set_epoch(epoch)
        for points, labels in loader:
            step += 1
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(points), labels)
            loss.backward()
            optimizer.step()
            if dist.get_rank() == 0:
                print(f"step {step} loss {loss.item():.4f}", flush=True)
    if dist.get_rank() == 0:
        torch.save(net.state_dict(), "ddp.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

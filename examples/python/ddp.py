"""Data parallel training: torchrun --nproc-per-node 2 ddp.py. A launch that is killed goes on with the next launch."""
import argparse

import ratoon
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

    with ratoon.Session(save_folder="checkpoints", run_name="ddp", save_every="5st") as session:
        loader = session.data_loader(data, global_batch=32 * dist.get_world_size(), seed=1)
        session.track(net=net, optimizer=optimizer, loader=loader)
        for points, labels in session.batches(loader, epochs=arguments.epochs):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(points), labels)
            loss.backward()
            optimizer.step()
            if dist.get_rank() == 0:
                print(f"step {session.steps_done + 1} loss {loss.item():.4f}", flush=True)
    if dist.get_rank() == 0:
        torch.save(net.state_dict(), "ddp.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

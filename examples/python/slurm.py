"""Training that is longer than a job of Slurm may be: sbatch ../slurm/train.sbatch python3 slurm.py. The signal before the end of
the job, or the loss of a node, costs no sample."""
import argparse

import ratoon.torch
import torch
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

    with ratoon.Session(save_every="20st") as session:
        ratoon.torch.init_process_group(session)
        torch.manual_seed(1)
        net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
        model = DistributedDataParallel(net)
        loader = session.data_loader(make_data(), global_batch=32 * session.world_size, seed=1)
        session.track(net=net, optimizer=optimizer, loader=loader)
        for points, labels in session.batches(loader, epochs=arguments.epochs):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(points), labels)
            loss.backward()
            optimizer.step()
            if session.rank == 0:
                print(f"step {session.steps_done + 1} loss {loss.item():.4f}", flush=True)
    if session.rank == 0:
        torch.save(net.state_dict(), "slurm.pt")


if __name__ == "__main__":
    main()

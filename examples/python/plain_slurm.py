"""Training that is longer than a job of Slurm may be: sbatch ../slurm/train.sbatch python3 plain_slurm.py. The signal before the
end of the job makes it save; the samples of the epoch begin anew, and the loss of a node costs all steps since the signal."""
import argparse
import os
import pathlib
import signal
import sys

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

    told = []
    signal.signal(signal.SIGUSR1, lambda number, frame: told.append(number))
    rank, world_size = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
    dist.init_process_group("gloo", rank=rank, world_size=world_size)  # at MASTER_ADDR and MASTER_PORT
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    model = DistributedDataParallel(net)
    data = make_data()
    sampler = torch.utils.data.DistributedSampler(data, seed=1)
    loader = torch.utils.data.DataLoader(data, batch_size=32, sampler=sampler)
    step, first_epoch, checkpoint = 0, 0, pathlib.Path("slurm.ckpt")
    if checkpoint.exists():
        saved = torch.load(checkpoint)
        net.load_state_dict(saved["net"])
        optimizer.load_state_dict(saved["optimizer"])
        step, first_epoch = saved["step"], saved["epoch"]
    for epoch in range(first_epoch, arguments.epochs):
        sampler.set_epoch(epoch)
        for points, labels in loader:
            step += 1
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(points), labels)
            loss.backward()
            optimizer.step()
            if rank == 0:
                print(f"step {step} loss {loss.item():.4f}", flush=True)
            must_leave = torch.tensor([len(told)])
            dist.all_reduce(must_leave)
            if must_leave.item():
                if rank == 0:
                    state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "step": step, "epoch": epoch}
                    torch.save(state, "slurm.new")
                    os.replace("slurm.new", checkpoint)
                dist.barrier()
                sys.exit(80)
    if rank == 0:
        torch.save(net.state_dict(), "slurm.pt")


if __name__ == "__main__":
    main()

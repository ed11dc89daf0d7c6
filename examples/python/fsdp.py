"""Sharded training: torchrun --nproc-per-node 4 fsdp.py. A launch that is killed goes on with the next launch, which may have
another number of processes."""
import argparse

import ratoon.dcp
import ratoon.torch
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard

SAVE_EVERY = 5


def make_data(samples=4096):
    """Points around ten centres."""
    generator = torch.Generator().manual_seed(1)
    centres = torch.randn(10, 64, generator=generator)
    labels = torch.randint(10, (samples, ), generator=generator)
    return torch.utils.data.TensorDataset(centres[labels] + 3 * torch.randn(samples, 64, generator=generator), labels)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=120)
    arguments = parser.parse_args()

    dist.init_process_group("gloo")
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    fully_shard(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    loader = ratoon.torch.DataLoader(make_data(), global_batch=96, seed=1)
    step, saving, saves = 0, None, dist.new_group(backend="gloo")

    def state():
        model, optim = get_state_dict(net, optimizer)
        return {"model": model, "optim": optim, "loader": loader.state_dict()}

    if newest := ratoon.dcp.newest("checkpoints", run_name="fsdp"):
        step, saved = newest.step, state()
        dcp.load(saved, storage_reader=ratoon.dcp.Reader("checkpoints", run_name="fsdp", step=step))
        set_state_dict(net, optimizer, model_state_dict=saved["model"], optim_state_dict=saved["optim"])
        loader.load_state_dict(saved["loader"])
    writer = ratoon.dcp.Writer("checkpoints", run_name="fsdp", keep_last=3)

    while step < arguments.steps:
        for points, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(points), labels)
            loss.backward()
            optimizer.step()
            step += 1
            if dist.get_rank() == 0:
                print(f"step {step} loss {loss.item():.4f}", flush=True)
            if step % SAVE_EVERY == 0 or step == arguments.steps:
                if saving is not None:
                    saving.result()
                saving = dcp.async_save(state(), storage_writer=writer, checkpoint_id=step, process_group=saves)
            if step == arguments.steps:
                break
    if saving is not None:
        saving.result()
    weights = {name: tensor.full_tensor() for name, tensor in net.state_dict().items()}
    if dist.get_rank() == 0:
        torch.save(weights, "fsdp.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

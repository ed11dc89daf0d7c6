"""Lightning with EarlyStopping and ModelCheckpoint. A fit that is killed is lost."""
import argparse

import pytorch_lightning
import torch
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint
from torch import nn


class Net(pytorch_lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(128, 10))

    def training_step(self, batch, number):
        loss = nn.functional.cross_entropy(self.layers(batch[0]), batch[1])
        self.log("train_loss", loss, on_epoch=True)
        print(f"step {self.global_step + 1} loss {loss.item():.4f}", flush=True)
        return loss

    def validation_step(self, batch, number):
        self.log("val_loss", nn.functional.cross_entropy(self.layers(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-3)


def make_data(samples, seed):
    """Points around ten centres."""
    centres = torch.randn(10, 64, generator=torch.Generator().manual_seed(1))
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(10, (samples, ), generator=generator)
    return torch.utils.data.TensorDataset(centres[labels] + 3 * torch.randn(samples, 64, generator=generator), labels)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=40)
    arguments = parser.parse_args()

    pytorch_lightning.seed_everything(1, verbose=False)
    train, net = make_data(2048, seed=2), Net()
    val = torch.utils.data.DataLoader(make_data(512, seed=3), batch_size=128)
    stop = EarlyStopping("val_loss", patience=2)
    best = ModelCheckpoint("best", monitor="val_loss")
    trainer = pytorch_lightning.Trainer(max_epochs=arguments.epochs, callbacks=[stop, best], logger=False,
                                        accelerator="cpu", enable_progress_bar=False)
    trainer.fit(net, torch.utils.data.DataLoader(train, batch_size=64, shuffle=True), val)
    print(f"best {best.best_model_path.rsplit('/', 1)[1]}, stopped in epoch {stop.stopped_epoch}", flush=True)
    torch.save(net.state_dict(), "fit.pt")


if __name__ == "__main__":
    main()

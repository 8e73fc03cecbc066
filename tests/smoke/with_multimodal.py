"""An image and a label: trained together, one predicted from the other."""

import torch

from evenhand import Modality, MultimodalVAE
from evenhand.modalities import Categorical, Normal

torch.manual_seed(0)
label = torch.arange(64) % 4
image = label.view(-1, 1, 1, 1) / 4 + 0.1 * torch.randn(64, 1, 8, 8)
parts = {
    "image": Modality(likelihood=Normal(0.5), shape=(1, 8, 8)),
    "label": Modality(likelihood=Categorical(4), shape=()),
}
model = MultimodalVAE(parts, n_latent=2)
model.fit({"image": image, "label": label}, epochs=2)
made = model.predict({"image": image})
assert made["label"].shape == (64,)
assert model.sample(3)["image"].shape == (3, 1, 8, 8)

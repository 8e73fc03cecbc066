"""A table without pandas: columns of numbers with holes."""

import tempfile
from pathlib import Path

import numpy as np
import torch
from _asks import asks_for

from evenhand import Modality, MultimodalVAE, TabularVAE

rng = np.random.default_rng(0)
hidden = rng.normal(size=(120, 1))
table = hidden + 0.3 * rng.normal(size=(120, 3))
table[rng.random(table.shape) < 0.2] = np.nan

vae = TabularVAE(max_epochs=3, method="imtlg", kl_weight=1.0, n_draws=4, random_state=0).fit(table)
filled = vae.transform(table)
assert not np.isnan(filled).any()
assert vae.sample(10).shape == (10, 3)
path = Path(tempfile.mkdtemp()) / "model"
vae.save(path)
np.testing.assert_array_equal(TabularVAE.load(path).transform(table), filled)
print(vae.report())

pair = torch.randn(8, 2)
model = MultimodalVAE({"a": Modality(shape=(2,)), "b": Modality(shape=(2,))}, n_latent=1)
asks_for("multimodal", lambda: model.fit({"a": pair, "b": pair}, epochs=1))

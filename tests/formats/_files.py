"""Files as a release writes them. A folder for each release that changed a format; none is ever rewritten.

python -m tests.formats._files 0.2.0     # in the root of the repository, once, when that release is made
"""

import json
import sys
from pathlib import Path

import pandas as pd
import torch
from torch import nn

from evenhand import Modality, MultimodalVAE, TabularVAE
from evenhand.modalities import Categorical, Normal
from evenhand.tables import LongitudinalVAE

HERE = Path(__file__).parent
SIZES = ["small", "large", "huge"]
TABLES = {
    "twoway": {},  # the default, with trees beside it
    "vae": {"model": "vae"},
    "hivae": {"model": "hivae", "n_latent": None},
    "vaem": {"model": "vaem"},
}


def frame():
    """Columns of all kinds, every one with a hole."""
    n = 24
    columns = {
        "real": [0.37 * i % 5 - 2 for i in range(n)],
        "positive": [0.1 + 0.9 * (7 * i % 11) for i in range(n)],
        "count": [float(5 * i % 7) for i in range(n)],
        "flag": [i % 3 == 0 for i in range(n)],
        "colour": [("blue", "green", "red")[i // 2 % 3] for i in range(n)],
        "size": pd.Categorical([SIZES[i % 3] for i in range(n)], SIZES, ordered=True),
    }
    table = pd.DataFrame(columns).astype({"flag": "boolean", "colour": "string"})
    for i, name in enumerate(table.columns):
        table.loc[3 * i + 1, name] = None
    return table


def histories():
    """Five visits each of twelve people, with holes."""
    n = 60
    columns = {"who": [i // 5 for i in range(n)], "when": [float(i % 5) for i in range(n)]}
    columns["level"] = [0.1 * (i % 5) + 0.37 * (i // 5) % 3 for i in range(n)]
    columns["state"] = [("ill", "well")[(i // 5 + i % 5 // 3) % 2] for i in range(n)]
    table = pd.DataFrame(columns)
    table.loc[::7, "level"] = None
    table.loc[3::9, "state"] = None
    return table


def modalities():
    """A model of which only the weights are in the file."""
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    parts = {
        "signal": Modality(nn.Linear(3, 4), nn.Linear(2, 3), Normal(0.5), shape=(3,)),
        "label": Modality(nn.Linear(4, 4), nn.Linear(2, 4), Categorical(4), shape=()),
    }
    rows = {"signal": torch.randn(8, 3, generator=generator), "label": torch.arange(8) % 4}
    return MultimodalVAE(parts, n_latent=2), rows


def answers(estimator):
    """What a fitted estimator says of the table: numbers that do not depend on chance."""
    table = frame()
    filled = estimator.transform(table)
    return {
        "filled": json.loads(filled.astype({"flag": object}).to_json(orient="values")),
        "dtypes": [str(dtype) for dtype in filled.dtypes],
        "codes": estimator.encode(table).tolist(),
        "reported": [column["column"] for column in estimator.report().columns],
    }


def answers_over_time(model):
    """What a fitted model of histories says of them."""
    table = histories()
    return {
        "filled": json.loads(model.transform(table).to_json(orient="values")),
        "forecast": json.loads(model.forecast(table).to_json(orient="values")),
    }


def write(folder):
    """Write one file of each format, and what is read from it."""
    folder.mkdir()
    said = {}
    for name, options in TABLES.items():
        fast = {"method": "sum", "kl_weight": 0.5, "n_hidden": 6, "n_layers": 1, "n_latent": 2, "max_epochs": 3}
        estimator = TabularVAE(**{**fast, "n_draws": 4, "random_state": 0, **options}).fit(frame())
        estimator.save(folder / f"{name}.safetensors")
        said[name] = answers(estimator)
        estimator.schema_.save(folder / "schema.toml")
    over_time = LongitudinalVAE(id="who", time="when", n_hidden=6, n_latent=2, max_epochs=3, random_state=0)
    over_time.fit(histories())
    over_time.save(folder / "histories.safetensors")
    said["histories"] = answers_over_time(over_time)
    model, rows = modalities()
    model.save(folder / "weights.safetensors")
    said["weights"] = model.encode(rows).tolist()
    (folder / "answers.json").write_text(json.dumps(said) + "\n")


if __name__ == "__main__":
    write(HERE / sys.argv[1])

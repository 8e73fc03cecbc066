"""A panel whose columns are easy to tell from the visits around."""

import numpy as np
import pandas as pd
import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def panel():
    """40 things seen 5 times: a level that stays, a value that grows, a count, a class of the thing."""
    rng = np.random.default_rng(0)
    who, step = np.repeat(np.arange(40), 5), np.tile(np.arange(5), 40)
    level = rng.normal(size=40)[who]
    return pd.DataFrame(
        {
            "who": [f"p{i}" for i in who],
            "year": 2000 + step,
            "level": level,
            "size": np.exp(0.3 * level + 0.2 * step),
            "visits": rng.poisson(2 + (level > 0), size=200),
            "sort": np.where(level > 0.5, "a", np.where(level > -0.5, "b", "c")),
        }
    )


@pytest.fixture(scope="session")
def holes(panel):
    """The panel with a fifth of its cells and ten whole visits hidden."""
    rng = np.random.default_rng(1)
    frame = panel.copy()
    frame["visits"] = frame["visits"].astype("Int64")
    hidden = (rng.random((200, 4)) < 0.2) | (rng.permutation(200) < 10)[:, None]
    for j, name in enumerate(("level", "size", "visits", "sort")):
        frame.loc[hidden[:, j], name] = None
    return frame


@pytest.fixture(scope="session")
def fitted(holes):
    from evenhand.tables import LongitudinalVAE

    torch.set_num_threads(1)
    model = LongitudinalVAE(id="who", time="year", max_epochs=25, batch_size=8, n_hidden=24, random_state=0)
    return model.fit(holes)

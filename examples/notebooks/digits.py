# %% [markdown]
# # Digits in pictures and words
#
# The 1,797 handwritten digits of scikit-learn, 8 x 8 pixels, and a small table about each of them: which digit it
# is, how much ink it has, and how far it leans to the right. One model learns both. Of six in ten training rows
# either the picture or the table is taken away, never both.
#
# Then pictures are asked for words, and words for pictures.

# %%
import numpy as np
import pandas as pd
import torch
from matplotlib import pyplot
from sklearn.datasets import load_digits

from evenhand import CAGrad, Modality, MultimodalVAE
from evenhand.modalities import Laplace, Table

EPOCHS = 40
WORDS = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])
torch.set_num_threads(1)

digits = load_digits()
images = (digits.images / 16).astype(np.float32)
place = np.arange(8) - 3.5
ink = images.sum((1, 2))
right, down = (images.sum(axis) @ place / ink for axis in (1, 2))
lean = right * down - np.einsum("nyx,y,x->n", images, place, place) / ink
table = pd.DataFrame({"digit": WORDS[digits.target], "ink": ink, "lean": lean})
images = images[:, None]  # one channel
table.head(3)

# %% [markdown]
# ## One model of both
#
# `observed` says which modality every training row has. `impartial={"LI": ...}` asks for likelihood impartiality:
# where the gradients of the two likelihoods meet, at the latent variables, neither may be neglected.

# %%
order = np.random.default_rng(0).permutation(len(images))
train, test = order[:1437], order[1437:]
absent = np.random.default_rng(1).choice(["neither", "image", "table"], len(train), p=[0.4, 0.3, 0.3])
observed = {name: absent != name for name in ("image", "table")}

model = MultimodalVAE(
    {
        "image": Modality(likelihood=Laplace(0.1), shape=(1, 8, 8)),
        "table": Modality(likelihood=Table(table.iloc[train])),
    },
    n_latent=8,
    experts="mixture-of-products",
    n_samples=3,
    impartial={"LI": CAGrad(0.4)},
    seed=0,
)
model = model.fit({"image": images[train], "table": table.iloc[train]}, observed=observed, epochs=EPOCHS, seed=0)

# %% [markdown]
# ## Words from pictures
#
# A guess is as noisy as the latent sample that it comes from, so the most frequent one of 20 guesses is taken.

# %%
guesses = model.predict({"image": images[test]}, "table", n=20)["table"]
words = pd.DataFrame([guess["digit"].to_numpy() for guess in guesses]).mode().iloc[0]
right_words = (words.to_numpy() == table["digit"].to_numpy()[test]).mean()
print(f"{right_words:.1%} of {len(test)} test pictures are named correctly")

# %%
figure, axes = pyplot.subplots(2, 10, figsize=(9, 2.2), layout="constrained")
for axis, row, word in zip(axes.flat, test, words):
    axis.imshow(-images[row, 0], cmap="gray", vmin=-1, vmax=0)
    axis.set_title(word, fontsize="small", color="black" if word == table["digit"][row] else "red")
    axis.set_axis_off()

# %% [markdown]
# ## Pictures from words
#
# Cells that are not given are simply missing. Here are all ten digits in three ways: nothing else given, leaning
# to the left, leaning to the right. Each picture is the mean of 20 guesses, and therefore blurred.

# %%
leans = {"any": np.nan, "left": -0.8, "right": 0.7}
wanted = pd.DataFrame([{"digit": word, "ink": np.nan, "lean": lean} for lean in leans.values() for word in WORDS])
drawn = model.predict({"table": wanted}, "image", n=20)["image"].mean(0)
figure, axes = pyplot.subplots(3, 10, figsize=(9, 3), layout="constrained")
for axis, picture in zip(axes.flat, drawn.numpy(force=True)):
    axis.imshow(-picture[0], cmap="gray", vmin=-1, vmax=0)
    axis.set(xticks=[], yticks=[])
for axis, name in zip(axes[:, 0], leans):
    axis.set_ylabel(name)

# %% [markdown]
# ## Pictures from nothing
#
# New rows, pictures and words together. The latent variables are drawn from a mixture of Gaussians fitted to
# those of the training rows; `latent="prior"`, the default, draws them from the prior.

# %%
new = model.sample(20, latent="mixture", seed=0)
figure, axes = pyplot.subplots(2, 10, figsize=(9, 2.2), layout="constrained")
for axis, picture, word in zip(axes.flat, new["image"].numpy(force=True), new["table"]["digit"]):
    axis.imshow(-picture[0], cmap="gray", vmin=-1, vmax=0)
    axis.set_title(word, fontsize="small")
    axis.set_axis_off()

# %% [markdown]
# ## Who is neglected
#
# `conflicts` takes one step of plain training on the rows it is given, without learning, and reads the gradients
# where they meet. In plain training the picture would have the smaller part.

# %%
monitor = model.conflicts({"image": images[test], "table": table.iloc[test]})
print(*monitor.sentences() or ["Nobody is neglected."], sep="\n")

"""Images and a table of the same things in one model, with 30 % of the modalities missing.

The images are the 1,797 handwritten digits of scikit-learn, 8 x 8 pixels. The table says of each which digit it is,
how much ink it has, how many pixels are dark, whether there is a loop, and how it slants. Of six in ten training
rows either the image or the table is taken away, never both. The model learns from what is left, and is then asked
for the table of images that it has not seen, and for the images of tables.

    python examples/multimodal.py [--epochs 30] [--rows 1797]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd
import torch
from scipy import ndimage
from sklearn.datasets import load_digits

from evenhand import CAGrad, Modality, MultimodalVAE
from evenhand.lab.judges import rates
from evenhand.modalities import Laplace, Modalities, Table

WORDS = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])


def load(n: int, seed: int) -> tuple[np.ndarray, pd.DataFrame]:
    """Images [n, 1, 8, 8] with ink from 0 to 1, and a table about them."""
    digits = load_digits()
    chosen = np.random.default_rng(seed).permutation(len(digits.images))[:n]
    images = (digits.images[chosen] / 16).astype(np.float32)
    ink = images.sum((1, 2))
    place = np.arange(8) - 3.5
    right, down = (images.sum(axis) @ place / ink for axis in (1, 2))
    both = np.einsum("nyx,y,x->n", images, place, place) / ink - right * down
    table = {
        "digit": WORDS[digits.target[chosen]],
        "ink": ink,
        "dark_pixels": (images > 0.5).sum((1, 2)),
        "loop": [has_loop(image) for image in images],
        "slant": both,
    }
    return images[:, None], pd.DataFrame(table)


def has_loop(image: np.ndarray) -> bool:
    """Whether ink encloses paper: then the paper is in more than one piece."""
    return bool(ndimage.label(np.pad(image < 0.35, 1, constant_values=True))[1] > 1)


def guessed_table(model: MultimodalVAE, images: np.ndarray, like: pd.DataFrame) -> pd.DataFrame:
    """From images: numbers averaged over 20 guesses, the most frequent category."""
    guesses = pd.concat(model.predict({"image": images}, "table", n=20)["table"]).groupby(level=0)
    columns = {c: guesses[c].agg(lambda x: x.mode()[0]) if nominal(like[c]) else guesses[c].mean() for c in like}
    return pd.DataFrame(columns).set_index(like.index)


def nominal(column: pd.Series) -> bool:
    return column.dtype == bool or not pd.api.types.is_numeric_dtype(column)


def errors_of(test: dict, table: pd.DataFrame, images: np.ndarray, seen: pd.DataFrame) -> dict[str, float]:
    """The share of wrong categories; for numbers the root mean square error over that of guessing the mean."""
    errors = {}
    for name, truth in test["table"].items():
        if nominal(truth):
            error = (truth != table[name]).mean()
        else:
            error = rmse(truth, table[name]) / rmse(truth, seen[name].mean())
        errors[f"{name} from image"] = error
    return errors | {"image from table": rmse(test["image"], images)}


def rmse(truth: np.ndarray, guess: np.ndarray) -> float:
    return float(np.sqrt(np.mean((truth - guess) ** 2)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--rows", type=int, default=1797)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)  # the networks are too small for more
    start = time.perf_counter()

    images, frame = load(args.rows, args.seed)
    n = int(0.8 * len(images))
    train, test = {"image": images[:n], "table": frame[:n]}, {"image": images[n:], "table": frame[n:]}
    absent = np.random.default_rng(args.seed).choice(["none", "image", "table"], n, p=[0.4, 0.3, 0.3])
    observed = {name: absent != name for name in train}
    seen = frame[:n][observed["table"]]  # what the model may know of tables
    table = Table(seen)
    number = {name: int((absent == name).sum()) for name in train}
    print(f"{n} rows for training, {number['image']} without image, {number['table']} without table")
    print(f"{len(images) - n} rows for tests, with both\n\n{table.schema.explain()}\n")

    models = {}
    for how, impartial in {"plain": {}, "impartial": {"LI": CAGrad(0.4)}}.items():
        model = MultimodalVAE(
            {"image": Modality(likelihood=Laplace(0.1), shape=(1, 8, 8)), "table": Modality(likelihood=table)},
            n_latent=8,
            experts="mixture-of-products",
            n_samples=3,
            impartial=impartial,
            seed=args.seed,
        )
        models[how] = model.fit(train, observed=observed, epochs=args.epochs, seed=args.seed)

    trivial = frame[n:].assign(**{c: seen[c].mode()[0] if nominal(seen[c]) else seen[c].mean() for c in seen})
    mean_image = images[:n][observed["image"]].mean(0)
    errors = {"trivial": errors_of(test, trivial, mean_image, seen)}
    for how, model in models.items():
        drawn = model.predict({"table": test["table"]}, "image", n=20)["image"].mean(0)
        errors[how] = errors_of(test, guessed_table(model, test["image"], frame[n:]), drawn.numpy(force=True), seen)
    print("Error on test rows (lower is better): wrong categories, numbers relative to the mean, pixels from 0 to 1")
    print(pd.DataFrame(errors).round(3).to_string())

    rows = Modalities({"image": torch.from_numpy(images[n:]), "table": table.read(frame[n:])})
    print("\nRate in nats given what is seen: a low error at a high rate may only be a weaker KL term")
    found = {how: {" + ".join(s): r for s, r in rates(m.network, rows).items()} for how, m in models.items()}
    print(pd.DataFrame(found).round(2).to_string())

    print("\nWho is neglected by plain training?")
    monitor = models["plain"].conflicts(test)
    print("\n".join(monitor.sentences()) or "Nobody.")
    shares = pd.DataFrame(monitor.table()).query("block == 'the latent samples'")
    print(shares[["head", "norm", "share", "agreement", "conflict"]].round(2).to_string(index=False))
    print(f"\n{time.perf_counter() - start:.0f} seconds")


if __name__ == "__main__":
    main()

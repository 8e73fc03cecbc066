"""Classifiers that judge generated modalities, trained on demand and kept."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...common import check_choice, locked_file, read_tensors, seeded, write_tensors
from ...modalities.likelihoods import Likelihood, Normal
from ...modalities.rows import Modalities
from ._classifiers import ImageClassifier, TextClassifier
from ._deep import DeepImageClassifier

FORMAT = 1
EPOCHS, LEAST_STEPS = 30, 2000
LEARNT = 1e-3  # a mean loss of an epoch, below which nothing is left to learn
ROWS_AT_ONCE = 2048
Kind = Literal["image", "text", "vector"]
Judge = Literal["published", "strong"]
"""What sees images: the published layers, or `DeepImageClassifier`. Texts are judged by the published ones."""


class Labelled(Protocol):
    """Rows of several modalities with a class each, such as `LabelledModalities`."""

    @property
    def data(self) -> Modalities:
        """The rows."""

    @property
    def labels(self) -> Tensor:
        """The class of every row, ``[N]``."""


@dataclass(frozen=True, eq=False)
class Classifiers:
    """One classifier for each modality that has one.

    Attributes:
        modules: By modality, a module from expected items (`Likelihood.mean`) to scores of classes ``[B, C]``.
        accuracies: By modality, the share of real test items that it gets right: no model can be judged better.
    """

    modules: Mapping[str, nn.Module]
    accuracies: Mapping[str, float]

    def __post_init__(self) -> None:
        if not self.modules:
            raise ValueError("modules should hold the classifier of at least one modality. Found none.")

    def on(self, device: torch.device | str) -> dict[str, nn.Module]:
        """Copies on a device, ready to judge."""
        return {name: copy.deepcopy(module).to(device).eval() for name, module in self.modules.items()}


def digit_classifiers(
    train: Labelled,
    test: Labelled,
    likelihoods: Mapping[str, Likelihood],
    *,
    folder: str | Path | None = None,
    cache: bool = True,
    epochs: int | None = None,
    judge: Judge = "published",
    device: torch.device | str = "cpu",
    seed: int = 0,
    verbose: bool = False,
) -> Classifiers:
    """A classifier for every modality but tables, trained on the items, each of which counts once.

    The paper's came from elsewhere. These have the published layers, unless stronger ones are asked for, the
    published optimiser (Adam, 1e-3) and objective (cross-entropy). What was trained once is found again in the
    folder, unless data or settings differ or the file is damaged; of several processes that need it at once, one
    trains it.

    Args:
        train: Rows to learn from, with labels.
        test: Rows whose items the accuracies are of.
        likelihoods: By modality; they say what a classifier sees of an item.
        folder: Where classifiers are kept; by default the cache of the data sets, if pooch is installed.
        cache: Whether they are kept at all.
        epochs: How often an item is seen; by default 30 times, or more if that makes fewer than 2000 steps.
        judge: "published", or "strong" for more and larger layers that see images: on real digits of SVHN the
            published ones are right in 83 to 84 %, and no model can be judged better than that.
        device: Where to train.
        seed: Of the first weights and the order of items.
        verbose: Whether to print a line for each.
    """
    n_classes = int(max(train.labels.max(), test.labels.max())) + 1
    settings = {"n_classes": n_classes, "epochs": epochs, "seed": seed}
    place = Path(folder) if folder is not None else _default_folder()
    modules: dict[str, nn.Module] = {}
    accuracies: dict[str, float] = {}
    for name, likelihood in likelihoods.items():
        if not likelihood.mean_is_an_item:
            continue
        (x, y), (test_x, test_y) = (labelled_items(rows, name) for rows in (train, test))
        module = _new_classifier(_inputs(likelihood, x[:1]), None, n_classes, judge)
        fingerprint = _fingerprint([x, y, test_x, test_y], [*settings.items(), repr(likelihood), repr(module)])
        path = None if place is None or not cache else place / f"{_plain(name)}-{fingerprint[:16]}.safetensors"
        with _alone(path):
            score = None if path is None else _load(module, path, fingerprint)
            known = score is not None
            if score is None:
                options: dict[str, Any] = {"judge": judge, "device": device, **settings}
                module = train_classifier(x, y, likelihood=likelihood, **options)
                score = _accuracy(module, test_x, test_y, likelihood, device)
                module = module.cpu()
                with contextlib.suppress(OSError) if folder is None else contextlib.nullcontext():
                    _save(module, path, fingerprint, score)
        if verbose:
            print(
                f"classifier of {name}: {100 * score:.2f} % of {len(test_x)} test items{' (kept)' if known else ''}"
            )
        modules[name], accuracies[name] = module.eval().requires_grad_(False), score
    return Classifiers(modules, accuracies)


def train_classifier(
    values: Tensor,
    labels: Tensor,
    *,
    likelihood: Likelihood | None = None,
    kind: Kind | None = None,
    judge: Judge = "published",
    n_classes: int | None = None,
    epochs: int | None = None,
    batch_size: int = 128,
    learning_rate: float = 1e-3,
    device: torch.device | str = "cpu",
    seed: int = 0,
) -> nn.Module:
    """A classifier of items, in evaluation mode.

    Training ends early once nothing is left to learn, as it soon is with texts.

    Args:
        values: Items as they are stored, ``[M, *shape]``.
        labels: Their classes, ``[M]``.
        likelihood: Says what a classifier sees of an item; by default bytes become pixels from 0 to 1.
        kind: "image" ``[B, C, H, W]``, "text" ``[B, T, n]`` with ones for symbols, or "vector" for anything; by
            default what the shape suggests.
        judge: "published", or "strong" for more and larger layers that see images.
        n_classes: Number of classes; by default as many as the labels show.
        epochs: How often an item is seen; by default 30 times, or more if that makes fewer than 2000 steps.
        batch_size: Items in a step.
        learning_rate: Of Adam.
        device: Where to train, and where the classifier is afterwards.
        seed: Of the first weights, the order of items, and dropout.
    """
    if len(values) != len(labels) or not len(values):
        raise ValueError(f"values and labels should be of the same items. Found {len(values)} and {len(labels)}.")
    likelihood = likelihood or Normal()
    n_classes = n_classes or int(labels.max()) + 1
    n_steps = -(-len(values) // batch_size)
    epochs = epochs or max(EPOCHS, -(-LEAST_STEPS // n_steps))
    device = torch.device(device)
    x, y = values.to(device), labels.long().to(device)
    generator = torch.Generator().manual_seed(seed)
    with seeded(seed, device):
        module = _new_classifier(_inputs(likelihood, x[:1]), kind, n_classes, judge).to(device).train()
        optimizer = torch.optim.Adam(module.parameters(), lr=learning_rate)
        n_falling = epochs * n_steps if getattr(module, "decays", False) else None
        done = 0
        for _ in range(epochs):
            # in parts of nearly equal size, so that no batch norm meets a single item
            order = torch.randperm(len(x), generator=generator).to(device)
            total = torch.zeros((), device=device)
            for index in order.tensor_split(n_steps):
                optimizer.zero_grad(set_to_none=True)
                loss = F.cross_entropy(module(_inputs(likelihood, x[index])), y[index])
                loss.backward()
                optimizer.step()
                done += 1
                if n_falling is not None:
                    optimizer.param_groups[0]["lr"] = learning_rate * (1 + math.cos(math.pi * done / n_falling)) / 2
                total += loss.detach()
            if total < LEARNT * n_steps:
                break
    return module.eval()


def labelled_items(rows: Labelled, name: str) -> tuple[Tensor, Tensor]:
    """The items of a modality that occur in rows, each of them once, with their classes."""
    data = rows.data
    if name not in data.values:
        raise ValueError(f"data should have the modality {name!r}. Found {', '.join(data.names)}.")
    which = data.index.get(name, torch.arange(len(data), device=rows.labels.device))
    labels = rows.labels.long().to(which.device)
    if (mask := data.observed.get(name)) is not None:
        which, labels = which[mask.to(which.device)], labels[mask.to(labels.device)]
    classes = labels.new_full((len(data.values[name]),), -1)
    classes[which] = labels
    if not torch.equal(classes[which], labels):
        raise ValueError(f"An item of {name!r} should have one class. Found one in rows of several classes.")
    used = (classes >= 0).nonzero()[:, 0]
    return data.values[name][used], classes[used]


def _inputs(likelihood: Likelihood, x: Tensor) -> Tensor:
    """Real items in the form in which generated ones are judged: as numbers, or as probabilities of categories."""
    return likelihood.like_mean(likelihood.prepare(x))


def _new_classifier(example: Tensor, kind: Kind | None, n_classes: int, judge: Judge) -> nn.Module:
    check_choice("judge", judge, get_args(Judge))
    shape = tuple(example.shape[1:])
    if kind is None:
        long_enough = len(shape) in (2, 3) and min(shape[1:] if len(shape) == 3 else shape[:1]) >= 8
        kind = "vector" if not long_enough else "image" if len(shape) == 3 else "text"
    check_choice("kind", kind, get_args(Kind))
    if kind == "image":
        return DeepImageClassifier(shape, n_classes) if judge == "strong" else ImageClassifier(shape, n_classes)
    if kind == "text":
        return TextClassifier(shape[-1], n_classes)
    n = max(1, example[0].numel())
    return nn.Sequential(nn.Flatten(), nn.Linear(n, 128), nn.ReLU(), nn.Linear(128, n_classes))


@torch.no_grad()
def _accuracy(
    module: nn.Module, x: Tensor, y: Tensor, likelihood: Likelihood, device: torch.device | str = "cpu"
) -> float:
    right = 0
    for part, labels in zip(x.split(ROWS_AT_ONCE), y.split(ROWS_AT_ONCE), strict=True):
        guessed = module(_inputs(likelihood, part.to(device))).argmax(-1)
        right += int((guessed == labels.to(device)).sum())
    return right / len(x) if len(x) else math.nan


def _default_folder() -> Path | None:
    try:
        import pooch
    except ImportError:
        return None
    return Path(pooch.os_cache("evenhand")) / "classifiers"


def _plain(name: str) -> str:
    return re.sub(r"\W+", "_", name)


def _fingerprint(tensors: list[Tensor], settings: list[Any]) -> str:
    """Of everything a classifier depends on."""
    about = [FORMAT, str(torch.get_default_dtype()), *settings, *[[list(x.shape), str(x.dtype)] for x in tensors]]
    digest = hashlib.sha256(json.dumps(about).encode())
    for x in tensors:
        digest.update(_bytes(x))
    return digest.hexdigest()


def _bytes(x: Tensor) -> Any:
    """The memory of a tensor, as a hash reads it."""
    return x.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()


@contextlib.contextmanager
def _alone(path: Path | None) -> Iterator[None]:
    """Of several processes that need a classifier at once, one trains it, and the others wait and find it."""
    with contextlib.ExitStack() as held:
        if path is not None:
            with contextlib.suppress(OSError):  # a folder that cannot be written to: each for itself
                path.parent.mkdir(parents=True, exist_ok=True)
                held.enter_context(locked_file(path.with_suffix(".lock"), wait=True))
        yield


def _save(module: nn.Module, path: Path | None, fingerprint: str, accuracy: float) -> None:
    """Write the weights and what is known of them; an existing file is replaced only by a whole one."""
    if path is None:
        return
    state = module.state_dict()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_tensors(path, state, {"fingerprint": fingerprint, "accuracy": accuracy})


def _load(module: nn.Module, path: Path, fingerprint: str) -> float | None:
    """Read weights into the module and give their accuracy; None if there are none that are whole and right."""
    try:
        state, about = read_tensors(path)
        if about["fingerprint"] != fingerprint:
            return None
        module.load_state_dict(state)
        return float(about["accuracy"])
    except (OSError, ValueError, KeyError, TypeError, RuntimeError):
        return None  # not there, or damaged: it is trained anew

"""Training: exact resume, several processes, and everything that `fit` can be asked for."""

import copy
import csv
import logging
import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from lightning_fabric import Fabric
from lightning_fabric.loggers import CSVLogger, TensorBoardLogger
from lightning_utilities.core import rank_zero
from torch import nn
from torch.utils.data import Dataset

from evenhand import MultimodalVAE
from evenhand.common import _progress
from evenhand.common._captured import pack, unpack
from evenhand.impartial import IMTLG, MGDA, CAGrad, GradDrop, GradNorm, PCGrad
from evenhand.modalities.objectives import LooseToTight
from evenhand.modalities.rows import Modalities
from evenhand.modalities.training import ImpartialMixture, Loop
from evenhand.modalities.training._batches import number_of_batches
from evenhand.modalities.training._means import Means
from evenhand.modalities.training._warm_up import WarmUp

from .._tiny import CLASSES, L, assert_same, decoder, differ, encoder, parts, rows, tiny, weights

ROOT = Path(__file__).parents[3]
FIT = {"epochs": 3, "batch_size": 5, "log_every": 1, "learning_rate": 1e-2}
OWN = {name: value for name, value in FIT.items() if name != "learning_rate"}  # with an optimiser of one's own
STEPS = 5  # in an epoch: four batches of 5 and one of 4


@pytest.fixture(autouse=True)
def _one_thread():
    n = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n)


class Items(Dataset):
    """Rows as a torch data set."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values["label"])

    def __getitem__(self, i):
        return {name: x[i] for name, x in self.values.items()}


def holes(n=24):
    values = rows(n)
    values["image"][1::3] = torch.nan
    return {**values, "label": [None if i % 3 == 0 else i % 4 for i in range(n)]}


# Exact resume


class Killed(Exception):
    pass


def fit_until(monkeypatch, where, n, model, data, **options):
    """Train, and stop without a goodbye after a step (counted from 1) or after an epoch."""
    with monkeypatch.context() as patch:
        name = {"step": "_after_step", "epoch": "_after_epoch"}[where]
        original = getattr(Loop, name)

        def stop(self):
            original(self)
            done = self._epoch * self.steps_per_epoch + self._position
            if done == (n if where == "step" else n * self.steps_per_epoch):
                raise Killed

        patch.setattr(Loop, name, stop)
        with pytest.raises(Killed):
            model.fit(data, **options)


SETTINGS = {
    "plain": ({}, {}),
    "gradnorm": ({"impartial": {"LI": GradNorm(lr=0.1), "EEI": GradNorm(lr=0.1), "DEI": GradNorm(lr=0.1)}}, {}),
    "random": ({"impartial": {"LI": PCGrad(), "EEI": GradDrop(), "DEI": PCGrad()}}, {}),
    "dropout": ({"dropout": 0.5}, {}),
    "validation": ({"dropout": 0.3, "impartial": {"LI": GradNorm(lr=0.1)}}, {"validation": 0.25}),
    "warm-up": ({"objective": "siwae"}, {"kl_warm_up": 2.5, "clip_norm": 1.0}),
    "care": ({"objective": "siwae"}, {"learning_rate_warm_up": 1.5, "clip_expert_norm": 0.5}),
    "rate": ({"kl_weight": "rate:1", "dropout": 0.3}, {"validation": 0.25}),
    "momentum": ({}, {"optimizer": lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9)}),
    "holes": ({"experts": "mixture-of-products"}, {}),
    "data set": ({"dropout": 0.5, "impartial": {"LI": PCGrad()}}, {}),
}


def data_of(setting):
    return {"holes": holes, "data set": lambda: Items(rows())}.get(setting, rows)()


@pytest.fixture(scope="module")
def whole():
    """Histories and weights of trainings that nothing interrupted."""
    return {}


@pytest.mark.filterwarnings("ignore:The rate should be")  # three epochs are few
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(("where", "n"), [("step", 3), ("step", 5), ("step", 8), ("epoch", 1), ("epoch", 2)])
def test_a_training_goes_on_exactly_where_it_was(monkeypatch, tmp_path, whole, setting, where, n):
    model_options, fit_options = SETTINGS[setting]
    options = (OWN if "optimizer" in fit_options else FIT) | fit_options
    if setting not in whole:
        model = tiny(**model_options).fit(data_of(setting), **options)
        whole[setting] = model.history, weights(model)
    history, expected = whole[setting]

    options |= {"folder": tmp_path, "checkpoint_every": 2}
    fit_until(monkeypatch, where, n, tiny(**model_options), data_of(setting), **options)
    torch.manual_seed(99)  # another process has other random numbers
    before = torch.get_rng_state()
    model = tiny(**model_options)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)  # what it begins with does not count
    model.fit(data_of(setting), **options)
    assert model.history == history
    assert_same(weights(model), expected)
    assert torch.equal(torch.get_rng_state(), before)
    steps = 4 if setting in ("validation", "rate") else STEPS
    assert [row["step"] for row in history] == (
        list(range(1, 3 * steps + 1))
        if setting not in ("validation", "rate")
        else [1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10, 11, 12, 12]
    )


def test_checkpoints_change_nothing(tmp_path):
    for every in (None, 1, 3):
        folder = tmp_path / f"deep/{every}"
        with_folder = tiny().fit(rows(), **FIT, folder=str(folder), checkpoint_every=every)
        without = tiny().fit(rows(), **FIT)
        assert with_folder.history == without.history
        assert_same(weights(with_folder), weights(without))
        assert [path.name for path in folder.iterdir()] == ["checkpoint.pt"]


def test_a_mean_over_steps_survives(monkeypatch, tmp_path):
    """Numbers that were not yet written to the history are in the checkpoint."""
    options = FIT | {"log_every": None}
    expected = tiny().fit(rows(), **options).history
    options |= {"folder": tmp_path, "checkpoint_every": 2}
    fit_until(monkeypatch, "step", 8, tiny(), rows(), **options)
    assert tiny().fit(rows(), **options).history == expected


def test_the_best_weights_of_before_stay_the_best(monkeypatch, tmp_path):
    scores = iter([3.0, 1.0, 2.0])
    monkeypatch.setattr(ImpartialMixture, "score", lambda self, step: next(scores))
    options = FIT | {"folder": tmp_path, "validation": rows(4, seed=1)}
    fit_until(monkeypatch, "epoch", 1, tiny(), rows(), **options)
    found = tiny(seed=1).fit(rows(), **options)
    assert_same(weights(found), weights(tiny().fit(rows(), **(FIT | {"epochs": 1}))))


def test_a_finished_training_returns_at_once(monkeypatch, tmp_path):
    torch.manual_seed(3)
    first = tiny(dropout=0.2).fit(rows(), **FIT, folder=tmp_path, validation=0.25)
    monkeypatch.setattr(Loop, "_step", lambda *args: pytest.fail("a step was taken"))
    again = tiny(seed=1, dropout=0.2).fit(rows(), **FIT, folder=tmp_path, validation=0.25)
    assert again.history == first.history
    assert_same(again.state_dict(), first.state_dict())


def test_a_partial_file_is_ignored(monkeypatch, tmp_path):
    (tmp_path / "checkpoint.pt.partial").write_bytes(b"half")
    options = FIT | {"folder": tmp_path, "checkpoint_every": 2}
    fit_until(monkeypatch, "step", 3, tiny(), rows(), **options)
    (tmp_path / "checkpoint.pt.partial").write_bytes(b"half")
    assert tiny().fit(rows(), **options).history == tiny().fit(rows(), **FIT).history


def test_a_damaged_checkpoint_is_named(tmp_path):
    tiny().fit(rows(), **FIT, folder=tmp_path)
    path = tmp_path / "checkpoint.pt"
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], b"", b"something else"):
        path.write_bytes(damaged)
        with pytest.raises(
            ValueError, match=r"checkpoint.pt should be a checkpoint of a training. It cannot be read"
        ):
            tiny().fit(rows(), **FIT, folder=tmp_path)
    for other, words in (({"format": 99}, "format 99, of evenhand"), ([1, 2], "something else")):
        torch.save(other, path)
        with pytest.raises(ValueError, match=f"checkpoint.pt should be a checkpoint of format 1. Found {words}"):
            tiny().fit(rows(), **FIT, folder=tmp_path)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"batch_size": 6}, "batch_size should be 5, as it was when the training in .* began. Found 6"),
        ({"seed": 1}, "seed should be 0"),
        ({"epochs": 4}, "epochs should be 3"),
        ({"kl_warm_up": 1}, "kl_warm_up should be 0"),
        ({"clip_norm": 1.0}, "clip_norm should be None"),
        ({"clip_expert_norm": 1.0}, "clip_expert_norm should be None"),
        ({"learning_rate_warm_up": 1}, "learning_rate_warm_up should be 0"),
        ({"data": rows(20)}, "rows should be 24.*Found 20"),
    ],
)
def test_other_settings_are_named(tmp_path, other, message):
    tiny().fit(rows(), **FIT, folder=tmp_path)
    model = tiny()
    before = weights(model)
    with pytest.raises(ValueError, match=message):
        model.fit(**{"data": rows(), **FIT, "folder": tmp_path, **other})
    assert_same(weights(model), before)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"objective": "elbo"}, "objective should be 'siwae'"),
        ({"n_samples": 5}, "n_samples should be"),
        ({"kl_weight": 0.5}, "kl_weight should be '1.0'"),
        ({"gradient": "dreg"}, "gradient should be 'stl'"),
        ({"experts": "product"}, "prior_expert should be"),
        ({"experts": [("image", "label")]}, "experts should be 'image, label'"),
        ({"impartial": {"LI": IMTLG()}}, "impartial should be"),
    ],
)
def test_another_model_is_not_resumed(tmp_path, other, message):
    tiny(objective="siwae").fit(rows(), **FIT, folder=tmp_path)
    with pytest.raises(ValueError, match=message):
        tiny(**{"objective": "siwae", **other}).fit(rows(), **FIT, folder=tmp_path)


def test_another_learning_rate_is_not_resumed(tmp_path):
    tiny().fit(rows(), **FIT, folder=tmp_path)
    with pytest.raises(ValueError, match=r"optimizer should be 'Adam, lr .*Found 'Adam, lr 0\.5'"):
        tiny().fit(rows(), **FIT | {"learning_rate": 0.5}, folder=tmp_path)


def test_other_rows_or_networks_are_not_resumed(tmp_path):
    options = {**FIT, "epochs": 1, "folder": tmp_path, "validation": rows(8)}
    tiny().fit(rows(), **options)
    tiny().fit(rows(), **options)
    others = rows()
    others["label"] = (others["label"] + 1) % CLASSES
    again = "as it was when the training in .* began"
    with pytest.raises(ValueError, match=rf"data \(a checksum of some rows\) should be .*{again}"):
        tiny().fit(others, **options)
    with pytest.raises(ValueError, match=rf"validation \(a checksum of some rows\) should be .*{again}"):
        tiny().fit(rows(), **{**options, "validation": None})
    with pytest.raises(ValueError, match=f"seed of the networks should be 0, {again}. Found 1"):
        MultimodalVAE(parts(), n_latent=L, n_samples=2, seed=1).fit(rows(), **options)


@pytest.mark.parametrize("form", [dict, Items])
def test_dropout_belongs_to_the_seed(form):
    fitted = []
    for state, seed in ((1, 0), (2, 0), (1, 7)):
        torch.manual_seed(state)
        fitted.append(weights(tiny(dropout=0.5).fit(form(rows()), **FIT, seed=seed)))
    assert_same(fitted[0], fitted[1])
    assert differ(fitted[0], fitted[2])


def test_a_single_last_row_joins_those_before():
    """Batch normalisation cannot learn from one row."""
    assert [number_of_batches(n, 5, 1) for n in (1, 5, 6, 7, 10, 11, 12)] == [1, 1, 1, 2, 2, 2, 3]
    assert [number_of_batches(n, 5, 3) for n in (11, 12, 13)] == [2, 2, 3]
    seen = []
    normalised = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.BatchNorm1d(8), nn.Linear(8, 2 * L))
    model = tiny(image_encoder=normalised)
    normalised.register_forward_hook(lambda module, _, output: seen.append(len(output)) if module.training else None)
    model.fit(rows(21), epochs=1, batch_size=5)
    assert seen == [5, 5, 5, 6]
    assert all(x.isfinite().all() for x in model.state_dict().values())


@pytest.mark.parametrize("seed", [2**45, 2**62, -5])
def test_any_integer_is_a_seed(seed):
    first, second = (tiny(impartial={"LI": PCGrad()}).fit(rows(), **FIT, seed=seed) for _ in range(2))
    assert first.history == second.history
    assert_same(first.sample(3, latent="mixture", seed=seed), second.sample(3, latent="mixture", seed=seed))


def test_validation_looks_where_training_is():
    """A bound that becomes tight in training is as tight for validation rows."""
    data, seen = rows(), []
    model = tiny(objective="siwae", tightness=LooseToTight(6))
    forward = model.core.forward

    def spy(values, observed=None, noise=None, kl_weight=None, progress=0.0, *others):
        if not torch.is_grad_enabled():
            seen.append(float(progress))
        return forward(values, observed, noise, kl_weight, progress, *others)

    model.core.forward = spy
    model.fit(data, **FIT, validation=rows(4))
    assert seen == [5.0, 10.0, 15.0]


def test_another_weight_decay_is_not_resumed(tmp_path):
    def options(**told):
        return {**OWN, "folder": tmp_path, "optimizer": lambda p: torch.optim.Adam(p, lr=1e-2, **told)}

    tiny().fit(rows(), **options(weight_decay=0.1))
    tiny().fit(rows(), **options(weight_decay=0.1))
    for told, words in (({"weight_decay": 0.2}, "weight_decay 0.2"), ({"amsgrad": True}, "amsgrad True")):
        with pytest.raises(ValueError, match=f"hyperparameters should be .*Found .*{words}"):
            tiny().fit(rows(), **options(**{"weight_decay": 0.1, **told}))


def test_another_activation_is_not_resumed(tmp_path):
    """Its weights have the same shapes."""
    tiny().fit(rows(), **FIT, folder=tmp_path)
    other = encoder(64)
    other[2] = nn.ReLU()
    model = tiny(image_encoder=other)
    before = weights(model)
    with pytest.raises(ValueError, match=r"The encoder of 'image' should be .*2: Tanh\(\).* Found .*2: ReLU\("):
        model.fit(rows(), **FIT, folder=tmp_path)
    assert_same(weights(model), before)


def test_experts_that_separate_do_not_spoil_a_training():
    """Gradients of densities underflow then, and restored norms would make them infinite."""
    options = {"epochs": 60, "batch_size": 12, "learning_rate": 2e-2, "verbose": False}
    model = tiny(experts="mixture", impartial={"EEI": MGDA()}).fit(rows(), **options)
    assert all(x.isfinite().all() for x in model.state_dict().values())


def test_a_gradient_that_is_not_finite_stops_the_training():
    class Root(nn.Module):
        """Finite, with an infinite slope at 0."""

        def __init__(self):
            super().__init__()
            self.inside = decoder(1, 8, 8)

        def forward(self, z):
            return (self.inside(z) * 0).sqrt()

    model = tiny(image_decoder=Root())
    before = weights(model)
    with pytest.raises(FloatingPointError, match="the gradient of a finite objective became NaN"):
        model.fit(rows(), **FIT)
    assert_same(weights(model), before)


SCRIPT = """
import os, signal, sys
sys.path.insert(0, {root!r})
import torch
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
from tests.modalities.training.test_loop import *
"""


def start(code, *arguments, **options):
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), *sys.path])
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    command = [sys.executable, str(code), *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, **options)


def test_a_killed_process_leaves_a_checkpoint_to_go_on_with(tmp_path):
    """Killed while it writes one, in fact."""
    script = tmp_path / "train.py"
    script.write_text(
        SCRIPT.format(root=str(ROOT))
        + """
calls, fsync = [], os.fsync
def killing(file):
    calls.append(file)
    if len(calls) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    fsync(file)
os.fsync = killing
torch.manual_seed(3)
model_options, fit_options = SETTINGS["validation"]
tiny(**model_options).fit(rows(), **FIT, **fit_options, folder=sys.argv[1], checkpoint_every=2)
"""
    )
    folder = tmp_path / "run"
    done = start(script, folder)
    assert done.returncode == -signal.SIGKILL, done.stderr
    whole, part = sorted(path.name for path in folder.iterdir())
    assert whole == "checkpoint.pt"
    assert part.endswith(".partial")
    assert torch.load(folder / "checkpoint.pt")["epoch"] == 1
    model_options, fit_options = SETTINGS["validation"]
    torch.manual_seed(3)
    expected = tiny(**model_options).fit(rows(), **FIT, **fit_options)
    torch.manual_seed(99)
    found = tiny(seed=1, **model_options).fit(rows(), **FIT, **fit_options, folder=folder, checkpoint_every=2)
    assert found.history == expected.history
    assert_same(weights(found), weights(expected))


# Several processes


TOGETHER = {
    "plain": ({}, rows),
    "impartial": ({"impartial": {"LI": CAGrad(), "EEI": MGDA(), "DEI": IMTLG()}}, rows),
    "gradnorm": ({"impartial": {"LI": GradNorm(lr=0.1), "DEI": GradNorm(lr=0.1)}}, rows),
    "holes": ({"experts": "mixture-of-products", "impartial": {"LI": MGDA(), "EEI": IMTLG()}}, holes),
    "data set": ({"objective": "siwae", "impartial": {"LI": IMTLG()}}, lambda: Items(rows())),
    "clipped": ({"objective": "siwae", "n_backward": 1}, holes),
    "random": ({"impartial": {"LI": PCGrad(), "EEI": GradDrop()}}, rows),
}
MORE = {"clipped": {"clip_expert_norm": 1.0, "learning_rate_warm_up": 1.5}}
UNEVEN = {
    "epochs": 2,
    "batch_size": 7,
    "learning_rate": 1e-2,
    "clip_norm": 5.0,
}  # 7, 7, 7 and 3 rows: 4 + 3 and 2 + 1


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes")
    (folder / "train.py").write_text(
        SCRIPT.format(root=str(ROOT))
        + """
fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp")
fabric.launch()
torch.manual_seed(fabric.global_rank)  # processes need not have the same random numbers
found = {}
for name, (options, data) in TOGETHER.items():
    validation = rows(8, seed=1) if name == "plain" else None
    model = tiny(**options).fit(data(), **UNEVEN, **MORE.get(name, {}), fabric=fabric, validation=validation)
    found[name] = weights(model), model.history, model.sample(3, latent="prior")["image"]
options, data = TOGETHER["impartial"]
folder = sys.argv[1] + "/checkpoints"
half = tiny(**options)
original = Loop._after_epoch
def stop(self):
    original(self)
    raise Killed
Loop._after_epoch = stop
try:
    half.fit(data(), **UNEVEN, fabric=fabric, folder=folder)
except Killed:
    pass
Loop._after_epoch = original
again = tiny(seed=1, **options).fit(data(), **UNEVEN, fabric=fabric, folder=folder)
found["resumed"] = weights(again), again.history, None
torch.save(found, f"{sys.argv[1]}/{fabric.global_rank}.pt")
"""
    )
    done = start(folder / "train.py", folder)
    assert done.returncode == 0, done.stderr
    return [torch.load(folder / f"{rank}.pt") for rank in range(2)]


@pytest.mark.parametrize("name", TOGETHER)
def test_two_processes_are_one(two_processes, name):
    options, data = TOGETHER[name]
    validation = None if name != "plain" else rows(8, seed=1)
    expected = tiny(**options).fit(data(), **UNEVEN, **MORE.get(name, {}), validation=validation)
    first, second = (part[name] for part in two_processes)
    assert_same(first[0], second[0])
    for key, x in weights(expected).items():
        if x.is_floating_point():
            torch.testing.assert_close(first[0][key], x, rtol=1e-9, atol=1e-11, msg=lambda m, k=key: f"{k}: {m}")
    assert differ(weights(expected), weights(tiny(**options)))
    assert [row["step"] for row in first[1]] == [4, 8]
    assert first[1] == second[1]
    for found, row in zip(first[1], expected.history, strict=True):
        assert found == pytest.approx(row, rel=1e-7)  # every reading, log q and gradients of experts too
    if name == "plain":
        assert first[1][-1]["validation"] == pytest.approx(expected.history[-1]["validation"], rel=1e-9)


def test_two_processes_go_on_where_they_were(two_processes):
    for part in two_processes:
        assert_same(part["resumed"][0], part["impartial"][0])
        assert part["resumed"][1] == part["impartial"][1]


def test_processes_need_a_row_each():
    model = tiny().core
    data = Modalities(rows())
    fabric = SimpleNamespace(world_size=4)
    with pytest.raises(ValueError, match="batch_size should be at least 1 for each of 4 processes. Found 3"):
        Loop(model, data, fabric, torch.optim.Adam, epochs=1, batch_size=3).run()
    with pytest.raises(ValueError, match="data should have rows for every process. Found 24"):
        Loop(model, data, SimpleNamespace(world_size=25), torch.optim.Adam, epochs=1, batch_size=100).run()
    assert Loop(model, data, fabric, torch.optim.Adam, epochs=1, batch_size=7).steps_per_epoch == 3  # not the 3 rows
    assert Loop(model, data, fabric, torch.optim.Adam, epochs=1, batch_size=10).steps_per_epoch == 3


def test_a_fabric_of_ones_own():
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    assert tiny().fit(rows(), **FIT, fabric=fabric).history == tiny().fit(rows(), **FIT).history


# Options


def test_half_precision_on_a_cpu():
    torch.set_default_dtype(torch.float32)
    full, half = (tiny().fit(rows(), **FIT, precision=p) for p in ("32", "bf16"))
    assert full.history != half.history
    for a, b in zip(full.history, half.history, strict=True):
        assert b["bound"] == pytest.approx(a["bound"], rel=0.05)
    assert {x.dtype for x in half.core.network.parameters()} == {torch.float32}


def by_hand(model, data, optimizer, n=1, clip=None, seed=0):
    """The first steps of a training on all rows at once."""
    core, generator = model.core, torch.Generator().manual_seed(seed)
    n_rows = len(data["label"])
    optimizer = optimizer(core.parameters())
    for epoch in range(n):
        order = torch.randperm(n_rows, generator=torch.Generator().manual_seed(seed * 1_000_003 + epoch))
        optimizer.zero_grad()
        core({name: x[order] for name, x in data.items()}, None, core.noise(n_rows, generator)).loss.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(core.parameters(), clip)
        optimizer.step()
    return weights(model)


@pytest.mark.parametrize("clip", [None, 0.1])
@pytest.mark.parametrize("chosen", [None, torch.optim.SGD])
@pytest.mark.parametrize("seed", [0, 5])
def test_steps_by_hand(clip, chosen, seed):
    """AMSGrad, unless another optimiser is wanted; on clipped gradients, if wanted."""
    given = None if chosen is None else lambda p: chosen(p, lr=0.02)
    used = given or (lambda p: torch.optim.Adam(p, lr=0.02, amsgrad=True))
    rate = 0.02 if given is None else None
    fitted = tiny().fit(rows(), epochs=3, learning_rate=rate, clip_norm=clip, optimizer=given, seed=seed)
    expected = by_hand(tiny(), rows(), used, 3, clip, seed)
    for name, x in weights(fitted).items():
        torch.testing.assert_close(x, expected[name], rtol=1e-10, atol=1e-12)


def test_options_change_the_training():
    plain = weights(tiny().fit(rows(), **FIT))
    adam = weights(tiny().fit(rows(), **OWN, optimizer=lambda p: torch.optim.Adam(p, lr=1e-2)))
    for options in (
        {"clip_norm": 0.1},
        {"clip_expert_norm": 0.5},
        {"learning_rate_warm_up": 1.5},
        {"learning_rate": 1e-3},
        {"kl_warm_up": 2},
        {"batch_size": 6},
        {"seed": 1},
        {"validation": 0.3},
        {"optimizer": lambda p: torch.optim.SGD(p, lr=1e-3), "learning_rate": None},
        {"observed": {"label": torch.arange(24) > 3}},
    ):
        other = weights(tiny().fit(rows(), **{**FIT, **options}))
        assert differ(other, plain), options
    assert differ(adam, plain)


def test_the_kl_weight_rises_linearly():
    history = tiny(kl_weight=0.5).fit(rows(), **FIT, kl_warm_up=1.5).history
    for row in history:
        assert row["kl_weight"] == pytest.approx(0.5 * min(1, row["epoch"] / 1.5))
    # from 0: the first step knows nothing of the rate
    assert tiny().fit(rows(), **FIT).history[0]["kl_weight"] == 1
    first = tiny().fit(rows(), **FIT, kl_warm_up=1.5).history[0]["bound"]
    assert first == pytest.approx(tiny(kl_weight=0.0).fit(rows(), **FIT).history[0]["bound"], rel=1e-6)
    with pytest.raises(ValueError, match="kl_warm_up should be from 0 to the 3 epochs of the training"):
        tiny().fit(rows(), **FIT, kl_warm_up=3.5)


def test_the_learning_rate_rises_linearly():
    """With plain descent a rate is how far a step goes."""
    seen = []

    class Spy(torch.optim.SGD):
        def step(self, closure=None):
            seen.append([group["lr"] for group in self.param_groups])
            return super().step(closure)

    def two_rates(parameters):
        first, *others = parameters
        return Spy([{"params": [first], "lr": 1e-4}, {"params": others}], lr=1e-3)

    tiny().fit(rows(), **OWN, learning_rate_warm_up=1.6, optimizer=two_rates)  # 8 of 15 steps
    for rates in seen[8:]:
        assert rates == [1e-4, 1e-3]
    for i, rates in enumerate(seen[:8]):
        assert rates == pytest.approx([1e-4 * (i + 1) / 8, 1e-3 * (i + 1) / 8])
    with pytest.raises(ValueError, match="learning_rate_warm_up should be from 0 to the 3 epochs of the training"):
        tiny().fit(rows(), **FIT, learning_rate_warm_up=3.5)


def test_a_recorded_step_reads_a_rate_that_changes():
    """On a GPU, rates are numbers on the device, which stay where they are."""
    weight = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.Adam([weight], lr=0.5)
    warm_up = WarmUp(optimizer, 4, torch.device("cpu"))
    warm_up.set(0)
    kept = optimizer.param_groups[0]["lr"]
    assert kept.item() == pytest.approx(0.125)
    warm_up.set(9)
    assert optimizer.param_groups[0]["lr"] is kept
    assert kept.item() == pytest.approx(0.5)
    optimizer.load_state_dict(optimizer.state_dict())  # a checkpoint brings another
    warm_up.set(1)
    assert optimizer.param_groups[0]["lr"] is kept


def test_the_best_weights_are_kept(monkeypatch):
    scores = iter([1.0, 3.0, 2.0, 2.9])
    monkeypatch.setattr(ImpartialMixture, "score", lambda self, step: next(scores))
    options = FIT | {"log_every": None, "epochs": 4}
    model = tiny().fit(rows(), **options, validation=rows(4, seed=1))
    assert [row["validation"] for row in model.history] == [1.0, 3.0, 2.0, 2.9]
    second = tiny().fit(rows(), **(options | {"epochs": 2}))
    last = tiny().fit(rows(), **options)
    assert_same(weights(model), weights(second))
    assert differ(weights(model), weights(last))


def test_the_score_of_validation_rows(monkeypatch):
    """The weighed reconstruction of all validation rows, every likelihood by its dimension, without dropout."""
    seen = []
    original = ImpartialMixture.forward

    def spy(self, *args, **kwargs):
        step = original(self, *args, **kwargs)
        if not torch.is_grad_enabled():
            seen.append((len(args[0]["label"]), step.reconstruction, self.training))
        return step

    monkeypatch.setattr(ImpartialMixture, "forward", spy)
    model = tiny(dropout=0.5).fit(rows(), **(FIT | {"epochs": 1}), validation=rows(8, seed=1))
    assert [(n, training) for n, _, training in seen] == [(5, False), (3, False)]
    expected = sum(n * (x[0] / 64 + x[1] / 4) for n, x, _ in seen) / 8
    assert model.history[-1]["validation"] == pytest.approx(expected.item())


def test_validation_in_every_form():
    held_out = rows(8, seed=1)
    forms = [held_out, Modalities(held_out), {name: x.tolist() for name, x in held_out.items()}]
    histories = [tiny().fit(rows(), **FIT, validation=form).history for form in forms]
    assert histories[0] == histories[1] == histories[2]
    model = tiny().fit(rows(), **FIT, validation=0.25)
    assert len([row for row in model.history if "validation" in row]) == 3
    assert len(model.codes) == 18  # rows that were not held out
    assert tiny().fit(Items(rows()), **FIT, validation=held_out).history[-1]["validation"] == pytest.approx(
        histories[0][-1]["validation"]
    )
    with pytest.raises(ValueError, match="validation should leave rows to train on"):
        tiny().fit(rows(), **FIT, validation=0.999)


def test_rows_of_the_history():
    names = ["log_likelihood/image", "log_likelihood/label", "rate/image", "rate/label"]
    health = ["share/image", "share/label", "effective_experts"]
    health += [f"log_likelihood_from/{expert}/{name}" for expert in ("image", "label") for name in ("image", "label")]
    norms = ["gradient_norm/image", "gradient_norm/label"]
    expected = ["epoch", "step", "bound", *names, "log_q", "loss", *health, "gradient", *norms, "kl_weight"]
    every_step = tiny().fit(rows(), **FIT).history
    assert all(list(row) == expected for row in every_step)
    assert [row["epoch"] for row in every_step] == pytest.approx([(i + 1) / 5 for i in range(15)])
    every_epoch = tiny().fit(rows(), **(FIT | {"log_every": None})).history
    assert [(row["epoch"], row["step"]) for row in every_epoch] == [(1.0, 5), (2.0, 10), (3.0, 15)]
    every_other = tiny().fit(rows(), **(FIT | {"log_every": 2})).history
    assert [row["step"] for row in every_other] == [2, 4, 5, 7, 9, 10, 12, 14, 15]
    for column in ("bound", "loss", *names, *health):
        numbers = [row[column] for row in every_step]
        by_rows = sum(n * x for n, x in zip((5, 5, 5, 5, 4), numbers, strict=False)) / 24
        assert every_epoch[0][column] == pytest.approx(by_rows, rel=1e-5)
        assert every_other[0][column] == pytest.approx(sum(numbers[:2]) / 2, rel=1e-5)
    for column in norms:  # roots of mean squares
        squares = [row[column] ** 2 for row in every_step]
        by_rows = sum(n * x for n, x in zip((5, 5, 5, 5, 4), squares, strict=False)) / 24
        assert every_epoch[0][column] == pytest.approx(by_rows**0.5, rel=1e-5)
    assert all(row["loss"] == -row["bound"] for row in every_step)
    with_validation = tiny().fit(rows(), **FIT, validation=rows(8)).history
    assert list(with_validation[-1]) == ["epoch", "step", "kl_weight", "validation"]


def test_gradients_of_experts_tell_who_learns():
    """An expert without weight gets nothing; with holes a row counts for the experts that it has."""
    torch.manual_seed(0)
    lost = encoder(4)
    with torch.no_grad():
        lost[-1].bias[:2] = 30.0
    row = tiny(objective="siwae", tightness=None, label_encoder=lost).fit(rows(), **FIT).history[0]
    assert row["gradient_norm/label"] < 1e-3 * row["gradient_norm/image"]
    options = FIT | {"epochs": 1, "learning_rate": 0.0, "log_every": None}
    model = {"n_samples": 200, "objective": "elbo"}
    parts, whole = (tiny(**model).fit(holes(48), **options | {"batch_size": n}).history[0] for n in (4, 48))
    for name in ("image", "label"):  # other noise for other batches; without it they would be the same
        assert parts[f"gradient_norm/{name}"] == pytest.approx(whole[f"gradient_norm/{name}"], rel=0.1)
    only = tiny().fit({**rows(), "label": [None] * 24}, **options).history[0]
    assert "gradient_norm/label" not in only
    assert "gradient_norm/image" in only


def test_loggers_receive_rows(tmp_path):
    logger = CSVLogger(tmp_path, name="csv")
    model = tiny().fit(rows(), **FIT, logger=logger)
    with (Path(logger.log_dir) / "metrics.csv").open() as file:
        found = list(csv.DictReader(file))
    assert [int(row["step"]) for row in found] == [row["step"] for row in model.history]
    assert [float(row["bound"]) for row in found] == pytest.approx([row["bound"] for row in model.history])


@pytest.mark.filterwarnings("ignore")  # what tensorboard says about itself
def test_tensorboard_receives_rows(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    logger = TensorBoardLogger(tmp_path, name="board")
    model = tiny().fit(rows(), **FIT, logger=logger)
    events = EventAccumulator(logger.log_dir)
    events.Reload()
    for name in ("rate/label", "share/label", "gradient_norm/label", "log_likelihood_from/label/image"):
        assert [(e.step, e.value) for e in events.Scalars(name)] == [
            (row["step"], pytest.approx(row[name])) for row in model.history
        ]


def test_the_progress_bar(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "MOMENTS", (60.0,))  # however busy the machine is, this is a short training
    tiny().fit(rows(), **FIT, verbose=True)
    shown = capsys.readouterr()
    assert "epoch 3/3, bound -" in shown.err
    assert "100%" in shown.err
    assert re.search(
        r"of 2 experts count, (image|label) learns least \(50% of the weights, gradient [\d.]+", shown.err
    )
    assert shown.out == ""
    for verbose in (False, "auto"):  # this is no terminal
        tiny().fit(rows(), **FIT, verbose=verbose)
        assert capsys.readouterr().err == ""


def test_a_long_training_speaks_in_a_pipe(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "MOMENTS", (0.01, 0.02))
    tiny().fit(rows(), **FIT)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("training 2 modalities on 24 rows, 3 epochs of 5 steps: ")
    assert "epoch 3/3, bound -" in lines[-1]


@pytest.mark.parametrize("kind", ["tensors", "numpy"])
def test_a_data_set_gives_the_same_as_tensors(kind):
    values = rows() if kind == "tensors" else {name: x.numpy() for name, x in rows().items()}
    found, expected = tiny().fit(Items(values), **FIT), tiny().fit(rows(), **FIT)
    assert found.history == expected.history
    assert_same(weights(found), weights(expected))
    assert len(found.codes) == 0
    with pytest.raises(RuntimeError, match="latent='mixture' needs"):
        found.sample(2, latent="mixture")
    expected.fit(Items(values), **FIT)
    assert len(expected.codes) == 0  # those of other weights are of no use


def test_a_data_set_in_double_precision_for_a_model_in_single():
    torch.set_default_dtype(torch.float32)
    values = {name: x.double() if x.is_floating_point() else x for name, x in rows().items()}
    found, expected = tiny().fit(Items(values), **FIT), tiny().fit(rows(), **FIT)
    assert found.history[-1]["bound"] == pytest.approx(expected.history[-1]["bound"], rel=1e-4)


def test_seeds():
    first, again, other = (tiny().fit(rows(), **FIT, seed=seed) for seed in (1, 1, 2))
    assert first.history == again.history
    assert_same(first.state_dict(), again.state_dict())
    assert differ(weights(first), weights(other))


@pytest.mark.parametrize("impartial", [{"LI": GradDrop()}, {"EEI": GradDrop(), "DEI": CAGrad() >> PCGrad()}], ids=str)
def test_random_methods_follow_the_seed_of_the_training(impartial):
    found = []
    for global_seed in (0, 1):
        torch.manual_seed(global_seed)
        state = torch.get_rng_state()
        found.append(tiny(impartial=impartial).fit(rows(), **FIT))
        assert torch.equal(torch.get_rng_state(), state)
    assert found[0].history == found[1].history
    assert_same(weights(found[0]), weights(found[1]))
    copy.deepcopy(found[0])  # no generator is left behind


def test_a_generator_of_ones_own_is_left_to_a_method():
    def trained(seed):
        model = tiny(impartial={"LI": GradDrop()})
        if seed is not None:
            model.blocks["LI"].method.generator = torch.Generator().manual_seed(seed)
        return weights(model.fit(rows(), **FIT))

    first, again, other, none = map(trained, (5, 5, 6, None))
    assert_same(first, again)
    assert differ(first, other)
    assert differ(first, none)


@pytest.mark.parametrize("form", [dict, Modalities, Items])
def test_no_random_numbers_of_others_are_used(form, tmp_path):
    state = torch.get_rng_state()
    model = tiny(impartial={"LI": CAGrad(), "EEI": MGDA()})
    model.fit(form(rows()), **FIT, folder=tmp_path, validation=rows(8))
    model.predict({"label": [1]}, form="sample")
    model.encode({"label": [1]}, 2)
    model.log_likelihood(rows(4), n_samples=4)
    model.conflicts(rows(4))
    model.sample(2)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("objective", ["elbo", "iwae", "siwae", "mmjsd", "contrastive"])
@pytest.mark.parametrize(("n", "batch_size"), [(1, 1), (1, 128), (5, 4), (3, 1)])
def test_small_batches(objective, n, batch_size):
    model = tiny(objective=objective, impartial={"LI": CAGrad(), "EEI": MGDA(), "DEI": IMTLG()})
    model.fit(rows(n), epochs=2, batch_size=batch_size)
    assert len(model.history) == 2
    assert model.history[-1]["step"] == 2 * (1 if n == 5 else -(-n // batch_size))  # a single row joins the others
    assert all(x.isfinite().all() for x in model.state_dict().values())


def test_modes_of_the_model():
    model = tiny(dropout=0.5)
    seen = []
    model.network.encoders[0].register_forward_hook(lambda module, *_: seen.append(module.training))
    model.fit(rows(), epochs=1)
    assert seen == [True, False]  # one step, and the codes
    assert not any(module.training for module in model.modules())


# Numbers that are none


class Spoiled(nn.Module):
    """Gives NaN once it is told so."""

    def __init__(self, network):
        super().__init__()
        self.network = network
        self.spoiled = False

    def forward(self, x):
        output = self.network(x)
        return output * float("nan") if self.spoiled else output


def spoil(monkeypatch, network, after):
    """Networks that give NaN after so many steps."""
    original = Loop._step

    def step(self, *args):
        network.spoiled = self._epoch * self.steps_per_epoch + self._position >= after
        original(self, *args)

    monkeypatch.setattr(Loop, "_step", step)
    return network


@pytest.mark.parametrize("name", ["image", "label"])
@pytest.mark.parametrize("what", ["encoder", "decoder"])
@pytest.mark.parametrize("experts", ["mixture", "product"])
def test_nan_is_named_before_it_does_harm(monkeypatch, tmp_path, name, what, experts):
    shape = {"image": (64, (1, 8, 8)), "label": (4, (4,))}[name]
    network = encoder(shape[0]) if what == "encoder" else decoder(*shape[1])
    model = tiny(experts=experts, **{f"{name}_{what}": spoil(monkeypatch, Spoiled(network), 7)})
    posterior = name if experts == "mixture" else "image+label"
    place = f"the posterior of '{posterior}'" if what == "encoder" else f"the log-likelihood of '{name}'"
    with pytest.raises(FloatingPointError, match=rf"In epoch 2, .*{place.replace('+', '.')} became NaN") as error:
        model.fit(rows(), **FIT, folder=tmp_path, checkpoint_every=1)
    assert "0 step(s) ago" in str(error.value)
    assert all(x.isfinite().all() for x in model.state_dict().values())
    saved = torch.load(tmp_path / "checkpoint.pt")["model"]
    assert_same(saved, weights(model))


def test_infinity_is_named_before_training():
    values = rows()
    values["image"][3, 0, 0, 0] = torch.inf
    model = tiny()
    before = weights(model)
    with pytest.raises(ValueError, match="'image': values should be finite"):
        model.fit(values, **FIT)
    assert_same(weights(model), before)


def test_nothing_broken_is_saved(monkeypatch, tmp_path):
    """Where steps are looked at now and then only, as on a GPU, they are before every checkpoint and at the end."""
    look, update = Loop._look, Loop._update

    def blind(self, inputs):
        monkeypatch.setattr(Loop, "_look", lambda self: None)
        update(self, inputs)
        monkeypatch.setattr(Loop, "_look", look)

    monkeypatch.setattr(Loop, "_update", blind)
    broken = {"image_decoder": spoil(monkeypatch, Spoiled(decoder(1, 8, 8)), 7)}
    with pytest.raises(FloatingPointError, match="the log-likelihood of 'image'"):
        tiny(**broken).fit(rows(), **FIT, folder=tmp_path, checkpoint_every=1)
    state = torch.load(tmp_path / "checkpoint.pt")
    assert (state["epoch"], state["position"]) == (1, 2)
    assert all(x.isfinite().all() for x in state["model"].values())
    broken = {"image_decoder": spoil(monkeypatch, Spoiled(decoder(1, 8, 8)), 14)}
    with pytest.raises(FloatingPointError, match="In epoch 3.*the log-likelihood of 'image'"):
        tiny(**broken).fit(rows(), **FIT)


def test_since_when_numbers_are_broken():
    means = Means(torch.device("cpu"), 3)
    for number in ([1.0, 2.0, 3.0], [1.0, torch.nan, 3.0], [torch.inf, 1.0, 1.0]):
        means.add(torch.tensor(number), torch.ones(3))
        means.n += 1
    assert means.broken() == (1, [1])
    means = Means(torch.device("cpu"), 2)
    means.add(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0]))
    means.add(torch.tensor([3.0, 4.0]), torch.tensor([1.0, 0.0]))
    means.n = 2
    assert means.broken() is None
    other = Means(torch.device("cpu"), 2)
    other.restore(means.state())
    assert means.take().tolist() == other.take().tolist() == [[4.0, 6.0], [2.0, 3.0]]
    assert means.n == 0


# Compiled steps


def test_tensors_of_a_step_by_name():
    values = {"image": torch.zeros(2), "observed": torch.ones(2), "values.x": torch.ones(1)}
    noise = torch.ones(3)
    inputs = pack(values, observed=None, noise=noise)
    assert all(isinstance(x, torch.Tensor) for x in inputs.values())
    found, others = unpack(inputs)
    assert found == values
    assert others == {"noise": noise}
    mask = torch.ones(2, dtype=torch.bool)
    found, others = unpack(pack(values, observed=mask, noise=noise))
    assert found == values
    assert others == {"observed": mask, "noise": noise}


@pytest.mark.filterwarnings("ignore")  # what torch says while it compiles is not ours
def test_dreg_can_be_compiled(monkeypatch):
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))
    torch._dynamo.reset()
    options = {"epochs": 1, "batch_size": 12, "log_every": 1}
    compiled = tiny(gradient="dreg", impartial={"LI": MGDA()}).fit(rows(), **options, compile=True)
    plain = tiny(gradient="dreg", impartial={"LI": MGDA()}).fit(rows(), **options)
    for name, x in plain.state_dict().items():
        torch.testing.assert_close(compiled.state_dict()[name], x)
    stl = tiny(impartial={"LI": MGDA()}).fit(rows(), **options)
    assert any(not torch.equal(x, plain.state_dict()[name]) for name, x in stl.state_dict().items())


@pytest.mark.filterwarnings("ignore")  # what torch says while it compiles is not ours
def test_compiled_steps_are_the_same(monkeypatch):
    # graphs are traced and run as they are: to make machine code of them takes a minute and is torch's own business
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))
    torch._dynamo.reset()
    options = {"epochs": 2, "batch_size": 12, "log_every": 1}
    impartial = {"LI": MGDA()}
    found = tiny(impartial=impartial).fit(rows(), **options, compile=True)
    expected = tiny(impartial=impartial).fit(rows(), **options)
    for a, b in zip(found.history, expected.history, strict=True):
        assert a == pytest.approx(b, rel=1e-6)
    assert found.predict({"label": [1]})["image"].shape == (1, 1, 8, 8)


@pytest.mark.filterwarnings("ignore")  # what torch says while it compiles is not ours
def test_the_last_batch_of_an_epoch_is_not_compiled_for_itself(monkeypatch):
    """It took as long as the first compilation, in every training whose rows are no multiple of a batch."""
    compiled = []

    def backend(graph, inputs):
        compiled.append(graph)
        return graph.forward

    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=backend))
    numbers = []
    for n in (24, 29):  # two batches, and five rows more
        torch._dynamo.reset()
        compiled.clear()
        tiny().fit(rows(n), epochs=1, batch_size=12, compile=True)
        numbers.append(len(compiled))
    assert numbers[0] == numbers[1] > 0


def test_a_training_that_is_not_compiled_does_not_load_the_compiler(monkeypatch):
    """It takes a second and a half to import."""
    monkeypatch.setattr(torch.compiler, "set_stance", lambda stance: pytest.fail("asked the compiler"))
    assert tiny().fit(rows(29), epochs=1, batch_size=12).history


@pytest.mark.parametrize("name", ["lightning_fabric", "pytorch_lightning"])
def test_a_fabric_of_ours_makes_no_remarks_and_a_user_s_own_does(name, caplog, monkeypatch):
    log = logging.getLogger(f"{name}.utilities.rank_zero")
    monkeypatch.setattr(rank_zero, "log", log)  # which the package does when it is imported
    with caplog.at_level(logging.INFO, logger=log.name):
        tiny().fit(rows(), epochs=1, batch_size=24, precision="bf16")
        assert not caplog.records
        assert not log.filters
        own = Fabric(accelerator="cpu", devices=1, precision="bf16-mixed")
        tiny().fit(rows(), epochs=1, batch_size=24, fabric=own)
        assert any("bfloat16" in record.getMessage() for record in caplog.records)


def test_a_rare_modality_counts_where_it_is():
    """A batch without it says nothing about it, in the history and in the score of validation rows."""
    data = rows(32)
    there = torch.arange(32) == 3
    whole = tiny().fit(data, **FIT | {"epochs": 1, "batch_size": 32, "learning_rate": 0.0}, verbose=False)
    options = FIT | {"epochs": 1, "batch_size": 4, "learning_rate": 0.0, "log_every": None}
    rare = tiny().fit(data, **options, observed={"label": there}, validation=data, verbose=False)
    name = "log_likelihood/label"
    assert rare.history[-1][name] == pytest.approx(whole.history[-1][name], abs=0.7)
    assert rare.history[-1]["validation"] == pytest.approx(
        sum(whole.history[-1][f"log_likelihood/{n}"] / d for n, d in (("image", 64), ("label", 4))), abs=0.3
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"checkpoint_every": 2}, "folder should be given with checkpoint_every"),
        ({"epochs": 2.5}, "epochs should be an integer >= 1. Found 2.5"),
        ({"batch_size": 7.5}, "batch_size should be an integer"),
        ({"log_every": -2}, "log_every should be an integer"),
        ({"clip_expert_norm": 0}, "clip_expert_norm should be a number > 0. Found 0"),
        ({"clip_norm": float("nan")}, "clip_norm should be a number > 0. Found nan"),
        ({"learning_rate_warm_up": float("nan")}, "learning_rate_warm_up should be from 0 to the 3 epochs"),
        ({"validation": 1}, "validation should be a part of the rows between 0 and 1. Found 1"),
        ({"compile": True, "precision": "16"}, "precision should be 'bf16' with compile=True"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        tiny().fit(rows(), **FIT | options)


def test_a_fabric_brings_its_own_precision():
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    with pytest.raises(ValueError, match="left out with a fabric"):
        tiny().fit(rows(), **FIT, fabric=fabric, precision="bf16")


@pytest.mark.parametrize("experts", ["mixture", "product", "mixture-of-products"])
def test_a_step_asks_nothing_of_the_host(monkeypatch, experts):
    """On a GPU a step is recorded, and whoever lists numbers on the way spoils the record."""
    update, listed = Loop._update, []

    def watched(self, inputs):
        with monkeypatch.context() as patch:
            patch.setattr(torch.Tensor, "tolist", lambda self: listed.append(self) or [])
            update(self, inputs)

    monkeypatch.setattr(Loop, "_update", watched)
    monkeypatch.setattr(Loop, "_look", lambda self: None)  # on a GPU it is not a part of the step
    tiny(experts=experts).fit(rows(), epochs=1, batch_size=8)
    assert not listed

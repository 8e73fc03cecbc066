"""The life of a multimodal model: it is built, trained, asked, saved and read back."""

import copy
import math
from itertools import chain, combinations

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from evenhand import Modality, Monitor, MultimodalVAE
from evenhand.impartial import IMTLG, MGDA, CAGrad, GradNorm, Sum
from evenhand.modalities.inference import mixture_log_likelihood, samples_by_row
from evenhand.modalities.likelihoods import Bernoulli, Categorical, Laplace, LogNormal, Normal, Poisson, Table
from evenhand.modalities.models import Experts

from .._linear import CHOICES, draw, log_evidence, network
from .._tiny import CLASSES, SHAPES, L, assert_same, decoder, differ, encoder, parts, rows, tiny, weights

EXPERTS = ["product", "mixture", "mixture-of-products", [["image"], ["image", "label"]]]
CASES = [
    (experts, objective)
    for experts in EXPERTS
    for objective in ("elbo", "iwae", "siwae", "mmjsd", "contrastive")
    if objective != "mmjsd" or experts == "mixture"
]
GOALS = {"LI": CAGrad(), "EEI": CAGrad(), "DEI": IMTLG()}
GIVEN = [("image",), ("label",), ("image", "label")]


@pytest.fixture(autouse=True)
def _one_thread():
    n = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n)


@pytest.fixture(scope="module")
def trained():
    """A model that has learnt the four kinds of pictures; not to be changed."""
    torch.set_default_dtype(torch.float64)
    model = tiny(experts="mixture-of-products", impartial=GOALS, n_samples=5)
    return model.fit(rows(64), epochs=60, batch_size=32, learning_rate=2e-2)


def only(values, names):
    return {name: values[name] for name in names}


# Life-cycle


@pytest.mark.parametrize(("experts", "objective"), CASES)
def test_life_cycle(experts, objective, tmp_path):
    model = tiny(experts=experts, objective=objective, impartial=GOALS, n_negatives=2)
    data = rows()
    assert model.fit(data, epochs=15, batch_size=24, learning_rate=2e-2) is model
    assert len(model.history) == 15
    assert model.history[-1]["bound"] > model.history[0]["bound"] + 2
    assert model.history[-1]["log_likelihood/image"] > model.history[0]["log_likelihood/image"] + 2
    for given in GIVEN:
        for target in (*GIVEN, None):
            for n in (None, 3):
                found = model.predict(only(data, given), target, n)
                assert list(found) == list(target or SHAPES)
                for name, x in found.items():
                    assert x.shape == (*(() if n is None else (n,)), 24, *SHAPES[name])
        assert model.encode(only(data, given)).shape == (24, L)
        assert model.encode(only(data, given), 3).shape == (3, 24, L)
    assert model.log_likelihood(data, n_samples=4).shape == (24,)
    assert model.log_likelihood(data, "label", n_samples=4).shape == (24,)
    for latent in ("prior", "mixture"):
        assert {name: x.shape for name, x in model.sample(5, latent=latent).items()} == {
            name: (5, *shape) for name, shape in SHAPES.items()
        }
    assert isinstance(model.conflicts(data), Monitor)
    model.save(tmp_path / "model")
    other = tiny(seed=1, experts=experts, objective=objective, impartial=GOALS, n_negatives=2).load(
        tmp_path / "model"
    )
    assert_same(other.predict(data), model.predict(data))
    assert_same(other.sample(5, latent="mixture"), model.sample(5, latent="mixture"))


def test_cross_generation_works(trained):
    """What one modality says of the other is right for new rows."""
    new = rows(40, seed=7)
    bright = trained.predict({"label": new["label"]}, "image")["image"]
    quarters = bright.reshape(40, 2, 4, 2, 4).mean((2, 4)).flatten(1)
    assert (quarters.argmax(1) == new["label"]).double().mean() > 0.9
    assert (bright - new["image"]).abs().mean() < 0.3
    labels = trained.predict({"image": new["image"]}, "label")["label"]
    assert (labels == new["label"]).double().mean() > 0.9
    generated = trained.sample(40, latent="mixture")
    quarters = generated["image"].reshape(40, 2, 4, 2, 4).mean((2, 4)).flatten(1)
    assert (quarters.argmax(1) == generated["label"]).double().mean() > 0.7
    assert len(generated["label"].unique()) == CLASSES


def test_a_good_model_gives_its_data_a_high_probability(trained):
    data, wrong = rows(32, seed=7), rows(32, seed=7)
    wrong["label"] = (wrong["label"] + 1) % CLASSES
    assert trained.log_likelihood(data, "image", n_samples=50).mean() > -0.7
    assert trained.log_likelihood(wrong, "image", n_samples=50).mean() < -1.5
    assert trained.log_likelihood(data, n_samples=50).mean() > trained.log_likelihood(wrong, n_samples=50).mean() + 1


def test_training_with_a_third_of_everything_missing():
    generator = torch.Generator().manual_seed(2)
    there = torch.rand(96, 2, generator=generator) > 0.3
    there[~there.any(1), 0] = True
    data = rows(96)
    masks = {"image": there[:, 0], "label": there[:, 1]}
    model = tiny(experts="mixture-of-products", n_samples=5, impartial={"LI": CAGrad(), "EEI": IMTLG()})
    model.fit(data, observed=masks, epochs=60, batch_size=32, learning_rate=2e-2)
    holes = {
        "image": [x if m else None for x, m in zip(data["image"], there[:, 0], strict=True)],
        "label": data["label"],
    }
    found = model.predict(holes)
    assert found["image"].shape == (96, 1, 8, 8)
    assert all(x.isfinite().all() for x in found.values())
    labels = model.predict({"image": rows(40, seed=7)["image"]}, "label")["label"]
    assert (labels == rows(40)["label"]).double().mean() > 0.9


def test_a_modality_that_is_never_there():
    data = {**rows(), "label": [None] * 24}
    model = tiny(impartial=GOALS).fit(data, epochs=2, batch_size=12)
    assert model.predict(only(rows(), ["image"]))["label"].shape == (24,)
    assert all(x.isfinite().all() for x in model.state_dict().values())


# Prediction


@pytest.mark.parametrize("form", ["guess", "mean", "sample"])
@pytest.mark.parametrize("n", [None, 3])
def test_forms_of_predictions(trained, form, n):
    data, lead = rows(8, seed=7), () if n is None else (n,)
    found = trained.predict({"label": data["label"]}, n=n, form=form)
    assert found["image"].shape == (*lead, 8, 1, 8, 8)
    assert found["image"].is_contiguous()
    assert found["label"].shape == (*lead, 8, *((CLASSES,) if form == "mean" else ()))
    if form == "mean":
        torch.testing.assert_close(found["label"].sum(-1), torch.ones(*lead, 8))
        assert torch.equal(found["label"].argmax(-1), trained.predict({"label": data["label"]}, n=n)["label"])
    else:
        assert found["label"].dtype == torch.long
    guess = trained.predict({"label": data["label"]}, n=n)["image"]
    noise = (found["image"] - guess).std()
    assert noise > 0.3 if form == "sample" else noise == 0


@pytest.mark.parametrize("form", ["guess", "sample"])
def test_seeds_of_predictions(trained, form):
    data = only(rows(8), ["label"])
    calls = [
        lambda seed: trained.predict(data, n=2, form=form, seed=seed)["image"],
        lambda seed: trained.sample(4, form=form, seed=seed)["image"],
        lambda seed: trained.sample(4, latent="mixture", form=form, seed=seed)["image"],
        lambda seed: trained.encode(data, 2, seed=seed),
        lambda seed: trained.log_likelihood(rows(4), n_samples=3, seed=seed),
    ]
    for call in calls:
        assert torch.equal(call(1), call(1))
        assert not torch.equal(call(1), call(2))
    versions = calls[0](1)
    assert not torch.equal(versions[0], versions[1])


def test_targets(trained):
    data = only(rows(4), ["label"])
    assert list(trained.predict(data)) == ["image", "label"]
    assert list(trained.predict(data, "image")) == ["image"]
    assert list(trained.predict(data, ["label", "image"])) == ["label", "image"]
    assert list(trained.sample(4, ("label",))) == ["label"]


def test_codes(trained):
    data = rows(6)
    mean = trained.encode(data)
    samples = trained.encode(data, 4000)
    torch.testing.assert_close(samples.mean(0), mean, rtol=0, atol=0.1)
    assert torch.equal(mean, trained.encode(data))
    holes = {"image": data["image"], "label": [0, None, None, 3, None, 1]}
    both, one = trained.encode(holes), trained.encode(only(data, ["image"]))
    torch.testing.assert_close(both[[1, 2, 4]], one[[1, 2, 4]])
    torch.testing.assert_close(both[3], mean[3])


def test_codes_of_a_mixture_are_means_of_experts():
    model, data = tiny(), rows(6)
    label = [0, None, 2, 3, None, 1]
    image, whole = model.encode(only(data, ["image"])), model.encode(data)
    alone = model.encode(only(data, ["label"]))
    torch.testing.assert_close(whole, (image + alone) / 2)
    holes = model.encode({"image": data["image"], "label": label})
    torch.testing.assert_close(holes[[1, 4]], image[[1, 4]])
    torch.testing.assert_close(holes[[0, 2, 3, 5]], whole[[0, 2, 3, 5]])


def test_rows_do_not_depend_on_each_other(trained):
    """Means of any rows, and densities by 32, are the same in larger calls."""
    data = rows(70, seed=7)
    torch.testing.assert_close(trained.encode(data)[:5], trained.encode({name: x[:5] for name, x in data.items()}))
    long, short = (trained.log_likelihood({name: x[:n] for name, x in data.items()}, n_samples=20) for n in (70, 32))
    assert long.shape == (70,)
    torch.testing.assert_close(long[:32], short)
    first, all_rows = (
        trained.log_likelihood({k: x[:n] for k, x in data.items()}, "image", n_samples=2000)[:4] for n in (4, 70)
    )
    torch.testing.assert_close(first, all_rows, rtol=0, atol=0.3)


@pytest.mark.parametrize("form", ["guess", "mean", "sample"])
@pytest.mark.parametrize("n", [None, 3])
def test_predictions_of_a_row_do_not_depend_on_others(trained, form, n):
    data = {"label": [0, 1, 2, 3, None] * 6, "image": rows(30, seed=7)["image"]}
    whole = trained.predict(data, n=n, form=form)
    few = trained.predict({"label": data["label"][:7], "image": data["image"][:7]}, n=n, form=form)
    for name, x in whole.items():
        torch.testing.assert_close(few[name], x[:7] if n is None else x[:, :7])
    torch.testing.assert_close(trained.encode(data, 3)[:, :7], trained.encode({k: x[:7] for k, x in data.items()}, 3))
    alone = trained.predict(data, "label", n=n, form=form)["label"]
    assert torch.equal(alone, whole["label"])  # nor on what else is asked for


def test_rows_with_the_same_content_have_numbers_of_their_own(trained):
    drawn = trained.predict({"label": [1] * 400}, "image", form="mean")["image"]
    assert len(drawn.flatten(1).unique(dim=0)) == 400
    z = trained.encode({"image": rows(1)["image"].expand(400, 1, 8, 8)}, 50).flatten(0, 1)
    one = trained.encode({"image": rows(1)["image"]})
    spread = (z - z.mean(0)) / z.std(0)
    torch.testing.assert_close(z.mean(0), one[0], rtol=0, atol=4 * (z.std(0) / len(z) ** 0.5).max().item())
    assert abs(spread.pow(4).mean() - 3) < 0.15  # normal, if the posterior is one Gaussian
    assert abs((spread[:, 0] * spread[:, 1]).mean()) < 0.03


def test_every_expert_of_a_row_is_drawn_as_often_as_the_others():
    present = torch.ones(3, 2000, dtype=torch.bool)
    present[0, 1::2] = present[2, ::4] = False
    mean = torch.tensor([0.0, 20.0, 40.0])[:, None, None].expand(3, 2000, 1)
    drawn = (samples_by_row(Experts(mean, torch.ones(3, 2000, 1), present), 8, 0)[..., 0] / 20).round()
    for rows_, experts in ((slice(0, None, 4), [0, 1]), (slice(1, None, 2), [1, 2]), (slice(2, None, 4), [0, 1, 2])):
        found = torch.bincount(drawn[:, rows_].flatten().long(), minlength=3) / drawn[:, rows_].numel()
        expected = torch.tensor([(k in experts) / len(experts) for k in range(3)])
        torch.testing.assert_close(found, expected, rtol=0, atol=0.03)


def test_no_rows_have_no_answers(trained):
    nothing = {name: x[:0] for name, x in rows().items()}
    assert trained.log_likelihood(nothing).shape == (0,)
    assert trained.log_likelihood(nothing, "image", "label").shape == (0,)
    assert trained.encode(nothing, 2).shape == (2, 0, L)
    for form in ("guess", "mean", "sample"):
        assert trained.predict(nothing, "image", form=form)["image"].shape == (0, 1, 8, 8)


def test_log_likelihoods_fit_together(trained):
    """log p(x, y) = log p(x) + log p(y | x), up to the error of the estimates; what a row lacks is left out."""
    data = rows(16, seed=7)
    joint = trained.log_likelihood(data, n_samples=3000)
    marginal = trained.log_likelihood(data, target="image", n_samples=3000)
    conditional = trained.log_likelihood(data, "image", "label", n_samples=3000)
    torch.testing.assert_close(joint.mean(), (marginal + conditional).mean(), rtol=0, atol=0.5)
    holes = {"image": data["image"], "label": [None] * 16}
    torch.testing.assert_close(
        trained.log_likelihood(holes, n_samples=3000).mean(), marginal.mean(), rtol=0, atol=0.5
    )
    assert (trained.log_likelihood(holes, "image", n_samples=10) == 0).all()
    assert trained.log_likelihood(data, n_samples=300).mean() > trained.log_likelihood(data, n_samples=3).mean()


@pytest.mark.parametrize("choice", CHOICES)
def test_the_density_of_one_modality_is_that_of_a_closed_form(choice):
    """Samples are drawn given that modality: one that is known better would lead them away from what it allows."""
    net, values = network(choice, exact=True), draw(40)
    for d, name in enumerate(net.names):
        exact, seen = log_evidence(values, [name]), torch.ones(40, 3, dtype=torch.bool)
        seen[:5, d] = False
        for observed, first in ((None, 0), (seen, 5)):
            generator = torch.Generator().manual_seed(0)
            found = mixture_log_likelihood(net, values, observed, target=[name], n_samples=4000, generator=generator)
            torch.testing.assert_close(found[first:], exact[first:], rtol=0, atol=0.1)
            assert (found[:first].abs() < 1e-9).all()  # nothing is asked of rows without it


def test_a_density_needs_only_what_it_is_of(trained):
    data = rows(8, seed=7)
    alone = trained.log_likelihood({"image": data["image"]}, target="image", n_samples=2000)
    both = trained.log_likelihood(data, target="image", n_samples=2000)
    torch.testing.assert_close(alone, both)


def test_seeds_of_any_kind_of_integer(trained):
    data = rows(4)
    for seed in (np.int64(2), np.uint8(2)):
        assert torch.equal(trained.encode(data, 2, seed=seed), trained.encode(data, 2, seed=2))
        assert torch.equal(trained.sample(2, seed=seed)["image"], trained.sample(2, seed=2)["image"])
        likelihood = trained.log_likelihood(data, n_samples=5, seed=seed)
        assert torch.equal(likelihood, trained.log_likelihood(data, n_samples=5, seed=2))
        assert tiny(seed=seed).fit(rows(8), epochs=1, seed=seed).history
    for wrong in ("x", None, 1.5):
        with pytest.raises(ValueError, match="seed should be an integer"):
            trained.predict(data, seed=wrong)
        with pytest.raises(ValueError, match="seed should be an integer"):
            tiny().fit(rows(8), epochs=1, seed=wrong)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"objective": "siwae", "tightness": 0.5}, "tightness should be 'auto', None or a Tightness"),
        ({"impartial": CAGrad()}, "impartial should be methods by goal"),
        ({"experts": None}, "experts should be 'product', 'mixture', 'mixture-of-products' or a list"),
        ({"experts": "mixture-of-products", "max_size": 0}, "max_size should be an integer >= 1"),
        ({"experts": "mixture-of-products", "max_experts": "x"}, "max_experts should be an integer >= 1"),
    ],
)
def test_arguments_of_another_type_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        tiny(**options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"learning_rate": "x"}, "learning_rate should be a number"),
        ({"kl_warm_up": "x"}, "kl_warm_up should be a number of epochs"),
        ({"optimizer": 3}, "optimizer should be a function that makes one"),
        ({"observed": torch.ones(8).bool()}, "observed should be masks of rows by modality"),
        ({"validation": 0.99}, "validation should leave rows to train on"),
    ],
)
def test_arguments_of_training_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        tiny().fit(rows(8), epochs=1, **options)


def test_a_loader_has_a_data_set():
    rows_of = [{name: x[i] for name, x in rows(8).items()} for i in range(8)]
    with pytest.raises(ValueError, match=r"or a data set. Found DataLoader. Pass its .dataset"):
        tiny().fit(torch.utils.data.DataLoader(rows_of), epochs=1)


def test_a_generator_needs_codes(trained, tmp_path):
    assert trained.codes.shape == (64, L)
    fresh = tiny(experts="mixture-of-products", impartial=GOALS)
    assert fresh.codes.shape == (0, L)
    with pytest.raises(RuntimeError, match="latent='mixture' needs a model that was fitted"):
        fresh.sample(2, latent="mixture")
    assert fresh.sample(2)["image"].shape == (2, 1, 8, 8)


# Conflicts


def test_conflicts(trained):
    before = weights(trained)
    monitor = trained.conflicts(rows(12))
    assert_same(weights(trained), before)
    table = monitor.table()
    places = [
        "the latent samples",
        "the densities of the latent samples",
        "the decoder of image",
        "the decoder of label",
    ]
    assert list(dict.fromkeys(table["block"])) == places
    assert set(table["head"]) == {"image", "label", "image+label"}
    assert all(isinstance(text, str) for text in monitor.sentences())
    assert monitor.plot().axes
    assert monitor.table() == trained.conflicts(rows(12)).table()


def test_conflicts_tell_how_experts_fare(trained):
    """The same readings as in a history, of one step on these rows."""
    found = trained.conflicts(rows(12))
    names = trained.core.names
    columns = ["expert", "share", "rate", "gradient_norm", *[f"log_likelihood_from/{name}" for name in names]]
    assert list(found.experts) == columns
    assert found.experts["expert"] == trained.core.expert_names
    assert sum(found.experts["share"]) == pytest.approx(1)
    assert 1 <= found.effective_experts <= 3
    once = tiny(n_samples=2)
    said = once.conflicts(rows(12)).experts
    row = once.fit(rows(12), epochs=1, batch_size=12, learning_rate=0.0).history[0]  # other noise, the same weights
    for i, name in enumerate(once.core.expert_names):
        for what in ("rate", "share"):
            assert said[what][i] == pytest.approx(row[f"{what}/{name}"], rel=1e-6)
        assert said["gradient_norm"][i] == pytest.approx(row[f"gradient_norm/{name}"], rel=0.5)
        told = said["log_likelihood_from/label"][i]
        assert told == pytest.approx(row[f"log_likelihood_from/{name}/label"], rel=0.5)


def test_conflicts_name_an_expert_without_weight():
    """Its encoder points far away from where anything is explained."""
    lost = encoder(4)
    with torch.no_grad():
        lost[-1].bias[:L] = 30.0
    model = tiny(objective="siwae", tightness=None, label_encoder=lost)
    sentences = model.conflicts(rows(12)).sentences()
    said = [text for text in sentences if text.startswith("The expert 'label' has 0.00% of the weights")]
    assert len(said) == 1
    assert "even share would be 50%" in said[0]
    assert "1.0 of 2 experts count" in said[0]
    assert not any("The expert 'image'" in text for text in sentences)
    none = model.conflicts({**rows(12), "label": [None] * 12}).experts
    assert math.isnan(none["share"][1])
    assert math.isnan(none["log_likelihood_from/label"][0])
    assert none["share"][0] == 1


def test_conflicts_name_who_is_neglected():
    monitor = tiny(local_step="none").conflicts(rows(12))
    assert any(
        "'label' receives" in text and "of the gradient at the latent samples" in text for text in monitor.sentences()
    )


@pytest.mark.parametrize("objective", ["elbo", "siwae", "mmjsd", "contrastive"])
def test_conflicts_of_every_objective(objective):
    model = tiny(objective=objective)
    norms = model.conflicts(rows(12)).table()["norm"]
    assert norms != tiny(objective="iwae").conflicts(rows(12)).table()["norm"]
    assert model.conflicts({**rows(12), "label": [None, 1] * 6}).table()["norm"] != norms
    if objective == "contrastive":
        for options in ({"n_negatives": 2}, {"contrast": 5.0}):
            other = tiny(objective=objective, **options)
            assert other.conflicts(rows(12)).table()["norm"] != norms


def test_conflicts_of_one_expert():
    table = tiny(experts="product").conflicts(rows(12)).table()
    assert set(table["block"]) == {"the latent samples"}


def test_blocks_can_be_read(trained):
    assert set(trained.blocks) == set(GOALS)
    assert trained.blocks["LI"].last.gram.shape == (3, 2, 2)
    assert trained.blocks["EEI"].last.gram.shape == (3, 3, 3)
    assert [block.last.shares.shape for block in trained.blocks["DEI"]] == [(3,), (3,)]
    assert len(tiny().blocks) == 0


# Files and copies


def test_save_and_load(trained, tmp_path):
    path = tmp_path / "model.safetensors"
    trained.save(str(path))
    trained.save(path)  # over the old one
    other = tiny(seed=1, experts="mixture-of-products", impartial=GOALS, n_samples=5)
    assert differ(weights(other), weights(trained))
    assert other.load(path) is other
    assert not other.training
    assert_same(other.state_dict(), trained.state_dict())
    assert_same(other.predict(rows(4)), trained.predict(rows(4)))
    assert [p.name for p in tmp_path.iterdir()] == ["model.safetensors"]


def test_learnt_weights_of_methods_are_saved(tmp_path):
    options = {"impartial": {"LI": GradNorm(lr=0.1)}}
    model = tiny(**options).fit(rows(), epochs=2)
    model.save(tmp_path / "a")
    other = tiny(seed=1, **options).load(tmp_path / "a")
    assert_same(other.state_dict(), model.state_dict())
    assert other.blocks["LI"].method.state.shape == (4, 2, 2)
    other.fit(rows(), epochs=1)


def test_a_file_in_double_precision_for_a_model_in_single(trained, tmp_path):
    trained.save(tmp_path / "a")
    torch.set_default_dtype(torch.float32)
    other = tiny(experts="mixture-of-products", impartial=GOALS).load(tmp_path / "a")
    assert other.codes.dtype == torch.float32
    assert other.sample(3, latent="mixture")["image"].dtype == torch.float32


class WithMethod(nn.Module):
    """A network whose weights have the name that methods have in blocks."""

    def __init__(self, width):
        super().__init__()
        self.method = nn.Sequential(nn.Flatten(), nn.Linear(64, width), nn.Linear(width, 2 * L))

    def forward(self, x):
        return self.method(x)


def test_files_that_do_not_fit(trained, tmp_path):
    path = tmp_path / "a"
    options = {"experts": "mixture-of-products", "impartial": GOALS}
    trained.save(path)
    others = {
        "its experts is": tiny(impartial=GOALS),
        "its modalities is": MultimodalVAE({"image": parts()["image"]}, n_latent=L),
        "a model with other networks: core.network.encoders": tiny(**options, image_encoder=encoder(64, dropout=0.5)),
        "other networks": tiny(**options, n_latent=3),
        "other networks: core.network": tiny(**options, image_encoder=WithMethod(3)),
    }
    for message, other in others.items():
        before = copy.deepcopy(other.state_dict())
        with pytest.raises(ValueError, match=message):
            other.load(path)
        assert_same(other.state_dict(), before)
    tiny(image_encoder=WithMethod(3)).save(path)
    wider = tiny(image_encoder=WithMethod(4))
    before = copy.deepcopy(wider.state_dict())
    with pytest.raises(ValueError, match="other networks: core.network.encoders.0.method.1.bias"):
        wider.load(path)
    assert_same(wider.state_dict(), before)


@pytest.mark.parametrize("turned", [False, True])
def test_files_of_other_methods_do_not_fit(tmp_path, turned):
    pair = [tiny(), tiny(seed=1, impartial={"LI": GradNorm()})]
    saved, other = pair[::-1] if turned else pair
    saved.save(tmp_path / "a")
    before = copy.deepcopy(other.state_dict())
    with pytest.raises(ValueError, match="core.blocks.LI.method"):
        other.load(tmp_path / "a")
    assert_same(other.state_dict(), before)


def test_weights_are_not_loaded_into_other_networks_of_equal_shapes(tmp_path):
    def other(*layers, which=2):
        network = encoder(64)
        return nn.Sequential(*network[:which], *layers, *network[which + 1 :])

    tiny().save(tmp_path / "a")
    model = tiny(image_encoder=other(nn.ReLU()))
    before = weights(model)
    words = r"other networks: in the encoder of 'image', 2 is Tanh\(\) there and ReLU\(.*\) here"
    with pytest.raises(ValueError, match=words):
        model.load(tmp_path / "a")
    assert_same(weights(model), before)
    tiny(image_encoder=other(nn.LeakyReLU(0.1))).save(tmp_path / "b")
    tiny(image_encoder=other(nn.LeakyReLU(0.1))).load(tmp_path / "b")
    with pytest.raises(ValueError, match=r"2 is LeakyReLU\(negative_slope=0.1.* there and .*slope=0.2.* here"):
        tiny(image_encoder=other(nn.LeakyReLU(0.2))).load(tmp_path / "b")


def test_broken_numbers_are_not_loaded(tmp_path):
    """Neither flipped bytes nor numbers that are none."""
    tiny().save(tmp_path / "a")
    content = (tmp_path / "a").read_bytes()
    (tmp_path / "a").write_bytes(content[:-3] + bytes([content[-3] ^ 64]) + content[-2:])
    model = tiny(seed=1)
    before = weights(model)
    with pytest.raises(ValueError, match="It is damaged: its numbers are not those that were written"):
        model.load(tmp_path / "a")
    spoiled = tiny()
    with torch.no_grad():
        spoiled.network.decoders[1][0].bias[3] = torch.nan
    spoiled.save(tmp_path / "a")
    with pytest.raises(ValueError, match="Found NaN or infinity in core.network.decoders.1.0.bias"):
        model.load(tmp_path / "a")
    assert_same(weights(model), before)


def test_files_that_are_none(trained, tmp_path):
    path, model = tmp_path / "a", tiny(experts="mixture-of-products", impartial=GOALS)
    before = copy.deepcopy(model.state_dict())
    with pytest.raises(FileNotFoundError, match="path should be a file that save.. wrote. Found nothing"):
        model.load(path)
    with pytest.raises(FileNotFoundError, match="path should be in a folder that exists"):
        trained.save(tmp_path / "nowhere" / "a")
    trained.save(path)
    content = path.read_bytes()
    for damaged in (content[:-100], content[:50], b"", b"abc" * 100):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="should be a whole file that save.. wrote. It is damaged"):
            model.load(path)
    from safetensors.torch import save_file

    save_file({"x": torch.zeros(1)}, path)
    with pytest.raises(ValueError, match="should be a file that save.. of a MultimodalVAE wrote"):
        model.load(path)
    assert_same(model.state_dict(), before)


def test_copies(trained):
    other = copy.deepcopy(trained)
    assert_same(other.predict(rows(4)), trained.predict(rows(4)))
    before = weights(trained)
    other.fit(rows(), epochs=1)
    assert_same(weights(trained), before)
    assert differ(weights(other), before)
    third = tiny(seed=1, experts="mixture-of-products", impartial=GOALS, n_samples=5)
    third.load_state_dict(trained.state_dict())
    assert_same(third.eval().sample(4, latent="mixture"), trained.sample(4, latent="mixture"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_model_in_another_precision(trained, dtype):
    """Whatever torch's default is."""
    model = copy.deepcopy(trained).to(dtype)
    torch.set_default_dtype(torch.float64 if dtype == torch.float32 else torch.float32)
    data = rows(4)
    assert model.encode(data).dtype == dtype
    found = model.predict(data, form="sample")
    assert found["image"].dtype == dtype
    assert model.sample(3)["image"].dtype == dtype
    assert model.sample(3, latent="mixture")["image"].dtype == dtype
    assert model.log_likelihood(data, n_samples=5).isfinite().all()
    assert model(data).loss.isfinite()
    assert model.conflicts(data).table()["norm"]
    model.fit(data, epochs=1)
    assert {p.dtype for p in model.parameters()} == {dtype}


# What models are made of


KINDS = {
    "vector": (Normal(), (5,), lambda n: torch.randn(n, 5)),
    "number": (Normal(1.0), (), lambda n: torch.randn(n)),
    "image": (Laplace(), (1, 8, 8), lambda n: torch.rand(n, 1, 8, 8)),
    "bytes": (Bernoulli(), (3, 8, 8), lambda n: torch.randint(256, (n, 3, 8, 8), dtype=torch.uint8)),
    "label": (Categorical(3), (), lambda n: torch.randint(3, (n,))),
    "text": (Categorical(7), (9,), lambda n: torch.randint(7, (n, 9))),
    "counts": (Poisson(), (4,), lambda n: torch.randint(5, (n, 4))),
    "prices": (LogNormal(), (2,), lambda n: torch.rand(n, 2) + 0.1),
}


@pytest.mark.parametrize("kind", KINDS)
def test_networks_from_shapes(kind):
    likelihood, shape, draw = KINDS[kind]
    modalities = {
        kind: Modality(likelihood=likelihood, shape=shape),
        "other": Modality(likelihood=Categorical(2), shape=()),
    }
    state = torch.get_rng_state()
    model = MultimodalVAE(modalities, n_latent=3, n_samples=2)
    assert torch.equal(torch.get_rng_state(), state)
    data = {kind: draw(6), "other": torch.arange(6) % 2}
    model.fit(data, epochs=1, batch_size=4)
    for form in ("guess", "sample"):
        found = model.predict({"other": data["other"]}, kind, form=form)[kind]
        assert found.shape == (6, *shape)
        again = model.predict({kind: found})["other"]  # what is generated can be encoded
        assert again.shape == (6,)
    assert model.log_likelihood(data, n_samples=3).isfinite().all()
    same, other = (MultimodalVAE(modalities, n_latent=3, seed=seed) for seed in (0, 1))
    fresh = MultimodalVAE(modalities, n_latent=3)
    assert_same(weights(same), weights(fresh))
    assert differ(weights(other), weights(fresh))


def test_networks_of_ones_own():
    image_encoder, image_decoder = encoder(64), decoder(1, 8, 8)
    model = MultimodalVAE({"image": Modality(image_encoder, image_decoder, Laplace(0.75))}, n_latent=L)
    assert model.network.encoders[0] is image_encoder
    assert model.network.decoders[0] is image_decoder
    assert model.shapes == {"image": (1, 8, 8)}  # from what the decoder gives
    assert isinstance(model.likelihoods["image"], Laplace)


def test_one_modality_alone():
    model = MultimodalVAE({"image": parts()["image"]}, n_latent=L, n_samples=2, impartial=GOALS)
    data = only(rows(), ["image"])
    model.fit(data, epochs=2)
    assert model.predict(data)["image"].shape == (24, 1, 8, 8)
    assert model.log_likelihood(data, n_samples=3).shape == (24,)
    model.conflicts(data)


def test_three_modalities_and_all_that_is_given():
    model = MultimodalVAE(
        {**parts(), "number": Modality(encoder(1), decoder(), Normal(1.0), ())},
        n_latent=L,
        n_samples=2,
        experts="mixture-of-products",
        impartial=GOALS,
    )
    data = {**rows(12), "number": torch.arange(12.0) % CLASSES}
    model.fit(data, epochs=2)
    names = list(data)
    subsets = list(chain.from_iterable(combinations(names, k) for k in (1, 2, 3)))
    assert [tuple(name.split("+")) for name in model.core.expert_names] == subsets
    for given in subsets:
        for target in subsets:
            found = model.predict(only(data, given), target)
            assert {name: x.shape for name, x in found.items()} == {name: data[name].shape for name in target}
            if not set(target) & set(given):
                assert model.log_likelihood(data, given, target, n_samples=8).isfinite().all()
    # what is given is what the expert of these modalities has seen
    whole = model.network.experts(model.network.prepare(data))
    for a, given in enumerate(subsets):
        torch.testing.assert_close(model.encode(only(data, given)), whole.mean[a])


def test_a_table_beside_an_image():
    data = rows(24)
    frame = pd.DataFrame(
        {
            "size": [0.5 * i % 3 + 0.25 for i in range(24)],
            "kind": pd.Categorical(["abcd"[i % 4] for i in range(24)]),
            "number": [i % 5 for i in range(24)],
            "there": [i % 2 == 0 for i in range(24)],
        },
        index=range(100, 124),
    )
    holes = frame.copy()
    holes.loc[holes.index[::5], "size"] = None
    holes.loc[holes.index[1::4], "kind"] = None
    table = Table(frame, {"size": "real", "number": "count"})
    model = MultimodalVAE(
        {"image": parts()["image"], "table": Modality(likelihood=table)}, n_latent=L, n_samples=2, impartial=GOALS
    )
    model.fit({"image": data["image"], "table": holes}, epochs=2, batch_size=12)
    for form in ("guess", "sample"):
        found = model.predict({"image": data["image"]}, form=form)["table"]
        assert isinstance(found, pd.DataFrame)
        assert found.dtypes.to_dict() == frame.dtypes.to_dict()
        assert len(found) == 24
        assert not found.isna().any().any()
        assert found["size"].between(frame["size"].min() - 1e-6, frame["size"].max() + 1e-6).all()
    several = model.predict({"table": holes}, n=2)
    assert [part.dtypes.to_dict() for part in several["table"]] == [frame.dtypes.to_dict()] * 2
    assert several["image"].shape == (2, 24, 1, 8, 8)
    means = model.predict({"table": holes}, form="mean")["table"]
    assert means.shape == (24, 1 + 4 + 1 + 1)
    assert isinstance(model.sample(3)["table"], pd.DataFrame)
    assert model.encode({"table": found}).shape == (24, L)
    assert model.log_likelihood({"image": data["image"], "table": holes}, "table", n_samples=3).isfinite().all()


# Options


@pytest.mark.parametrize(
    "options",
    [
        {"experts": "product"},
        {"experts": "mixture-of-products"},
        {"experts": ["image"]},
        {"objective": "elbo"},
        {"objective": "siwae"},
        {"objective": "mmjsd"},
        {"objective": "contrastive"},
        {"n_samples": 4},
        {"gradient": "plain"},
        {"gradient": "dreg"},
        {"prior_expert": True},
        {"local_step": "forward"},
        {"local_step": "none"},
        {"kl_weight": 0.5},
        {"impartial": {"LI": CAGrad()}},
        {"impartial": {"EEI": MGDA()}},
        {"impartial": {"DEI": IMTLG()}},
    ],
    ids=str,
)
def test_every_option_changes_the_training(options):
    plain, other = (tiny(**o).fit(rows(), epochs=2, batch_size=12) for o in ({}, options))
    assert differ({k: x for k, x in weights(other).items() if "blocks" not in k}, weights(plain))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"contrast": float("nan")}, "contrast should be a number >= 0. Found nan"),
        ({"preserve_norm": "no"}, "preserve_norm should be True or False. Found 'no'"),
        ({"prior_expert": "no"}, "prior_expert should be True, False or None. Found 'no'"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        tiny(**options)


class Unsummed(Laplace):
    """Forgets that an item has several elements."""

    def log_prob(self, parameters, x):
        return -(parameters - x).abs()


class Oversummed(Laplace):
    """Adds up what belongs to different rows."""

    def log_prob(self, parameters, x):
        return super().log_prob(parameters, x).sum(-1)


@pytest.mark.parametrize("likelihood", [Unsummed(), Oversummed()])
def test_a_density_of_a_wrong_shape_is_named(likelihood):
    own = parts()
    own["image"] = Modality(own["image"].encoder, own["image"].decoder, likelihood)
    model = MultimodalVAE(own, n_latent=L, n_samples=2)
    words = rf"log_prob of {type(likelihood).__name__}.* should give one number for every sample and row, \[2, 5\]"
    with pytest.raises(ValueError, match=words):
        model.fit(rows(5), epochs=1)
    with pytest.raises(ValueError, match="Sum over the elements of an item, and over nothing else"):
        model.log_likelihood(rows(5), n_samples=2)


def test_options_of_options():
    def trained_with(**options):
        return weights(tiny(**options).fit(rows(), epochs=2, batch_size=12))

    contrastive = trained_with(objective="contrastive")
    assert differ(trained_with(objective="contrastive", n_negatives=2), contrastive)
    assert differ(trained_with(objective="contrastive", contrast=1.0), contrastive)
    # Adam does not see the length of gradients, unless it changes from step to step
    mgda = {"impartial": {"LI": MGDA()}}
    assert differ(trained_with(**mgda, preserve_norm=True), trained_with(**mgda))
    assert differ(trained_with(experts="product", prior_expert=False), trained_with(experts="product"))


def test_options_that_change_nothing_but_memory_or_nothing():
    plain = tiny().fit(rows(), epochs=2, batch_size=12)
    for options in ({"micro_batch": 12}, {"impartial": {"LI": Sum(), "EEI": Sum(), "DEI": Sum()}}):
        other = tiny(**options).fit(rows(), epochs=2, batch_size=12)
        for name, x in weights(plain).items():
            torch.testing.assert_close(weights(other)[name], x, rtol=1e-7, atol=1e-9)


def test_many_modalities():
    def build(**options):
        modalities = {name: Modality(encoder(1), decoder(), Normal(1.0), ()) for name in "abcd"}
        return MultimodalVAE(modalities, n_latent=L, experts="mixture-of-products", **options)

    assert len(build().core.expert_names) == 15
    assert len(build(max_size=2).core.expert_names) == 11
    some = [build(max_experts=8, seed=seed) for seed in (0, 0, 1)]
    assert all(len(model.core.expert_names) == 8 for model in some)
    assert some[0].core.expert_names == some[1].core.expert_names != some[2].core.expert_names


def test_a_loop_of_ones_own():
    model = tiny(impartial={"LI": CAGrad()})
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        step = model(rows())
        step.loss.backward()
        optimizer.step()
        losses.append(step.loss.item())
    assert losses[-1] < losses[0] - 3


def test_training_goes_on():
    model = tiny().fit(rows(), epochs=10, learning_rate=1e-2)
    before = model.history[-1]["bound"]
    model.fit(rows(), epochs=10, learning_rate=1e-2)
    assert len(model.history) == 10
    assert model.history[-1]["bound"] > before


def test_weights_are_not_loaded_for_another_table(tmp_path):
    """Its units are not among the weights."""
    frame = pd.DataFrame({"size": [0.5, 1.5, -2.0, 0.1] * 6, "kind": ["a", "b"] * 12})

    def model(factor):
        table = Table(frame.assign(size=factor * frame["size"]))
        return MultimodalVAE({"table": Modality(likelihood=table), "label": parts()["label"]}, n_latent=L)

    model(1).save(tmp_path / "weights")
    model(1).load(tmp_path / "weights")
    with pytest.raises(ValueError, match="is of another model: its tables"):
        model(1000).load(tmp_path / "weights")


def test_conflicts_of_many_rows_are_those_of_some():
    monitor = tiny().conflicts(rows(2000))
    assert set(monitor.table()["head"]) >= {"image", "label"}


def test_no_rows_are_not_sampled():
    with pytest.raises(ValueError, match="n should be an integer >= 1. Found 0"):
        tiny().sample(0)


def test_weights_are_not_loaded_for_another_likelihood(tmp_path):
    tiny().save(tmp_path / "weights")
    other = parts()
    other["image"] = Modality(other["image"].encoder, other["image"].decoder, Laplace(0.01))
    with pytest.raises(ValueError, match="is of another model: its likelihoods"):
        MultimodalVAE(other, n_latent=L).load(tmp_path / "weights")


def test_questions_are_answered_without_dropout():
    model = tiny(image_encoder=encoder(64, dropout=0.5)).train()
    data = {"image": rows()["image"]}
    assert_same({"z": model.encode(data)}, {"z": model.encode(data)})
    assert model.training
    assert model.network.training

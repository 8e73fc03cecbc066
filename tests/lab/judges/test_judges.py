"""Coherence, latent classes, densities and rates: on models whose scores are known, and end to end."""

import json
import math
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file
from scipy import stats
from torch import nn
from torch.nn import functional as F

from evenhand import Modality, MultimodalVAE
from evenhand.datasets import LabelledModalities, digits_in_three
from evenhand.datasets.judges import (
    Classifiers,
    DeepImageClassifier,
    _judges,
    digit_classifiers,
    train_classifier,
)
from evenhand.datasets.judges._judges import _inputs, labelled_items
from evenhand.lab.figures import parallel_coordinates, sample_grid
from evenhand.lab.judges import (
    MultimodalScores,
    coherence,
    coherence_summary,
    conditional_log_likelihoods,
    evaluate,
    joint_coherence,
    latent_classification,
    rates,
    sum_over_targets,
)
from evenhand.lab.results import (
    Cell,
    coherence_rows,
    latent_rows,
    log_likelihood_rows,
    rate_rows,
    reconstruction_rows,
)
from evenhand.lab.results._score_rows import as_table, side_by_side
from evenhand.lab.results._statistics import better
from evenhand.modalities.inference._given import all_subsets
from evenhand.modalities.likelihoods import Categorical, Laplace, Normal, Poisson
from evenhand.modalities.models import MixtureVAE
from evenhand.modalities.rows import Modalities

N, C = 400, 5
NAMES = ["label", "vector", "noise"]
EXPERTS = {"product": [NAMES], "mixture": [[name] for name in NAMES], "all": all_subsets(NAMES)}


class Knowing(nn.Module):
    """An encoder that finds the class, from ones for classes."""

    def forward(self, x):
        return 10 * x, torch.full_like(x, 0.1)


class Ignorant(nn.Module):
    """An encoder that has seen nothing: its posterior is the prior."""

    def forward(self, x):
        return torch.zeros(len(x), C), torch.ones(len(x), C)


class Same(nn.Module):
    """A decoder of latent variables that are the item; or a classifier of ones for classes."""

    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.9)  # in training mode nothing would be right

    def forward(self, z):
        return self.dropout(z)


class Constant(nn.Module):
    def forward(self, z):
        return F.one_hot(torch.full((len(z),), 2), C).to(z)


def toy(experts="mixture", decoders=(Same, Same, Same)):
    """Two modalities know the class, a third nothing; all are generated from the latent variables as they are."""
    return MixtureVAE(
        dict(zip(NAMES, (Knowing(), Knowing(), Ignorant()), strict=True)),
        dict(zip(NAMES, (make() for make in decoders), strict=True)),
        {"label": Categorical(C), "vector": Normal(1.0), "noise": Normal(1.0)},
        subsets=EXPERTS[experts],
        n_latent=C,
    )


def toy_rows(n=N):
    labels = torch.arange(n) % C
    vectors = F.one_hot(labels, C).double()
    return Modalities({"label": labels, "vector": vectors, "noise": torch.randn(n, C)}), labels


def toy_classifiers(names=NAMES):
    return Classifiers({name: Same() for name in names}, dict.fromkeys(names, 1.0))


def near(share, expected, n=N):
    """Within four standard errors."""
    return abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / n) + 1e-12


# Subsets


def test_subsets_stand_in_the_order_of_the_paper():
    assert all_subsets("MST") == [("M",), ("S",), ("T",), ("M", "S"), ("M", "T"), ("S", "T"), ("M", "S", "T")]
    assert all_subsets(["a"]) == [("a",)]


def test_many_modalities_need_subsets():
    with pytest.raises(
        ValueError, match="subsets should be given for more than 6 modalities. Found 7, which have 127"
    ):
        all_subsets("abcdefg")


def test_subsets_of_unknown_modalities_are_refused():
    data, _ = toy_rows(10)
    with pytest.raises(ValueError, match="Found 'sound'"):
        rates(toy(), data, subsets=[["label", "sound"]])
    with pytest.raises(ValueError, match="Found an empty one"):
        rates(toy(), data, subsets=[[]])
    assert list(rates(toy(), data, subsets=[["vector", "label"], "noise"])) == [("label", "vector"), ("noise",)]


def test_data_should_have_all_modalities():
    data, labels = toy_rows(10)
    with pytest.raises(ValueError, match="data should have the modality 'noise'"):
        coherence(toy(), data.only(["label", "vector"]), labels, toy_classifiers())


# Coherence


@pytest.mark.parametrize("experts", EXPERTS)
def test_coherence_is_one_or_chance(experts):
    data, labels = toy_rows()
    table = coherence(toy(experts), data, labels, toy_classifiers(), batch_size=150)
    assert list(table) == [(subset, d) for subset in all_subsets(NAMES) for d in NAMES]
    for (subset, _), share in table.items():
        if subset == ("noise",):
            assert near(share, 1 / C)
        elif experts == "mixture" and "noise" in subset:  # a sample is of a random member
            knowing = 1 - 1 / len(subset)
            assert near(share, knowing + (1 - knowing) / C)
        else:
            assert share == 1


def test_a_constant_decoder_is_right_as_often_as_its_class_occurs():
    data, labels = toy_rows()
    table = coherence(toy(decoders=(Constant, Same, Same)), data, labels, toy_classifiers())
    assert all(share == (labels == 2).double().mean() for (_, d), share in table.items() if d == "label")


def test_only_modalities_with_a_classifier_are_judged():
    data, labels = toy_rows(20)
    assert {d for _, d in coherence(toy(), data, labels, toy_classifiers(["vector"]))} == {"vector"}


def test_coherence_has_its_own_random_numbers():
    data, labels = toy_rows()
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    once, again = (coherence(toy(), data, labels, toy_classifiers(), seed=3) for _ in range(2))
    assert torch.equal(torch.rand(1), expected)
    assert once == again != coherence(toy(), data, labels, toy_classifiers(), seed=4)


def test_n_rows_takes_some_rows():
    data, labels = toy_rows()
    table = coherence(toy(), data, labels, toy_classifiers(), n_rows=7)
    assert all((7 * share) == pytest.approx(round(7 * share)) for share in table.values())


def test_rows_that_lack_a_given_modality_do_not_count():
    data, labels = toy_rows(40)
    there = torch.arange(40) % 4 > 0
    wrong = torch.where(there[:, None], data.values["vector"], torch.nan)
    holes = Modalities({**data.values, "vector": wrong}, observed={"vector": there})
    table = coherence(toy(), holes, labels, toy_classifiers(), subsets=[["vector"], ["label"]], batch_size=7)
    assert table == {(subset, d): 1.0 for subset in [("vector",), ("label",)] for d in NAMES}
    densities = conditional_log_likelihoods(toy(), holes, subsets=[["label"]])
    assert math.isfinite(densities[("label",), "vector"])
    never = Modalities(holes.values, observed={"vector": torch.zeros(40, dtype=torch.bool)})
    assert math.isnan(coherence(toy(), never, labels, toy_classifiers())[("vector",), "label"])
    assert math.isnan(rates(toy(), never)[("vector",)])


def test_modes_are_left_as_they_were():
    network, (data, labels) = toy(), toy_rows(20)
    network.train()
    network.decoders[1].eval()
    before = [module.training for module in network.modules()]
    labelled = LabelledModalities(data, labels, "toy", "", "")
    evaluate(network, labelled, labelled, toy_classifiers(), n_prior=10, subsets=["label", "noise"])
    assert [module.training for module in network.modules()] == before
    with pytest.raises(ValueError, match="modality"):
        coherence(network, data.only(["label"]), labels, toy_classifiers())
    assert [module.training for module in network.modules()] == before


def test_summary_by_hand():
    table = {
        (("a",), "a"): 0.9,
        (("b",), "a"): 0.2,
        (("c",), "a"): 0.4,
        (("a", "b"), "a"): 0.0,
        (("b", "c"), "a"): 0.9,
        (("a", "b", "c"), "a"): 0.7,
        (("a",), "b"): 0.3,
    }
    views = coherence_summary(table, ["a", "b", "c"])
    assert views == {
        "self": {"a": 0.9},
        "cross": {"a": pytest.approx(0.5), "b": 0.3},
        "reconstruction": {"a": 0.7},
    }


def test_joint_coherence():
    assert joint_coherence(toy(), toy_classifiers(), n=500) == 1  # all decoders say the same
    share = joint_coherence(toy(decoders=(Constant, Same, Same)), toy_classifiers(), n=2000, batch_size=300)
    assert near(share, 1 / C, 2000)
    with pytest.raises(ValueError, match="two modalities or more. Found label"):
        joint_coherence(toy(), toy_classifiers(["label"]))


# Latent classes


def test_latent_classification_finds_what_is_there():
    (data, labels), (test, test_labels) = toy_rows(), toy_rows(200)
    matrix = latent_classification(toy(), data, labels, test, test_labels)
    assert matrix.shape == (7, 7)
    knowing = [0, 1, 3]  # label, vector, both
    assert (matrix[knowing][:, knowing] == 1).all()
    assert (matrix[2] - 1 / C).abs().max() < 0.15  # samples that know nothing
    assert matrix[4, 4] > 0.45  # half of them do
    assert torch.equal(matrix, latent_classification(toy(), data, labels, test, test_labels))


def test_latent_classifiers_of_one_subset_fail_on_another():
    network, (data, labels) = toy(), toy_rows()
    network.encoders[1] = nn.Sequential(nn.Linear(C, C, bias=False), Knowing())
    with torch.no_grad():
        network.encoders[1][0].weight.copy_(torch.eye(C).roll(1, 0))  # the next class
    matrix = latent_classification(network, data, labels, data, labels, subsets=["label", "vector"])
    assert matrix.tolist() == [[1, 0], [0, 1]]


def test_logistic_regression_agrees_with_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    from evenhand.lab.judges._latent_classification import RIDGE, _logistic_regression

    y = torch.randint(3, (300,))
    z = torch.randn(300, 4) * torch.tensor([1.0, 5.0, 0.1, 1.0]) + F.one_hot(y, 4)
    weight, bias = _logistic_regression(z, y, 3)
    standard = (z - z.mean(0)) / z.std(0, correction=0)
    reference = LogisticRegression(C=1 / (RIDGE * 300), tol=1e-8, max_iter=1000).fit(standard.numpy(), y.numpy())
    expected = torch.tensor(reference.predict_proba(standard.numpy()))
    torch.testing.assert_close((z @ weight + bias).softmax(-1), expected, atol=1e-3, rtol=0)


# Densities and rates


def test_log_likelihoods_against_scipy():
    data, labels = toy_rows(50)
    table = conditional_log_likelihoods(toy("product"), data, subsets=[["label"]], n_samples=2000)
    z = F.one_hot(labels, C) * 10.0  # scale 0.1
    squares = ((data.values["vector"] - z).square().mean() + 0.01).item()
    expected = stats.norm.logpdf(0) - 0.5 * squares
    assert table[("label",), "vector"] == pytest.approx(expected, rel=1e-3)
    one = torch.full((C,), 0.0).index_fill(0, torch.tensor(0), 10.0)
    assert table[("label",), "label"] * C == pytest.approx(one.log_softmax(0)[0].item(), rel=0.05)


def test_log_likelihoods_are_sums_over_modalities():
    table = {(("a",), "a"): -1.0, (("a",), "b"): -2.0, (("b",), "a"): -4.0, (("b",), "b"): 0.5}
    assert sum_over_targets(table) == {("a",): -3.0, ("b",): -3.5}


def test_rates_in_closed_form_and_of_mixtures():
    data, _ = toy_rows(60)
    alone = 0.5 * (100 + C * 0.01 - C) - C * math.log(0.1)
    found = rates(toy("mixture"), data, n_samples=400, batch_size=17)
    assert found[("label",)] == pytest.approx(alone)
    assert found[("noise",)] == 0
    # both know the same, so their mixture is each of them; with their product, precisions double
    assert found[("label", "vector")] == pytest.approx(alone, abs=0.05)
    doubled = 0.5 * (100 + C * 0.005 - C) - C * math.log(0.1 / math.sqrt(2))
    assert rates(toy("all"), data)[("label", "vector")] == pytest.approx(doubled)
    # posterior and prior hardly overlap: half of the samples have the rate less log 2, half come from the prior
    assert found[("label", "noise")] == pytest.approx(0.5 * (alone - math.log(2)) - 0.5 * math.log(2), abs=0.1)


# Scores


def scores(shift=0.0, *, names=("mnist", "svhn", "text"), hours=None):
    subsets = all_subsets(names)
    cells = {(subset, d): 0.1 * (i + 1) + shift for i, subset in enumerate(subsets) for d in names}
    matrix = tuple(tuple(0.8 + shift if i == j else 0.5 + shift for j in range(7)) for i in range(7))
    return MultimodalScores(
        names=tuple(names),
        subsets=tuple(subsets),
        rates={subset: float(i) for i, subset in enumerate(subsets)},
        coherence=cells,
        joint_coherence=0.25,
        latent_classification=matrix,
        log_likelihoods={key: -value for key, value in cells.items()},
        classifiers=dict.fromkeys(names, 0.99),
        n_rows=123,
        hours=hours,
    )


def test_scores_survive_json():
    before = scores(0.01, hours=1.5)
    assert MultimodalScores.from_dict(json.loads(json.dumps(before.to_dict(), allow_nan=False))) == before
    partial = MultimodalScores(("a",), (("a",),), {("a",): 1.0}, {(("a",), "a"): math.nan})
    after = MultimodalScores.from_dict(json.loads(json.dumps(partial.to_dict(), allow_nan=False)))
    assert math.isnan(after.coherence[("a",), "a"])
    assert math.isnan(after.joint_coherence)
    with pytest.raises(ValueError, match="of format 1. Found None"):
        MultimodalScores.from_dict({})


def test_scores_have_means():
    found = scores()
    assert found.latent_self == pytest.approx(0.8)
    assert found.latent_cross == pytest.approx(0.5)
    assert found.log_likelihood_sums[("mnist",)] == pytest.approx(-0.3)
    assert found.summary["cross"]["mnist"] == pytest.approx((0.2 + 0.3 + 0.6) / 3)


def test_scores_print_a_rate_in_every_line():
    lines = str(scores(hours=2)).splitlines()
    assert " ".join(lines[1].split()) == "given | rate | mnist svhn text | own others | mnist svhn text sum"
    assert lines[5].split("|")[:3] == ["mnist, svhn       ", " 3.00 ", "  40.0  40.0  40.0 "]
    mnist = next(line for line in lines[9:] if line.startswith("mnist"))
    assert " ".join(mnist.split()) == "mnist | 10.0 0.00 36.7 2.67 70.0 6.00 | 99.0"
    assert "joint coherence of samples of the prior: 25.0 %" in lines
    assert "2.00 hours of training" in lines
    assert str(MultimodalScores(("a",), (("a",),), {("a",): 1.0}))


# Tables


def entries():
    ours = [scores(0.05), scores(0.06), scores(0.055)]
    return [
        ("MVAE", "vanilla", [scores(0.0), scores(0.01), scores(0.005)]),
        ("MVAE", "CAGrad", ours),
        ("MoPoE", "vanilla", [scores(0.0)]),
        ("MoPoE", "CAGrad", [scores(0.5)]),
    ]


def test_reconstruction_rows():
    rows = reconstruction_rows(entries())
    assert list(rows[0]) == ["model", "method", "M", "S", "T"]
    assert rows[1]["M"] == Cell(pytest.approx(75.5), 2, bold=True, std=pytest.approx(0.5))
    assert not rows[0]["M"].bold
    assert not rows[3]["M"].bold  # one seed proves nothing
    assert math.isnan(rows[3]["M"].std)


def test_coherence_rows():
    rows = coherence_rows(entries())
    assert " ".join(list(rows[0])[2:]) == "M|M S|S T|T M|S M|T M|ST S|M S|T S|MT T|M T|S T|MS"
    assert rows[0]["M|ST"].value == pytest.approx(60.5)
    timed = coherence_rows([("MVAE", "vanilla", [scores(hours=2.0), scores(hours=3.0)])])
    assert timed[0]["hours"].value == 2.5
    assert not timed[0]["hours"].bold


def test_latent_log_likelihood_and_rate_tables():
    latent = latent_rows(entries())
    assert latent[1]["self"] == Cell(pytest.approx(85.5), 2, bold=True, std=pytest.approx(0.5))
    assert latent[1]["cross"].value == pytest.approx(55.5)
    rows = log_likelihood_rows(entries())
    assert " ".join(list(rows[0])[2:]) == "X|M X|S X|T X|MS X|MT X|ST X|MST"
    assert rows[0]["X|M"].bold  # of log-likelihoods too, more is better
    assert not rows[1]["X|M"].bold
    assert rate_rows(entries())[0]["MST"] == Cell(6.0, 2, std=0.0)
    joined = side_by_side({"ELBO": latent, "IWAE": latent[:2]})
    assert list(joined[0]) == ["model", "method", "ELBO self", "ELBO cross", "IWAE self", "IWAE cross"]
    assert math.isnan(joined[2]["IWAE self"].value)


def test_layout():
    rows = latent_rows(entries())[:3]
    assert as_table("Latent", rows).to_text().splitlines()[2:] == [
        "                  self   cross",
        "------------------------------",
        "MVAE   vanilla  80.50   50.50",
        "       CAGrad   85.50*  55.50*",
        "------------------------------",
        "MoPoE  vanilla  80.00   50.00",
    ]
    assert as_table("Latent", rows, std=True).to_markdown().splitlines()[2:] == [
        "|  |  | self | cross |",
        "| --- | --- | ---: | ---: |",
        "| MVAE | vanilla | 80.50 ± 0.50 | 50.50 ± 0.50 |",
        "|  | CAGrad | **85.50 ± 0.50** | **55.50 ± 0.50** |",
        "| MoPoE | vanilla | 80.00 | 50.00 |",
    ]
    assert r"M\|ST" in as_table("Coherence", coherence_rows(entries())).to_markdown()
    assert as_table("Nothing", []).rows == []


def test_names_are_written_out_where_letters_are_not_enough():
    rows = log_likelihood_rows([("a", "b", [scores(names=("text", "table", "image"))])])
    assert "X|text,table" in rows[0]
    with pytest.raises(ValueError, match="same modalities"):
        rate_rows([*entries(), ("a", "b", [scores(names=("x", "y", "z"))])])


def test_better_is_students_test():
    first, second = [3.0, 2.0, 4.0], [1.0, 2.5, 2.0]
    pvalue = stats.ttest_ind(first, second, alternative="greater").pvalue
    assert better(first, second, alpha=pvalue + 1e-6)
    assert not better(first, second, alpha=pvalue - 1e-6)
    assert not better(second, first)
    assert better([1.0, 1.0], [0.5, 0.5])
    assert not better([0.5, 0.5], [0.5, 0.5])
    assert not better([1.0], [0.0, 0.1])
    assert not better([1.0, math.nan], [0.0, 0.1])


# Classifiers


WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
LIKELIHOODS = {"digit": Laplace(), "colour": Laplace(), "text": Categorical(71)}


@pytest.fixture(scope="module")
def digits():
    return digits_in_three("train", repeats=1), digits_in_three("test", repeats=1)


def small(labelled, n=300):
    return labelled.subset(torch.randperm(len(labelled), generator=torch.Generator().manual_seed(0))[:n])


def test_items_count_once_and_only_if_they_occur():
    values = {"a": torch.arange(10.0), "b": torch.arange(6.0)}
    data = Modalities(values, {"a": torch.tensor([7, 7, 2, 9]), "b": torch.tensor([0, 1, 2, 2])})
    rows = LabelledModalities(data, torch.tensor([1, 1, 0, 2]), "", "", "")
    x, y = labelled_items(rows, "a")
    assert x.tolist() == [2, 7, 9]
    assert y.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="An item of 'b' should have one class"):
        labelled_items(rows, "b")
    seen = Modalities(values, data.index, {"b": torch.tensor([True, True, True, False])})
    assert labelled_items(LabelledModalities(seen, rows.labels, "", "", ""), "b")[1].tolist() == [1, 1, 0]


def test_classifiers_are_kept_and_found_again(digits, tmp_path, monkeypatch, capsys):
    train, test = (small(part) for part in digits)
    options = {"folder": tmp_path / "new" / "folder", "epochs": 2, "verbose": True}
    first = digit_classifiers(train, test, LIKELIHOODS, **options)
    assert list(first.modules) == list(first.accuracies) == ["digit", "colour", "text"]
    assert "(kept)" not in capsys.readouterr().out
    files = sorted(options["folder"].glob("*.safetensors"))
    assert len(files) == 3

    trained = []
    original = _judges.train_classifier
    monkeypatch.setattr(_judges, "train_classifier", lambda *a, **k: trained.append(1) or original(*a, **k))
    second = digit_classifiers(train, test, LIKELIHOODS, **options)
    assert not trained
    assert capsys.readouterr().out.count("(kept)") == 3
    assert second.accuracies == first.accuracies
    for name, module in first.modules.items():
        assert not module.training
        for key, x in module.state_dict().items():
            assert torch.equal(x, second.modules[name].state_dict()[key])

    files[0].write_bytes(files[0].read_bytes()[:-100])  # cut off
    state = load_file(files[1])
    save_file(state, files[1])  # without what is known of it
    content = bytearray(files[2].read_bytes())
    content[-5] ^= 1  # one bit
    files[2].write_bytes(content)
    third = digit_classifiers(train, test, LIKELIHOODS, **options)
    assert len(trained) == 3
    assert third.accuracies == first.accuracies
    assert sorted(options["folder"].glob("*.safetensors")) == files

    digit_classifiers(train, test, {"digit": Laplace()}, **{**options, "seed": 1})
    digit_classifiers(train.subset(torch.arange(200)), test, {"digit": Laplace()}, **options)
    assert len(trained) == 5
    digit_classifiers(train, test, {"digit": Laplace()}, **options)
    assert len(trained) == 5
    digit_classifiers(train, test, {"digit": Laplace()}, **options, cache=False)
    assert len(trained) == 6


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not kept apart there")
def test_of_several_who_need_a_classifier_one_trains_it(digits, tmp_path, monkeypatch):
    """Jobs side by side come to their scores at about the same time."""
    train, test = (small(part) for part in digits)
    trained, begun = [], threading.Event()
    original = _judges.train_classifier

    def slowly(*args, **options):
        trained.append(1)
        begun.set()
        time.sleep(0.3)  # the other one comes meanwhile
        return original(*args, **options)

    monkeypatch.setattr(_judges, "train_classifier", slowly)
    found = []

    def judge():
        found.append(digit_classifiers(train, test, {"digit": Laplace()}, folder=tmp_path, epochs=1))

    threads = [threading.Thread(target=judge) for _ in range(2)]
    threads[0].start()
    assert begun.wait(60)
    threads[1].start()
    for thread in threads:
        thread.join()
    assert len(trained) == 1
    assert found[0].accuracies == found[1].accuracies


def test_classifiers_are_trained_where_nothing_can_be_kept(digits, tmp_path, monkeypatch):
    train, test = (small(part) for part in digits)
    blocked = tmp_path / "a file"
    blocked.write_text("")
    monkeypatch.setattr(_judges, "_default_folder", lambda: blocked / "classifiers")
    assert digit_classifiers(train, test, {"digit": Laplace()}, epochs=1).accuracies
    with pytest.raises(OSError, match="a file"):
        digit_classifiers(train, test, {"digit": Laplace()}, epochs=1, folder=blocked / "classifiers")


def test_training_a_classifier_leaves_random_numbers_alone(digits):
    x, y = labelled_items(small(digits[0]), "digit")
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    module = train_classifier(x, y, epochs=1)
    assert torch.equal(torch.rand(1), expected)
    assert not module.training
    again = train_classifier(x, y, epochs=1)
    assert all(torch.equal(a, b) for a, b in zip(module.parameters(), again.parameters(), strict=True))


def test_classifiers_learn(digits):
    torch.set_default_dtype(torch.float32)
    (x, y), (test_x, test_y) = (labelled_items(part, "text") for part in digits)
    module = train_classifier(x, y, likelihood=Categorical(71), epochs=5)
    assert (module(F.one_hot(test_x, 71).float()).argmax(-1) == test_y).double().mean() > 0.99
    labels = torch.randint(4, (200,))
    module = train_classifier(labels, labels, likelihood=Categorical(4))
    assert (module(F.one_hot(labels, 4).float()).argmax(-1) == labels).all()


def test_strong_judges_of_images_are_others_and_texts_have_the_published_ones(digits, tmp_path):
    train, test = (small(part, 60) for part in digits)
    options = {"folder": tmp_path, "epochs": 1}
    published = digit_classifiers(train, test, LIKELIHOODS, **options)
    strong = digit_classifiers(train, test, LIKELIHOODS, judge="strong", **options)
    kinds = [[type(module).__name__ for module in found.modules.values()] for found in (published, strong)]
    assert kinds == [["ImageClassifier"] * 2 + ["TextClassifier"], ["DeepImageClassifier"] * 2 + ["TextClassifier"]]
    assert len(list(tmp_path.glob("*.safetensors"))) == 5  # the text's was found again
    with pytest.raises(ValueError, match="judge should be one of 'published', 'strong'. Found 'weak'"):
        digit_classifiers(train, test, LIKELIHOODS, judge="weak", **options)


@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 28, 28), (1, 8, 8)])
def test_strong_judges_take_images_of_any_size(shape):
    judge = DeepImageClassifier(shape, 7).eval()
    assert judge(torch.rand(3, *shape)).detach().exp().sum(-1) == pytest.approx(1)
    if shape == (3, 32, 32):
        assert 300_000 < sum(p.numel() for p in judge.parameters()) < 1_000_000
    with pytest.raises(ValueError, match="shape should be"):
        DeepImageClassifier((3, 7, 32))


def test_the_learning_rate_of_strong_judges_falls_to_zero(digits, monkeypatch):
    rates = []

    class Watched(torch.optim.Adam):
        def step(self, *args):
            rates.append(self.param_groups[0]["lr"])
            return super().step(*args)

    monkeypatch.setattr(torch.optim, "Adam", Watched)
    x, y = labelled_items(small(digits[0], 40), "digit")
    for judge in ("published", "strong"):
        train_classifier(x, y, judge=judge, epochs=2, batch_size=20)
    n = len(rates) // 2
    assert rates[:n] == [1e-3] * n
    assert rates[n:] == pytest.approx([0.5e-3 * (1 + math.cos(math.pi * i / n)) for i in range(n)])


def test_bad_arguments_of_classifiers():
    with pytest.raises(ValueError, match="kind should be one of 'image', 'text', 'vector'. Found 'sound'"):
        train_classifier(torch.rand(4, 3), torch.arange(4), kind="sound")
    with pytest.raises(ValueError, match="of the same items. Found 4 and 3"):
        train_classifier(torch.rand(4, 3), torch.arange(3))
    with pytest.raises(ValueError, match="at least one modality"):
        Classifiers({}, {})


# Figures and all together


def modalities():
    return {
        "digit": Modality(likelihood=Laplace(), shape=(1, 8, 8)),
        "colour": Modality(likelihood=Laplace(), shape=(3, 16, 16)),
        "text": Modality(likelihood=Categorical(71), shape=(8,)),
    }


def test_end_to_end(digits, tmp_path):
    torch.set_default_dtype(torch.float32)
    train, test = (small(part) for part in digits)
    model = MultimodalVAE(modalities(), n_samples=1, n_latent=6)
    model.fit(train.data, epochs=1, batch_size=100, device="cpu", verbose=False)
    judges = digit_classifiers(train, test, model.likelihoods, folder=tmp_path, epochs=3)
    found = evaluate(model.network, train, test, judges, n_rows=100, n_prior=50, hours=0.1)
    assert len(found.coherence) == len(found.log_likelihoods) == 21
    assert all(0 <= share <= 1 for share in found.coherence.values())
    assert all(rate > 0 for rate in found.rates.values())
    assert found.n_rows == 100
    assert MultimodalScores.from_dict(found.to_dict()) == found
    assert evaluate(model.network, None, test, subsets=["digit"]).coherence == {}

    figure = sample_grid(model.network, test.data, n_columns=4)
    assert [panel.get_suptitle() for panel in figure.subfigs][3] == "given digit, colour"
    axes = figure.subfigs[3].axes
    assert [axis.get_ylabel() for axis in axes] == ["digit", "colour", "digit", "colour", "text"]
    assert [len(axis.images) for axis in axes] == [4, 4, 4, 4, 0]
    assert len(axes[-1].texts) == 4
    given = [text.get_text() for text in figure.subfigs[2].axes[0].texts]
    assert all(word in WORDS for word in given)
    figure.savefig(tmp_path / "grid.png")
    only = sample_grid(model.network, test.data, target="text", subsets=[["digit"]], n_columns=2)
    assert [axis.get_ylabel() for axis in only.subfigs[0].axes] == ["digit", "text"]
    with pytest.raises(ValueError, match="Found 'sound'"):
        sample_grid(model.network, test.data, target="sound")


def test_labels_and_vectors_in_a_figure():
    data, _ = toy_rows(30)
    figure = sample_grid(toy(), data, n_columns=3, target=["label", "vector"], subsets=["label"])
    given, label, _ = figure.subfigs[0].axes
    shown = [[text.get_text() for text in axis.texts] for axis in (given, label)]
    assert shown[0] == shown[1]
    assert set(shown[0]) <= set("01234")


def test_dollar_signs_in_a_figure_are_no_mathematics(tmp_path):
    from matplotlib.figure import Figure

    from evenhand.lab.figures._sample_grid import _draw

    figure = Figure()
    _draw(figure.subplots(), ["p$$v", "$x", "a_b^"], "text", given=False)
    figure.savefig(tmp_path / "text.png")


def test_parallel_coordinates():
    root = ElementTree.fromstring(parallel_coordinates(entries()))
    tag = "{http://www.w3.org/2000/svg}"
    names = [text.text for text in root.iter(f"{tag}text") if text.get("class") == "name"]
    assert names[:4] == ["self", "mnist", "self", "svhn"]
    assert names[-9:-4] == ["joint", "latent", "self", "latent", "cross"]
    assert names[-4:] == ["MVAE, vanilla", "MVAE, CAGrad", "MoPoE, vanilla", "MoPoE, CAGrad"]
    lines = [path.get("class") for path in root.iter(f"{tag}path") if path.get("class").startswith("line")]
    assert lines == ["line c0 dashed", "line c0", "line c1 dashed", "line c1"]
    bands = [path.get("class") for path in root.iter(f"{tag}path") if path.get("class").startswith("band")]
    assert bands == ["band c0", "band c0"]  # one seed has no deviation
    titles = [title.text for title in root.iter(f"{tag}title")]
    assert titles[0] == "MVAE, vanilla: self mnist 10.5 %"
    heights = [float(dot.get("cy")) for dot in root.iter(f"{tag}circle")]
    assert heights[0] == pytest.approx(296 - 280 * 10.5 / 102, abs=0.1)  # from 0 to 102 % in 280 pixels
    with pytest.raises(ValueError, match="at least one entry"):
        parallel_coordinates([])


def test_a_score_that_is_not_known_leaves_a_gap():
    known, unknown = scores(), scores()
    unknown = replace(unknown, joint_coherence=math.nan)
    root = ElementTree.fromstring(parallel_coordinates([("a", "vanilla", [known]), ("b", "vanilla", [unknown])]))
    lines = [path for path in root.iter("{http://www.w3.org/2000/svg}path") if "c1" in path.get("class")]
    assert [path.get("d").count("L") for path in lines] == [8, 1]  # nine axes, then joint, then two


def test_judges_see_real_and_generated_items_in_the_same_form():
    counts = torch.tensor([[0.0, 50.0]])
    for likelihood, parameters in ((Poisson(), counts.clamp(min=1e-6).log()), (Normal(1.0), counts)):
        torch.testing.assert_close(_inputs(likelihood, counts), likelihood.mean(parameters), atol=1e-4, rtol=1e-4)
    codes = torch.tensor([[0, 2]])
    assert _inputs(Categorical(3), codes).shape == Categorical(3).mean(torch.zeros(1, 2, 3)).shape


def test_the_network_is_judged_and_not_what_holds_it():
    with pytest.raises(ValueError, match="network should be model.network of a MultimodalVAE. Found Linear"):
        rates(nn.Linear(1, 1), Modalities({"a": torch.zeros(2, 1)}))

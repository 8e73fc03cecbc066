"""What users pass as data and as networks: many forms are read, and mistakes are named."""

import copy

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from evenhand import Modality, MultimodalVAE
from evenhand.impartial import MGDA, PCGrad
from evenhand.modalities.likelihoods import (
    Bernoulli,
    Categorical,
    Laplace,
    Likelihood,
    LogNormal,
    Normal,
    Poisson,
    Table,
)
from evenhand.modalities.rows import Modalities

from .._tiny import L, assert_same, decoder, encoder, parts, rows, tiny, weights

N = 6
LIKELIHOODS = {
    "vector": (Normal(1.0), (3,)),
    "number": (Normal(1.0), ()),
    "label": (Categorical(4), ()),
    "counts": (Poisson(), (2,)),
    "positive": (LogNormal(1.0), (2,)),
    "bits": (Bernoulli(), (2,)),
}


def linear(likelihood, shape):
    n = int(np.prod(likelihood.input_shape(shape)))
    return Modality(encoder(n), decoder(*likelihood.parameter_shape(shape)), likelihood, shape)


def model(*names, **options):
    modalities = {name: linear(*LIKELIHOODS[name]) for name in names or LIKELIHOODS}
    return MultimodalVAE(modalities, n_latent=L, **{"n_samples": 2, **options})


def data(*names):
    generator = torch.Generator().manual_seed(1)
    whole = {
        "vector": torch.randn(N, 3, generator=generator),
        "number": torch.randn(N, generator=generator),
        "label": torch.arange(N) % 4,
        "counts": torch.arange(2 * N).reshape(N, 2),
        "positive": torch.rand(N, 2, generator=generator) + 0.1,
        "bits": torch.arange(2 * N).reshape(N, 2) % 2,
    }
    return {name: whole[name] for name in names or whole}


def read(values, *names, **options):
    return model(*(names or values))._read(values, **options)


# Forms


FORMS = {
    "torch": lambda x: x,
    "numpy": lambda x: x.numpy(),
    "numpy, read only": lambda x: np.broadcast_to(x.numpy(), x.shape),
    "numpy, backwards": lambda x: x.flip(0).numpy()[::-1],
    "list": lambda x: x.tolist(),
    "list of arrays": lambda x: [row.numpy() for row in x],
    "list of tensors": lambda x: list(x),
    "tuple": lambda x: tuple(x.tolist()),
    "frame": lambda x: pd.DataFrame(x.numpy()) if x.ndim > 1 else pd.Series(x.numpy(), index=range(7, 7 + len(x))),
    "single precision": lambda x: x.float() if x.is_floating_point() else x.int(),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read(form):
    expected = data()
    found = read({name: FORMS[form](x) for name, x in expected.items()})
    assert found.names == list(expected)
    assert found.mask() is None
    for name, x in expected.items():
        torch.testing.assert_close(found.values[name], x, check_dtype=False, rtol=1e-6, atol=1e-6)
        if x.is_floating_point():
            assert found.values[name].dtype == torch.get_default_dtype()


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_none_in_a_list_is_a_missing_row(name):
    whole = data("bits" if name != "bits" else "vector", name)
    items = whole[name].tolist()
    items[2] = items[4] = None
    found = read({**whole, name: items})
    assert found.observed[name].tolist() == [i not in (2, 4) for i in range(N)]
    assert set(found.observed) == {name}
    for i in (0, 1, 3, 5):
        torch.testing.assert_close(found.values[name][i], whole[name][i], check_dtype=False)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_a_modality_that_is_missing_altogether(name):
    other = "bits" if name != "bits" else "vector"
    found = read({**data(other), name: [None] * N}, name, other)
    assert not found.observed[name].any()
    assert found.values[name].shape == (N, *LIKELIHOODS[name][1])


@pytest.mark.parametrize("name", ["vector", "number", "label", "counts", "positive", "bits"])
@pytest.mark.parametrize("form", ["torch", "numpy", "list", "frame"])
def test_nan_is_a_missing_row(name, form):
    whole = data("bits" if name != "bits" else "vector", name)
    x = whole[name].double()
    x[1] = torch.nan
    if x.ndim > 1:
        x[3, 0] = torch.nan  # a part of a row
    found = read({**whole, name: FORMS[form](x)})
    gone = (1, 3) if x.ndim > 1 else (1,)
    assert found.observed[name].tolist() == [i not in gone for i in range(N)]
    assert found.values[name].isfinite().all()


def test_masks_and_holes_come_together():
    values = data("label", "number")
    values["number"][0] = torch.nan
    mask = np.array([True, False, True, True, True, True])
    found = read(values, observed={"number": mask, "label": [True] * N})
    assert found.observed["number"].tolist() == [False, False, True, True, True, True]
    assert "label" not in found.observed


@pytest.mark.parametrize(
    ("name", "rubbish"), [("label", -1), ("label", 99), ("vector", torch.inf), ("positive", 0.0)]
)
@pytest.mark.parametrize("kind", ["mapping", "Modalities", "Modalities with an index"])
def test_what_is_not_observed_may_be_anything(name, rubbish, kind):
    """It is neither refused nor does it get into the gradients."""
    values = data("bits", name)
    values[name][2] = rubbish
    mask = torch.arange(N) != 2
    index = {name: torch.arange(N)} if kind.endswith("index") else {}
    one = model("bits", name)
    if kind == "mapping":
        found = one._read(values, observed={name: mask})
    else:
        found = one._read(Modalities(values, index, {name: mask}))
    step = one(found)
    step.loss.backward()
    assert step.loss.isfinite()
    assert all(p.grad.isfinite().all() for p in one.parameters())


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_missing_rows_have_no_influence_on_gradients(name):
    other = "bits" if name != "bits" else "vector"
    one = model(other, name)
    items = [None if i % 2 else x for i, x in enumerate(data(name)[name].tolist())]
    one({**data(other), name: items}).loss.backward()
    assert all(p.grad.isfinite().all() for p in one.parameters())


def test_modalities_in_another_order_are_put_in_order():
    whole = data("vector", "label")
    mask = torch.arange(N) % 2 == 0
    one = model("vector", "label")
    turned = Modalities({"label": whole["label"], "vector": whole["vector"]}, observed={"label": mask})
    found = one._read(turned)
    assert found.names == ["vector", "label"]
    assert found.mask()[:, 0].all()
    assert torch.equal(found.mask()[:, 1], mask)
    first = tiny().fit(Modalities(rows(8), observed={"label": torch.arange(8) % 2 == 0}), epochs=1)
    other = Modalities(dict(reversed(rows(8).items())), observed={"label": torch.arange(8) % 2 == 0})
    assert first.history == tiny().fit(other, epochs=1).history


def test_modalities_in_double_precision_fit_a_model_in_single():
    torch.set_default_dtype(torch.float32)
    one = model("vector", "label")
    values = data("vector", "label")
    double = Modalities({"vector": values["vector"].double(), "label": values["label"]})
    assert one.encode(double).dtype == torch.float32
    torch.testing.assert_close(one.encode(double), one.encode(values))
    one.fit(double, epochs=1)


def test_the_order_of_names_does_not_matter():
    one, values = model("vector", "label"), data("vector", "label")
    assert torch.equal(one.encode(values), one.encode(dict(reversed(values.items()))))


# Mistakes in data


MISTAKES = {
    "shape": ("vector", torch.zeros(N, 4), r"'vector' should have the shape \[rows, 3\]. Found \[6, 4\]"),
    "axes": ("label", torch.zeros(N, 1), r"'label' should have the shape \[rows\]. Found \[6, 1\]"),
    "a single number": ("label", 3, r"'label' should have the shape \[rows\]. Found \[\]"),
    "no rows' axis": ("vector", torch.zeros(3), r"'vector' should have the shape \[rows, 3\]. Found \[3\]"),
    "label too large": ("label", torch.full((N,), 4), "'label': values should be whole numbers from 0 to 3.*Found 4"),
    "label below": ("label", torch.full((N,), -1), "'label': values should be whole numbers from 0 to 3.*Found -1"),
    "label between": ("label", torch.full((N,), 1.5), "'label': values should be whole numbers.*Found 1.5"),
    "negative count": ("counts", torch.full((N, 2), -2), "'counts': values should be whole numbers, 0 or.*Found -2"),
    "negative": ("positive", torch.full((N, 2), -2.0), "'positive': values should be above zero. Found -2"),
    "grey": ("bits", torch.full((N, 2), 1.5), "'bits': values should be"),
    "infinite": ("vector", torch.full((N, 3), torch.inf), "'vector': values should be finite.*infinite"),
    "complex": (
        "vector",
        torch.zeros(N, 3, dtype=torch.complex64),
        "'vector' should be real numbers. Found torch.compl",
    ),
    "strings": ("label", ["a"] * N, "'label' should be a tensor, an array or a list of items. It cannot be read"),
    "string": ("label", "abcdef", "'label' should be a tensor, an array or a list of items. It cannot be read"),
    "array of strings": ("label", np.array(["a"] * N), "'label' should be a tensor, an array or a list of items"),
    "objects": ("vector", np.array([None] * N), "'vector' should be a tensor, an array or a list"),
    "ragged": ("vector", [[1.0, 2.0, 3.0], [1.0]] * 3, r"The items of 'vector' should all have the shape \[3\]"),
    "ragged inside": ("vector", [[1.0, [2.0, 3.0]]] * N, r"The items of 'vector' should all have the shape \[3\]"),
    "a shape beside None": (
        "vector",
        [None, [1.0, 2.0]] * 3,
        r"The items of 'vector' should all have the shape \[3\]",
    ),
    "another number of rows": ("label", torch.zeros(N - 1, dtype=torch.long), "same number of rows.*'label' has 5"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("call", ["fit", "predict"])
def test_mistakes_are_named(mistake, call):
    name, wrong, message = MISTAKES[mistake]
    other = "bits" if name != "bits" else "number"
    one = model(other, name)
    before = weights(one)
    values = {**data(other), name: wrong}
    with pytest.raises(ValueError, match=message):
        one.fit(values, epochs=1) if call == "fit" else one.predict(values)
    assert_same(weights(one), before)


@pytest.mark.parametrize("mistake", ["shape", "label too large", "negative count", "negative", "infinite"])
@pytest.mark.parametrize("indexed", [False, True])
def test_mistakes_in_modalities_are_named(mistake, indexed):
    name, wrong, message = MISTAKES[mistake]
    index = {name: torch.arange(N)} if indexed else {}
    with pytest.raises(ValueError, match=message):
        model("bits", name).fit(Modalities({**data("bits"), name: wrong}, index), epochs=1)


def test_items_that_no_row_has_are_not_looked_at():
    values = data("vector", "label")
    values["label"] = torch.tensor([99, 0, 1, 2, 3])
    rows_ = Modalities(values, {"label": torch.tensor([1, 2, 3, 4, 1, 2])})
    assert model("vector", "label").encode(rows_).shape == (N, L)


def test_a_row_with_nothing_observed():
    values = {"vector": data()["vector"], "label": [0, None, 1, None, 2, 3]}
    values["vector"][3] = torch.nan
    values["vector"][2] = torch.nan
    message = r"Every row should have at least one modality. Found row 3 with nothing observed \(1 such rows"
    one = model("vector", "label")
    for call in (lambda: one.fit(values), lambda: one.predict(values), lambda: one(values)):
        with pytest.raises(ValueError, match=message):
            call()
    mask = torch.tensor([True, True, True, False, True, True])
    with pytest.raises(ValueError, match=message):
        one.fit(Modalities(data("vector", "label"), observed={"vector": mask, "label": mask}))
    with pytest.raises(ValueError, match="Every row should have at least one modality. Found row 1"):
        one.predict({"label": values["label"]})


def test_names_of_data():
    one, values = model("vector", "label"), data("vector", "label")
    known = "should have the modalities 'vector', 'label'. Found 'sound'"
    for call in (one.fit, one.predict, one.encode, one.log_likelihood, one.conflicts, one):
        with pytest.raises(ValueError, match=known):
            call({**values, "sound": values["label"]})
        with pytest.raises(ValueError, match=known):
            call(Modalities({"sound": values["label"]}))
    for call in (one.fit, one.conflicts, one):
        with pytest.raises(ValueError, match="data should have the modality 'label'.*list of None"):
            call({"vector": values["vector"]})
    for call, what in ((one.predict, "given"), (one.encode, "given"), (one.fit, "data")):
        with pytest.raises(ValueError, match=f"{what} should have at least one of the modalities 'vector', 'label'"):
            call({})


def test_names_of_targets_and_given():
    one, values = model("vector", "label"), data("vector", "label")
    for call in (
        lambda t: one.predict(values, t),
        lambda t: one.sample(1, t),
        lambda t: one.log_likelihood(values, (), t),
    ):
        with pytest.raises(
            ValueError, match="target should be some of the modalities 'vector', 'label'. Found 'sound'"
        ):
            call("sound")
        with pytest.raises(ValueError, match="target should be at least one modality. Found none"):
            call([])
    with pytest.raises(ValueError, match="given should be some of the modalities 'vector', 'label'. Found 'sound'"):
        one.log_likelihood(values, "sound")
    with pytest.raises(ValueError, match="target should be modalities that are not given"):
        one.log_likelihood(values, "label", "label")
    with pytest.raises(ValueError, match="target should be modalities that are not given"):
        one.log_likelihood(values, ["label", "vector"])
    with pytest.raises(ValueError, match="data should have the modality 'label'"):
        one.log_likelihood({"vector": values["vector"]}, "vector")
    holes = {**values, "label": [None, *values["label"].tolist()[1:]]}
    with pytest.raises(ValueError, match="Every row should have one of the given modalities label"):
        one.log_likelihood(holes, "label")


@pytest.mark.parametrize(
    ("observed", "message"),
    [
        ({"sound": [True] * N}, "observed should be about the modalities 'vector', 'label'. Found 'sound'"),
        ({"label": [True] * 5}, r"observed\['label'\] should be boolean with one answer for each of 6 rows.*\[5\]"),
        ({"label": [1.0] * N}, r"observed\['label'\] should be boolean"),
    ],
)
def test_masks_are_checked(observed, message):
    with pytest.raises(ValueError, match=message):
        model("vector", "label").fit(data("vector", "label"), observed=observed)


def test_masks_belong_to_plain_data():
    one, values = model("vector", "label"), data("vector", "label")
    mask = {"label": [True] * N}
    with pytest.raises(ValueError, match="observed should be left out where data are Modalities"):
        one.fit(Modalities(values), observed=mask)
    with pytest.raises(ValueError, match="observed should be left out where data are a torch data set"):
        one.fit([{name: x[i] for name, x in values.items()} for i in range(N)], observed=mask)


@pytest.mark.parametrize(
    "wrong", [[torch.zeros(3)] * 3, [], 3, None, "abc", (x for x in ()), pd.DataFrame({"a": [1]})]
)
def test_data_of_another_kind(wrong):
    with pytest.raises(ValueError, match="data should be a dictionary"):
        model("vector", "label").fit(wrong)


class Lazy(torch.utils.data.Dataset):
    """Items that are made when they are asked for."""

    def __init__(self, items):
        self.items, self.asked = items, []

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        self.asked.append(i)
        return self.items[i]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"vector": torch.zeros(4), "label": 0}, "'vector' should have the same shape in every item"),
        ({"vector": torch.zeros(3), "label": 4}, "'label': values should be whole numbers from 0 to 3.* Found 4"),
        (
            {"vector": torch.zeros(3), "label": None},
            "'label' should be a tensor, an array or a number.* Found NoneType",
        ),
        ({"vector": [0.0, 0.0, 0.0], "label": 0}, "'vector' should be a tensor, an array or a number.* Found list"),
        ({"vector": torch.full((3,), torch.nan), "label": 0}, "'vector' should have no holes in a torch data set"),
        (
            {"vector": torch.zeros(3)},
            "'label' should be a tensor, an array or a number in every item. Found NoneType",
        ),
        (3, "data should be a dictionary, or a data set of dictionaries. Found int"),
    ],
)
@pytest.mark.parametrize("place", [1, 2])
def test_a_data_set_is_checked_before_training(wrong, message, place):
    items = [{"vector": torch.zeros(3), "label": 0}] * 3
    with pytest.raises(ValueError, match=message):
        model("vector", "label").fit(Lazy([*items[:place], wrong, *items[place + 1 :]]))
    with pytest.raises(ValueError, match=r"'vector' should have the shape \[rows, 3\]. Found \[3, 4\]"):
        model("vector", "label").fit([{"vector": torch.zeros(4), "label": 0}] * 3)


def test_some_items_of_a_long_data_set_are_looked_at():
    data = Lazy([{"number": 0.5, "label": i % 4} for i in range(5000)])
    model("number", "label").fit(data, epochs=1, batch_size=5000)
    first = data.asked[: -len(data)]  # before training
    assert len(first) == 256
    assert {0, len(data) - 1} < set(first)


def test_zeros_and_ones_in_bytes_are_seen_behind_an_empty_first_item():
    masks = torch.randint(2, (64, 2)).to(torch.uint8)
    masks[0], masks[1] = 0, 1
    for form in ({"bits": masks}, Lazy([{"bits": x} for x in masks]), Modalities({"bits": masks})):
        with pytest.raises(ValueError, match="'bits': values should be pixels.* convert zeros and ones to bool"):
            model("bits").fit(form)


def test_a_nearly_black_picture_can_be_asked_about():
    one = model("bits").fit({"bits": torch.randint(256, (8, 2)).to(torch.uint8)}, epochs=1)
    dark = {"bits": torch.tensor([[0, 1]], dtype=torch.uint8)}
    assert one.encode(dark).shape == (1, L)
    assert one.predict(dark)["bits"].shape == (1, 2)
    assert one.log_likelihood(dark).shape == (1,)


def test_rows_that_a_network_has_computed():
    backbone = nn.Linear(2, 3)
    values = {**data("label"), "vector": backbone(torch.randn(N, 2))}
    model("vector", "label").fit(values, epochs=2, batch_size=3, validation=values)
    assert backbone.weight.grad is None
    leaf = torch.randn(N, 3, requires_grad=True)
    model("vector", "label").fit({**data("label"), "vector": leaf}, epochs=1)
    assert leaf.grad is None
    model("vector", "label")({**data("label"), "vector": leaf}).loss.backward()  # in a loop of one's own they learn
    assert leaf.grad is not None


def test_a_data_set_has_no_part_for_validation():
    with pytest.raises(ValueError, match="validation should be rows of their own"):
        model("vector", "label").fit([{"vector": torch.zeros(3), "label": 0}] * 3, validation=0.5)


# Tables


FRAME = pd.DataFrame({"age": [54.5, 61.25, None, 47.0, 33.5, 20.0], "sex": list("fmmffm")})


def with_table():
    table = Table(FRAME, {"age": "real"})
    return MultimodalVAE(
        {"table": linear(table, table.shape), "vector": linear(*LIKELIHOODS["vector"])}, n_latent=L, n_samples=2
    )


def test_tables_are_read_as_frames_or_tensors():
    one, vector = with_table(), data()["vector"]
    found = one._read({"table": FRAME, "vector": vector})
    assert found.mask() is None  # a row with a cell is there
    assert found.values["table"].isnan().tolist() == [[i == 2, False] for i in range(N)]
    again = one._read({"table": found.values["table"].float(), "vector": vector})
    torch.testing.assert_close(again.values["table"], found.values["table"], equal_nan=True, rtol=1e-6, atol=1e-6)
    empty = FRAME.copy()
    empty.loc[1] = None
    found = one._read({"table": empty, "vector": vector})
    assert found.observed["table"].tolist() == [i != 1 for i in range(N)]
    found = one._read({"table": [None] * N, "vector": vector})
    assert not found.observed["table"].any()
    assert one({"table": empty, "vector": vector}).loss.isfinite()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (FRAME[["age"]], "The table 'table' cannot be read.*'sex'"),
        (FRAME.assign(sex="x"), "The table 'table' cannot be read.*'x'"),
        (FRAME.assign(age=np.inf), "The table 'table' cannot be read.*infinite"),
        (3, "The table 'table' cannot be read"),
        (torch.zeros(N, 5), r"'table' should have the shape \[rows, 2\]. Found \[6, 5\]"),
        (torch.zeros(N), r"'table' should have the shape \[rows, 2\]. Found \[6\]"),
        (torch.full((N, 2), 7.0), "'table': "),
        (FRAME[:3], "same number of rows.*'table' has 3"),
    ],
)
def test_mistakes_in_tables_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        with_table().fit({"table": wrong, "vector": data()["vector"]}, epochs=1)


# Mistakes in models


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def crash(x):
    raise KeyError("a missing key")


def build(**options):
    return MultimodalVAE({"sound": Modality(**{"likelihood": Normal(1.0), "shape": (3,), **options})}, n_latent=L)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decoder": nn.Linear(L, 4)}, r"The decoder of 'sound' should give parameters of shape \[2, 3\].*\[2, 4\]"),
        ({"decoder": nn.Linear(L, 4), "shape": None, "likelihood": Normal()}, "The decoder of 'sound' does not fit"),
        ({"decoder": nn.Linear(5, 3)}, r"The decoder of 'sound' should take a tensor of shape \[2, 2\]. It failed"),
        ({"decoder": Function(lambda z: (z, z))}, "The decoder of 'sound' should give one tensor.*Found tuple"),
        ({"decoder": Function(lambda z: z.sum())}, "The decoder of 'sound' should give one tensor"),
        ({"decoder": Function(lambda z: z[:1])}, r"The decoder of 'sound' should give one tensor.*Found \[1, 2\]"),
        ({"decoder": Function(crash)}, "The decoder of 'sound' should take.*a missing key"),
        (
            {"encoder": nn.Linear(3, 3)},
            r"The encoder of 'sound' should give.*\[2, 4\].*two of \[2, 2\].*Found \[2, 3\]",
        ),
        ({"encoder": nn.Linear(7, 4)}, r"The encoder of 'sound' should take a tensor of shape \[2, 3\]. It failed"),
        ({"encoder": Function(crash)}, "The encoder of 'sound' should take.*a missing key"),
        ({"encoder": Function(lambda x: None)}, "The encoder of 'sound' should give.*Found NoneType"),
        (
            {"encoder": Function(lambda x: (1.0, 2.0))},
            r"The encoder of 'sound' should give.*Found \['float', 'float'\]",
        ),
        ({"encoder": Function(lambda x: (x[:, :2],))}, r"The encoder of 'sound' should give.*Found \[\[2, 2\]\]"),
        ({"encoder": Function(lambda x: (x[:, :2], x[:, :2]))}, "The encoder of 'sound' should give positive scales"),
        ({"encoder": Function(lambda x: (x[:, :2], x[:, :2] - 1))}, "'sound' should give positive scales. Found -1"),
        ({"encoder": lambda x: x}, "The encoder of 'sound' should be a torch.nn.Module"),
        ({"decoder": 3}, "The decoder of 'sound' should be a torch.nn.Module. Found 3"),
        ({"shape": None}, "'sound' should have a shape, such as .*, or a decoder. Found neither"),
        ({"shape": 3}, "The shape of 'sound' should be a tuple.*Found 3"),
        ({"shape": "abc"}, "The shape of 'sound' should be a tuple"),
        ({"shape": (0,)}, "'sound' needs .* another shape: input_shape should hold integers >= 1"),
        ({"shape": (3, 4, 4)}, "'sound' needs networks of its own, or another shape"),
        ({"likelihood": "normal"}, "The likelihood of 'sound' should be one of evenhand.modalities.*'normal'"),
        ({"likelihood": Normal}, "The likelihood of 'sound' should be one of evenhand.modalities"),
        ({"likelihood": torch.distributions.Normal(0, 1)}, "The likelihood of 'sound' should be"),
    ],
)
def test_mistakes_in_a_modality_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        build(**options)


def test_a_scale_that_becomes_wrong_is_seen_in_training():
    def narrow(x):
        return x[:, :2], 1 + 0 * x[:, :2] - 10 * x[:, :2].abs()

    one = build(encoder=Function(narrow))
    with pytest.raises(FloatingPointError, match="the posterior of 'sound'"):
        one.fit({"sound": torch.randn(8, 3)}, epochs=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_latent": 0}, "n_latent should be an integer >= 1. Found 0"),
        ({"n_latent": 2.0}, "n_latent should be an integer >= 1. Found 2.0"),
        ({"n_latent": True}, "n_latent should be an integer >= 1"),
        ({"experts": "all"}, "experts should be 'product', 'mixture'.*Found 'all'"),
        ({"experts": [["image", "sound"]]}, "experts should be subsets of 'image', 'label'. Found 'sound'"),
        ({"experts": [[]]}, "experts should be subsets with at least one modality"),
        ({"experts": []}, "experts should have at least one subset"),
        ({"experts": ["image", ["image"]]}, "experts should be different subsets. Found image twice"),
        ({"objective": "mse"}, "objective should be one of 'elbo', .*Found 'mse'"),
        ({"objective": "mmjsd", "experts": "product"}, "experts should be 'mixture' with objective='mmjsd'"),
        ({"objective": "mmjsd", "gradient": "dreg"}, "gradient should be 'stl' or 'plain' with objective='mmjsd'"),
        ({"gradient": "sgd"}, "gradient should be one of 'stl', 'dreg', 'plain'. Found 'sgd'"),
        ({"local_step": "left"}, "local_step should be one of"),
        ({"n_samples": 0}, "n_samples should be an integer >= 1. Found 0"),
        ({"micro_batch": 0}, "micro_batch should be an integer >= 1 or None. Found 0"),
        ({"n_negatives": 0}, "n_negatives should be an integer >= 1. Found 0"),
        ({"kl_weight": -1.0}, "kl_weight should be a number >= 0, or a rate .* Found -1"),
        ({"kl_weight": float("nan")}, "kl_weight should be a number >= 0, or a rate .* Found nan"),
        ({"impartial": {"LL": MGDA()}}, "goals of impartial should be one of 'LI', 'EEI', 'DEI'. Found 'LL'"),
        ({"impartial": {"LI": "MGDA"}}, r"impartial\['LI'\] should be a method such as IMTLG\(\). Found 'MGDA'"),
        ({"impartial": {"LI": PCGrad}}, r"impartial\['LI'\] should be a method"),
    ],
)
def test_mistakes_in_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        MultimodalVAE(parts(), **{"n_latent": L, **options})


def test_mistakes_in_modalities_of_the_model():
    for wrong in ({}, [], None, "image"):
        with pytest.raises(ValueError, match="modalities should be a dictionary with at least one Modality"):
            MultimodalVAE(wrong)
    with pytest.raises(ValueError, match=r"modalities\['image'\] should be a Modality. Found Laplace"):
        MultimodalVAE({"image": Laplace()})
    with pytest.raises(TypeError, match="n_latents"):
        MultimodalVAE(parts(), n_latents=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs should be an integer >= 1. Found 0"),
        ({"batch_size": 0}, "batch_size should be an integer >= 1. Found 0"),
        ({"clip_norm": 0.0}, "clip_norm should be a number > 0. Found 0"),
        ({"clip_norm": -1.0}, "clip_norm should be a number > 0"),
        ({"clip_norm": float("nan")}, "clip_norm should be a number > 0"),
        ({"precision": "64"}, "precision should be one of '32', 'tf32', 'bf16', '16'. Found '64'"),
        ({"validation": 0.0}, "validation should be a part of the rows between 0 and 1. Found 0"),
        ({"validation": 1.5}, "validation should be a part of the rows between 0 and 1. Found 1.5"),
        ({"validation": {"image": torch.zeros(2, 1, 8, 8)}}, "validation should have the modality 'label'"),
        ({"validation": rows(0)}, "validation should have at least one row. Found none"),
        ({"validation": "0.2"}, "validation should be a dictionary of modalities by name. Found str"),
        ({"validation": np.float32(1.5)}, "validation should be a part of the rows between 0 and 1. Found 1.5"),
        ({"learning_rate": 0.1, "optimizer": torch.optim.Adam}, "learning_rate should be left out with an optimizer"),
        ({"device": None}, "device should be 'auto' or a device that is there. Found None"),
        ({"device": "cuda:77"}, "device should be 'auto' or a device that is there. Found 'cuda:77'"),
        ({"folder": 3}, "folder should be a path, or None. Found 3"),
        ({"verbose": "yes"}, "verbose should be True or False. Found 'yes'"),
        ({"compile": None}, "compile should be True or False. Found None"),
        ({"kl_warm_up": 31}, "kl_warm_up should be from 0 to the 30 epochs.*Found 31"),
        ({"kl_warm_up": -1}, "kl_warm_up should be from 0 to the 30 epochs.*Found -1"),
    ],
)
def test_mistakes_in_fit_are_named(options, message):
    one = tiny()
    before = weights(one)
    with pytest.raises(ValueError, match=message):
        one.fit(rows(), **options)
    assert_same(weights(one), before)
    with pytest.raises(TypeError, match="epoch"):
        one.fit(rows(), epoch=1)


def test_mistakes_in_other_calls():
    one, label = tiny(), rows()["label"]
    with pytest.raises(ValueError, match="form should be one of 'guess', 'mean', 'sample'. Found 'mode'"):
        one.predict({"label": label}, form="mode")
    with pytest.raises(ValueError, match="latent should be one of 'prior', 'mixture'. Found 'posterior'"):
        one.sample(2, latent="posterior")
    with pytest.raises(ValueError, match="n should be an integer >= 1 or None. Found 0"):
        one.predict({"label": label}, n=0)
    with pytest.raises(ValueError, match="n should be an integer >= 1 or None. Found -1"):
        one.encode({"label": label}, n=-1)
    with pytest.raises(RuntimeError, match="needs a model that was fitted"):
        one.sample(2, latent="mixture")


def test_no_rows():
    one = tiny()
    empty = {name: x[:0] for name, x in rows().items()}
    assert one.predict(empty)["image"].shape == (0, 1, 8, 8)
    assert one.encode(empty).shape == (0, L)
    with pytest.raises(ValueError, match="data should have rows for every process. Found 0"):
        one.fit(empty)


# Probing


class Noisy(nn.Module):
    """A network with everything in it that a call can change."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_in, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, n_out))
        self.frozen = nn.BatchNorm1d(n_out).eval()

    def forward(self, x):
        return self.frozen(self.layers(x)) + 0 * torch.rand(1)


@pytest.mark.parametrize("training", [False, True])
def test_probing_leaves_no_trace(training):
    networks = Noisy(3, 2 * L), Noisy(L, 3)
    for network in networks:
        network.train(training)
        network.frozen.eval()
    states = [{name: x.clone() for name, x in network.state_dict().items()} for network in networks]
    modes = [[module.training for module in network.modules()] for network in networks]
    random = torch.get_rng_state()
    build(encoder=networks[0], decoder=networks[1], shape=None)
    assert torch.equal(torch.get_rng_state(), random)
    for network, state, mode in zip(networks, states, modes, strict=True):
        assert_same(network.state_dict(), state)
        assert [module.training for module in network.modules()] == mode
        assert all(p.grad is None for p in network.parameters())


def test_a_crash_in_a_probe_leaves_no_trace():
    network = nn.Sequential(nn.BatchNorm1d(3), Function(crash))
    with pytest.raises(ValueError, match="encoder"):
        build(encoder=network)
    assert network[0].training


def test_networks_with_special_needs():
    """Lazy layers, pairs, no parameters, another precision."""
    build(encoder=nn.LazyLinear(2 * L), decoder=nn.LazyLinear(3))
    build(encoder=Function(lambda x: (x[:, :2], torch.ones(len(x), 2))))
    one = build(encoder=nn.Linear(3, 2 * L).float(), decoder=nn.Linear(L, 3).float())
    assert one.encode({"sound": torch.zeros(4, 3)}).shape == (4, L)


def test_a_likelihood_of_ones_own():
    class Cauchy(Likelihood):
        def log_prob(self, parameters, x):
            return -torch.log(torch.pi * (1 + (x - parameters) ** 2)).sum(-1)

        def mean(self, parameters):
            return parameters

        def sample(self, parameters, generator=None):
            return parameters + torch.empty_like(parameters).cauchy_(generator=generator)

    one = build(likelihood=Cauchy())
    values = {"sound": torch.randn(8, 3)}
    one.fit(values, epochs=1)
    assert one.predict(values, form="sample")["sound"].shape == (8, 3)


def test_what_is_masked_is_missing():
    mask = np.arange(N)[:, None].repeat(3, 1) < 2
    seen = read(
        {"vector": np.ma.masked_array(np.ones((N, 3), dtype=np.float32), mask=mask), "label": torch.arange(N) % 4}
    )
    assert seen.mask()[:, 0].tolist() == [False] * 2 + [True] * (N - 2)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.uint64])
def test_unsigned_integers(dtype):
    """As tokens are often stored."""
    for name in ("label", "counts", "vector"):
        values = data(name)[name].abs().numpy().astype(dtype)
        assert torch.equal(read({name: values}).values[name], torch.from_numpy(values.astype(np.int64)))


@pytest.mark.parametrize("name", ["vector", "number", "bits"])
def test_zeros_and_ones_are_no_pixels(name):
    values = (data(name)[name] > 0).to(torch.uint8)
    with pytest.raises(ValueError, match=f"'{name}': values should be pixels from 0 to 255 where they are uint8"):
        read({name: values})
    assert read({name: 255 * values}).values[name].dtype == torch.uint8


def test_nan_where_rows_are_marked_by_hand():
    broken = Modalities({"vector": torch.full((N, 3), torch.nan)})
    with pytest.raises(ValueError, match="values should be finite where a row has them. Found NaN"):
        read(broken, "vector")


def test_what_is_observed_may_be_a_column_of_a_filtered_frame():
    told = pd.Series([True, False] * N)[1::2]
    told[told.index[0]] = True
    one = model("vector", "label")
    other = copy.deepcopy(one)
    one.fit(data("vector", "label"), observed={"label": told}, epochs=1)
    other.fit(data("vector", "label"), observed={"label": told.to_numpy()}, epochs=1)
    assert_same(weights(one), weights(other))


def test_lists_of_tensors_may_require_gradients():
    one, rows_ = model("vector", "label"), data("vector", "label")
    listed = {**rows_, "vector": [row.clone().requires_grad_() for row in rows_["vector"]]}
    assert torch.equal(one.encode(listed), one.encode(rows_))

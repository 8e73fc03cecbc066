"""One file, without code in it."""

import ast
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from sklearn.base import clone

import evenhand.tables.estimator._storage as storage
from evenhand.impartial import IMTLG, GradNorm, PCGrad
from evenhand.tables.estimator import TabularVAE
from evenhand.tables.schema import Column, Schema

from ._tables import LIBRARIES, fitted, same, table, tiny, types

SOURCES = sorted(Path(storage.__file__).parent.glob("*.py"))


def reload(estimator, folder):
    estimator.save(folder / "model")
    return TabularVAE.load(folder / "model")


def rewritten(path, change):
    """The file with something changed in its description or its numbers."""
    with safe_open(path, framework="pt") as file:
        about = json.loads(file.metadata()["evenhand"])
        about.pop("sha256")  # whoever changes a file on purpose can do that too
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    change(about, tensors)
    save_file(tensors, path, metadata={"evenhand": json.dumps(about)})
    return path


@pytest.fixture
def file(tmp_path):
    fitted().save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    "options", [{}, {"model": "hivae", "n_latent": None}, {"model": "vaem"}], ids=["twoway", "hivae", "vaem"]
)
@pytest.mark.parametrize("sampled", [False, True], ids=["fresh", "sampled"])
def test_what_is_loaded_is_equal(library, options, sampled, tmp_path):
    estimator, X = fitted(library, **options), table(library)
    if sampled:
        estimator.sample(1)
    loaded = reload(estimator, tmp_path)
    assert same(loaded.transform(X), estimator.transform(X))
    assert same(loaded.sample(9), estimator.sample(9))
    assert same(loaded.sample(9, latent="prior"), estimator.sample(9, latent="prior"))
    assert types(loaded.sample(2)) == types(X)
    assert all(same(a, b) for a, b in zip(loaded.sample_posterior(X), estimator.sample_posterior(X), strict=True))
    assert same(loaded.reconstruct(X), estimator.reconstruct(X))
    np.testing.assert_array_equal(loaded.score_samples(X), estimator.score_samples(X))
    np.testing.assert_array_equal(loaded.encode(X), estimator.encode(X))
    assert str(loaded.report()) == str(estimator.report())
    assert loaded.report() == estimator.report()
    assert loaded.get_params() == estimator.get_params()
    assert loaded.get_feature_names_out().tolist() == estimator.get_feature_names_out().tolist()
    assert loaded.schema_ == estimator.schema_
    assert loaded.history_ == estimator.history_


def test_what_is_loaded_can_be_fitted_and_saved_again(tmp_path):
    loaded = reload(reload(fitted(), tmp_path), tmp_path)
    assert same(loaded.fit(table()).sample(5), fitted().sample(5))


@pytest.mark.parametrize(("saved", "loaded"), [(torch.float64, torch.float32), (torch.float32, torch.float64)])
@pytest.mark.parametrize(
    "options", [{}, {"model": "hivae", "n_latent": None}, {"model": "vaem"}], ids=["twoway", "hivae", "vaem"]
)
def test_the_precision_is_that_of_the_file(saved, loaded, options, tmp_path):
    torch.set_default_dtype(saved)
    estimator = tiny(**options).fit(table())
    estimator.save(tmp_path / "model")
    scores = estimator.score_samples(table())
    torch.set_default_dtype(loaded)
    again = TabularVAE.load(tmp_path / "model")
    assert next(again.network_.parameters()).dtype == saved
    np.testing.assert_allclose(again.score_samples(table()), scores, rtol=1e-6)
    assert same(again.sample(5), estimator.sample(5))


@pytest.mark.parametrize(
    "schema",
    [
        {"count": "real"},
        {"count": {"kind": "categorical", "categories": tuple(range(30))}},
        {"count": Column("count", "ordinal", tuple(range(20)))},
        Schema.infer(table()),
    ],
    ids=["name", "fields", "column", "schema"],
)
def test_schemas_are_saved(schema, tmp_path):
    estimator = tiny(schema=schema, max_epochs=1).fit(table())
    loaded = reload(estimator, tmp_path)
    assert loaded.schema_ == estimator.schema_
    assert loaded.fit(table()).schema_ == estimator.schema_


@pytest.mark.parametrize(
    "options",
    [
        {"kl_weight": np.array([1.0, 0.5])},
        {"kl_weight": np.float32(0.5), "n_hidden": np.int64(8)},
        {"method": ("sum", "imtlg")},
        {"method": IMTLG()},
        {"random_state": np.random.RandomState(0)},
        {"device": torch.device("cpu")},
        {"unsupported": "ignore"},
    ],
    ids="-".join,
)
def test_all_sorts_of_arguments_are_saved(options, tmp_path):
    estimator = tiny(**options).fit(table())
    assert same(reload(estimator, tmp_path).sample(4), estimator.sample(4))


def test_arguments_that_were_changed_after_the_fit_do_not_matter(tmp_path):
    estimator = tiny().fit(table())
    expected = estimator.transform(table())
    loaded = reload(estimator.set_params(n_hidden=99, n_layers=4, n_latent=7), tmp_path)
    assert same(loaded.transform(table()), expected)
    assert loaded.n_hidden == 99


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(table("floats")),
        pd.DataFrame(table("floats"), columns=pd.Index([3, 5, 7, 9])),
        pd.DataFrame(table("floats"), columns=pd.MultiIndex.from_product([["u", "v"], ["a", "b"]])),
        pd.DataFrame(table("floats"), columns=list("abcd")).astype("float32"),
        table().assign(colour=table()["colour"].astype(object), day=table()["day"].dt.tz_localize("UTC")),
        table().assign(code=pd.Categorical(np.arange(90) % 3 + 1), span=table()["day"] - pd.Timestamp("2020")),
    ],
    ids=["numbered", "named by numbers", "named in two levels", "single", "object and zone", "categories of numbers"],
)
def test_frames_of_other_types_are_saved(frame, tmp_path):
    estimator = tiny(max_epochs=1).fit(frame)
    loaded = reload(estimator, tmp_path)
    assert same(loaded.sample(6), estimator.sample(6))
    assert types(loaded.sample(6)) == types(frame)


def test_columns_that_are_ignored_do_not_hinder(tmp_path):
    frame = table().assign(
        name=[f"person {i}" for i in range(90)], empty=pd.Series([None] * 90, dtype=object).to_numpy()
    )
    estimator = tiny(unsupported="ignore").fit(frame)
    assert same(reload(estimator, tmp_path).sample(3), estimator.sample(3))


def test_an_unfitted_estimator_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        tiny().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_paths_may_be_strings_and_must_exist(tmp_path):
    fitted().save(str(tmp_path / "a model.safetensors"))
    assert TabularVAE.load(str(tmp_path / "a model.safetensors")).n_features_in_ == 9
    with pytest.raises(FileNotFoundError, match="nowhere"):
        TabularVAE.load(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        TabularVAE.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="absent"):
        fitted().save(tmp_path / "absent" / "model")


def test_a_failure_while_saving_leaves_the_old_file(file, monkeypatch):
    before = file.read_bytes()

    def full(tensors, path, metadata):
        Path(path).write_bytes(b"half of")
        raise OSError("No space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", full)
    with pytest.raises(OSError, match="No space left"):
        tiny().fit(table("pandas")).save(file)
    assert file.read_bytes() == before
    assert [f.name for f in file.parent.iterdir()] == ["model"]
    assert same(TabularVAE.load(file).sample(3), fitted().sample(3))


def test_a_file_of_a_newer_format_is_refused(file):
    rewritten(file, lambda about, _: about.update(format=storage.FORMAT + 1))
    with pytest.raises(ValueError, match="newer version of evenhand, [0-9.]+ .*Update evenhand"):
        TabularVAE.load(file)


def test_a_file_of_another_class_is_refused(file):
    rewritten(file, lambda about, _: about.update({"class": "Other"}))
    with pytest.raises(ValueError, match="holds a Other. Load it with Other.load"):
        TabularVAE.load(file)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.99])
def test_a_truncated_file_is_refused(file, share):
    whole = file.read_bytes()
    file.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match="model should be a whole file that save\\(\\) wrote. It is damaged"):
        TabularVAE.load(file)


def test_files_of_something_else_are_refused(tmp_path):
    path = tmp_path / "model"
    save_file({"x": torch.zeros(2)}, path)
    with pytest.raises(
        ValueError, match="should be a file that save\\(\\) of TabularVAE wrote. Found something else"
    ):
        TabularVAE.load(path)
    path.write_text("name,age\nAnn,3\n")
    with pytest.raises(ValueError, match="damaged"):
        TabularVAE.load(path)
    for text in ("[1, 2]", "{", "[" * 100_000, '{"format": "1"}', '{"format": 1}', "NaN"):
        save_file({"x": torch.zeros(2)}, path, metadata={"evenhand": text})
        with pytest.raises(ValueError, match="model should be a"):
            TabularVAE.load(path)


class Trap:
    def __reduce__(self):
        return (pytest.fail, ("code was run",))


@pytest.mark.parametrize("write", [pickle.dump, torch.save], ids=["pickle", "torch"])
def test_pickles_are_refused_without_being_opened(write, tmp_path):
    with open(tmp_path / "model", "wb") as file:
        write(Trap(), file)
    with pytest.raises(ValueError, match="damaged"):
        TabularVAE.load(tmp_path / "model")


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_nothing_can_unpickle(source):
    for node in ast.walk(ast.parse(source.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        assert not {"pickle", "joblib", "dill", "marshal", "shelve"} & set(names)
        if isinstance(node, ast.Call):
            assert ast.unparse(node.func) not in ("eval", "exec", "torch.load", "np.load", "pd.read_pickle")


def spoil(key, value):
    def change(about, tensors):
        part = about
        for step in key[:-1]:
            part = part[step]
        part[key[-1]] = value

    return change


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (("limits",), None),
        (("limits",), [[float("nan")] * 9] * 2),
        (("limits",), [[0.0]]),
        (("schema",), "import os"),
        (("schema",), 3),
        (("parameters",), {"method": "sum", "schema": None, "path": "/etc"}),
        (("parameters", "schema"), 'columns = "x"'),
        (("preprocessing", "scale"), [float("inf")] * 9),
        (("preprocessing", "scale"), ["one"] * 9),
        (("preprocessing", "schema"), ""),
        (("fitted",), {}),
        (("template", "library"), "os"),
        (("template", "columns"), [{"name": "real", "dtype": "__import__('os')"}]),
        (("template",), {"library": "polars", "ipc": "not base 64!"}),
        (("template",), {"library": "pyarrow", "ipc": "AAAA"}),
        (("template",), {"library": "numpy", "dtype": "nonsense", "columns": 3}),
        (("forms",), {"real": {"sort": "integer", "code": 1}}),
        (("seed",), "zero"),
    ],
    ids=str,
)
def test_spoilt_descriptions_are_refused(file, key, value):
    rewritten(file, spoil(key, value))
    with pytest.raises(ValueError, match="model should hold what save\\(\\) wrote. Its parts do not fit"):
        TabularVAE.load(file)


@pytest.mark.parametrize("size", ["n_hidden", "n_latent", "n_layers"])
def test_sizes_in_the_description_take_no_memory(file, size):
    rewritten(file, spoil(("parameters", size), 10**9))
    assert same(TabularVAE.load(file).sample(2), fitted().sample(2))


@pytest.mark.parametrize(
    "change",
    [
        lambda _, tensors: tensors.pop("latent"),
        lambda _, tensors: tensors.pop("network.joint.head.weight"),
        lambda _, tensors: tensors.update({"network.joint.head.weight": torch.zeros(1, 2, 3)}),
        lambda _, tensors: tensors["network.joint.head.weight"].fill_(float("nan")),
        lambda _, tensors: (tensors.pop("mixture.means", None), tensors.update({"mixture.weights": torch.ones(1)})),
    ],
    ids=["no latent", "no head", "wrong shape", "not finite", "half a mixture"],
)
def test_spoilt_numbers_are_refused(file, change):
    rewritten(file, change)
    with pytest.raises(ValueError, match="model should hold what save\\(\\) wrote. Its parts do not fit"):
        TabularVAE.load(file)


@pytest.mark.parametrize("method", [GradNorm(0.5), IMTLG() >> PCGrad()], ids=repr)
def test_a_method_that_is_an_object_can_be_fitted_again(method, tmp_path):
    tiny(method=method).fit(table("pandas")).save(tmp_path / "m.safetensors")
    again = clone(TabularVAE.load(tmp_path / "m.safetensors")).fit(table("pandas"))
    assert again.method_ == repr(method)

"""Configs: TOML there and back, what is refused, and that no setting is without a trace in the hash."""

import dataclasses
import math
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

from evenhand import datasets
from evenhand.lab._config import (
    Data,
    Evaluation,
    Impartiality,
    Model,
    MultimodalData,
    MultimodalEvaluation,
    MultimodalExperiment,
    MultimodalModel,
    MultimodalObjective,
    MultimodalTraining,
    Objective,
    PanelData,
    PanelEvaluation,
    PanelExperiment,
    PanelModel,
    PanelTraining,
    Runs,
    TableExperiment,
    Training,
    from_dict,
    hash_of,
    read_config,
    resolve,
    to_dict,
    to_toml,
)
from evenhand.lab._config._files import ADDED

TABLE = TableExperiment(
    Data(path="people.csv", schema="people.toml"),
    Model("vae", 7, 0.25, "moments", True, True),
    Objective("iwae", 3, True),  # which HI-VAE has, too
    Training(5, 6, 3e-5, True, 0.25, 0.125, True, 4),
    Runs(("sum", "imtlg>>pcgrad"), (3, 1), (1.0, 1e-7), True),
    Evaluation(9, 0.3, 11),
)
MULTIMODAL = MultimodalExperiment(
    MultimodalData("digits_in_three", 80),
    MultimodalModel("mopoe", 2, "backward", 0.5, likelihood_weights=(1.0, 2.0, 0.5)),
    MultimodalObjective("iwae", 4),
    Impartiality(("LI", "DEI"), "gradnorm", 0.5),
    MultimodalTraining(3, 16, 5, "bf16"),
    MultimodalEvaluation(40),
)
PANEL = PanelExperiment(
    PanelData(path="panel.csv", schema="panel.toml", missing=("unknown", "abc"), id="who", time="year"),
    PanelModel(n_latent=3, n_hidden=5),
    PanelTraining(4, 6, 0.02, 0.2, 0.1),
    Runs(("sum", "imtlg"), (3, 1), (1.0, 0.5)),
    PanelEvaluation(0.3, 0.2),
)
CONFIGS = [TABLE, TableExperiment(Data("hi")), PANEL, MULTIMODAL, MultimodalExperiment()]
ODD_PATHS = [
    "with space/two  spaces.csv",
    "quo\"ted'.csv",
    "back\\slash\\n.csv",
    "line\nbreak\ttab.csv",
    "Größe-表-🙂.csv",
    "a=b[c]#d.csv",
    "delete\x7f bell\x07.csv",
    "true",
    "1e5",
]


def document(**sections):
    return {"experiment": "table", "data": {"name": "hi"}} | sections


# ---------------------------------------------------------------- there and back


@pytest.mark.parametrize("config", CONFIGS)
def test_a_config_that_is_written_is_read_back(config, tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(to_toml(config), encoding="utf-8")
    found = read_config(path)
    assert found == config
    assert hash_of(found) == hash_of(config)
    assert from_dict(to_dict(config)) == config


@pytest.mark.parametrize("odd", ODD_PATHS)
def test_odd_characters_in_paths_survive(odd, tmp_path):
    config = TableExperiment(Data(path=odd))
    (tmp_path / "config.toml").write_text(to_toml(config), encoding="utf-8", newline="")
    assert read_config(tmp_path / "config.toml") == config


def test_reading_leaves_the_document_as_it_is():
    given = document(training={"epochs": 3})
    from_dict(given, ["training.epochs=4", "runs.seeds=[7]"])
    assert given == document(training={"epochs": 3})


def test_what_is_not_said_has_its_default():
    assert from_dict(document(training={"epochs": 3})) == TableExperiment(Data("hi"), training=Training(epochs=3))


def test_names_tell_what_an_experiment_is():
    assert TableExperiment(Data("hi"), Model("hivae")).name == "hi-hivae-elbo"
    assert TableExperiment(Data(path="far/away/people.v2.csv.gz")).name == "people-vae-elbo"
    assert MULTIMODAL.name == "digits_in_three-mopoe-iwae-li-dei-gradnorm0.5-kl0.5-weights1-2-0.5-5"
    assert MultimodalExperiment().name == "mnist_svhn_text-mmvae-siwae-vanilla-0"


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "experiment should be one of 'table', 'panel', 'multimodal', 'survival'. Found None."),
        ({"experiment": "tabel"}, "experiment should be one of .* Found 'tabel'."),
        ({"experiment": ["table"]}, "experiment should be one of .* Found \\['table'\\]."),
        ({"experiment": "table"}, "should have a section \\[data\\]. Found none."),
        (document(trainig={}), "Found 'trainig'. Did you mean training\\?"),
        (document(training={"epoch": 3}), "Found 'epoch'. Did you mean training.epochs\\?"),
        (document(training={"zzz": 3}), "Found 'zzz'.$"),
        (document(training=3), "training should be a section. Found 3."),
        (document(training={"epochs": True}), "training.epochs should be of type int. Found True."),
        (document(training={"epochs": 3.0}), "training.epochs should be of type int. Found 3.0."),
        (document(training={"epochs": "3"}), "training.epochs should be of type int. Found '3'."),
        (document(training={"lr": "fast"}), "training.lr should be of type float. Found 'fast'."),
        (document(training={"lr": True}), "training.lr should be of type float. Found True."),
        (document(training={"decay": 1}), "training.decay should be of type bool. Found 1."),
        (document(training={"lr": [1.0]}), "training.lr should be of type float. Found \\[1.0\\]."),
        (document(data={"name": 3}), "data.name should be of type str. Found 3."),
        (document(model={"name": "gan"}), "model.name should be one of .*, 'vaem'. Found 'gan'."),
        (document(model={"name": ["vae"]}), "model.name should be one of"),
        (document(runs={"seeds": 3}), "runs.seeds should be a list. Found 3."),
        (document(runs={"seeds": "012"}), "runs.seeds should be a list. Found '012'."),
        (document(runs={"seeds": [0, 1.5]}), "runs.seeds\\[1\\] should be of type int. Found 1.5."),
        (document(runs={"seeds": [0, True]}), "runs.seeds\\[1\\] should be of type int. Found True."),
        (document(runs={"methods": ["sum", 3]}), "runs.methods\\[1\\] should be of type str. Found 3."),
        (document(runs={"kl_weights": [1, "x"]}), "runs.kl_weights should be a number >= 0, or a rate .* Found 'x'."),
        ({"experiment": "multimodal", "impartial": {"goals": ["XI"]}}, "impartial.goals\\[0\\] should be one of"),
        ({"experiment": "multimodal", "runs": {}}, "Found 'runs'."),
    ],
)
def test_wrong_keys_and_types_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        from_dict(given)


def test_a_whole_number_is_a_number():
    config = from_dict(document(training={"lr": 1}, runs={"kl_weights": [1, 2]}))
    assert type(config.training.lr) is float
    assert [type(weight) for weight in config.runs.kl_weights] == [float, float]


@pytest.mark.parametrize("text", ["[data", "experiment = table", "a = 1\na = 2"])
def test_a_file_that_is_not_toml_is_refused(text, tmp_path):
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(ValueError, match="config.toml should be a config in TOML. Found a mistake"):
        read_config(tmp_path / "config.toml")


def test_a_file_that_is_not_text_or_not_there_is_refused(tmp_path):
    (tmp_path / "config.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="should be a config in TOML"):
        read_config(tmp_path / "config.toml")
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(FileNotFoundError, match="Found no file at"):
            read_config(path)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Data(), "data should have a name or a path"),
        (lambda: Data("hi", "people.csv"), "data should have a name or a path"),
        (lambda: Data("hi", schema="people.toml"), "data.schema should stand beside data.path"),
        (lambda: Data("hi", rows=-1), "data.rows should be an integer >= 0. Found -1"),
        (lambda: Model(n_hidden=0), "model.n_hidden should be an integer >= 1. Found 0"),
        (lambda: Model(latent_share=0.0), "model.latent_share should be a number > 0. Found 0.0"),
        (lambda: Model(latent_share=math.inf), "model.latent_share"),
        (lambda: Objective(n_samples=0), "objective.n_samples"),
        (lambda: Training(epochs=0), "training.epochs"),
        (lambda: Training(batch_size=0), "training.batch_size"),
        (lambda: Training(checks=0), "training.checks"),
        (lambda: Training(lr=0.0), "training.lr"),
        (lambda: Training(lr=math.nan), "training.lr"),
        (lambda: Training(dropout=1.0), "training.dropout should be a number >= 0 and < 1. Found 1.0"),
        (lambda: Training(hide=-0.1), "training.hide"),
        (lambda: Training(hide=math.nan), "training.hide"),
        (lambda: Runs(("imtlg",)), "runs.methods should be different and have 'sum'"),
        (lambda: Runs(("sum", "imtlg", "imtlg")), "runs.methods should be different"),
        (lambda: Runs(("sum", "magic")), "Found 'magic'"),
        (lambda: Runs(seeds=()), "runs.seeds"),
        (lambda: Runs(seeds=(0, 0)), "runs.seeds"),
        (lambda: Runs(seeds=(0, -1)), "runs.seeds"),
        (lambda: Runs(kl_weights=(0.1,)), "runs.kl_weights should be different and have 1"),
        (lambda: Runs(kl_weights=()), "runs.kl_weights"),
        (lambda: Runs(kl_weights=(1.0, 1.0)), "runs.kl_weights should be different"),
        (lambda: Runs(kl_weights=(1.0, -0.1)), "runs.kl_weights should be a number >= 0, or a rate .* Found -0.1"),
        (lambda: Runs(kl_weights=(1.0, math.nan)), "runs.kl_weights should be a number >= 0, or a rate .* Found nan"),
        (lambda: Runs(kl_weights=(1.0, math.inf)), "runs.kl_weights"),
        (lambda: Evaluation(n_samples=0), "evaluation.n_samples"),
        (lambda: Evaluation(generate=-1), "evaluation.generate"),
        (lambda: Evaluation(hidden=0.0), "evaluation.hidden should be a number > 0 and < 1. Found 0.0"),
        (lambda: Evaluation(hidden=1.0), "evaluation.hidden"),
        (
            lambda: TableExperiment(Data("hi"), Model("hivae"), Objective("dreg")),
            "objective.name should be one of 'elbo', 'iwae' with model='hivae'",
        ),
        (lambda: PanelTraining(epochs=0), "training.epochs"),
        (lambda: PanelEvaluation(hidden=0.0), "evaluation.hidden"),
        (lambda: MultimodalData(rows=-1), "data.rows"),
        (lambda: MultimodalModel(n_layers=0), "model.n_layers"),
        (lambda: MultimodalModel(kl_weight=-1.0), "model.kl_weight"),
        (lambda: MultimodalModel(kl_weight=math.nan), "model.kl_weight"),
        (lambda: MultimodalObjective(n_samples=0), "objective.n_samples"),
        (lambda: Impartiality(("LI", "LI")), "impartial.goals should be different"),
        (lambda: Impartiality(alpha=-0.1), "impartial.alpha"),
        (lambda: MultimodalTraining(epochs=0), "training.epochs"),
        (lambda: MultimodalTraining(batch_size=0), "training.batch_size"),
        (lambda: MultimodalTraining(seed=-1), "training.seed"),
        (lambda: MultimodalEvaluation(rows=-1), "evaluation.rows"),
    ],
)
def test_settings_out_of_range_are_refused(make, name):
    with pytest.raises(ValueError, match=name):
        make()


# ---------------------------------------------------------------- overrides


@pytest.mark.parametrize(
    ("override", "section", "key", "value"),
    [
        ("training.epochs=10", "training", "epochs", 10),
        ("training.lr=1e-2", "training", "lr", 0.01),
        ("training.lr=1", "training", "lr", 1.0),
        (" training . decay = true ", "training", "decay", True),
        ("runs.seeds=[4, 2]", "runs", "seeds", (4, 2)),
        ('runs.methods=["sum", "pcgrad"]', "runs", "methods", ("sum", "pcgrad")),
        ("objective.name=iwae", "objective", "name", "iwae"),
        ('objective.name="iwae"', "objective", "name", "iwae"),
        ("data={path='other.csv'}", "data", "path", "other.csv"),
    ],
)
def test_an_override_replaces_a_setting(override, section, key, value):
    found = getattr(getattr(from_dict(document(), [override]), section), key)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("path", ["a=b.csv", "x/y=1/z.csv", "my file.csv", "#1.csv", "C:\\data\\x.csv", "[1].csv"])
def test_a_path_needs_no_quotes(path):
    assert from_dict({"experiment": "table"}, [f"data.path={path}"]).data.path == path


def test_the_last_override_wins_and_others_stay():
    config = from_dict(document(training={"epochs": 3, "lr": 0.5}), ["training.epochs=4", "training.epochs=5"])
    assert (config.training.epochs, config.training.lr) == (5, 0.5)


def test_an_override_can_choose_the_experiment_and_its_numbered_options():
    config = from_dict({}, ["experiment=multimodal", "training.precision=32"])
    assert config == MultimodalExperiment()
    assert from_dict({}, ["experiment=multimodal", "training.precision=bf16"]).training.precision == "bf16"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.epochs", "An override should look like training.epochs=10. Found 'training.epochs'."),
        ("=10", "An override should look like"),
        (".epochs=10", "An override should look like"),
        ("training.=10", "An override should look like"),
        ("training.epochs.more=10", "An override should look like"),
        ("experiment.name=10", "experiment should be a section to set"),
        ("training.epochs=", "training.epochs should be of type int. Found ''."),
        ("training.epochs=ten", "training.epochs should be of type int. Found 'ten'."),
        ("training.epochs=1.5", "training.epochs should be of type int"),
        ("training.decay=True", "training.decay should be of type bool. Found 'True'."),
        ("training.epoch=3", "Did you mean training.epochs\\?"),
        ("epochs=3", "Found 'epochs'."),
        ("training=3", "training should be a section. Found 3."),
        ("runs.seeds=0,1", "runs.seeds should be a list. Found '0,1'."),
        ("runs.seeds=[0,", "runs.seeds should be a list"),
    ],
)
def test_bad_overrides_are_refused(override, message):
    with pytest.raises(ValueError, match=message):
        from_dict(document(), [override])


# ---------------------------------------------------------------- the hash


def other_values(value, hint):
    """Values of the same type that are not this one."""
    if get_origin(hint) is Literal:
        return [other for other in get_args(hint) if other != value]
    if get_origin(hint) is tuple:
        return [value[:-1], value[::-1]] if value else []
    if hint == float | str:
        return [value * 1.01 or 1.0, "rate:8"]
    return {
        bool: lambda: [not value],
        int: lambda: [value + 1],
        float: lambda: [value * 1.01 or 1.0, math.nextafter(value, math.inf)],
        str: lambda: [value + "x"],
    }[hint]()


def neighbours(config):
    """The config with one setting changed, for every setting and some changes of it."""
    for section in dataclasses.fields(config):
        part = getattr(config, section.name)
        hints = get_type_hints(type(part))
        for field in dataclasses.fields(part):
            others = other_values(getattr(part, field.name), hints[field.name])
            named = (section.name, field.name) == ("data", "name")
            if named and isinstance(config, MultimodalExperiment):
                others = [
                    *datasets.MULTIMODAL.keys() - {part.name},
                    "my_module:mine",
                    "my_module:other",
                    "mine.py:mine",
                ]
            for other in others:
                changed = {field.name: other}
                if named and isinstance(config, TableExperiment | PanelExperiment):
                    changed |= {"path": "", "schema": "", "missing": ()}  # which are for files
                if (section.name, field.name) == ("objective", "floor"):
                    changed = {"name": "siwae", "floor": 0.3}  # which no other bound has
                try:
                    new = dataclasses.replace(part, **changed)
                    neighbour = dataclasses.replace(config, **{section.name: new})
                except ValueError:
                    continue  # out of range
                yield f"{section.name}.{field.name}", neighbour


# two methods and weights of which either may be left out, so that every change is within range
WALKED = dataclasses.replace(
    TABLE,
    data=dataclasses.replace(TABLE.data, missing=("unknown", "abc")),
    model=dataclasses.replace(TABLE.model, name="vae", parameters="natural"),  # Lipschitz standardization needs both
    runs=Runs(("sum", "imtlg"), (3, 1), (1.0, 0.5), True, column_weights=("nominal:2", "gradient")),
)


@pytest.mark.parametrize("config", [WALKED, PANEL, MULTIMODAL])
def test_every_setting_changes_the_hash(config):
    everything = {
        f"{section.name}.{field.name}"
        for section in dataclasses.fields(config)
        for field in dataclasses.fields(getattr(config, section.name))
    }
    found = {}
    for name, other in neighbours(config):
        assert hash_of(other) != hash_of(config), name
        found.setdefault(name, set()).add(hash_of(other))
    one_choice = set()
    if isinstance(config, PanelExperiment):
        one_choice = {"model.name", "runs.unrestored", "runs.column_weights"}
    assert set(found) == everything - one_choice  # none was passed over
    every = [h for hashes in found.values() for h in hashes]
    assert len(set(every)) == len(every)


def test_the_hash_is_short_and_knows_no_difference_between_defaults_and_their_values():
    assert hash_of(TableExperiment(Data("hi"))) == hash_of(from_dict(document()))
    assert len(hash_of(MULTIMODAL)) == 8


def test_a_config_and_its_file_have_the_same_hash_however_numbers_are_written():
    config = TableExperiment(Data("hi"), training=Training(lr=1), runs=Runs(kl_weights=(1, 0.5)))
    assert hash_of(config) == hash_of(from_dict(to_dict(config)))


# ---------------------------------------------------------------- resolve


@pytest.fixture
def files(tmp_path):
    (tmp_path / "people.csv").write_text("a,b\n1,2\n")
    (tmp_path / "people.toml").write_text("[columns.a]\nkind = 'real'\n")
    return Data(path=str(tmp_path / "people.csv"), schema=str(tmp_path / "people.toml"))


@pytest.mark.parametrize("which", ["people.csv", "people.toml"])
def test_another_content_is_another_run(files, tmp_path, which):
    config = TableExperiment(files)
    before = resolve(config)
    assert len(before.data.sha256) == 64
    assert resolve(config) == before
    assert resolve(before) == before
    (tmp_path / which).write_text((tmp_path / which).read_text() + "\n")
    after = resolve(config)
    assert hash_of(after) != hash_of(before)
    with pytest.raises(ValueError, match="its content has changed. Remove data.sha256 to start a new run"):
        resolve(before)


@pytest.mark.parametrize("which", ["people.csv", "people.toml"])
def test_files_that_are_not_there_are_refused(files, tmp_path, which):
    (tmp_path / which).unlink()
    with pytest.raises(FileNotFoundError, match=f"data should name files that exist. Found none at .*{which}"):
        resolve(TableExperiment(files))


def test_public_data_have_nothing_to_resolve():
    for config in (TableExperiment(Data("hi")), MULTIMODAL):
        assert resolve(config) == config


def test_where_a_file_lies_does_not_matter(tmp_path):
    configs = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "d.csv").write_text("x,y\n1,2\n")
        configs.append(resolve(TableExperiment(Data(path=str(tmp_path / folder / "d.csv")))))
    assert hash_of(configs[0]) == hash_of(configs[1])
    (tmp_path / "b" / "d.csv").write_text("x,y\n1,3\n")
    assert hash_of(configs[0]) != hash_of(resolve(TableExperiment(Data(path=str(tmp_path / "b" / "d.csv")))))


def test_a_setting_that_is_newer_leaves_older_runs_as_they_are():
    plain = MultimodalExperiment(objective=MultimodalObjective("siwae", 30))
    assert hash_of(plain) == hash_of(MultimodalExperiment(objective=MultimodalObjective("siwae", 30, 0.0)))
    assert hash_of(plain) != hash_of(MultimodalExperiment(objective=MultimodalObjective("siwae", 30, 0.6)))
    before = to_dict(plain)
    del before["objective"]["floor"]
    assert from_dict(before) == plain
    with pytest.raises(ValueError, match="objective.floor should be 0 with objective.name='iwae'"):
        MultimodalObjective("iwae", 30, 0.6)
    for section, name, value in ADDED:
        assert before[section].pop(name, value) == value
    assert from_dict(before) == plain
    assert hash_of(plain) == "0da1f3a3"  # of the runs that there are


def test_no_more_samples_are_differentiated_than_there_are():
    with pytest.raises(ValueError, match=r"objective.n_backward should be at most objective.n_samples=3. Found 4"):
        MultimodalObjective("siwae", 3, n_backward=4)

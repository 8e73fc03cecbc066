"""The scikit-learn face: a DataFrame with holes in, imputations, synthetic rows, densities and a report out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from ...common import LatentMixture, find_device
from ...impartial import Method
from ..families import HIVAE, VAE
from ..frames import RawTable, build, fill, forms_of, read
from ..inference import (
    draws,
    encode,
    expectations,
    head_gradients,
    log_likelihood,
    rates_and_bounds,
    reconstruct,
    rows_from_codes,
    rows_from_prior,
    trivial_guess,
)
from ..kinds import Preprocessing, TableLikelihood
from ..schema import Schema
from ..stack import Rows, Run, Stack
from ._candidates import candidates
from ._held_out import HeldOut, shrink
from ._input import as_wanted, read_given, remember_columns, tidy
from ._marginals import match, quantiles
from ._parameters import check_number, check_parameters
from ._progress import progress
from ._report import Report
from ._search import Search

Array = NDArray[Any]
STEPS = 8_000  # of a training, if max_epochs does not say otherwise
LATENT_ROWS = 20_000


class TabularVAE(TransformerMixin, BaseEstimator):
    """A variational autoencoder for tables with columns of all kinds and with holes, trained impartially.

    ``fit`` learns the joint distribution of the columns; ``transform`` fills holes; ``sample`` makes new rows. By
    default the method that settles conflicts among columns, and the weight of the KL term, are chosen by the error
    on cells that the model was not shown: all candidates are trained side by side and the worst are dropped on the
    way. Plain training is always among them.

    Parameters
    ----------
    model : {"vae", "hivae"}
        The paper's VAE, or HI-VAE.
    objective : {"elbo", "iwae", "dreg"}
        What is maximised. HI-VAE knows "elbo" only.
    method : "auto", str, Method or list
        What settles the conflict among columns, such as "imtlg" or "gradnorm>>pcgrad"; "sum" is plain training. A
        list is tried like "auto".
    kl_weight : "auto", float or list of float
        The weight of the KL term. Smaller ones let rows keep more information.
    kl_warm_up : int
        Epochs over which the KL weight rises from zero.
    schema : Schema, mapping or None
        The kinds of columns; a mapping of names to kinds overrides what is inferred.
    unsupported : {"error", "ignore"}
        What happens to columns without a use (constant, empty, ids, free text): an error that names them, or they
        are left as they are.
    n_latent, n_hidden, n_layers : int
        Sizes of the networks. n_latent defaults to the number of columns (10 in HI-VAE).
    n_samples : int
        Samples of the latent variables for each row in training, K; 20 is usual for "iwae" and "dreg".
    hide : "auto" or float
        The share of observed cells that the encoder is not shown in training, while all observed cells are scored.
        "auto" follows the share of cells that are missing.
    max_epochs : int or None
        Length of the training; None for about 8,000 steps, and at least 30 epochs.
    patience : int
        Validations (there are 40) without any improvement after which training ends.
    batch_size : int
    lr : float
        The learning rate at first; it falls to zero along half a cosine.
    validation_fraction : float
        The share of rows that is held out to choose by.
    aggregate : {"mean", "median"}
        How the expectations of a number, one for each sample of the latent variables, become one imputation.
    resample : "auto" or bool
        Whether draws are resampled by importance weights; "auto" decides on held-out cells.
    n_draws : int
        Draws that imputations are made of.
    device : str
        "auto" takes a GPU if there is one.
    random_state : int, RandomState or None
    verbose : "auto" or bool
        Whether a progress bar is shown; "auto" shows it on a terminal.

    Attributes
    ----------
    schema_ : Schema
    method_, kl_weight_ : the choice that was made
    selection_ : list of dict
        All candidates with their error on hidden cells, rate in nats and steps of training.
    columns_ : list of dict
        Errors, shares of the gradient and likelihoods by column: what ``report`` shows.
    history_ : list of dict
        Validations during training.
    rate_ : float
        KL(q || p) of held-out rows in nats.
    trivial_, shrinkage_ : arrays
        The mean or mode of every column, and how far imputations go from there towards the model: 1 all the way.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1)) + 0.1 * rng.normal(size=(200, 3))
    >>> X[::7, 1] = np.nan
    >>> model = TabularVAE(method="sum", kl_weight=0.1, max_epochs=3, random_state=0).fit(X)
    >>> bool(np.isnan(model.transform(X)).any())
    False
    """

    def __init__(
        self,
        *,
        model: Literal["vae", "hivae"] = "vae",
        objective: Literal["elbo", "iwae", "dreg"] = "elbo",
        method: str | Method | Sequence[str | Method] = "auto",
        kl_weight: str | float | Sequence[float] = "auto",
        kl_warm_up: int = 0,
        schema: Schema | Mapping[str, Any] | None = None,
        unsupported: Literal["error", "ignore"] = "error",
        n_latent: int | None = None,
        n_hidden: int = 128,
        n_layers: int = 3,
        n_samples: int = 1,
        hide: float | Literal["auto"] = "auto",
        max_epochs: int | None = None,
        patience: int = 15,
        batch_size: int = 256,
        lr: float = 2e-3,
        validation_fraction: float = 0.1,
        aggregate: Literal["mean", "median"] = "mean",
        resample: bool | Literal["auto"] = "auto",
        n_draws: int = 20,
        device: str = "auto",
        random_state: Any = None,
        verbose: bool | Literal["auto"] = "auto",
    ) -> None:
        self.model = model
        self.objective = objective
        self.method = method
        self.kl_weight = kl_weight
        self.kl_warm_up = kl_warm_up
        self.schema = schema
        self.unsupported = unsupported
        self.n_latent = n_latent
        self.n_hidden = n_hidden
        self.n_layers = n_layers
        self.n_samples = n_samples
        self.hide = hide
        self.max_epochs = max_epochs
        self.patience = patience
        self.batch_size = batch_size
        self.lr = lr
        self.validation_fraction = validation_fraction
        self.aggregate = aggregate
        self.resample = resample
        self.n_draws = n_draws
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    # ---------------------------------------------------------------- fitting

    def fit(self, X: Any, y: Any = None) -> TabularVAE:
        """Learn the joint distribution of the columns of a table.

        Parameters
        ----------
        X : DataFrame (pandas, polars, pyarrow) or array
            Missing cells are NaN, None or NA.
        y : ignored

        Returns
        -------
        self
        """
        before = self.__dict__.copy()
        try:
            self._fit(X)
        except BaseException:
            self.__dict__ = before  # a fit that fails leaves the model of an earlier one as it was
            raise
        return self

    def _fit(self, X: Any) -> None:
        check_parameters(self)
        X = tidy(X)
        if len(X) < 2:
            raise ValueError(f"X should have at least 2 rows to learn from. Found n_samples={len(X)}.")
        remember_columns(self, X, reset=True)
        self.schema_ = self._find_schema(X)
        table = read(X, self.schema_)
        self._check_table(table)
        self._template, self._forms = X[:0], forms_of(X, self.schema_)
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        torch_device = find_device(self.device)
        held_out, train = self._split(len(table))
        self._prepare(table, train)
        rows = self._encode(table).to(torch_device)
        search = self._start(table, rows, train, held_out)
        with progress(self.verbose, search) as bar:
            search.tick = bar
            label = search.run()
        if search.interrupted:
            warnings.warn("Interrupted: the best model so far is kept.", stacklevel=3)
        self._finish(search, label, table, rows, train)

    def _find_schema(self, X: Any) -> Schema:
        if isinstance(self.schema, Schema):
            return self.schema
        return Schema.infer(X, dict(self.schema or {}), unsupported=self.unsupported)

    def _check_table(self, table: RawTable) -> None:
        if not len(self.schema_):
            raise ValueError(f"X should have a column to learn from. All are ignored: {dict(self.schema_.ignored)}.")
        empty = [c.name for d, c in enumerate(self.schema_) if not table.observed[:, d].any()]
        if empty:
            raise ValueError(f"X should have values in all columns of the schema. Found none in {', '.join(empty)}.")

    def _split(self, n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        order = np.random.default_rng(self._seed).permutation(n)
        held_out = int(self.validation_fraction * n)
        # too few rows to spare: choose by the rows that are there
        return (order, order) if held_out < 10 else (order[:held_out], order[held_out:])

    def _prepare(self, table: RawTable, train: NDArray[np.intp]) -> None:
        """Units, limits and likelihoods, from training rows."""
        seen = table.rows(train)
        rule: Literal["centred", "log1p"] = "log1p" if self.model == "hivae" else "centred"
        self.preprocessing_ = Preprocessing.fit(seen, self.schema_, seed=self._seed, positive=rule)
        known = np.where(table.observed, table.values, np.nan)
        self.limits_ = np.stack([np.nanmin(known, 0), np.nanmax(known, 0)])
        trivial, overall = (
            trivial_guess(torch.tensor(t.values), torch.tensor(t.observed), self.schema_).numpy()
            for t in (seen, table)
        )
        self.trivial_ = np.where(np.isnan(trivial), overall, trivial)  # a column may be empty in training rows

    def _likelihood(self) -> TableLikelihood:
        return TableLikelihood(
            self.schema_, [self.preprocessing_], limits=torch.tensor(self.limits_), parameters="moments"
        )

    def _encode(self, table: RawTable, dtype: torch.dtype | None = None) -> Rows:
        return Rows.encode(
            self.preprocessing_.encode(table),
            self._likelihood(),
            encoding="hivae" if self.model == "hivae" else "one-hot",
            see_mask=True,
            dtype=dtype,
        )

    def _network(self, n_inputs: int, seeds: Sequence[int]) -> VAE | HIVAE:
        if self.model == "hivae":
            return HIVAE(n_inputs, self._likelihood(), seeds=seeds, n_latent=self.n_latent or 10)
        return VAE(
            n_inputs,
            self._likelihood(),
            seeds=seeds,
            n_latent=self.n_latent or max(2, len(self.schema_)),
            n_hidden=self.n_hidden,
            n_layers=self.n_layers,
        )

    def _start(self, table: RawTable, rows: Rows, train: NDArray[np.intp], held_out: NDArray[np.intp]) -> Search:
        tried = candidates(self.method, self.kl_weight)
        runs = [Run(self._seed, method, self.lr, weight) for _, method, weight in tried]
        missing = 1 - float(table.observed.mean())
        self.hide_ = float(np.clip(missing or 0.2, 0.1, 0.5)) if self.hide == "auto" else float(self.hide)
        per_epoch = max(1, len(train) // min(self.batch_size, len(train)))
        epochs = self.max_epochs or max(30, STEPS // per_epoch)
        steps = epochs * per_epoch
        if self.kl_warm_up > epochs:
            raise ValueError(
                f"kl_warm_up should be at most the {epochs} epochs of training. Found {self.kl_warm_up}."
            )
        network = self._network(rows.n_inputs, [run.seed for run in runs])
        if isinstance(network, VAE) and network.head.bias is not None:
            # heads start from the marginal distributions, and not from zero as in the paper: fewer steps are wasted
            _, targets, mask = rows.split(rows.record[torch.tensor(train, device=rows.record.device)])
            marginal = network.likelihood.to(rows.record.device).marginal(targets, mask)
            network.head.bias.data = marginal.cpu().expand_as(network.head.bias).clone()
        stack = Stack(
            network,
            runs,
            rows,
            torch.tensor(train)[None],
            objective=self.objective,
            n_samples=self.n_samples,
            batch_size=self.batch_size,
            dropout=0.0,
            hide=self.hide_,
            kl_warm_up=self.kl_warm_up * per_epoch,
            decay=steps,
        )
        rate = min(self.hide_ or 0.2, 0.5)
        options: dict[str, Any] = {"rate": rate, "seed": self._seed, "device": rows.record.device}
        self._held_out = HeldOut(table, held_out, self.schema_, self.limits_, **options)
        labels = [{"method": name, "kl_weight": weight, "chosen": False} for name, _, weight in tried]
        return Search(
            stack,
            steps,
            score=lambda: self._held_out.score(stack.model, rows),
            rate=lambda: self._rates(stack.model, rows, self._held_out.once)[0].mean(-1),
            labels=labels,
            always=[i for i, (name, _, _) in enumerate(tried) if name in ("sum", "Sum()")],
            patience=self.patience,
        )

    def _finish(
        self,
        search: Search,
        label: dict[str, Any],
        table: RawTable,
        rows: Rows,
        train: NDArray[np.intp],
    ) -> None:
        model = search.stack.model
        self._check_learnt(model, rows)
        self.method_, self.kl_weight_ = label["method"], label["kl_weight"]
        self.selection_ = search.labels
        self.history_ = search.history
        self.n_steps_ = int(search.stack.steps)
        self.rate_ = float(self._rates(model, rows, self._held_out.once)[0].mean())
        self.resample_ = self._resampling_helps(model, rows) if self.resample == "auto" else bool(self.resample)
        self.columns_ = self._describe(model, rows, table)
        some = torch.tensor(train[:LATENT_ROWS], device=rows.record.device)
        latent = encode(model, rows, some, generator=self._generator(device=some.device))[0]
        self._latent_codes = latent.cpu().numpy()
        self._mixture: LatentMixture | None = None
        self._quantiles = quantiles(table.values, table.observed)
        self._model_quantiles: dict[str, NDArray[np.float64]] = {}
        self.network_ = model.cpu().eval()
        del self._held_out

    def _rates(self, model: VAE | HIVAE, rows: Rows, index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return rates_and_bounds(model, rows, index, generator=self._generator(device=index.device))

    def _check_learnt(self, model: VAE | HIVAE, rows: Rows) -> None:
        """Name the columns whose likelihood is not a number."""
        by_column = self._rates(model, rows, self._held_out.once[:100])[2][0]
        broken = [model.likelihood.names[d] for d in torch.nonzero(~by_column.isfinite()).flatten().tolist()]
        if broken or not all(bool(p.isfinite().all()) for p in model.parameters()):
            raise FloatingPointError(
                f"Training diverged at column {', '.join(broken) or 'unknown'}. Look for extreme values there, give "
                f"the column another kind in the schema, or lower lr (now {self.lr:g})."
            )

    def _resampling_helps(self, model: VAE | HIVAE, rows: Rows) -> bool:
        plain, weighted = (float(self._held_out.errors(self._average(model, rows, w)).mean()) for w in (False, True))
        return weighted < plain

    def _average(self, model: VAE | HIVAE, rows: Rows, weighted: bool) -> Tensor:
        options = {"n_samples": self.n_draws, "median": self.aggregate == "median", "weighted": weighted}
        generator = self._generator(device=rows.record.device)
        return self._held_out.guess(model, rows, generator=generator, **options)[0]

    def _describe(self, model: VAE | HIVAE, rows: Rows, table: RawTable) -> list[dict[str, Any]]:
        """What is known about every column, from held-out rows; sets how far imputations go towards the model."""
        trivial, held_out = torch.tensor(self.trivial_), self._held_out
        guess = self._average(model, rows, self.resample_)
        share = held_out.shrinkage(guess, trivial)
        self.shrinkage_ = share.cpu().numpy()
        errors = held_out.errors(shrink(guess, trivial, share, self.schema_)).tolist()
        trivial_errors = held_out.trivial(trivial).tolist()
        shares = head_gradients(model, rows, held_out.once[:512]).shares[0].tolist()
        likelihoods = self._likelihood_by_column(model, rows, table)
        return [
            {
                "column": column.name,
                "kind": str(column.kind),
                "error": errors[d],
                "trivial_error": trivial_errors[d],
                "gradient_share": shares[d],
                "log_likelihood": likelihoods[d],
            }
            for d, column in enumerate(self.schema_)
        ]

    def _likelihood_by_column(self, model: VAE | HIVAE, rows: Rows, table: RawTable) -> list[float]:
        """Mean log p(x_d|z) of the cells observed, in the units of the data."""
        index = self._held_out.once
        batch = self.preprocessing_.encode(table.rows(index.cpu().numpy()))
        base = self._likelihood().base(batch.values, self.preprocessing_)
        known = batch.mask[:, model.likelihood.order]
        mean_base = torch.where(known, base, 0.0).sum(0) / known.sum(0).clamp(min=1)
        by_column = self._rates(model, rows, index)[2][0].cpu() + mean_base
        return by_column[model.likelihood.inverse.cpu()].tolist()

    # ---------------------------------------------------------------- using

    def _known(self, X: Any) -> tuple[Any, RawTable, Rows, Tensor]:
        """New rows as the model sees them."""
        check_is_fitted(self)
        X = tidy(X)
        remember_columns(self, X, reset=False)
        table = read(X, self.schema_, unseen="missing")
        return X, table, self._encode(table, self._dtype), torch.arange(len(table))

    @property
    def _dtype(self) -> torch.dtype:
        return next(self.network_.parameters()).dtype

    def _generator(self, random_state: Any = None, device: torch.device | str = "cpu") -> torch.Generator:
        seed = self._seed if random_state is None else int(check_random_state(random_state).randint(2**31 - 1))
        return torch.Generator(device).manual_seed(seed)

    def transform(self, X: Any) -> Any:
        """Fill the holes of a table with the fitted model; observed cells stay as they are.

        Categories that were never seen count as missing, with a warning.
        """
        X, table, rows, _ = self._known(X)
        missing = ~table.observed
        holes = np.flatnonzero(missing.any(1))
        values = table.values.copy()
        if len(holes):
            values[holes] = self._guess(rows, torch.tensor(holes)).numpy()
        return as_wanted(self, fill(X, self.schema_, values, missing, self._forms))

    def _guess(self, rows: Rows, index: Tensor) -> Tensor:
        averages = expectations(
            self.network_,
            rows,
            index,
            n_samples=self.n_draws,
            weighted=self.resample_,
            median=self.aggregate == "median",
            generator=self._generator(),
        )
        guess = self.network_.likelihood.decide(averages[0])
        return shrink(guess, torch.tensor(self.trivial_), torch.tensor(self.shrinkage_), self.schema_)

    def sample_posterior(self, X: Any, n: int = 5, random_state: Any = None) -> list[Any]:
        """Several imputations of a table, each a draw: for multiple imputation.

        Parameters
        ----------
        X : the table
        n : int
            Number of imputations.
        random_state : int, RandomState or None
            None for the same draws every time.

        Returns
        -------
        list of tables like X, without holes
        """
        check_number("n", n)
        X, table, rows, index = self._known(X)
        many = draws(
            self.network_,
            rows,
            index,
            n_draws=n,
            n_samples=max(self.n_draws, 2 * n),
            weighted=self.resample_,
            generator=self._generator(random_state),
        )[0]
        return [fill(X, self.schema_, values.numpy(), ~table.observed, self._forms) for values in many]

    def sample(
        self,
        n: int = 1,
        *,
        given: Mapping[str, Any] | None = None,
        latent: Literal["mixture", "prior"] = "mixture",
        match_marginals: bool = True,
        random_state: Any = None,
    ) -> Any:
        """New rows.

        Parameters
        ----------
        n : int
        given : mapping or None
            Values of some columns, each one value or one for every row; the other columns are drawn given these.
        latent : {"mixture", "prior"}
            Where latent variables come from: a mixture of 100 Gaussians fitted to those of the training rows, as
            in the paper, or the prior.
        match_marginals : bool
            Whether numbers are moved to the same quantiles of the training data, so that spikes and bounds of a
            column appear; categories are drawn as the model has them.
        random_state : int, RandomState or None
            None for the same rows every time.
        """
        check_is_fitted(self)
        check_number("n", n)
        if latent not in ("mixture", "prior"):
            raise ValueError(f"latent should be 'mixture' or 'prior'. Found {latent!r}.")
        generator = self._generator(random_state)
        if given:
            table = self._table_of(given, n)
            rows = self._encode(table, self._dtype)
            options: dict[str, Any] = {"n_samples": 200, "weighted": True, "generator": generator}
            values = draws(self.network_, rows, torch.arange(n), **options)[0, 0].numpy()
        else:
            table = None
            values = self._new_values(n, latent, generator)
        if match_marginals:
            values = self._matched(values, latent, generator)
        if table is not None:
            values = np.where(table.observed, table.values, values)
        return build(self.schema_, values, self._template, self._forms)

    def _matched(self, values: Array, latent: str, generator: torch.Generator) -> Array:
        if latent not in self._model_quantiles:
            own = torch.Generator().manual_seed(self._seed)
            drawn = self._new_values(LATENT_ROWS, latent, own)
            self._model_quantiles[latent] = quantiles(drawn, np.ones(drawn.shape, bool))
        numeric = [d for d, column in enumerate(self.schema_) if column.kind.numeric]
        rng = np.random.default_rng(int(torch.randint(2**31 - 1, (1,), generator=generator)))
        model, data = self._model_quantiles[latent], self._quantiles
        values = values.copy()
        values[:, numeric] = match(values[:, numeric], model[:, numeric], data[:, numeric], rng)
        return values

    def _table_of(self, given: Mapping[str, Any], n: int) -> RawTable:
        """Rows with the given cells only; cells of sequences that are missing are not given."""
        given = {str(name): wanted for name, wanted in given.items()}
        unknown = [name for name in given if name not in self.schema_.names]
        if unknown:
            raise ValueError(f"given should name columns of the table. Found {', '.join(map(repr, unknown))}.")
        values, observed = np.zeros((n, len(self.schema_))), np.zeros((n, len(self.schema_)), bool)
        for d, column in enumerate(self.schema_):
            if column.name in given:
                table = read_given(given[column.name], column, n)
                values[:, d], observed[:, d] = table.values[:, 0], table.observed[:, 0]
        return RawTable(values, observed)

    def _new_values(self, n: int, latent: str, generator: torch.Generator) -> Array:
        seed = int(torch.randint(2**31 - 1, (1,), generator=generator))
        if latent == "prior" or isinstance(self.network_, HIVAE):  # HI-VAE's prior is a mixture already
            return rows_from_prior(self.network_, n, generator)
        codes = self._fitted_mixture().sample(n, np.random.default_rng(seed))
        return rows_from_codes(self.network_, codes, generator)

    def _fitted_mixture(self) -> LatentMixture:
        if self._mixture is None:
            self._mixture = LatentMixture(100).fit(self._latent_codes, self._seed)
        return self._mixture

    def score_samples(self, X: Any, n_samples: int = 100) -> Array:
        """log p of the observed cells of every row, in the units of the data, by importance sampling."""
        check_number("n_samples", n_samples)
        _, table, rows, index = self._known(X)
        batch = self.preprocessing_.encode(table)
        base = self.network_.likelihood.base(batch.values, self.preprocessing_)
        found = log_likelihood(self.network_, rows, index, base, n_samples=n_samples, generator=self._generator())
        return found[0].double().numpy()

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of ``score_samples``."""
        return float(self.score_samples(X).mean())

    def encode(self, X: Any) -> Array:
        """Means of the latent variables of every row, ``[n, n_latent]``."""
        _, _, rows, index = self._known(X)
        return encode(self.network_, rows, index)[0].double().numpy()

    def reconstruct(self, X: Any) -> Any:
        """Every cell as the model sees it: the mode of every likelihood at the mode of q(z|x)."""
        X, table, rows, index = self._known(X)
        values = reconstruct(self.network_, rows, index)[0].numpy()
        return fill(X, self.schema_, values, np.ones_like(table.observed), self._forms)

    def report(self) -> Report:
        """Which columns the model neglects, what was chosen, and at what rate."""
        check_is_fitted(self)
        return Report(self.columns_, self.selection_, self.method_, self.kl_weight_, self.rate_)

    def save(self, path: str | Path) -> None:
        """Write the fitted model to one file: numbers and text, no code."""
        from ._storage import save

        check_is_fitted(self)
        save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> TabularVAE:
        """Read a model that ``save`` wrote. A file from someone else cannot run code."""
        from ._storage import load

        return load(cls, Path(path))

    # ---------------------------------------------------------------- scikit-learn

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns of what ``transform`` gives: those of its input."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        if input_features is not None:
            given = np.asarray(input_features, dtype=object)
            if len(given) != self.n_features_in_ or (names is not None and list(given) != list(names)):
                raise ValueError("input_features is not equal to feature_names_in_")
            return given
        return np.asarray([f"x{i}" for i in range(self.n_features_in_)] if names is None else names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

"""The scikit-learn face: a DataFrame with holes in, imputations, synthetic rows, densities and a report out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from ...common import Heartbeat, check_choice, check_integer
from ...impartial import Method
from ..families import FamilyName
from ..frames import RawTable, build, fill
from ..objectives import ObjectiveName
from ..schema import Schema
from ._acquire import wishes
from ._fitting import Fitting, Outcome
from ._input import as_wanted, find_schema, names_out, read_rows, read_training_rows, remember_columns, table_of, tidy
from ._opinions import CONSTANT
from ._parameters import check_parameters
from ._report import Report
from ._way import Way

Array = NDArray[Any]


class TabularVAE(TransformerMixin, BaseEstimator):
    """A variational autoencoder for tables with columns of all kinds and with holes, trained impartially.

    ``fit`` learns the joint distribution of the columns; ``transform`` fills holes; ``sample`` makes new rows. By
    default one trunk goes on in two ways: through latent variables (densities, codes), and directly to the best guess
    of every hidden cell. What settles conflicts among columns is chosen on cells that the model was not shown.

    Parameters
    ----------
    model : {"twoway", "vae", "hivae", "vaem"}
        One trunk with two ways on; or the paper's VAE or HI-VAE, or VAEM, where all goes through latent variables.
    objective : {"elbo", "iwae", "dreg"}
        What is maximised; "dreg" is the bound of "iwae" with another gradient. HI-VAE lacks "dreg",
        and VAEM has "elbo" alone.
    method : "auto", str, Method or list
        What settles the conflict among columns, such as "imtlg" or "gradnorm>>pcgrad"; "sum" is plain training. A
        list is raced. "auto" is plain training for "twoway", else plain training and PCGrad; "thorough" tries all,
        with several KL weights, for minutes.
    kl_weight : "auto", float, "rate:8" or list of these
        The weight of the KL term. Smaller ones let rows keep more information. "rate:8" is a weight that moves in
        training such that rows keep 8 nats, so that anything is compared at equal rate.
    kl_warm_up : int
        Epochs over which the KL weight rises from zero.
    schema : Schema, mapping or None
        The kinds of columns; a mapping of names to kinds overrides what is inferred.
    unsupported : {"error", "ignore"}
        What happens to columns without a use (constant, empty, ids, free text): an error that names them, or they
        are left as they are.
    n_latent, n_hidden, n_layers : int
        Sizes of the networks. n_latent defaults to the number of columns (10 in HI-VAE); layers to 2 of 192 units in
        "twoway", 3 of 128 in "vae".
    n_samples : int
        Samples of the latent variables for each row in training, K; 20 is usual for "iwae" and "dreg".
    hide : "auto" or float
        The mean share of observed cells that are hidden from the network in training. "auto" is 0.4 for "twoway", and
        follows the share of cells that are missing otherwise.
    missing : {"at_random", "not_at_random"}
        Why cells are missing. With "not_at_random" it may depend on what they hold (self-masking, as in not-MIWAE):
        the log-odds of being missing are learnt for every column, and guesses, draws and new rows follow. Needs
        columns that others tell something of, and assumes that nothing but the cell itself decides.
    trees : bool
        Whether boosted trees, grown for every column beside the network, have a say in best guesses: for each column
        as much as is best on held-out cells. Tables of up to 64 columns, with 100 rows or more, have them.
    max_epochs : int or None
        Length of the training; None for 30 epochs, within 3,000 to 12,000 steps ("vae": at least 8,000).
    max_seconds : float or None
        What training may take at most. The learning rate falls in time for that.
    patience : int
        Validations (there are 40) without any improvement after which training ends.
    batch_size : int
    lr : float
        The learning rate at first; it falls to zero along half a cosine.
    validation_fraction : float
        The share of rows that is held out to choose by.
    aggregate : {"mean", "median", "mode"}
        Which value of what is probable is imputed for a number; for categories it is always the most probable one.
    rounded : bool
        Whether ``transform`` gives numbers as many decimals as their column has, none where all are whole. Expected
        values as they are, False, have the smaller squared error; columns of integers hold whole numbers anyhow.
    resample : "auto" or bool
        Whether draws are resampled by importance weights; "auto" decides on held-out cells.
    n_draws : int
        Samples of the latent variables that guesses through them are made of.
    device : str
        "auto" takes a GPU if there is one.
    random_state : int, RandomState or None
    verbose : "auto" or bool
        Whether a progress bar is shown; "auto" shows it on a terminal.

    Attributes
    ----------
    schema_ : Schema
    forms_ : mapping
        What the values of every column look like in a table.
    method_, kl_weight_ : the choice that was made; where a rate is held, the weight at the end
    selection_ : list of dict
        All candidates with their error on hidden cells, rate in nats and steps of training.
    columns_ : list of dict
        Errors, shares of the gradient and likelihoods by column: what ``report`` shows.
    history_ : list of dict
        Validations during training; where a rate is held, also the rates and KL weights of all candidates, which
        ``evenhand.lab.figures.rate_control`` draws.
    rate_ : float
        KL(q || p) of held-out rows in nats.
    direct_ : float
        The share of the direct way in best guesses, chosen on held-out cells.
    trivial_, shrinkage_ : arrays
        The mean or mode of every column, and how far imputations go from there towards network and trees: 1 all the
        way.
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
        model: FamilyName = "twoway",
        objective: ObjectiveName = "elbo",
        method: str | Method | Sequence[str | Method] = "auto",
        kl_weight: str | float | Sequence[float | str] = "auto",
        kl_warm_up: int = 0,
        schema: Schema | Mapping[str, Any] | None = None,
        unsupported: Literal["error", "ignore"] = "error",
        n_latent: int | None = None,
        n_hidden: int | None = None,
        n_layers: int | None = None,
        n_samples: int = 1,
        hide: float | Literal["auto"] = "auto",
        missing: Literal["at_random", "not_at_random"] = "at_random",
        trees: bool = True,
        max_epochs: int | None = None,
        max_seconds: float | None = None,
        patience: int = 15,
        batch_size: int = 256,
        lr: float = 2e-3,
        validation_fraction: float = 0.1,
        aggregate: Literal["mean", "median", "mode"] = "mean",
        rounded: bool = True,
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
        self.missing = missing
        self.trees = trees
        self.max_epochs = max_epochs
        self.max_seconds = max_seconds
        self.patience = patience
        self.batch_size = batch_size
        self.lr = lr
        self.validation_fraction = validation_fraction
        self.aggregate = aggregate
        self.rounded = rounded
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
            with (
                torch.inference_mode(False),
                torch.enable_grad(),
                Heartbeat(lambda: "fitting TabularVAE ..." if self.verbose else ""),
            ):
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
        remember_columns(self, X)
        schema = find_schema(self, X)
        table = read_training_rows(X, schema)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._take(Fitting(self, X, schema, table, seed).run())

    def _take(self, outcome: Outcome) -> None:
        """Everything that was found as fitted attributes."""
        fitted = self._fitted = outcome.fitted
        self.schema_, self.forms_, self.network_ = fitted.schema, fitted.forms, fitted.network
        self.preprocessing_, self.limits_ = fitted.preparation.preprocessings[0], fitted.preparation.limits.numpy()
        self.trivial_, self.shrinkage_ = fitted.trivial, 1 - fitted.opinions.weights[CONSTANT]
        self.method_, self.kl_weight_ = outcome.method, outcome.kl_weight
        self.selection_, self.history_, self.columns_ = outcome.selection, outcome.history, outcome.columns
        self.rate_, self.n_steps_ = outcome.rate, outcome.n_steps
        self.hide_, self.resample_, self.direct_ = outcome.hide, outcome.resample, outcome.direct

    # ---------------------------------------------------------------- rows that are there

    def transform(self, X: Any) -> Any:
        """Fill the holes of a table with the fitted model; observed cells stay as they are.

        Categories that were never seen count as missing, with a warning; so do words among numbers. Columns that are
        ignored keep their holes, with a warning. Columns of frames are found by name, in any order.
        """
        X, table = self._read(X, fills=True)
        values = self._fitted.guess(table, Way(self.direct_, self.aggregate, self.n_draws, self.resample_))
        return as_wanted(self, self._fill(X, values, ~table.observed, rounded=bool(self.rounded)))

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
        check_integer("n", n)
        X, table = self._read(X, fills=True)
        generator = self._fitted.generator(_seed(random_state))
        how: dict[str, Any] = {"n_draws": self.n_draws, "weighted": self.resample_, "generator": generator}
        return [self._fill(X, values, ~table.observed) for values in self._fitted.draws(table, n, **how)]

    def reconstruct(self, X: Any) -> Any:
        """Every cell as the model sees it: the mode of every likelihood at the mode of q(z|x)."""
        X, table = self._read(X)
        return self._fill(X, self._fitted.reconstruct(table), np.ones_like(table.observed))

    def encode(self, X: Any) -> Array:
        """Means of the latent variables of every row, ``[n, n_latent]``."""
        _, table = self._read(X)
        return self._fitted.encode(table)

    def acquire(
        self, X: Any, target: str, budget: int = 1, *, n_samples: int = 50, random_state: Any = None
    ) -> list[dict[str, float]]:
        """Which missing cells of a row to ask for, if the aim is to know its cell in a target column.

        Ask for the first one, write the answer into the row, and call again: what the second is worth depends on the
        answer. Made for ``model="vaem"`` with ``hide=0.5``, so that it knows rows with few cells. HI-VAE, whose
        latent variables are not Gaussian given a row, cannot tell.

        Parameters
        ----------
        X : the table
        target : str
            The name of the target column. Rows where it is known have nothing to ask for.
        budget : int
            How many cells to name, at most.
        n_samples : int
            Draws of the missing cells that expectations are taken over.
        random_state : int, RandomState or None
            None for the same draws every time.

        Returns
        -------
        list of dict
            For every row, names of columns with the expected information about the target in nats, best first.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> rng = np.random.default_rng(0)
        >>> near = rng.normal(size=300)
        >>> X = pd.DataFrame({"near": near, "far": rng.normal(size=300), "y": near + 0.1 * rng.normal(size=300)})
        >>> model = TabularVAE(model="vaem", method="sum", kl_weight=1.0, max_epochs=300, random_state=0).fit(X)
        >>> list(model.acquire(X[:1].assign(near=np.nan, far=np.nan, y=np.nan), "y")[0])
        ['near']
        """
        check_integer("budget", budget)
        check_integer("n_samples", n_samples)
        _, table = self._read(X)
        return wishes(self._fitted, table, target, budget, n_samples, self._fitted.generator(_seed(random_state)))

    def score_samples(self, X: Any, n_samples: int = 100) -> Array:
        """log p of the observed cells of every row, in the units of the data, by importance sampling."""
        check_integer("n_samples", n_samples)
        _, table = self._read(X)
        # log p of no cell is 0, whatever samples say
        return np.where(table.observed.any(1), self._fitted.log_likelihood(table, n_samples), 0.0)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of ``score_samples``."""
        return float(self.score_samples(X).mean())

    def _read(self, X: Any, *, fills: bool = False) -> tuple[Any, RawTable]:
        """New rows, tidied, and their cells; if holes are filled, those that are not are named."""
        check_is_fitted(self)
        X = tidy(X)
        return X, read_rows(self, X, self._fitted.template, fills)

    def _fill(self, X: Any, values: Array, missing: NDArray[np.bool_], *, rounded: bool = True) -> Any:
        fitted = self._fitted
        return fill(X, self.schema_, values, missing, fitted.forms, rounded=rounded, like=fitted.template)

    def sample(
        self,
        n: int = 1,
        *,
        given: Mapping[str, Any] | None = None,
        latent: Literal["auto", "none", "mixture", "prior"] = "auto",
        match_marginals: bool | Literal["auto"] = "auto",
        random_state: Any = None,
    ) -> Any:
        """New rows.

        Parameters
        ----------
        n : int
        given : mapping or None
            Values of some columns, each one value or one for every row; the other columns are drawn given these.
        latent : {"auto", "none", "mixture", "prior"}
            Where latent variables come from: a mixture of 100 Gaussians fitted to those of the training rows, as
            in the paper, or the prior. "none" does without: the cells of a row are drawn one after another, in
            random order, each given those before. "auto" is that where the model has a direct way, else the mixture.
        match_marginals : bool or "auto"
            Whether numbers are moved to the same quantiles of the training data, so that spikes and bounds of a
            column appear; categories are drawn as the model has them. "auto": where rows come from latent variables.
        random_state : int, RandomState or None
            None for the same rows every time.
        """
        check_is_fitted(self)
        check_integer("n", n)
        check_choice("latent", latent, ("auto", "none", "mixture", "prior"))
        generator = self._fitted.generator(_seed(random_state))
        table = None if given is None else table_of(given, self.schema_, n)
        values = self._fitted.sample(n, table, latent, match_marginals, generator)
        return build(self.schema_, values, self._fitted.template, self._fitted.forms)

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

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns of what ``transform`` gives: those of its input."""
        check_is_fitted(self)
        return names_out(self, input_features)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _seed(random_state: Any) -> int | None:
    return None if random_state is None else int(check_random_state(random_state).randint(2**31 - 1))

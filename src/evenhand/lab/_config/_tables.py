"""What is configured about a table: dataclasses that mirror their TOML one to one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Self

from ...common import ArgumentError, check_integer, check_kl_weight, check_number
from ...impartial import PAPER_METHODS, method_of
from ...tables.families import FAMILIES, FamilyName
from ...tables.objectives import ObjectiveName
from ...tables.stack import check_objective
from ._build import WRITTEN_IF_SET
from ._column_weights import check_column_weights


@dataclass(frozen=True)
class Place:
    """Where a table is, and how it is read.

    Attributes:
        name: One of `evenhand.datasets.NAMES`, or
        path: a file (CSV, TSV, Parquet, Feather).
        schema: A schema in TOML for that file; it is inferred if empty.
        sha256: Of that file and its schema. It is filled in before a run, so that another content is another run.
        header: Whether the first line of a text file holds names, "yes" or "no"; it is found out if empty.
        missing: Words of a text file that stand for missing cells, beside the usual ones.
    """

    name: str = ""
    path: str = ""
    schema: str = ""
    sha256: str = ""
    header: Literal["", "yes", "no"] = field(default="", metadata=WRITTEN_IF_SET)
    missing: tuple[str, ...] = field(default=(), metadata=WRITTEN_IF_SET)

    def __post_init__(self) -> None:
        if bool(self.name) == bool(self.path):
            raise ValueError(f"data should have a name or a path. Found {self.name!r} and {self.path!r}.")
        if self.schema and not self.path:
            raise ValueError("data.schema should stand beside data.path: public data sets have their own schema.")
        if (self.header or self.missing) and not self.path:
            raise ValueError("data.header and data.missing should stand beside data.path: they say how it is read.")

    @property
    def title(self) -> str:
        """The name, or that of the file without its ending."""
        return self.name or Path(self.path).name.partition(".")[0]

    @property
    def files(self) -> tuple[str, ...]:
        """The files that are read."""
        return tuple(filter(None, (self.path, self.schema)))

    def beside(self, folder: Path) -> Self:
        """The same: paths in a config are those of the folder in which a command is typed."""
        return self

    def check_content(self) -> None:
        """Nothing to do: tables are read and checked when a run begins."""

    def without_folders(self) -> Self:
        """The same, wherever its files lie."""
        return replace(self, path=Path(self.path).name, schema=Path(self.schema).name)


@dataclass(frozen=True)
class Data(Place):
    """What is learnt: a table of single rows.

    Attributes:
        rows: How many rows to take, at random; 0 for all.
        encoding: How the encoder sees categories: the paper's "codes", or "one-hot". HI-VAE has its own encoding.
        positive: What is learnt of positive numbers: the paper's "log", or "centred". HI-VAE has "log1p".
        preprocessing: What real and positive numbers are divided by: their deviation if empty, or what "lipschitz"
            standardization says.
    """

    rows: int = 0
    encoding: Literal["codes", "one-hot"] = "codes"
    positive: Literal["log", "centred"] = "log"
    preprocessing: Literal["", "lipschitz"] = field(default="", metadata=WRITTEN_IF_SET)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("data.rows", self.rows, 0)


@dataclass(frozen=True)
class Model:
    """The networks.

    Attributes:
        name: One of `FAMILIES`, such as "vae" or "hivae".
        n_hidden: Units of a hidden layer.
        latent_share: The size of z as a share of the number of columns. (HI-VAE has 10.)
        parameters: What heads of numbers put out: the paper's "natural" parameters, or "moments".
        from_marginals: Whether heads start from the columns' marginal distributions.
        within_range: Whether guesses of numbers stay between the smallest and the largest value of the table, and
            errors are measured by that range. As in the paper, they are measured by the range of the rows at hand,
            which one outlier more or less can change.
    """

    name: FamilyName = "vae"
    n_hidden: int = 50
    latent_share: float = 0.5
    parameters: Literal["natural", "moments"] = "natural"
    from_marginals: bool = False
    within_range: bool = False

    def __post_init__(self) -> None:
        check_integer("model.n_hidden", self.n_hidden)
        check_number("model.latent_share", self.latent_share, above=True)


@dataclass(frozen=True)
class Objective:
    """What is maximised; `n_samples` is K, `analytic_kl` the KL term in closed form (HI-VAE always has it)."""

    name: ObjectiveName = "elbo"
    n_samples: int = 1
    analytic_kl: bool = False

    def __post_init__(self) -> None:
        check_integer("objective.n_samples", self.n_samples)


@dataclass(frozen=True)
class Training:
    """How it is trained.

    Attributes:
        epochs: Passes over the training rows.
        batch_size: Rows of a step.
        lr: Adam's learning rate.
        decay: Whether it falls to zero along half a cosine.
        dropout: The share of the encoder's inputs that are dropped.
        hide: The share of observed cells that the encoder is not shown, while they are scored.
        see_mask: Whether the encoder is told which cells are observed.
        checks: Validations; the best of these checkpoints is kept for every run.
    """

    epochs: int = 400
    batch_size: int = 128
    lr: float = 1e-3
    decay: bool = False
    dropout: float = 0.1
    hide: float = 0.0
    see_mask: bool = False
    checks: int = 40

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "checks"):
            check_integer(f"training.{name}", getattr(self, name))
        check_number("training.lr", self.lr, above=True)
        for name in ("dropout", "hide"):
            check_number(f"training.{name}", getattr(self, name), 0, 1, below=True)


@dataclass(frozen=True)
class Runs:
    """The replicas of the stack: every method with every seed, and plain training at every KL weight.

    Where KL weights hold rates, as "rate:8", every method is trained at each of these.

    Attributes:
        methods: The choices of f; "sum" is plain training and is always there.
        seeds: Of splits, weights, batches and noise.
        kl_weights: KL weights of plain training, and rates that all hold; 1 is there, or only rates are. (Impartial
            training has 1.)
        unrestored: Whether every f is also trained without norm restoration.
        label: What the directory of the run is called besides, such as "diagnose".
        column_weights: Weights of columns with which plain training is run too: "nominal:4" for columns of a kind or
            "nominal" ones, "gradient" for the inverse lengths of gradients at the start.
    """

    methods: tuple[str, ...] = PAPER_METHODS
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    kl_weights: tuple[float | str, ...] = (1.0,)
    unrestored: bool = False
    label: str = field(default="", metadata=WRITTEN_IF_SET)
    column_weights: tuple[str, ...] = field(default=(), metadata=WRITTEN_IF_SET)

    def __post_init__(self) -> None:
        for method in self.methods:
            method_of(method)
        if "sum" not in self.methods or len(set(self.methods)) < len(self.methods):
            raise ValueError(f"runs.methods should be different and have 'sum' among them. Found {self.methods}.")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds) or min(self.seeds) < 0:
            raise ValueError(f"runs.seeds should be different numbers from 0. Found {self.seeds}.")
        for weight in self.kl_weights:
            check_kl_weight("runs.kl_weights", weight)
        if (
            not self.kl_weights
            or len(set(self.kl_weights)) < len(self.kl_weights)
            or 1.0 not in (self.fixed or [1.0])
        ):
            raise ValueError(
                f"runs.kl_weights should be different and have 1 among them, or only rates. Found {self.kl_weights}."
            )
        if len(set(self.column_weights)) < len(self.column_weights):
            raise ValueError(f"runs.column_weights should be different. Found {self.column_weights}.")
        for word in self.column_weights:
            check_column_weights("runs.column_weights", word)

    @property
    def fixed(self) -> list[float]:
        """The KL weights that are numbers."""
        return [weight for weight in self.kl_weights if not isinstance(weight, str)]

    @property
    def rates(self) -> list[str]:
        """Those that hold a rate."""
        return [weight for weight in self.kl_weights if isinstance(weight, str)]


@dataclass(frozen=True)
class Evaluation:
    """What is measured on test rows beside the error.

    Attributes:
        n_samples: Samples of z for the importance-weighted likelihood.
        hidden: The share of cells that are hidden from the encoder and guessed.
        generate: The number of rows that plain and impartial training generate, for inspection; 0 for none.
    """

    n_samples: int = 100
    hidden: float = 0.2
    generate: int = 0

    def __post_init__(self) -> None:
        check_integer("evaluation.n_samples", self.n_samples)
        check_integer("evaluation.generate", self.generate, 0)
        check_number("evaluation.hidden", self.hidden, 0, 1, above=True, below=True)


@dataclass(frozen=True)
class TableExperiment:
    """One table, one model and one objective; all choices of f and all seeds are replicas of one stack."""

    data: Data
    model: Model = field(default_factory=Model)
    objective: Objective = field(default_factory=Objective)
    training: Training = field(default_factory=Training)
    runs: Runs = field(default_factory=Runs)
    evaluation: Evaluation = field(default_factory=Evaluation)

    def __post_init__(self) -> None:
        try:
            check_objective(FAMILIES[self.model.name], self.objective.name)
        except ArgumentError as error:
            raise error.about("objective.name") from error
        if self.data.preprocessing and (self.model.name, self.model.parameters) != ("vae", "natural"):
            raise ArgumentError(
                "data.preprocessing",
                'be empty but for model.name = "vae" with natural parameters: others normalise in their own way',
                repr(self.data.preprocessing),
            )

    @property
    def name(self) -> str:
        """What the experiment is called: data, perhaps a label, model, objective."""
        return "-".join(filter(None, (self.data.title, self.runs.label, self.model.name, self.objective.name)))

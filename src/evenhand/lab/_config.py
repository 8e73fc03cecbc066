"""Configs of experiments: dataclasses that mirror their TOML one to one."""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from ..impartial import PAPER_METHODS, method_of
from ..tables.schema import toml_value

# ---------------------------------------------------------------- a table


@dataclass(frozen=True)
class Data:
    """What is learnt.

    Attributes:
        name: One of `evenhand.datasets.NAMES`, or
        path: a file (CSV, TSV, Parquet, Feather).
        schema: A schema in TOML for that file; it is inferred if empty.
        sha256: Of that file and its schema. It is filled in before a run, so that another content is another run.
        rows: How many rows to take, at random; 0 for all.
        encoding: How the encoder sees categories: the paper's "codes", or "one-hot". HI-VAE has its own encoding.
        positive: What is learnt of positive numbers: the paper's "log", or "centred". HI-VAE has "log1p".
    """

    name: str = ""
    path: str = ""
    schema: str = ""
    sha256: str = ""
    rows: int = 0
    encoding: Literal["codes", "one-hot"] = "codes"
    positive: Literal["log", "centred"] = "log"

    def __post_init__(self) -> None:
        if bool(self.name) == bool(self.path):
            raise ValueError(f"data should have a name or a path. Found {self.name!r} and {self.path!r}.")
        if self.schema and not self.path:
            raise ValueError("data.schema should stand beside data.path: public data sets have their own schema.")
        _at_least("data.rows", self.rows, 0)


@dataclass(frozen=True)
class Model:
    """The networks.

    Attributes:
        name: "vae" or "hivae".
        n_hidden: Units of a hidden layer.
        latent_share: The size of z as a share of the number of columns. (HI-VAE has 10.)
        parameters: What heads of numbers put out: the paper's "natural" parameters, or "moments".
        from_marginals: Whether heads start from the columns' marginal distributions.
        within_range: Whether guesses of numbers stay between the smallest and the largest value of the table, and
            errors are measured by that range. As in the paper, they are measured by the range of the rows at hand,
            which one outlier more or less can change.
    """

    name: Literal["vae", "hivae"] = "vae"
    n_hidden: int = 50
    latent_share: float = 0.5
    parameters: Literal["natural", "moments"] = "natural"
    from_marginals: bool = False
    within_range: bool = False

    def __post_init__(self) -> None:
        _at_least("model.n_hidden", self.n_hidden, 1)
        _above("model.latent_share", self.latent_share)


@dataclass(frozen=True)
class Objective:
    """What is maximised; `n_samples` is K, `analytic_kl` the KL term in closed form (HI-VAE always has it)."""

    name: Literal["elbo", "iwae", "dreg"] = "elbo"
    n_samples: int = 1
    analytic_kl: bool = False

    def __post_init__(self) -> None:
        _at_least("objective.n_samples", self.n_samples, 1)


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
            _at_least(f"training.{name}", getattr(self, name), 1)
        _above("training.lr", self.lr)
        for name in ("dropout", "hide"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"training.{name} should be from 0 to below 1. Found {getattr(self, name)}.")


@dataclass(frozen=True)
class Runs:
    """The replicas of the stack: every method with every seed, and plain training at every KL weight.

    Attributes:
        methods: The choices of f; "sum" is plain training and is always there.
        seeds: Of splits, weights, batches and noise.
        kl_weights: KL weights of plain training; 1 is always there. (Impartial training has 1.)
        unrestored: Whether every f is also trained without norm restoration.
    """

    methods: tuple[str, ...] = PAPER_METHODS
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    kl_weights: tuple[float, ...] = (1.0,)
    unrestored: bool = False

    def __post_init__(self) -> None:
        for method in self.methods:
            method_of(method)
        if "sum" not in self.methods or len(set(self.methods)) < len(self.methods):
            raise ValueError(f"runs.methods should be different and have 'sum' among them. Found {self.methods}.")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds) or min(self.seeds) < 0:
            raise ValueError(f"runs.seeds should be different numbers from 0. Found {self.seeds}.")
        if 1.0 not in self.kl_weights or len(set(self.kl_weights)) < len(self.kl_weights):
            raise ValueError(f"runs.kl_weights should be different and have 1 among them. Found {self.kl_weights}.")
        for weight in self.kl_weights:
            _from_zero("runs.kl_weights", weight)


@dataclass(frozen=True)
class Evaluation:
    """What is measured on test rows beside the error.

    Attributes:
        n_samples: Samples of z for the importance-weighted likelihood.
        hidden: The share of cells that are hidden from the encoder and guessed.
        generate: The number of rows that plain and impartial training generate, for a look; 0 for none.
    """

    n_samples: int = 100
    hidden: float = 0.2
    generate: int = 0

    def __post_init__(self) -> None:
        _at_least("evaluation.n_samples", self.n_samples, 1)
        _at_least("evaluation.generate", self.generate, 0)
        if not 0 < self.hidden < 1:
            raise ValueError(f"evaluation.hidden should be above 0 and below 1. Found {self.hidden}.")


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
        if self.model.name == "hivae" and self.objective.name == "dreg":
            raise ValueError("objective.name should be 'elbo' or 'iwae' for HI-VAE. Found 'dreg'.")

    @property
    def name(self) -> str:
        """What the experiment is called: data, model, objective."""
        data = self.data.name or Path(self.data.path).name.partition(".")[0]
        return f"{data}-{self.model.name}-{self.objective.name}"


# ---------------------------------------------------------------- several modalities


@dataclass(frozen=True)
class MultimodalData:
    """MNIST-SVHN-Text ("mnist_svhn_text") or digits in three modalities ("digits_in_three"); rows 0 for all."""

    name: Literal["mnist_svhn_text", "digits_in_three"] = "mnist_svhn_text"
    rows: int = 0

    def __post_init__(self) -> None:
        _at_least("data.rows", self.rows, 0)


@dataclass(frozen=True)
class MultimodalModel:
    """Which experts: a product ("mvae"), a mixture ("mmvae"), or a mixture of products ("mopoe")."""

    experts: Literal["mvae", "mmvae", "mopoe"] = "mmvae"
    n_layers: int = 1
    local_step: Literal["forward", "backward", "none"] = "forward"
    kl_weight: float = 1.0

    def __post_init__(self) -> None:
        _at_least("model.n_layers", self.n_layers, 1)
        _from_zero("model.kl_weight", self.kl_weight)


@dataclass(frozen=True)
class MultimodalObjective:
    """What is maximised; `n_samples` is K."""

    name: Literal["elbo", "iwae", "siwae"] = "siwae"
    n_samples: int = 30

    def __post_init__(self) -> None:
        _at_least("objective.n_samples", self.n_samples, 1)


@dataclass(frozen=True)
class Impartiality:
    """Which goals are pursued, with which method and its alpha. No goals: plain training."""

    goals: tuple[Literal["LI", "EEI", "DEI"], ...] = ()
    method: Literal["cagrad", "gradnorm"] = "cagrad"
    alpha: float = 0.4

    def __post_init__(self) -> None:
        if len(set(self.goals)) < len(self.goals):
            raise ValueError(f"impartial.goals should be different. Found {self.goals}.")
        _from_zero("impartial.alpha", self.alpha)


@dataclass(frozen=True)
class MultimodalTraining:
    """How it is trained."""

    epochs: int = 30
    batch_size: int = 128
    seed: int = 0
    precision: Literal["32", "bf16"] = "32"

    def __post_init__(self) -> None:
        _at_least("training.epochs", self.epochs, 1)
        _at_least("training.batch_size", self.batch_size, 1)
        _at_least("training.seed", self.seed, 0)


@dataclass(frozen=True)
class MultimodalEvaluation:
    """How many test rows are scored; 0 for all."""

    rows: int = 10_000

    def __post_init__(self) -> None:
        _at_least("evaluation.rows", self.rows, 0)


@dataclass(frozen=True)
class MultimodalExperiment:
    """One multimodal model, one f, one seed."""

    data: MultimodalData = field(default_factory=MultimodalData)
    model: MultimodalModel = field(default_factory=MultimodalModel)
    objective: MultimodalObjective = field(default_factory=MultimodalObjective)
    impartial: Impartiality = field(default_factory=Impartiality)
    training: MultimodalTraining = field(default_factory=MultimodalTraining)
    evaluation: MultimodalEvaluation = field(default_factory=MultimodalEvaluation)

    @property
    def name(self) -> str:
        """What the experiment is called: data, model, objective, goals, seed."""
        goals = "-".join([*self.impartial.goals, f"{self.impartial.method}{self.impartial.alpha:g}"]).lower()
        how = goals if self.impartial.goals else "vanilla"
        return f"{self.data.name}-{self.model.experts}-{self.objective.name}-{how}-{self.training.seed}"


Experiment = TableExperiment | MultimodalExperiment

# The one dictionary from a name in a TOML file to a class.
EXPERIMENTS: Mapping[str, type[Experiment]] = MappingProxyType(
    {"table": TableExperiment, "multimodal": MultimodalExperiment}
)

# ---------------------------------------------------------------- reading and writing


def read_config(path: str | Path, overrides: Iterable[str] = ()) -> Experiment:
    """The experiment that a TOML file describes.

    Args:
        path: The file. Its first key is ``experiment``, "table" or "multimodal".
        overrides: Settings that replace those of the file, such as "training.epochs=10".
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"path should be a config in TOML. Found no file at {path}.")
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} should be a config in TOML. Found a mistake: {error}.") from error
    return from_dict(document, overrides)


def from_dict(document: Mapping[str, Any], overrides: Iterable[str] = ()) -> Experiment:
    """The experiment of a TOML document, as nested dictionaries."""
    document = {k: dict(v) if isinstance(v, Mapping) else v for k, v in document.items()}
    for text in overrides:
        _override(document, text)
    kind = document.pop("experiment", None)
    if not isinstance(kind, str) or kind not in EXPERIMENTS:
        raise ValueError(f"experiment should be one of {', '.join(map(repr, EXPERIMENTS))}. Found {kind!r}.")
    return _build(EXPERIMENTS[kind], document, "")


def to_dict(config: Experiment) -> dict[str, Any]:
    """The experiment as nested dictionaries, as JSON and TOML can hold it."""
    kind = next(name for name, cls in EXPERIMENTS.items() if type(config) is cls)
    document: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(config)))  # tuples become lists
    return {"experiment": kind, **document}


def to_toml(config: Experiment) -> str:
    """The experiment as a TOML file, with all settings."""
    return toml_text(to_dict(config))


def toml_text(document: Mapping[str, Any]) -> str:
    """The TOML file of an experiment as nested dictionaries; also of one that is no longer accepted."""
    parts = [f"{key} = {toml_value(value)}" for key, value in document.items() if not isinstance(value, Mapping)]
    for section, settings in document.items():
        if isinstance(settings, Mapping):
            lines = (f"{key} = {toml_value(value)}" for key, value in settings.items())
            parts.append("\n".join([f"[{section}]", *lines]))
    return "\n\n".join(parts) + "\n"


def hash_of(config: Experiment) -> str:
    """Eight letters that change with every setting."""
    document = to_dict(from_dict(to_dict(config)))  # a 1 where a 1.0 belongs becomes one, as in a config that is read
    for name in ("path", "schema"):  # where a file lies does not matter; its checksum does
        if name in document["data"]:
            document["data"][name] = Path(document["data"][name]).name
    canonical = json.dumps(document, sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:8]


def resolve(config: Experiment) -> Experiment:
    """The config with the checksum of the file that it names, if it names one."""
    if not isinstance(config, TableExperiment) or not config.data.path:
        return config
    digest = hashlib.sha256()
    for path in filter(None, (config.data.path, config.data.schema)):
        if not Path(path).is_file():
            raise FileNotFoundError(f"data should name files that exist. Found none at {path}.")
        digest.update(Path(path).read_bytes())
    found = digest.hexdigest()
    if config.data.sha256 not in ("", found):
        raise ValueError(
            f"{config.data.path} should have the sha256 that the config names ({config.data.sha256[:8]}…, with its "
            f"schema). Found {found[:8]}…: its content has changed. Remove data.sha256 to start a new run."
        )
    return dataclasses.replace(config, data=dataclasses.replace(config.data, sha256=found))


def _build(cls: type[Any], document: Mapping[str, Any], where: str) -> Any:
    """A dataclass from a dictionary with the same keys."""
    hints = get_type_hints(cls)
    known = [f.name for f in dataclasses.fields(cls)]
    for key in document:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            advice = f" Did you mean {where}{close[0]}?" if close else ""
            raise ValueError(
                f"{where or 'The config '}should have the keys {', '.join(known)}. Found {key!r}.{advice}"
            )
    for f in dataclasses.fields(cls):
        required = f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
        if required and f.name not in document:
            raise ValueError(f"The config should have a section [{where}{f.name}]. Found none.")
    return cls(**{key: _checked(value, hints[key], f"{where}{key}") for key, value in document.items()})


def _checked(value: Any, hint: Any, name: str) -> Any:
    """A value of the type that the dataclass declares."""
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise ValueError(f"{name} should be a section. Found {value!r}.")
        return _build(hint, value, f"{name}.")  # type: ignore[arg-type]
    if get_origin(hint) is tuple:
        if not isinstance(value, list | tuple):
            raise ValueError(f"{name} should be a list. Found {value!r}.")
        return tuple(_checked(v, get_args(hint)[0], f"{name}[{i}]") for i, v in enumerate(value))
    if get_origin(hint) is Literal:
        value = str(value) if type(value) is int else value  # training.precision=32 without quotes
        if value not in get_args(hint):
            raise ValueError(f"{name} should be one of {', '.join(map(repr, get_args(hint)))}. Found {value!r}.")
        return value
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint:  # a bool is no int here
        raise ValueError(f"{name} should be of type {hint.__name__}. Found {value!r}.")
    return value


def _override(document: dict[str, Any], text: str) -> None:
    """Put "section.key=value" into a document; the value is TOML, or plain text."""
    key, equals, raw = text.partition("=")
    parts = [part.strip() for part in key.split(".")]
    if not equals or not all(parts) or len(parts) > 2:
        raise ValueError(f"An override should look like training.epochs=10. Found {text!r}.")
    try:
        value = tomllib.loads(f"value = {raw.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        value = raw.strip()
    target = document if len(parts) == 1 else document.setdefault(parts[0], {})
    if not isinstance(target, dict):
        raise ValueError(f"{parts[0]} should be a section to set {text!r} in. Found {target!r}.")
    target[parts[-1]] = value


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ValueError(f"{name} should be at least {least}. Found {value}.")


def _from_zero(name: str, value: float) -> None:
    if not 0 <= value < float("inf"):
        raise ValueError(f"{name} should be a number from 0. Found {value}.")


def _above(name: str, value: float) -> None:
    if not 0 < value < float("inf"):
        raise ValueError(f"{name} should be a number above 0. Found {value}.")

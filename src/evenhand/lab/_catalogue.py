"""The catalogue of the paper's tables and figures: what each shows, which runs it needs, and who makes it.

A name is all that a command line has to know. Nothing heavy is imported before something is run, read or made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ._config import Experiment
    from .results import Table

Report = Mapping[str, Any]
"""What ``report.json`` holds."""


@dataclass(frozen=True)
class Section:
    """A part of the paper's experiments, of which several tables and figures are made.

    Attributes:
        experiment: What its reports call themselves: "table", "multimodal", "survival", or "" if they are no
            experiment's.
        models: What `Exhibit.jobs` can be asked for.
        committed: Where a clone of the repository has its reports.
        reader: The function that reads the reports.
        planner: The function that plans the runs; none if they are not to be run.
        datasets: The data sets it can be run on, if these are not the tables.
    """

    experiment: Literal["table", "multimodal", "survival", ""]
    models: tuple[str, ...]
    committed: str
    reader: str
    planner: str = ""
    datasets: tuple[str, ...] = ()


TABLES = Section(
    "table", ("vae-elbo", "vae-iwae", "vae-dreg", "hivae"), "paper/table1/reports",
    "results:read_experiments", "_plans:plan_tables",
)  # fmt: skip
MODALITIES = Section(
    "multimodal", ("mvae", "mmvae", "mopoe"), "paper/multimodal/reports",
    "results:read_experiments", "_plans:plan_modalities",
)  # fmt: skip
LONGER = replace(MODALITIES, committed="paper/multimodal/longer")  # the tight bound needs more steps
SURVIVAL = Section(
    "survival",
    ("tight", "tight-warm-up", "tight-clipped", "balanced0.5", "balanced0.6", "tempered", "partly-tight",
     "loose-to-tight", "defensive", "loose"),
    "paper/survival", "results:read_survivals", "_plans:plan_survival", ("mnist_svhn_text", "digits_in_three"),
)  # fmt: skip
EQUAL_RATE = Section(
    "table", ("vae-elbo",), "paper/equal-rate/reports", "results:read_held", "_plans:plan_equal_rate",
)  # fmt: skip
BENCHMARKS = Section("", (), "paper/multimodal", "results:read_benchmarks")
FAMILIES = Section("", (), "paper/families/reports", "results:read_families")


@dataclass(frozen=True)
class Exhibit:
    """A table or figure of the paper, or one that stands beside these.

    Attributes:
        name: What it is called at the shell, such as "table1".
        about: What it shows, in a few words.
        section: Where its runs come from.
        maker: The function that makes it of reports.
        options: More arguments for that function.
        plan: More arguments for the function that plans the runs.
        figure: Whether it is drawn, not printed.
        any_network: Whether it is about any networks, not only the paper's.
    """

    name: str
    about: str
    section: Section
    maker: str
    options: Mapping[str, Any] = field(default_factory=dict)
    plan: Mapping[str, Any] = field(default_factory=dict)
    figure: bool = False
    any_network: bool = False

    @property
    def reproducible(self) -> bool:
        """Whether its runs can be started with `jobs`."""
        return bool(self.section.planner)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that `jobs` knows."""
        return self.section.models

    @property
    def datasets(self) -> tuple[str, ...]:
        """The data sets that `jobs` knows; empty if these are the tables of `evenhand.datasets`."""
        return self.section.datasets

    @property
    def committed(self) -> Path:
        """Where a clone of the repository has its reports."""
        return Path(self.section.committed)

    def jobs(
        self,
        datasets: Sequence[str] | None = None,
        models: Sequence[str] | None = None,
        *,
        n_seeds: int | None = None,
        quick: bool = False,
        controls: bool = True,
    ) -> list[Experiment]:
        """The experiments that it is made of. What does not apply to it is an `ArgumentError`.

        Args:
            datasets: Only these data sets.
            models: Only these of `models`.
            n_seeds: How many seeds; as in the paper, or fewer if quick.
            quick: Whether to plan a small version, for a CPU.
            controls: Whether to plan plain training at several KL weights, too.
        """
        if not self.reproducible:
            raise ValueError(f"{self.name} should be made of experiments. Found none: a benchmark measures it.")
        wanted = {"datasets": datasets, "models": models, "n_seeds": n_seeds, "quick": quick, "controls": controls}
        planned: list[Experiment] = _function(self.section.planner)(self.name, **wanted, **self.plan)
        return planned

    def reports(self, places: Iterable[Path], note: Callable[[str], None] = lambda words: None) -> list[Report]:
        """The reports that it is made of, one for every run.

        Args:
            places: Files and folders to look in.
            note: Is told where there was a choice.
        """
        read, wanted = _function(self.section.reader), {"experiment": self.section.experiment}
        found: list[Report] = read(self.name, list(places), note, any_network=self.any_network, **wanted)
        return found

    def table(self, reports: Iterable[Report], *, published: bool = True) -> Table:
        """The table.

        Args:
            reports: What it is made of.
            published: Whether to write the paper's numbers beside ours.
        """
        made: Table = self._make(reports, published=published)
        return made

    def figures(self, reports: Iterable[Report], folders: Sequence[Path] = ()) -> dict[str, str]:
        """The figure as SVG text by label; most figures are one.

        Args:
            reports: What it is made of.
            folders: The directories of these runs, for figures of what was generated.
        """
        made: dict[str, str] = self._make(reports, folders=folders)
        return made

    def _make(self, reports: Iterable[Report], **options: Any) -> Any:
        return _function(self.maker)(list(reports), **self.options, **options)


def _function(place: str) -> Callable[..., Any]:
    """A function by its module in this package and its name."""
    module, _, name = place.partition(":")
    made: Callable[..., Any] = getattr(import_module(f"{__package__}.{module}"), name)
    return made


# ---------------------------------------------------------------- what there is

PAIR_PLOTS = ("hi", "labour")  # the data sets of which the paper shows generated rows
ONE_MODEL = MappingProxyType({"default_models": ("vae-elbo",)})  # for what is about the data
GENERATED = MappingProxyType({"default_models": ("vae-elbo",), "default_datasets": PAIR_PLOTS, "generate": 1000})


def _of_objectives(*objectives: str) -> Mapping[str, Any]:
    return MappingProxyType({"objectives": objectives})


SIWAE, ALL = _of_objectives("siwae"), _of_objectives("elbo", "iwae", "siwae")


def _by_objective(first: int, what: str, maker: str) -> list[Exhibit]:
    """Three tables, one for each objective."""
    return [
        Exhibit(f"table{first + i}", f"{what}, {objective.upper()}", MODALITIES, maker,
                {"objective": objective}, _of_objectives(objective))
        for i, objective in enumerate(("elbo", "iwae", "siwae"))
    ]  # fmt: skip


EXHIBITS: Mapping[str, Exhibit] = MappingProxyType({exhibit.name: exhibit for exhibit in (
    Exhibit("table1", "errors of plain and impartial training", TABLES, "results:table1"),
    Exhibit("table2", "errors by type of likelihood", TABLES, "results:table2"),
    Exhibit("table3", "reconstruction coherence, SIWAE", LONGER, "results:table3", plan=SIWAE),
    Exhibit("table4", "self and cross coherence, SIWAE", LONGER, "results:table4", plan=SIWAE),
    Exhibit("table5", "latent classification", MODALITIES, "results:table5", plan=ALL),
    Exhibit("table6", "the data sets", TABLES, "results:table6", plan=ONE_MODEL),
    Exhibit("table7", "the chosen methods", TABLES, "results:table7"),
    Exhibit("table8", "errors with standard deviations", TABLES, "results:table8"),
    Exhibit("table9", "reconstruction coherence by objective", MODALITIES, "results:table9", plan=ALL),
    *_by_objective(10, "self and cross coherence", "results:coherence_by_objective"),
    *_by_objective(13, "log-likelihoods", "results:log_likelihoods"),
    Exhibit("figure4", "real and generated rows", TABLES, "figures:pair_plots", plan=GENERATED, figure=True,
            any_network=True),
    Exhibit("figure5", "all scores by objective", MODALITIES, "figures:parallels", plan=ALL, figure=True),
    Exhibit("controls", "what a lower error costs", TABLES, "results:controls", any_network=True),
    Exhibit("interpolated-rate", "the choice beside plain training, interpolated at its rate", TABLES,
            "results:interpolated_rate", any_network=True),
    Exhibit("rate-distortion", "error over rate", TABLES, "figures:rate_distortions", figure=True,
            any_network=True),
    Exhibit("equal-rate", "rivals that hold one rate", EQUAL_RATE, "results:equal_rate", any_network=True),
    Exhibit("equal-rate-errors", "their errors, and where f wins", EQUAL_RATE, "results:equal_rate_errors",
            any_network=True),
    Exhibit("equal-rate-frontier", "their errors on the curve of plain training", EQUAL_RATE, "figures:frontiers",
            figure=True, any_network=True),
    Exhibit("rate-control", "how rates and KL weights settled", EQUAL_RATE, "figures:rate_controls", figure=True,
            any_network=True),
    Exhibit("families", "more families, held at one rate", FAMILIES, "results:families_at_rate"),
    Exhibit("survival", "which experts live, by bound and goals", SURVIVAL, "results:survival"),
    Exhibit("overhead", "what blocks cost", BENCHMARKS, "results:overhead"),
)})  # fmt: skip
"""All tables and figures by name, the paper's first."""

"""The catalogue of tables and figures: every entry can be planned, read and made, and knows it without torch."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evenhand.common import ArgumentError
from evenhand.lab import EXHIBITS, MultimodalExperiment, Table, TableExperiment
from evenhand.lab._catalogue import EQUAL_RATE
from evenhand.lab._paper import MODELS
from evenhand.lab.results import MODELS as EXPERTS

from ._reports import held_report, multimodal_report, survival_report, table_report

ROOT = Path(__file__).parents[2]
PLANNED = [exhibit for exhibit in EXHIBITS.values() if exhibit.reproducible]
TABLES = [e for e in PLANNED if e.section.experiment == "table" and e.section is not EQUAL_RATE]
MODALITIES = [exhibit for exhibit in PLANNED if exhibit.section.experiment == "multimodal"]


def by_name(exhibits):
    return pytest.mark.parametrize("exhibit", exhibits, ids=lambda exhibit: exhibit.name)


def test_all_tables_of_the_paper_come_first():
    assert list(EXHIBITS)[:17] == [*(f"table{i}" for i in range(1, 16)), "figure4", "figure5"]
    assert [name for name, exhibit in EXHIBITS.items() if exhibit.figure] == [
        "figure4", "figure5", "rate-distortion", "equal-rate-frontier", "rate-control",
    ]  # fmt: skip
    assert [name for name, exhibit in EXHIBITS.items() if not exhibit.reproducible] == ["families", "overhead"]
    assert all(exhibit.name == name and exhibit.about for name, exhibit in EXHIBITS.items())


def test_the_catalogue_needs_no_torch():
    code = (
        "import sys\nfrom evenhand.lab import EXHIBITS\n"
        "print(len(EXHIBITS), sorted({'torch', 'numpy', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == [str(len(EXHIBITS)), "[]"]


@by_name(TABLES)
def test_runs_on_tables(exhibit):
    assert exhibit.models == MODELS
    jobs = exhibit.jobs(["wine"], ["hivae"], n_seeds=2, controls=False)
    assert [type(job) for job in jobs] == [TableExperiment]
    assert (jobs[0].data.name, jobs[0].model.name, jobs[0].runs.seeds) == ("wine", "hivae", (0, 1))
    assert jobs[0].runs.kl_weights == (1.0,)
    assert len(exhibit.jobs()) == {"table6": 12, "figure4": 2}.get(exhibit.name, 48)
    for arguments, name in (({"datasets": ["wien"]}, "datasets"), ({"models": ["mvae"]}, "models")):
        with pytest.raises(ArgumentError) as error:
            exhibit.jobs(**arguments)
        assert error.value.argument == name


def test_pair_plots_need_generated_rows():
    jobs = EXHIBITS["figure4"].jobs(["wine"], quick=True)
    assert [job.evaluation.generate for job in jobs] == [1000]
    assert EXHIBITS["table1"].jobs(["wine"], quick=True)[0].evaluation.generate == 0
    assert [job.data.name for job in EXHIBITS["figure4"].jobs()] == ["hi", "labour"]


@by_name(MODALITIES)
def test_runs_on_modalities(exhibit):
    assert exhibit.models == tuple(EXPERTS)
    jobs = exhibit.jobs(models=["mvae"], n_seeds=1, quick=True)
    assert {type(job) for job in jobs} == {MultimodalExperiment}
    assert {job.model.experts for job in jobs} == {"mvae"}
    assert {job.training.seed for job in jobs} == {0}
    objective = exhibit.options.get("objective")
    assert {job.objective.name for job in jobs} == set(exhibit.plan["objectives"])
    assert objective is None or exhibit.plan["objectives"] == (objective,)
    for arguments in ({"datasets": ["wine"]}, {"controls": False}, {"models": ["hivae"]}):
        with pytest.raises(ArgumentError) as error:
            exhibit.jobs(**arguments)
        assert [error.value.argument] == list(arguments)


def test_what_a_benchmark_measures_has_no_runs():
    with pytest.raises(ValueError, match="overhead should be made of experiments. Found none"):
        EXHIBITS["overhead"].jobs()


@by_name(EXHIBITS.values())
def test_all_are_made_of_the_committed_reports(exhibit):
    reports = exhibit.reports([ROOT / exhibit.committed])
    assert reports
    if exhibit.name == "figure4":  # generated rows are not committed
        with pytest.raises(ValueError, match="figure4 should have runs that generated rows"):
            exhibit.figures(reports)
    elif exhibit.figure:
        assert all(svg.startswith("<svg") for svg in exhibit.figures(reports).values())
    else:
        beside, alone = (exhibit.table(reports, published=published) for published in (True, False))
        assert isinstance(beside, Table)
        assert beside.rows
        paper = len(beside.rows) * len(beside.header[0]) - len(alone.rows) * len(alone.header[0])
        assert paper > 0 or exhibit.name in (
            "interpolated-rate",
            "equal-rate",
            "equal-rate-errors",
            "families",
            "survival",
        )  # of which the paper has no numbers


def test_reports_of_the_section_are_read_and_no_others(tmp_path):
    for i, report in enumerate([table_report(), multimodal_report(), survival_report(), held_report()]):
        (tmp_path / f"{i}.json").write_text(json.dumps(report))
    for exhibit in PLANNED:
        (report,) = exhibit.reports([tmp_path])
        assert report["experiment"] == exhibit.section.experiment
        assert ("held" in report["name"]) == (exhibit.section is EQUAL_RATE)


def test_of_several_reports_the_longest_training_is_taken(tmp_path):
    for epochs in (5, 20, 10):
        report = table_report()
        report["config"]["training"]["epochs"] = epochs
        (tmp_path / f"{epochs}.json").write_text(json.dumps(report))
    notes = []
    (found,) = EXHIBITS["controls"].reports([tmp_path], notes.append)
    assert found["config"]["training"]["epochs"] == 20
    assert len(notes) == 2
    assert "the longest training is shown" in notes[0]


def test_the_paper_s_tables_are_about_its_networks(tmp_path):
    report = table_report()
    report["config"]["model"]["within_range"] = True
    (tmp_path / "own.json").write_text(json.dumps(report))
    assert EXHIBITS["controls"].reports([tmp_path])
    with pytest.raises(FileNotFoundError, match="finished runs for table1 in .*evenhand reproduce table1"):
        EXHIBITS["table1"].reports([tmp_path])

"""`results`: tables and figures from reports alone."""

import json
from pathlib import Path

from ..lab._reports import multimodal_report, table_report
from ._runs import finished


def paper_report(epochs=10, **changes):
    report = table_report(**changes)
    report["name"], report["data"]["name"] = "hi-vae-elbo", "hi"
    report["config"]["training"]["epochs"] = epochs
    return report


def test_tables_are_made_from_reports_alone(go):
    finished("runs", paper_report())
    for table in ("table1", "table2", "table6", "table7", "table8", "controls", "interpolated-rate"):
        result = go("results", table)
        assert result.exit_code == 0, result.stderr
        assert result.stdout.count("\n") > 4
    assert "paper, vanilla" in go("results", "table1").stdout
    assert "paper, vanilla" not in go("results", "table1", "--no-paper").stdout


def test_formats(go):
    finished("runs", paper_report())
    assert go("results", "table1", "--format", "latex").stdout.startswith(r"\begin{table}")
    assert go("results", "table1", "--format", "markdown").stdout.startswith("**Test")
    document = json.loads(go("results", "table1", "--format", "json").stdout)
    assert document["title"] == "Test reconstruction errors"
    assert json.loads(go("--json", "results", "table1").stdout) == {"name": "table1", **document}
    assert go("results", "table1", "--format", "latex", "-o", "table.tex").exit_code == 0
    assert Path("table.tex").read_text().startswith(r"\begin{table}")
    assert go("results", "table1", "--format", "word").exit_code == 2


def test_of_several_reports_the_longest_training_is_shown(go):
    finished("runs", paper_report(epochs=5, seed=1), "quick")
    finished("paper/table1/reports", paper_report(epochs=50, seed=2), "full")
    result = go("results", "table1", "--json")
    assert "Several reports of hi-vae-elbo" in result.stderr
    alone = go("results", "table1", "--json", "--from", "paper/table1/reports")
    assert alone.stderr == ""
    assert alone.stdout == result.stdout


def test_a_file_called_like_a_data_set_is_another_table(go):
    own = paper_report(epochs=1000, seed=1)
    own["data"]["name"] = "hi.csv"
    finished("runs", own, "own")
    finished("runs", paper_report(epochs=5, seed=2), "public")
    result = go("results", "table1", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == go("results", "table1", "--json", "--from", "runs/public").stdout
    rows = json.loads(go("results", "interpolated-rate", "--json").stdout)["rows"]
    assert len(rows) == 2


def test_places_are_named_as_they_are(go):
    words = " ".join(go("results", "--help").stdout.split())
    assert "paper/table1/reports or paper/multimodal/longer or paper/multimodal/reports" in words
    assert "TABLE/reports" not in words


def test_a_comparison_is_no_result_of_the_paper(go):
    own = paper_report(epochs=1000)
    own["config"]["model"]["within_range"] = True
    finished("runs", own)
    result = go("results", "table1")
    assert result.exit_code == 1
    assert result.stderr.endswith("To run them: evenhand reproduce table1\n")
    assert go("results", "controls").exit_code == 0


def test_multimodal_tables_and_their_figure(go):
    finished("runs", multimodal_report(()), "plain")
    finished("runs", multimodal_report(), "impartial")
    for table in (*(f"table{i}" for i in (3, 4, 5, *range(9, 16))), "figure5"):
        result = go("results", table)
        assert result.exit_code == 0, (table, result.stderr)
    assert Path("figure5.svg").exists() or list(Path().glob("figure5-*.svg"))


def test_figures_are_written_whole(go, runs):
    folder, _, _ = runs
    for figure in ("rate-distortion", "figure4"):
        result = go("results", figure, "--from", folder)
        assert result.exit_code == 0, result.stderr
        assert result.stdout == f"Figure: {figure}.svg\n"
        assert "<svg" in Path(f"{figure}.svg").read_text()
    assert go("results", "figure4", "--from", folder, "-o", "figure.png").exit_code == 2
    finished("empty", paper_report())
    result = go("results", "figure4", "--from", "empty")
    assert result.exit_code == 1
    assert "generated rows" in result.stderr


def test_overhead_reads_the_benchmark(go):
    rows = {"no blocks": {"ms": 4.0, "ratio": 1.0}, "LI": {"ms": 5.0, "ratio": 1.25}}
    Path("overhead.json").write_text(json.dumps({"rows": rows, "hardware": "an abacus"}))
    Path("other.json").write_text(json.dumps({"rows": 3}))
    assert "an abacus" in go("results", "overhead", "--from", ".").stdout
    assert go("results", "overhead", "--from", "other.json").exit_code == 1


def test_nowhere_to_look(go):
    result = go("results", "table1")
    assert result.exit_code == 1
    assert "evenhand reproduce table1" in result.stderr
    assert go("results", "table1", "--from", "nowhere").exit_code == 2
    assert "Did you mean 'table1'?" in go("results", "tabel1").stderr

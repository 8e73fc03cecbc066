"""Tables made of reports: what is in them, and that their forms are sound."""
# ruff: noqa: RUF001  # the paper's letter is α

import math
import re

import pytest

from evenhand.lab import results as tables
from evenhand.lab.results import DATA, OBJECTIVES, SETTINGS, Cell, Table
from evenhand.lab.results._latex import escape_latex
from evenhand.lab.results._score_rows import as_table

from .._reports import multimodal_report, table_report

NAN = math.nan


def report_of(data="hi", setting="VAE-ELBO", plain=(0.2, 0.3, 0.4), ours=(0.1, 0.19, 0.31), **changes):
    """A report whose plain and impartial errors are given."""
    report = table_report(seeds=len(plain), methods=("sum", "gradnorm-1", "imtlg>>pcgrad"), unrestored=True)
    model, _, objective = setting.lower().replace("hi-vae", "hivae-elbo").partition("-")
    report["config"] |= {"model": {"name": model}, "objective": {"name": objective}}
    report["data"]["name"] = data
    report["name"] = f"{data}-{model}-{objective}"
    for run in report["runs"]:
        if run["kl_weight"] == 1 and run["restored"]:
            error = {"sum": plain, "imtlg>>pcgrad": ours}.get(run["method"], [0.9] * len(plain))
            run |= {"error": list(error), "validation": list(error), "columns": [[x] * 6 for x in error]}
    return report | changes


def column(table, title):
    """A column of a table, by the last row of its header."""
    place = list(table.header[-1]).index(title)
    return [row[place] for row in table.rows]


def line(table, *labels):
    """The numbers of a row, by its labels."""
    named, found = [""] * len(labels), None
    for row in table.rows:
        named = [text or before for text, before in zip(row[: len(labels)], named, strict=True)]
        if tuple(named) == labels:
            found = row[len(labels) :]
    assert found is not None, labels
    return found


# ---------------------------------------------------------------- forms

SMALL = Table(
    "Errors, 100 %",
    [["", "here", "here", "paper"], ["data_set", "a|b", "p", "A & B"]],
    [
        ["x [1]", Cell(0.12345, bold=True), Cell(-1.5, 1, std=0.25), "< 0.001"],
        ["*", Cell(NAN), "GN (α=1)", "$5 #{2}"],
    ],
    ["A note with 5 % & more."],
    breaks=[0, 1],
)


def test_cells():
    assert str(Cell(0.12345)) == "0.123"
    assert str(Cell(12.0, 0)) == "12"
    assert str(Cell(-1.26, 1, std=0.25)) == "-1.3 ± 0.2"
    assert str(Cell(NAN, std=0.1)) == "-"


def test_text():
    assert SMALL.to_text().splitlines() == [
        "Errors, 100 %",
        "",
        "            here                 paper",
        "data_set     a|b            p    A & B",
        "--------------------------------------",
        "x [1]     0.123*  -1.5 ± 0.2   < 0.001",
        "--------------------------------------",
        "*             -      GN (α=1)  $5 #{2}",
        "",
        "A note with 5 % & more.",
    ]


def test_markdown():
    assert SMALL.to_markdown().splitlines() == [
        "**Errors, 100 %**",
        "",
        r"| data\_set | here a\|b | here p | paper A & B |",
        "| --- | ---: | ---: | ---: |",
        "| x [1] | **0.123** | -1.5 ± 0.2 | < 0.001 |",
        r"| \* | - | GN (α=1) | $5 #{2} |",
        "",
        "A note with 5 % & more.",
    ]


def test_latex():
    text = SMALL.to_latex("tab:small")
    assert text.splitlines() == [
        r"\begin{table}",
        r"  \centering",
        r"  \caption{Errors, 100 \%}",
        r"  \label{tab:small}",
        r"  \begin{tabular}{lrrr}",
        r"    \toprule",
        r"     & \multicolumn{2}{c}{here} & \multicolumn{1}{c}{paper} \\",
        r"    data\_set & a$|$b & p & A \& B \\",
        r"    \midrule",
        r"    x {[}1{]} & \textbf{0.123} & $-$1.5 $\pm$ 0.2 & $<$ 0.001 \\",
        r"    \midrule",
        r"    {*} & -- & GN ($\alpha$=1) & \$5 \#\{2\} \\",
        r"    \bottomrule",
        r"  \end{tabular}",
        r"  \par\smallskip {\small A note with 5 \% \& more.}",
        r"\end{table}",
    ]
    assert "label" not in SMALL.to_latex()


def test_text_that_latex_would_read():
    assert escape_latex("a_b^c~\\{}\n>") == r"a\_b\textasciicircum{}c\textasciitilde{}\textbackslash{}\{\} $>$"


def test_rows_are_as_long_as_the_header():
    with pytest.raises(ValueError, match="All rows of a table should have 2 cells. Found"):
        Table("x", [["a", "b"]], [["only one"]])


def test_rows_of_scores():
    rows = [
        {"model": "A", "method": "vanilla", "M": Cell(1.0, 2, std=0.5)},
        {"model": "A", "method": "ours", "M": Cell(2.0, 2, bold=True), "hours": Cell(3.0, 2)},
        {"model": "B", "method": "vanilla", "M": Cell(NAN)},
    ]
    table = as_table("t", rows, std=True)
    assert list(table.header[0]) == ["", "", "M", "hours"]
    assert [row[0] for row in table.rows] == ["A", "", "B"]
    assert table.rows[0][2] == Cell(1.0, 2, False, 0.5)
    assert (table.rows[1][2].bold, str(table.rows[0][3]), list(table.breaks)) == (True, "-", [0, 2])


# ---------------------------------------------------------------- tables of tables


def test_table1_in_the_paper_s_order():
    table = tables.table1([report_of("labour"), report_of("hi", "HI-VAE", ours=(0.9, 0.8, 0.7))])
    assert list(table.header[0][2:]) == ["HI", "labour"]  # of which there are reports
    assert [row[0] for row in table.rows if row[0]] == ["VAE-ELBO", "HI-VAE"]
    assert str(line(table, "VAE-ELBO", "vanilla")[0]) == "-"
    assert line(table, "VAE-ELBO", "vanilla")[1] == Cell(0.3)
    assert line(table, "VAE-ELBO", "impartial")[1] == Cell(0.19, bold=True)
    assert line(table, "VAE-ELBO", "paper, impartial")[1] == Cell(0.063, bold=True)
    assert line(table, "HI-VAE", "vanilla")[0] == Cell(0.3, bold=True)  # the test speaks for plain training there
    assert line(table, "HI-VAE", "impartial")[0] == Cell(0.8)


def test_table1_counts():
    reports = [
        report_of("labour"),
        report_of("hi", "HI-VAE", ours=(0.9, 0.8, 0.7)),
        report_of("wine", ours=(0.1, 0.2, 0.9)),  # the lower median, but by chance
    ]
    note = tables.table1(reports).notes[-1]
    assert note == (
        "Impartial training has the lower median in 2 of 3 cells, significantly in 1. In the paper: 47 of 48 cells, "
        "significantly in 36; of the cells that are here, 2 of 3 cells, significantly in 2."
    )
    assert tables.table1(reports, published=False).notes[-1].endswith("in 2 of 3 cells, significantly in 1.")


def test_notes_say_what_marks_the_better_number():
    table = tables.table1([])
    assert "Bold: better by the corrected paired t-test" in table.to_markdown()
    assert "Star: better by the corrected paired t-test" in table.to_text()


def test_table1_of_nothing_is_the_paper_s():
    table = tables.table1([multimodal_report()])
    assert list(table.header[0][2:]) == list(DATA.values())
    assert [row[0] for row in table.rows if row[0]] == list(SETTINGS)
    assert {str(cell) for cell in line(table, "VAE-DReG", "impartial")} == {"-"}
    assert str(line(table, "VAE-DReG", "paper, vanilla")[0]) == "0.234"
    assert len(tables.table1([], published=False).rows) == 8


def test_plain_training_alone_has_no_rival():
    report = table_report(methods=("sum",))
    report["data"]["name"] = "hi"
    table = tables.table1([report])
    assert str(line(table, "VAE-ELBO", "vanilla")[0]) != "-"
    assert str(line(table, "VAE-ELBO", "impartial")[0]) == "-"
    for make in (
        tables.controls,
        tables.interpolated_rate,
        tables.table2,
        tables.table6,
        tables.table7,
        tables.table8,
    ):
        make([report]).to_latex()


def test_two_reports_of_one_cell_are_refused():
    with pytest.raises(ValueError, match="reports should have one of hi with VAE-ELBO. Found two"):
        tables.table1([report_of(), report_of()])


def test_controls():
    table = tables.controls([report_of("own", "VAE-IWAE"), report_of("hi"), report_of("wine")])
    assert [row[0] for row in table.rows if row[0]] == ["Wine VAE-ELBO", "HI VAE-ELBO", "own VAE-IWAE"]
    labels = ["vanilla", "vanilla, KL x 0.3", "vanilla, KL x 0.1", "IMTL-G >> PCGrad"]
    assert column(table, "training")[:4] == labels
    assert column(table, "training")[4].endswith(", not restored")
    assert column(table, "better")[:1] == [""]
    assert column(table, "better")[3] == "3/3"
    assert column(table, "p")[3] == "0.003"  # t = -0.1 / sqrt((1/3 + 2/7) 0.01²) = -12.7, two degrees of freedom
    assert [str(cell) for cell in column(table, "paper")[:5]] == ["0.086", "", "", "0.071", ""]
    assert {str(cell) for cell in column(table, "paper")[10:]} == {""}
    assert "quality" not in table.header[0]
    assert "paper" not in tables.controls([report_of()], published=False).header[0]


def test_controls_show_quality_where_it_is_known():
    report = report_of()
    report["runs"][0]["quality"] = [0.9, None, 0.7]
    assert [str(cell) for cell in column(tables.controls([report]), "quality")] == ["0.800", "-", "-", "-", "-"]


def test_interpolated_rate():
    report = report_of()
    curve = [run for run in report["runs"] if run["method"] == "sum"]
    for run, rate, error in zip(curve, (2.0, 6.0, 8.0), (0.4, 0.2, 0.1), strict=True):
        run |= {"rate": [rate] * 3, "error": [error] * 3, "log_likelihood": [-rate] * 3, "hidden": [error] * 3}
    chosen = next(run for run in report["runs"] if run["method"] == "imtlg>>pcgrad" and run["restored"])
    chosen |= {"rate": [3.0] * 3, "log_likelihood": [-9.0] * 3, "hidden": [0.7] * 3}
    (row,) = tables.interpolated_rate([report]).rows
    assert [str(cell) for cell in row] == [
        "HI VAE-ELBO", "IMTL-G >> PCGrad", "3.0", "yes", "0.350", "0.190", "-3.0", "-9.0", "0.350", "0.700",
    ]  # fmt: skip
    chosen["rate"] = [99.0] * 3
    table = tables.interpolated_rate([report])
    assert [str(cell) for cell in table.rows[0][2:6]] == ["99.0", "no", "0.100", "0.190"]
    assert "if not, the nearest end of its curve stands here" in table.notes[0]


def test_interpolated_rate_needs_two_kl_weights():
    report = report_of()
    report["runs"] = [run for run in report["runs"] if run["kl_weight"] == 1]
    (row,) = tables.interpolated_rate([report]).rows
    assert [str(cell) for cell in row[3:6]] == ["-", "-", "0.190"]
    assert [str(cell) for cell in row[6::2]] == ["-", "-"]  # plain training elsewhere


def test_table2_averages_over_heterogeneous_tables():
    def kinds(plain, ours):
        return {"plain": [plain] * 3, "ours": [ours] * 3}

    reports = [
        report_of("hi", **kinds(0.2, 0.1)),
        report_of("wine", "VAE-DReG", **kinds(0.4, 0.5)),
        report_of("magic", **kinds(9.0, 9.0)),
    ]
    table = tables.table2(reports)
    assert list(table.header[0][1:]) == ["Poisson", "Cat.", "log N", "N"]
    assert [str(cell) for cell in line(table, "vanilla")] == ["0.300"] * 4
    assert [str(cell) for cell in line(table, "impartial")] == ["0.300"] * 4
    assert [str(cell) for cell in line(table, "paper, impartial")] == ["0.083", "0.065", "0.057", "0.039"]
    assert "2 reports of 2 heterogeneous tables" in table.notes[0]
    table = tables.table2(reports[:1])
    assert [cell.bold for cell in line(table, "vanilla")] == [False] * 4
    assert [cell.bold for cell in line(table, "impartial")] == [True] * 4


def test_table6():
    table = tables.table6([report_of("hi"), report_of("hi", "VAE-IWAE")])
    ours_and_theirs = ["2000", "6", "1", "1", "1", "3", "22272", "12", "5", "1", "0", "6"]
    assert [str(cell) for cell in line(table, "HI")] == ours_and_theirs
    assert [str(cell) for cell in line(table, "Wine")[:6]] == ["-"] * 6


def test_table7():
    table = tables.table7([report_of("hi", "HI-VAE")])
    assert line(table, "HI") == ["-", "-", "-", "IMTL-G-PG", "GN-GD (α=0)", "GN (α=0)", "GN-PG (α=0)", "MGDA"]


def test_table8():
    table = tables.table8([report_of("hi", "VAE-IWAE")])
    assert [str(cell) for cell in line(table, "HI", "vanilla")[:2]] == ["-", "0.300 ± 0.100"]
    assert str(line(table, "HI", "impartial")[1]) == "0.200 ± 0.105"
    assert line(table, "HI", "impartial")[1].bold
    assert str(line(table, "HI", "impartial")[4]) == "0.04 ± 0.00"


def test_overhead():
    rows = {
        "no blocks": {"ms": 4.0, "ratio": 1.0},
        "LI": {"ms": 5.0, "ratio": 1.25},
        "own": {"ms": 6.0, "ratio": 1.5},
    }
    table = tables.overhead([{"rows": rows, "hardware": "CPU"}])
    assert [str(cell) for cell in line(table, "LI")] == ["5.00", "1.25", "11.42", "1.14", "D"]
    assert [str(cell) for cell in line(table, "own")] == ["6.00", "1.50", "-", "-", "-"]
    assert len(tables.overhead([{"rows": rows}], published=False).header[0]) == 3


# ---------------------------------------------------------------- several modalities


def mixtures(objectives=("elbo", "iwae", "siwae"), experts=("mmvae",)):
    """Plain and impartial training with two seeds each."""
    reports = []
    for objective in objectives:
        for name in experts:
            for goals in ((), ("LI", "EEI")):
                for seed in range(2):
                    report = multimodal_report(goals, seed + 10 * len(goals))
                    report["config"]["training"]["seed"] = seed
                    report["config"] |= {"objective": {"name": objective}, "model": {"experts": name}}
                    reports.append(report)
    return reports


def test_multimodal_tables_show_ours_and_the_paper_s():
    table = tables.table3(mixtures())
    assert column(table, "")[0] == "MVAE"  # the paper's, as there is none of ours
    assert [row[1] for row in table.rows[2:6]] == ["vanilla", "impartial", "paper, vanilla", "paper, impartial"]
    assert line(table, "MMVAE", "paper, impartial")[0] == Cell(74.16, 2, True)
    reports = mixtures()
    plain = [
        r for r in reports if not r["config"]["impartial"]["goals"] and r["config"]["objective"]["name"] == "siwae"
    ]
    records = [record for r in plain for record in r["scores"]["coherence"]]
    values = [r["value"] for r in records if len(r["given"]) == 3 and r["target"] == "mnist"]
    assert line(table, "MMVAE", "vanilla")[0].value == pytest.approx(100 * sum(values) / 2)


def test_multimodal_tables_without_the_paper_s():
    table = tables.table3(mixtures(), published=False)
    assert [tuple(row[:2]) for row in table.rows] == [("MMVAE", "vanilla"), ("", "impartial")]
    others = mixtures()
    for report in others:
        report["data"]["name"] = "digits_in_three"
    assert len(tables.table3(others, data="digits_in_three").rows) == 2


def test_objectives_share_a_row():
    reports = mixtures()
    for report in reports:  # another method for ELBO
        if report["config"]["objective"]["name"] == "elbo":
            report["config"]["impartial"] |= {"method": "gradnorm", "alpha": 0.5}
    for make, n in ((tables.table5, 6), (tables.table9, 9)):
        table = make(reports, published=False)
        assert len(table.rows) == 2
        assert len(table.header[0]) == n + 2
        assert not any(math.isnan(cell.value) for row in table.rows for cell in row[2:])


def test_coherence_names_methods_and_hours():
    table = tables.coherence_by_objective(mixtures(), "iwae")
    assert [row[1] for row in table.rows[2:6]] == [
        "vanilla", "CG (α=0.4), LI + EEI", "paper, vanilla", "paper, CG (α=0.4), LI",
    ]  # fmt: skip
    assert [str(cell) for cell in column(table, "hours")[2:6]] == ["1.50", "1.50", "10.08", "11.96"]
    assert "hours" not in tables.table4(mixtures()).header[0]


def test_log_likelihoods_have_deviations():
    table = tables.log_likelihoods(mixtures(), "siwae")
    assert list(table.header[0][2:]) == ["X|M", "X|S", "X|T", "X|MS", "X|MT", "X|ST", "X|MST"]
    assert all("±" in str(cell) for row in table.rows for cell in row[2:])
    with pytest.raises(ValueError, match="objective should be one of 'elbo', 'iwae', 'siwae'. Found 'dreg'"):
        tables.log_likelihoods(mixtures(), "dreg")


def test_all_tables_of_no_reports():
    assert len(tables.table9([]).rows) == 6
    assert tables.table4([], published=False).rows == []


# ---------------------------------------------------------------- every table in every form

REPORTS = [report_of("hi"), report_of("labour", "HI-VAE"), *mixtures(experts=("mvae", "mopoe"))]
ALL = [
    *(
        make(REPORTS)
        for make in (tables.table1, tables.controls, tables.interpolated_rate, tables.table2, tables.table6)
    ),
    *(make(REPORTS) for make in (tables.table7, tables.table8)),
    tables.overhead([{"rows": {"no blocks": {"ms": 4.0, "ratio": 1.0}}, "hardware": "GPU_1 & more"}]),
    *(make(REPORTS) for make in (tables.table3, tables.table4, tables.table5, tables.table9)),
    *(tables.coherence_by_objective(REPORTS, objective) for objective in OBJECTIVES),
    *(tables.log_likelihoods(REPORTS, objective) for objective in OBJECTIVES),
]


@pytest.mark.parametrize("table", ALL, ids=lambda table: table.title)
def test_latex_is_sound(table):
    text = table.to_latex()
    bare = re.sub(r"\\[{}&%$#_\\]", "", text)  # without what is escaped, and ends of rows
    depth = 0
    for character in bare:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    assert bare.count("$") % 2 == 0
    assert not set("#%_^~|<>α±✓") & set(re.sub(r"\$[^$]*\$", "", bare)), "something is not escaped"
    assert text.isascii()
    body = text.split("\\toprule\n")[1].split("\\bottomrule")[0].splitlines()
    rows = [row for row in body if row.endswith(r"\\")]
    assert len(rows) == len(table.header) + len(table.rows)
    width = len(table.header[0])
    for row in rows:
        spans = [int(n) for n in re.findall(r"\\multicolumn\{(\d+)\}", row)]
        cells = len(re.findall(r"(?<!\\)&", row)) + 1
        assert cells + sum(spans) - len(spans) == width
    assert re.search(r"\\begin\{tabular\}\{([lr]+)\}", text).group(1).count("") - 1 == width


@pytest.mark.parametrize("table", ALL, ids=lambda table: table.title)
def test_markdown_is_sound(table):
    rows = [row for row in table.to_markdown().splitlines() if row.startswith("|")]
    assert len(rows) == 2 + len(table.rows)
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {len(table.header[0]) + 1}


@pytest.mark.parametrize("make", [tables.table3, tables.table4, tables.table9])
def test_coherence_stands_beside_its_ceiling(make):
    reports = [multimodal_report((), 0), multimodal_report((), 1)]
    start = "Ceilings, how often our judges are right about real test items (%): "
    assert make(reports).notes[-1] == f"{start}mnist 99.00, svhn 92.00, text 100.00."
    reports[1]["scores"]["classifiers"]["svhn"] = 0.8334
    assert make(reports).notes[-1] == f"{start}mnist 99.00, svhn 83.34 to 92.00, text 100.00."
    assert not any("Ceilings" in note for note in [*tables.table5(reports).notes, *make([]).notes])


def test_ceilings_are_those_of_the_runs_that_are_shown():
    shown, other = multimodal_report((), 0), multimodal_report((), 1)
    other["config"]["objective"] = {**other["config"]["objective"], "name": "iwae"}
    other["scores"]["classifiers"]["svhn"] = 0.8334
    assert "svhn 92.00," in tables.table4([shown, other]).notes[-1]
    assert "svhn 83.34," in tables.coherence_by_objective([shown, other], "iwae").notes[-1]
    assert "svhn 83.34 to 92.00," in tables.table9([shown, other]).notes[-1]

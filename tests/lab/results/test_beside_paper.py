"""Our default beside the paper's rows: counted by hand."""

import copy

import pytest

from evenhand.lab.results import beside_the_paper
from evenhand.lab.results._beside_paper import all_live
from evenhand.lab.results._published import TABLE4, TABLE11
from evenhand.lab.results._selection import chosen_results, multimodal_results
from evenhand.lab.results._table import UNKNOWN

from .._reports import multimodal_report

LETTERS = {"M": "mnist", "S": "svhn", "T": "text"}
VANILLA, GOAL = (row for row in TABLE4 if row["model"] == "MMVAE")
COLUMNS = [name for name in GOAL if name not in ("model", "method")]


def report(seed=0, goals=(), *, shift=0.0, dead=False, **config):
    """A report whose coherence is that of the paper's impartial row, shifted by some points."""
    made = multimodal_report(goals, seed)
    for record in made["scores"]["coherence"]:
        given = "".join(letter for letter, name in LETTERS.items() if name in record["given"])
        title = f"{record['target'][0].upper()}|{given}"
        if title in GOAL:
            record["value"] = (GOAL[title].value + shift) / 100
    made["bounds"] = {"test": -100.0 - seed, "validation": -90.0}
    shares = [[0.3, 0.3, 0.4], [0.5, 0.49, 0.01] if dead else [0.5, 0.46, 0.04]]
    made["experts"] = {"names": [*LETTERS.values()], "steps": [1, 2], "share": shares, "rate": [[9, 9, 9]] * 2}
    made["config"]["training"]["epochs"] = config.pop("epochs", 5)
    made["config"]["impartial"] |= config
    return made


def rows_of(table):
    return {row[0]: dict(zip(table.header[0][1:], row[1:], strict=True)) for row in table.rows}


def test_columns_that_reach_the_paper_are_counted():
    reports = [report(0, shift=-1.0), report(1, shift=3.0, dead=True), report(0, ["LI"], shift=-0.5)]
    found = rows_of(beside_the_paper(reports))
    assert list(found) == ["vanilla", "CG (α=0.4), LI", "ceiling", "paper, vanilla", "paper, impartial"]  # noqa: RUF001
    ours = found["vanilla"]
    assert [ours[name].value for name in COLUMNS] == pytest.approx([GOAL[name].value + 1 for name in COLUMNS])
    assert (ours["reached"], ours["all live"], ours["bound"], ours["seeds"]) == ("12", "1 of 2", "-100.5", "2")
    assert found["CG (α=0.4), LI"]["reached"] == "0"  # noqa: RUF001
    assert [found["ceiling"][name].value for name in ("M|S", "S|M", "T|T")] == pytest.approx([99.0, 92.0, 100.0])
    assert found["paper, impartial"]["S|S"].value == 58.2
    assert found["paper, vanilla"]["T|T"].value == VANILLA["T|T"].value


def with_coherence(report, **values):
    """A report with other coherences, by titles such as T_T for T|T."""
    for record in report["scores"]["coherence"]:
        given = "".join(letter for letter, name in LETTERS.items() if name in record["given"])
        title = f"{record['target'][0].upper()}_{given}"
        record["value"] = values.get(title, record["value"])
    return report


def test_seeds_in_which_an_expert_speaks_have_a_mean_of_their_own():
    silent = with_coherence(report(0), T_T=0.1, M_T=0.2, M_ST=0.3)
    spoken = with_coherence(report(1), T_T=0.9, M_T=0.8, M_ST=0.7)
    found = rows_of(beside_the_paper([silent, spoken]))
    assert list(found)[:2] == ["vanilla", "where what is given speaks"]
    both, living = found["vanilla"], found["where what is given speaks"]
    assert both["speak"] == "2, 2, 1"
    assert [both[name].value for name in ("T|T", "M|T", "M|ST")] == pytest.approx([50, 50, 50])
    assert [living[name].value for name in ("T|T", "M|T", "M|ST")] == pytest.approx([90, 80, 70])
    assert living["M|S"].value == pytest.approx(both["M|S"].value)  # S speaks in both
    assert both["joint"].value == pytest.approx(31)


def test_an_expert_that_speaks_nowhere_has_no_mean():
    silent = [with_coherence(report(seed), S_S=0.1, T_T=0.1 if seed else 0.9) for seed in (0, 1)]
    found = rows_of(beside_the_paper(silent))
    assert found["vanilla"]["speak"] == "2, 0, 1"
    assert found["where what is given speaks"]["M|S"] == UNKNOWN
    agreeing = [with_coherence(report(seed), S_S=0.1) for seed in (0, 1)]
    assert "where what is given speaks" not in rows_of(beside_the_paper(agreeing))


def with_weights(report, **model):
    report["config"]["model"] |= model
    return report


def test_weights_are_arms_of_their_own():
    """A tuned weight is the rival of every f, and not one of the methods to choose from."""
    reports = [report(0), report(0, ["LI"]), with_weights(report(0), kl_weight=0.3)]
    reports += [with_weights(report(0), likelihood_weights=[1.0, 2.0, 1.0])]
    found = list(rows_of(beside_the_paper(reports)))
    arms = ["vanilla", "CG (α=0.4), LI", "vanilla, KL x 0.3", "vanilla, weights 1, 2, 1"]  # noqa: RUF001
    assert found[:4] == arms
    assert [method for _, method, _ in multimodal_results(reports, "siwae")] == arms[:2]
    assert [method for _, method, _ in chosen_results(reports, "siwae")] == arms[:2]
    alone = [with_weights(report(0, goals), kl_weight=0.3) for goals in ((), ["LI"])]  # a study of its own
    assert [method for _, method, _ in chosen_results(alone, "siwae")] == arms[:2]


def test_every_objective_has_its_table():
    loose = report(0)
    loose["config"]["objective"]["name"] = "iwae"
    found = rows_of(beside_the_paper([report(0), loose], objective="iwae"))
    assert list(found) == ["vanilla", "ceiling", "paper, vanilla", "paper, impartial"]
    goal = next(row for row in TABLE11 if row["model"] == "MMVAE" and row["method"] != "vanilla")
    assert found["paper, impartial"]["S|S"].value == goal["S|S"].value == 73.66
    assert list(found["paper, impartial"])[: len(COLUMNS)] == COLUMNS  # without the hours
    with pytest.raises(ValueError, match="objective should be one of 'elbo', 'iwae', 'siwae'. Found 'mmjsd'"):
        beside_the_paper([], objective="mmjsd")


def test_what_equals_the_paper_reaches_it():
    assert rows_of(beside_the_paper([report()]))["vanilla"]["reached"] == "12"


def test_norms_that_are_not_restored_are_an_arm_of_their_own():
    found = rows_of(beside_the_paper([report(goals=["LI"]), report(goals=["LI"], preserve_norm=False)]))
    assert list(found)[:2] == ["CG (α=0.4), LI", "CG (α=0.4), LI, not restored"]  # noqa: RUF001


def test_without_reports_the_paper_s_rows_stand_alone():
    others = report() | {"data": {"name": "fashion_mnist"}}
    assert list(rows_of(beside_the_paper([others]))) == ["paper, vanilla", "paper, impartial"]


def test_runs_of_another_kind_are_not_mixed():
    with pytest.raises(ValueError, match=r"should differ in their seeds only. .* differs in training.epochs"):
        beside_the_paper([report(0), report(1, epochs=6)])
    other = copy.deepcopy(report(1))
    other["scores"]["classifiers"]["svhn"] = 0.83
    message = "should be judged by equally good classifiers. Found 83.0 to .* % for svhn"
    with pytest.raises(ValueError, match=message):
        beside_the_paper([report(0), other])


def test_judges_that_were_trained_anew_and_are_as_good_share_a_ceiling():
    one, other = report(0), copy.deepcopy(report(1))
    share = one["scores"]["classifiers"]["svhn"]
    other["scores"]["classifiers"]["svhn"] = share - 0.002
    ceiling = rows_of(beside_the_paper([one, other]))["ceiling"]
    assert ceiling["S|S"].value == pytest.approx(100 * (share - 0.001))


@pytest.mark.parametrize(
    ("share", "rate", "lives"),
    [
        ([0.9, 0.05, 0.05], [20, 30, 40], True),
        ([0.9, 0.085, 0.015], [20, 30, 40], False),
        ([0.4, 0.3, 0.3], [20, 2000, 4], False),
    ],
)
def test_experts_die_of_hunger_or_run_away(share, rate, lives):
    assert all_live({"experts": {"share": [[0.0, 0.0, 1.0], share], "rate": [[1e9] * 3, rate]}}) is lives

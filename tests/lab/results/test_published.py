"""The paper's numbers: their shapes, the counts that its text states, and spot checks."""
# ruff: noqa: RUF001  # the paper's letter is α

import math

import pytest

from evenhand.datasets import NAMES
from evenhand.lab.results import Cell
from evenhand.lab.results import _published as paper

CELLS = [(data, setting) for data in paper.DATA for setting in paper.SETTINGS]


def test_data_sets_are_those_of_the_library():
    assert tuple(paper.DATA) == NAMES


@pytest.mark.parametrize("table", [paper.TABLE1, paper.TABLE7, paper.TABLE8])
def test_every_data_set_and_setting_has_a_cell(table):
    assert sorted(table) == sorted(CELLS)


def test_30_of_36_heterogeneous_cells_are_significant():
    pairs = [pair for (data, _), pair in paper.TABLE1.items() if data in paper.HETEROGENEOUS]
    assert len(pairs) == 36
    assert sum(ours.bold for _, ours in pairs) == 30
    assert not any(plain.bold for plain, _ in pairs)


def test_one_cell_alone_does_not_improve():
    worse = [key for key, (plain, ours) in paper.TABLE1.items() if ours.value >= plain.value]
    assert worse == [("hi", "HI-VAE")]


def test_medians_and_means_are_close():
    for key in CELLS:
        for median, mean in zip(paper.TABLE1[key], paper.TABLE8[key], strict=True):
            assert abs(median.value - mean.value) <= mean.std + 0.011, key


def test_bold_of_tables_1_and_8_differs_where_the_paper_does():
    different = [key for key in CELLS if paper.TABLE1[key][1].bold != paper.TABLE8[key][1].bold]
    assert different == [("hi", "HI-VAE")]


def test_kinds_add_up_but_for_adult():
    wrong = [data for data, (_, n, *kinds) in paper.TABLE6.items() if sum(kinds) != n]
    assert wrong == ["adult"]


@pytest.mark.parametrize(
    ("table", "n_columns", "n_bold"),
    [
        (paper.TABLE3, 3, 3),
        (paper.TABLE4, 12, 15),
        (paper.TABLE5, 6, 14),
        (paper.TABLE9, 9, 19),
        (paper.TABLE10, 13, 14),
        (paper.TABLE11, 13, 16),
        (paper.TABLE12, 13, 14),
        (paper.TABLE13, 7, 8),
        (paper.TABLE14, 7, 17),
        (paper.TABLE15, 7, 5),
    ],
)
def test_multimodal_tables(table, n_columns, n_bold):
    assert [row["model"] for row in table] == ["MVAE", "MVAE", "MMVAE", "MMVAE", "MoPoE", "MoPoE"]
    assert [row["method"] == "vanilla" for row in table] == [True, False] * 3
    assert all(len(row) == n_columns + 2 for row in table)
    assert sum(isinstance(cell, Cell) and cell.bold for row in table for cell in row.values()) == n_bold


def test_spot_checks():
    assert paper.TABLE1["labour", "VAE-ELBO"] == (Cell(0.109), Cell(0.063, bold=True))
    assert paper.TABLE1["bank", "VAE-IWAE"][1].value == 0.076
    assert paper.TABLE2["nominal"] == (Cell(0.158), Cell(0.065, bold=True))
    assert paper.TABLE3[3]["M"] == Cell(74.16, 2, bold=True)
    assert paper.TABLE4[2]["M|ST"] == Cell(40.45, 2)
    assert paper.TABLE5[5]["SIWAE cross"] == Cell(53.24, 2, bold=True)
    assert paper.TABLE7["rwm5yr", "VAE-IWAE"] == "GN-GD (α=1)"
    assert paper.TABLE8["credit", "HI-VAE"][0] == Cell(0.15, 2, std=0.09)
    assert paper.TABLE9[4]["IWAE S"] == Cell(87.55, 2)
    assert paper.TABLE10[5]["hours"] == Cell(29.41, 2)
    assert paper.TABLE11[1]["method"] == "GN (α=0), LI"
    assert paper.TABLE15[4]["X|MST"] == Cell(-3.15, 2, std=3.78)
    assert paper.OVERHEAD[-1] == (("LI", "EEI", "DEI"), 11.89, "3D")


def test_unwritten_deviations_are_unknown():
    assert math.isnan(paper.TABLE1["wine", "HI-VAE"][0].std)

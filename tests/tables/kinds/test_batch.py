import numpy as np
import pytest
import torch

from evenhand.tables.frames import RawTable
from evenhand.tables.kinds import Batch


def test_rows_of_a_batch():
    batch = Batch(torch.arange(6.0).reshape(3, 2), torch.tensor([[True, False]] * 3))
    assert len(batch) == 3
    for index in (torch.tensor([2, 0]), [2, 0], np.array([2, 0])):
        assert batch.rows(index).values.tolist() == [[4, 5], [0, 1]]
    assert batch.rows(slice(1)).mask.tolist() == [[True, False]]
    assert batch.rows(torch.tensor([False, True, False])).values.tolist() == [[2, 3]]
    assert batch.to("meta").values.device.type == batch.to("meta").mask.device.type == "meta"


@pytest.mark.parametrize(
    ("values", "mask", "message"),
    [
        (
            torch.zeros(3),
            torch.zeros(3).bool(),
            r"values should be numbers with two axes. Found torch.float32 of shape \[3\]",
        ),
        (torch.zeros(3, 2).long(), torch.zeros(3, 2).bool(), "Found torch.int64"),
        (torch.zeros(3, 2), torch.zeros(3, 1).bool(), r"mask should be boolean with the shape \[3, 2\].*\[3, 1\]"),
        (torch.zeros(3, 2), torch.zeros(3, 2), "Found torch.float32"),
    ],
)
def test_batches_are_checked(values, mask, message):
    with pytest.raises(ValueError, match=message):
        Batch(values, mask)


def test_raw_tables():
    table = RawTable(np.array([[1, np.nan], [3, np.inf]]), np.array([[True, False], [True, False]]))
    assert table.values.tolist() == [[1, 0], [3, 0]]  # nothing is known of missing cells
    assert table.values.dtype == np.float64
    assert len(table) == 2
    assert table.rows([1]).values.tolist() == [[3, 0]]
    with pytest.raises(ValueError, match="finite where they are observed"):
        RawTable(np.array([[np.nan]]), np.array([[True]]))
    with pytest.raises(ValueError, match=r"values should have two axes. Found shape \[2\]"):
        RawTable(np.zeros(2), np.ones(2, dtype=bool))
    with pytest.raises(ValueError, match=r"observed should be boolean with the shape \[2, 2\].*float64"):
        RawTable(np.zeros((2, 2)), np.ones((2, 2)))

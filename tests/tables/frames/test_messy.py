"""A nasty file goes in without a question, and every rule that is applied to it is told."""

import pandas as pd
import pytest

from evenhand import TabularVAE
from evenhand.tables.frames import read_file, write_file
from evenhand.tables.schema import Schema

from ._messy import write_messy_csv

KINDS = {
    "signup": "real",
    "last_seen": "real",
    "age": "count",
    "income": "positive",
    "balance": "real",
    "plan": "categorical",
    "country": "categorical",
    "active": "binary",
    "visits": "count",
}
IGNORED = {
    "column_1": "Holds every whole number from 0 to 399 once, which look like the numbers of the rows.",
    "customer_id": "Holds 400 different whole numbers and is named like an id.",
    "comment": "different texts of 58 characters on average, which look like free text.",
    "currency": "Is constant, all its cells are 'EUR'.",
    "remark": "Is empty, all its cells are missing.",
}


@pytest.fixture
def table(tmp_path):
    write_messy_csv(tmp_path / "messy.csv")
    return read_file(tmp_path / "messy.csv")


def test_every_conversion_is_told(table):
    unnamed, na, question, signup, last_seen = table.conversions
    assert unnamed == "Column 1 has no name: it was named 'column_1'."
    assert na.startswith("'NA' was taken as missing in ")
    assert question.startswith("'?' was taken as missing in ")
    assert signup == "Column 'signup' was read as dates."
    assert last_seen == "Column 'last_seen' was read as dates and times."


def test_every_kind_and_every_column_left_out_has_a_reason(table):
    schema = Schema.infer(table.frame, unsupported="ignore")
    assert dict(zip(schema.names, schema.kinds, strict=True)) == KINDS
    assert all(column.reason for column in schema)
    assert schema.ignored.keys() == IGNORED.keys()
    for name, why in IGNORED.items():
        assert why in schema.ignored[name]


def test_it_is_filled_and_written_again(table, tmp_path):
    holes = table.frame[list(KINDS)].isna()
    assert 0.1 < holes.to_numpy().mean() < 0.2
    model = TabularVAE(method="sum", kl_weight=0.1, max_epochs=2, unsupported="ignore", random_state=0)
    with pytest.warns(UserWarning, match=r"missing cells are left, in columns that are ignored: 'comment' \("):
        filled = model.fit_transform(table.frame)
    assert not filled[list(KINDS)].isna().any(axis=None)
    pd.testing.assert_frame_equal(filled.mask(holes.reindex(columns=filled.columns, fill_value=False)), table.frame)
    write_file(filled, tmp_path / "filled.csv")
    back = read_file(tmp_path / "filled.csv").frame
    pd.testing.assert_frame_equal(back, filled, check_dtype=False)
    assert back["age"].dtype == "int64"  # written as whole numbers


def test_another_seed_is_another_table(tmp_path):
    for name, seed in (("a.csv", 0), ("b.csv", 1), ("c.csv", 0)):
        write_messy_csv(tmp_path / name, 50, seed)
    first, other, again = ((tmp_path / name).read_text() for name in ("a.csv", "b.csv", "c.csv"))
    assert first == again != other
    assert first.count("\n") == 51

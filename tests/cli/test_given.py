"""What `--given` fixes."""

from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

from evenhand.cli._errors import BadArgumentError
from evenhand.cli._given import parse_given
from evenhand.tables.frames import forms_of
from evenhand.tables.schema import Column, Schema

GIVEN = pd.DataFrame(
    {
        "a": [1.5, 2.5],
        "a=b": [1, 2],
        "day": pd.to_datetime(["2020-01-31", "2021-01-31"]),
        "zoned": pd.to_datetime(["2020-01-31T01:00Z", "2021-01-31T02:00Z"]),
        "span": pd.to_timedelta([1, 2.5], unit="D"),
        "n": [3, 4],
        "size": [1.5, 2.0],
        "flag": [True, False],
        "level": [True, False],
    }
)

OF_GIVEN = Schema(
    (
        Column("a", "real"),
        Column("a=b", "binary", (1, 2)),
        Column("day", "real", unit="days"),
        Column("zoned", "real", unit="days"),
        Column("span", "real", unit="days"),
        Column("n", "count"),
        Column("size", "positive"),
        Column("flag", "binary", (False, True)),
        Column("level", "real"),
    )
)

FORMS = forms_of(GIVEN, OF_GIVEN)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=-1.5", -1.5),
        ("a=b=2", 2),
        ("day=2020-01-31", datetime(2020, 1, 31)),
        ("day=2020-01-31 12:30", datetime(2020, 1, 31, 12, 30)),
        ("zoned=2020-01-31T02:00+02:00", datetime(2020, 1, 31, tzinfo=UTC)),
        ("span=3", timedelta(days=3)),
        ("span=0.5", timedelta(hours=12)),
        ("span=3 days", timedelta(days=3)),
        ("span=-36 hours", timedelta(days=-1.5)),
        ("n=0", 0.0),
        ("flag=true", True),
        ("flag=FALSE", False),
        ("flag=True", True),
        ("level=false", 0.0),
        ("level=0.5", 0.5),
    ],
)
def test_given_values_have_the_type_of_their_column(text, value):
    (found,) = parse_given([text], OF_GIVEN, FORMS).values()
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a=x", "--given a should be a number. Found 'x'."),
        ("a=nan", "--given a should be a number. Found 'nan'."),
        ("a=-inf", "--given a should be a number. Found '-inf'."),
        ("a=b=3", "--given a=b should be one of 1, 2. Found '3'."),
        ("day=3", "--given day should be a date such as 2020-01-31. Found '3'."),
        ("day=NaT", "--given day should be a date"),
        ("day=", "--given day should be a date"),
        ("day=9999-01-01", "--given day should be a time that its column can hold"),
        ("span=soon", "--given span should be a duration such as '3 days', or a number of days. Found 'soon'."),
        ("span=nan", "--given span should be a duration"),
        ("span=NaT", "--given span should be a duration"),
        ("span=inf", "--given span should be a duration"),
        ("span=1e300", "--given span should be a duration"),
        ("n=1.5", "--given n should fit its column. Found 1.5: column 'n' cannot be a count"),
        ("size=0", "--given size should be positive"),
        ("flag=yes", "--given flag should be one of False, True. Found 'yes'."),
        ("level=yes", "--given level should be true, false or a number. Found 'yes'."),
        ("b=1", "--given should be COLUMN=VALUE"),
        ("a", "--given should be COLUMN=VALUE"),
    ],
)
def test_wrong_values_are_not_given(text, words):
    with pytest.raises(BadArgumentError) as error:
        parse_given([text], OF_GIVEN, FORMS)
    assert str(error.value).startswith(words)


def test_a_column_is_given_once():
    with pytest.raises(BadArgumentError, match="Found 'a' twice"):
        parse_given(["a=1", "a=b=1", "a=2"], OF_GIVEN, FORMS)

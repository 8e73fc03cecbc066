import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.common import ArgumentError
from evenhand.tables.schema import Column, Kind, Schema

SCHEMA = Schema(
    (
        Column("age", "count", reason="Whole numbers."),
        Column("income", "positive", zero_offset="published"),
        Column("since", "real", unit="days"),
        Column("sex", "binary", ("f", "m")),
        Column("flag", "binary", (0, 1)),
        Column("grade", "ordinal", ("low", "middle", "high")),
    ),
    {"id": "Is constant."},
)

numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()
some_categories = st.lists(st.text() | numbers, min_size=3, max_size=6, unique=True).map(tuple)
columns = st.one_of(
    st.builds(Column, st.text(), st.sampled_from(["real", "count"]), unit=st.sampled_from(["", "days"])),
    st.builds(
        Column,
        st.text(),
        st.just("positive"),
        zero_offset=st.floats(1e-300, 1e300) | st.integers(1, 9) | st.sampled_from([None, "published"]),
    ),
    st.builds(Column, st.text(), st.sampled_from(["categorical", "ordinal"]), some_categories, reason=st.text()),
    st.builds(
        Column, st.text(), st.just("binary"), st.sampled_from([(False, True), (0, 1), (0.5, 1.5), ('"', "\\")])
    ),
)
schemas = st.builds(Schema, st.lists(columns, max_size=4, unique_by=lambda c: c.name))


@given(schemas)
def test_toml_gives_back_every_schema(schema):
    back = Schema.from_toml(schema.to_toml())
    assert back == schema
    assert [c.reason for c in back] == [c.reason for c in schema]
    assert [[type(x) for x in c.categories] for c in back] == [[type(x) for x in c.categories] for c in schema]


@pytest.mark.parametrize(
    "text", ['a"b', "Größe\n\t", "🙂", "a\\b", "\x7f\x00\x1f", "a.b", "[x]", "", "'", "#", "\r\n", "\u2028"]
)
def test_toml_keeps_odd_text(text, tmp_path):
    schema = Schema((Column(text, "categorical", (text + "1", text + "2", "x"), reason=text),), {text + "3": text})
    schema.save(tmp_path / "schema.toml")
    back = Schema.read(tmp_path / "schema.toml")
    assert back == schema
    assert back.columns[0].reason == text


def test_toml_is_readable():
    text = SCHEMA.to_toml()
    assert '[columns."age"]\nkind = "count"\nreason = "Whole numbers."\n' in text
    assert 'kind = "positive"\nzero_offset = "published"' in text
    assert 'categories = ["low", "middle", "high"]' in text
    assert text.endswith('[ignored]\n"id" = "Is constant."\n')
    by_hand = Schema.from_toml('[columns.age]\nkind = "count"\n[columns.pay]\nkind = "positive"\nzero_offset = 1')
    assert by_hand == Schema((Column("age", "count"), Column("pay", "positive", zero_offset=1.0)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[columns.a]\nkind = 'real'\ncolour = 1", "column 'a' should have the keys kind, .*Found 'colour'"),
        ("[columns.a]\nkind = 'real'\n[extra]", "the schema should have the keys columns, ignored. Found 'extra'"),
        ("[columns.a]\nunit = 'days'", "column 'a' should have a kind. Found none"),
        ("[columns]\na = 'real'", "columns.a should be a table with a kind. Found 'real'"),
        ("[ignored]\na = 1", "ignored.a should be a reason in words. Found 1"),
        ("[columns.a\n", "text should be a schema in TOML. Found a mistake"),
        ("[columns.a]\nkind = 'float'", "kind should be one of"),
    ],
)
def test_toml_mistakes_are_named(text, message):
    with pytest.raises(ValueError, match=message):
        Schema.from_toml(text)


def test_a_schema_is_a_sequence_of_columns_by_name():
    assert len(SCHEMA) == 6
    assert [column.name for column in SCHEMA] == list(SCHEMA.names)
    assert SCHEMA["sex"].categories == ("f", "m")
    assert SCHEMA.kinds[0] is Kind.COUNT
    assert "sex" in SCHEMA
    assert "id" not in SCHEMA
    with pytest.raises(KeyError, match="'size' should be one of the columns age, income"):
        SCHEMA["size"]
    assert pickle.loads(pickle.dumps(SCHEMA)) == copy.deepcopy(SCHEMA) == SCHEMA
    assert hash(SCHEMA) == hash(copy.deepcopy(SCHEMA))


def test_schema_mistakes_are_named():
    with pytest.raises(ValueError, match="distinct names, none of them ignored. Found 'a' twice"):
        Schema((Column("a", "real"), Column("a", "count")))
    with pytest.raises(ValueError, match="Found 'a' twice"):
        Schema((Column("a", "real"),), {"a": "Constant."})
    with pytest.raises(ValueError, match="columns should hold Columns. Found str"):
        Schema(("a",))


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        ("age", "real", Column("age", "real")),
        ("age", Kind.POSITIVE, Column("age", "positive")),
        ("income", "real", Column("income", "real")),  # the offset goes
        ("income", {"zero_offset": 0.5}, Column("income", "positive", zero_offset=0.5)),
        ("flag", "count", Column("flag", "count")),
        ("grade", "categorical", Column("grade", "categorical", ("low", "middle", "high"))),
        ("age", {"kind": "ordinal", "categories": [1, 2, 3]}, Column("age", "ordinal", (1, 2, 3))),
        ("since", "positive", Column("since", "positive", unit="days")),
        ("sex", Column("sex", "categorical", ("f", "m", "x")), Column("sex", "categorical", ("f", "m", "x"))),
    ],
)
def test_update_changes_one_column(name, change, expected):
    updated = SCHEMA.update({name: change})
    assert updated[name] == expected
    assert updated.names == SCHEMA.names
    assert updated.ignored == SCHEMA.ignored
    assert [a for a, b in zip(updated, SCHEMA, strict=True) if a != b] == [expected]


def test_update_may_ignore_a_column():
    updated = SCHEMA.update({"sex": "ignore", "age": "real"})
    assert updated.names == ("age", "income", "since", "flag", "grade")
    assert updated.ignored == {"id": "Is constant.", "sex": "Ignored by hand."}
    assert updated["age"].kind == Kind.REAL


def test_update_tells_that_it_was_by_hand():
    assert SCHEMA.update({"age": "real"})["age"].reason == "Set to real by hand."


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sex": "real"}, "column 'sex' cannot be real: it holds text such as 'f'"),
        ({"age": "categorical"}, "column 'age' should have categories to become categorical. Found none. Give"),
        ({"grade": "binary"}, "should be two, because its kind is binary. Found 3"),
        ({"size": "real"}, "changes should name columns of the schema .*Found 'size'"),
        ({"age": {"type": "real"}}, "the change of 'age' should have the keys kind, .*Found 'type'"),
        ({"age": 3}, "the change of 'age' should be a kind, a Column or a dictionary. Found int"),
        ({"age": Column("x", "real")}, "the change of 'age' should bear its name. Found 'x'"),
    ],
)
def test_impossible_updates_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        SCHEMA.update(changes)


def test_explain_has_a_line_per_column():
    lines = SCHEMA.explain().splitlines()
    assert lines[0].split() == ["column", "kind", "why"]
    assert lines[1] == "age     count     Whole numbers."
    assert lines[-1] == "id      ignored   Is constant."
    assert len(lines) == 8


def test_advice_is_a_field_of_its_own():
    with pytest.raises(ArgumentError) as caught:
        SCHEMA.update({"age": "categorical"})
    assert caught.value.advice == (
        'Give {"kind": "categorical", "categories": (...)}, or infer the schema with overrides.'
    )
    assert str(caught.value.advised("Begin with the table.")) == (
        "column 'age' should have categories to become categorical. Found none. Begin with the table."
    )


def test_text_that_is_no_toml_can_be_told_of_a_file():
    with pytest.raises(ArgumentError) as caught:
        Schema.from_toml("[columns.a\n")
    assert str(caught.value.about("--schema")).startswith("--schema should be a schema in TOML. Found a mistake: ")

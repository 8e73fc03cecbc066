"""`datasets`: a list, fetching and checking."""

import json

import pytest

from evenhand.datasets import CATALOGUE, _fetch

CSV = b"a,b\n1,2\n"


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """A cache and a data folder that are empty, and no network."""
    import pooch

    def refuse(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache")
    monkeypatch.setattr(pooch, "retrieve", refuse)
    monkeypatch.setattr(_fetch, "in_package", lambda file: False)
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path / "data"))
    return tmp_path


def test_the_list_says_where_they_are(elsewhere, go):
    for place, file in (("cache", "adult/adult.data"), ("data", "magic/magic04.data.xz")):
        path = elsewhere / place / file
        path.parent.mkdir(parents=True)
        path.touch()
    rows = {row["name"]: row for row in json.loads(go("datasets", "--json").stdout)}
    assert {name: rows[name]["where"] for name in ("adult", "magic", "hi", "digits_in_three")} == {
        "adult": "cache",
        "magic": "folder",
        "hi": "not here",
        "digits_in_three": "package",
    }
    assert rows["hi"]["licence"] == "GPL-2 or later"
    printed = go("datasets").stdout
    assert all(name in printed for name in CATALOGUE)


def test_a_package_may_bring_them(elsewhere, monkeypatch):
    monkeypatch.setattr(_fetch, "in_package", lambda file: file.r is not None)
    assert CATALOGUE["hi"].place == "package"
    assert CATALOGUE["wine"].place == "not here"


def test_verifying_does_not_fetch(elsewhere, go):
    result = go("datasets", "verify", "hi", "digits_in_three")
    assert result.exit_code == 1
    assert result.stdout == "digits_in_three: rows and columns are as they should be (package)\n"
    assert result.stderr == (
        "Error: 1 of 2 data sets failed:\n  hi: it is not here. To fetch it: evenhand datasets fetch hi\n"
    )


def test_damage_is_found(elsewhere, go):
    path = elsewhere / "data" / "hi" / "Ecdat_HI.csv"
    path.parent.mkdir(parents=True)
    path.write_bytes(CSV)
    result = go("datasets", "verify", "hi", "--json")
    assert result.exit_code == 1
    assert "should have the sha256" in result.stderr
    assert list(json.loads(result.stdout)["failed"]) == ["hi"]


def test_fetching_without_a_network_says_what_to_do(elsewhere, go):
    result = go("datasets", "fetch", "hi")
    assert result.exit_code == 1
    assert "could not be fetched" in result.stderr
    assert "Traceback" not in result.stderr


def test_names_are_checked(go):
    assert "Did you mean 'hi'?" in go("datasets", "fetch", "hii").stderr
    for words in (["fetch"], ["verify", "hi", "--all"]):
        assert go("datasets", *words).exit_code == 2

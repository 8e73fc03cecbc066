"""`diagnose` and what it advises."""

import json

import pytest


def test_diagnose_says_where_gradients_conflict(table, go):
    result = go("diagnose", table, "--steps", 2)
    assert result.exit_code == 0, result.stderr
    assert "An even share would be 33.3%." in result.stdout
    assert "Not learnt" in result.stdout
    document = json.loads(go("diagnose", table, "--steps", 2, "--json").stdout)  # which is done already
    assert sum(c["share_last"] for c in document["columns"]) == pytest.approx(1, abs=1e-3)
    assert document["n_pairs"] == 3

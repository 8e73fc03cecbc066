"""What is known of data sets before they are loaded."""

import subprocess
import sys
from importlib import import_module

import pytest

from evenhand import datasets
from evenhand.datasets import CATALOGUE, NAMES


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_data_set_is_a_function_in_the_file_of_its_name(name):
    module = import_module(f"evenhand.datasets._{name}")
    assert getattr(datasets, name) is getattr(module, name)
    assert CATALOGUE[name].name == name
    entry = CATALOGUE[name]
    assert entry.package or entry.unpacked or all(file.sha256 for files in module.ALTERNATIVES for file in files)


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_file_tells_the_licence_of_the_catalogue(name):
    module = sys.modules[getattr(datasets, name).__module__]
    words = " ".join(module.__doc__.split())
    assert CATALOGUE[name].licence in words


@pytest.mark.parametrize("name", ["hi", "wine", "labour", "digits_in_three", "digits_in_five"])
def test_a_loaded_data_set_is_as_the_catalogue_says(name, data_folder):
    entry = CATALOGUE[name]
    parts = entry.read()
    assert sum(len(part.frame if entry.is_table else part) for part in parts) == entry.rows
    for part in parts:
        assert len(part.schema if entry.is_table else part.data.names) == entry.columns
        assert (part.source, part.licence) == (entry.source, entry.licence)


def test_columns_are_counted():
    for name in NAMES:
        module = import_module(f"evenhand.datasets._{name}")
        columns = getattr(module, "COLUMNS", None) or module.NAMES
        assert len(columns) == CATALOGUE[name].columns, name


def test_it_is_read_without_torch():
    code = (
        "import sys; from evenhand.datasets import CATALOGUE, NAMES\n"
        "print(len(NAMES), sorted({'torch', 'numpy', 'pandas', 'evenhand.tables'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "12 []"

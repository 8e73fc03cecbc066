"""Every test starts from the same seed, in double precision; what is slow is marked here."""

import os
from collections import Counter

os.environ.setdefault("OMP_NUM_THREADS", "1")  # also for the processes that tests start

import pytest
import torch
from hypothesis import settings

settings.register_profile("evenhand", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("quick", settings.get_profile("evenhand"), max_examples=5)  # of `make quick`
# of `make fuzz`: other inputs every time, FUZZ of them for every test; a failure prints how to repeat it
settings.register_profile(
    "fuzz", deadline=None, derandomize=False, print_blob=True, max_examples=int(os.environ.get("FUZZ", "2500"))
)
settings.load_profile("evenhand")
# What `make quick` leaves out, by file or by the beginning of a name: seconds of work, or processes of its own.
SLOW = (
    "chaos/test_chaos.py",
    "cli/test_app.py",
    "datasets/test_mnist_svhn_text.py::test_the_published_test_rows",
    "datasets/test_tables.py::test_rows_and_codes_are_those_of_the_published_tables",
    "impartial/test_backward_torch.py::test_compiled",
    "impartial/test_backward_torch.py::test_one_graph",
    "impartial/test_compile.py",
    "impartial/test_distributed.py",
    "impartial/test_export.py",
    "impartial/test_torchjd.py::test_mgda_where_it_has_converged",
    "lab/judges/test_judges.py",
    "lab/page/test_page_in_browser.py",
    "lab/test_execute.py",
    "lab/test_folder.py::test_a_process_that_is_killed",
    "lab/test_folder.py::test_a_second_process",
    "lab/test_multimodal.py",
    "lab/test_run.py::test_killed",
    "modalities/estimator/test_multimodal_vae.py::test_cross_generation_works",
    "modalities/estimator/test_multimodal_vae.py::test_every_option_changes_the_training",
    "modalities/estimator/test_multimodal_vae.py::test_training_with_a_third",
    "modalities/networks/test_networks.py::test_a_classifier_learns_words",
    "modalities/networks/test_networks.py::test_a_default_pair_learns",
    "modalities/objectives/test_objectives.py::test_dreg",
    "modalities/objectives/test_objectives.py::test_sticking_the_landing",
    "modalities/training/test_loop.py",
    "modalities/training/test_two_passes.py::test_gradients_of_few_samples",
    "modalities/training/test_two_passes.py::test_the_step_compiles",
    "tables/schema/test_schema.py::test_toml_gives_back_every_schema",
    "tables/stack/test_resume.py::test_a_training_goes_on_exactly",
    "tables/stack/test_training.py::test_a_stack_is_its_runs",
    "test_documentation.py::test_code_blocks",
    "test_documentation.py::test_examples_run",
    "test_paper.py",
    "trainers/test_examples.py",
    "trainers/test_lightning.py::test_two_processes",
)
collect_ignore = ["smoke"]  # scripts for an installed wheel
torch.set_num_threads(1)  # tensors are tiny here; threads would only wait for each other


ONE_OF = 10  # cases of a test that `make quick` runs: the first, the eleventh, and so on


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="leave out slow tests, and most cases of the others")


def pytest_collection_modifyitems(config, items):
    for item in items:
        if item.nodeid.removeprefix("tests/").startswith(SLOW):
            item.add_marker("slow")
    if config.getoption("quick"):
        chosen = {item: _is_quick(item, seen) for seen in [Counter()] for item in items}
        config.hook.pytest_deselected(items=[item for item, quick in chosen.items() if not quick])
        items[:] = [item for item, quick in chosen.items() if quick]


def _is_quick(item, seen):
    test = item.nodeid.partition("[")[0]
    seen[test] += 1
    return item.get_closest_marker("slow") is None and seen[test] % ONE_OF == 1


@pytest.fixture(autouse=True)
def _seed_and_dtype(request):
    if request.node.nodeid.startswith("tests/"):
        torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)

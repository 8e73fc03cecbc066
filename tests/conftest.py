"""Every test starts from the same seed, in double precision; what is slow is marked here."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # also for the processes that tests start

import pytest
import torch
from hypothesis import settings

settings.register_profile("evenhand", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("evenhand")
collect_ignore = ["smoke"]  # scripts for an installed wheel
torch.set_num_threads(1)  # tensors are tiny here; threads would only wait for each other


@pytest.fixture(autouse=True)
def _seed_and_dtype(request):
    if request.node.nodeid.startswith("tests/"):
        torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)

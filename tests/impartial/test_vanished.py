"""A gradient that has vanished beside others is not blown up to their length."""

import pytest
import torch

from evenhand.impartial import IMTLG, MGDA, AlignedMTL, Block, GradDrop, LinearBlock, Scaling

from .test_block import settle

WHOLE = torch.randn(8, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
OTHER = torch.randn(8, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


def pair(size, dtype):
    return torch.stack([WHOLE, size * OTHER]).to(dtype)


@pytest.mark.parametrize("method", [MGDA, IMTLG, AlignedMTL])
@pytest.mark.parametrize(("dtype", "size"), [(torch.float32, 6e-20), (torch.float64, 6e-20)])
def test_what_has_vanished_stays_small(method, dtype, size):
    """Seen with EEI under SIWAE: a gradient of 6e-20 was multiplied by 2e18."""
    rows = pair(size, dtype)
    block = Block(method())
    found = settle(block, rows)
    assert found.isfinite().all()
    assert found.norm() < 1e-2 * rows.sum(0).norm()
    assert block.last.weights.max() <= 1.01 / torch.finfo(dtype).eps


@pytest.mark.parametrize("method", [MGDA, IMTLG, AlignedMTL])
@pytest.mark.parametrize(("dtype", "size"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
def test_what_is_small_and_real_keeps_the_length_of_the_sum(method, dtype, size):
    rows = pair(size, dtype)
    assert settle(Block(method()), rows).norm().item() == pytest.approx(rows.sum(0).norm().item(), rel=1e-4)


class Second(Scaling):
    """Only the second gradient counts."""

    def weights(self, gram):
        return torch.tensor([0.0, 1.0], dtype=gram.dtype).expand(gram.shape[:-1])


def test_a_linear_block_and_a_mask_over_features_do_the_same():
    y = WHOLE.float().requires_grad_()
    linear = torch.nn.Linear(5, 2).float()
    eta = LinearBlock(Second(), [0, 1])(y, linear.weight, linear.bias)
    (eta[:, 0].sum() + 6e-20 * eta[:, 1].sum()).backward()
    assert y.grad.norm() < 1e-10
    rows = pair(6e-20, torch.float32)
    found = settle(Block(Second() >> GradDrop()), rows)
    assert found.norm() < 1e-10

"""One trunk, two ways: losses by hand, replicas on their own, and blocks where the heads meet."""

import pytest
import torch
from torch.nn import functional as F

from evenhand.impartial import IMTLG, MGDA, PCGrad, Sum
from evenhand.tables.families import Sizes, TwoWay
from evenhand.tables.families._direct import SAY_OF_PIECES
from evenhand.tables.families._two_way import SAY_OF_LATENT
from evenhand.tables.frames import RawTable
from evenhand.tables.inference import direct_expectations
from evenhand.tables.schema import Column, Schema
from evenhand.tables.stack import Preparation, Run, Stack

from .._inputs import SCHEMA, table

SMALL = Sizes(n_latent=2, n_hidden=12, n_layers=2)


def prepared(n=200):
    raw = table(n)
    preparation = Preparation.fit(TwoWay, raw, SCHEMA, [range(n)], [0])
    return preparation, preparation.rows(preparation.encode(raw))


def stack_of(runs, *, hide=0.3, steps=0, **options):
    preparation, rows = prepared()
    network = preparation.network(rows.n_inputs, [run.seed for run in runs], sizes=SMALL)
    train = torch.arange(len(rows)).expand(len({run.seed for run in runs}), -1)
    stack = Stack(network, runs, rows, train, batch_size=50, dropout=0.0, hide=hide, **options)
    stack.train(steps)
    return stack


def features_of(stack, n=20):
    inputs, targets, mask = stack.rows.split(stack.rows.record[:n])
    seen = stack.rows.seen(inputs, mask)
    return stack.model.look(seen.expand(len(stack.runs), -1, -1)), targets.expand(len(stack.runs), -1, -1), mask


def test_the_direct_loss_is_the_mean_of_every_column_over_its_hidden_cells():
    stack = stack_of([Run(0, Sum())], steps=3)
    direct, heads = stack.model.direct, stack.model.likelihood
    features, targets, mask = features_of(stack)
    hidden = (torch.rand(mask.shape, generator=torch.Generator().manual_seed(0)) < 0.5) * mask
    outputs = direct.outputs(features).detach()
    found = direct.loss(outputs, targets, hidden.unsqueeze(0))
    points, shapes, *_ = outputs[0].split(direct._sizes, -1)
    values = direct.pieces.standard(heads.numbers(targets)[0])
    n, size = direct.pieces.n, direct.pieces.size
    total, place, target_place = 0.0, n + n * size, n
    for d, column in enumerate(heads.columns):
        rows = hidden[:, d].nonzero().flatten()
        errors = []
        for i in rows.tolist():
            if d < n:
                code = int(direct.pieces.codes(targets[..., :n])[0, i, d])
                used = int((direct.pieces.unused[d] == 0).sum())
                log_p = F.log_softmax(shapes[i, d * size : d * size + used], -1)[code]
                errors.append(0.5 * (points[i, d] - values[i, d]) ** 2 - SAY_OF_PIECES * log_p)
            elif column.column.kind == "binary":
                x = targets[0, i, target_place]
                errors.append(F.binary_cross_entropy_with_logits(outputs[0, i, place].double(), x.double()))
            else:
                c = column.column.size
                truth = targets[0, i, target_place : target_place + c].argmax()
                errors.append(F.cross_entropy(outputs[0, i, place : place + c].double(), truth))
        total += sum(float(e) for e in errors) / max(len(errors), 1)
        if d >= n:
            width = 1 if column.column.kind == "binary" else column.column.size
            place, target_place = place + width, target_place + width
    assert float(found) == pytest.approx(total, rel=1e-5)


def test_nothing_is_learnt_directly_from_cells_that_are_shown():
    stack = stack_of([Run(0, Sum())])
    direct = stack.model.direct
    features, targets, mask = features_of(stack)
    loss = direct.loss(direct.outputs(features).detach(), targets, torch.zeros_like(mask).unsqueeze(0))
    assert float(loss) == 0


def test_the_way_through_z_has_a_small_say_in_the_trunk():
    stack = stack_of([Run(0, Sum())])
    features = features_of(stack)[0].detach().requires_grad_()
    noise = torch.zeros(1, 1, features.shape[1], 2)
    small, full = (
        torch.autograd.grad(model.infer(features, noise).z.sum(), features)[0]
        for model in (stack.model, stack.model.joint)
    )
    torch.testing.assert_close(small, SAY_OF_LATENT * full)


@pytest.mark.parametrize("objective", ["elbo", "iwae", "dreg"])
def test_replicas_are_on_their_own(objective):
    runs = [Run(0, Sum()), Run(1, IMTLG(), kl_weight=0.1), Run(0, PCGrad())]
    options = {"objective": objective, "n_samples": 2, "steps": 6}
    together = stack_of(runs, **options)
    for r, run in enumerate(runs):
        alone = stack_of([run], **options)
        for (name, many), one in zip(together.model.named_parameters(), alone.model.parameters(), strict=True):
            torch.testing.assert_close(many[r], one[0], msg=name)


def test_a_method_settles_the_direct_heads_at_the_trunk():
    stack = stack_of([Run(0, MGDA())])
    assert [len(set(block.heads.tolist())) for block in stack.blocks] == [len(SCHEMA.columns)] * 2
    stack.train(1)
    assert stack.blocks[-1].last.gram.shape == (1, len(SCHEMA.columns), len(SCHEMA.columns))
    plain, same, other = (stack_of([Run(0, m)], steps=2) for m in (Sum(), PCGrad(), MGDA()))
    weights = [s.model.trunk[0].weight for s in (plain, same, other)]
    assert not torch.allclose(weights[0], weights[2])


def test_hidden_cells_are_guessed_from_the_visible_ones():
    """Income, price and warmth all follow one hidden number."""
    stack = stack_of([Run(0, Sum(), lr=5e-3)], steps=300)
    index = torch.arange(len(stack.rows))
    visible = torch.ones(len(index), len(SCHEMA.columns))
    column = stack.model.likelihood.names.index("income")
    visible[:, column] = 0
    guess = direct_expectations(stack.model, stack.rows, index, visible)[0, :, column]
    raw, place = table(len(index)), SCHEMA.names.index("income")
    both = torch.stack([guess, torch.tensor(raw.values[:, place])])[:, raw.observed[:, place]]
    assert float(torch.corrcoef(both)[0, 1]) > 0.7


def test_it_can_be_cut_and_resumed():
    runs = [Run(0, Sum()), Run(0, IMTLG())]
    first, second = stack_of(runs, steps=4), stack_of(runs)
    second.load_state_dict(first.state_dict())
    for stack in (first, second):
        stack.keep([1])
        stack.train(3)
    for one, other in zip(first.model.state_dict().values(), second.model.state_dict().values(), strict=True):
        assert torch.equal(one, other)


def test_the_architecture_builds_it_again():
    model = stack_of([Run(0, Sum())], steps=1).model
    again = TwoWay(likelihood=model.likelihood, seeds=[0], **model.architecture())
    again.load_state_dict(model.state_dict())
    assert again.architecture() == model.architecture()


@pytest.mark.parametrize("objective", ["elbo", "iwae", "dreg"])
def test_a_step_asks_nothing_of_the_host(monkeypatch, objective):
    """On a GPU a step is recorded, and whoever lists numbers on the way spoils the record."""
    stack = stack_of([Run(0, Sum()), Run(0, MGDA())], objective=objective, n_samples=2, steps=1)

    def listed(self):
        raise AssertionError("numbers are listed in a step")

    monkeypatch.setattr(torch.Tensor, "tolist", listed)
    stack.train(2)


def test_numbers_of_wide_tables_are_cut_into_fewer_pieces():
    def pieces(n):
        schema = Schema(tuple(Column(f"x{i}", "real") for i in range(n)))
        raw = RawTable(torch.randn(20, n).numpy(), torch.ones(20, n, dtype=torch.bool).numpy())
        preparation = Preparation.fit(TwoWay, raw, schema, [range(20)], [0])
        return preparation.network(2 * n, [0], sizes=SMALL).pieces.size

    assert [pieces(n) for n in (3, 128, 400, 3000)] == [32, 32, 10, 2]


def test_outcomes_are_the_probabilities_that_are_scored_and_drawn():
    stack = stack_of([Run(0, Sum())], steps=3)
    direct = stack.model.direct
    outputs = direct.outputs(features_of(stack)[0]).detach()
    found = direct.outcomes(outputs)
    assert len(found) == stack.model.likelihood.n
    n, expected = direct.pieces.n, direct.expectation(outputs)
    for d, log_p in enumerate(found):
        torch.testing.assert_close(log_p.exp().sum(-1), torch.ones(log_p.shape[:-1]))
        owned = [t for t, owner in enumerate(stack.model.likelihood.owners_of_targets) if owner == d]
        if d < n:
            mean = (log_p.exp().double() * direct.pieces.means[d]).sum(-1)
            _, shapes, *_ = outputs.split(direct._sizes, -1)
            torch.testing.assert_close(mean, direct.pieces.mean(shapes)[..., d])
        else:
            torch.testing.assert_close(log_p.exp()[..., -len(owned) :].double(), expected[..., owned])


def test_what_is_added_to_outputs_multiplies_probabilities():
    stack = stack_of([Run(0, Sum())], steps=3)
    direct = stack.model.direct
    outputs = direct.outputs(features_of(stack)[0]).detach()
    before = direct.outcomes(outputs)
    generator = torch.Generator().manual_seed(0)
    odds = [torch.randn(log_p.shape[-1], generator=generator) for log_p in before]
    more = direct.as_outputs(odds)
    after = direct.outcomes(outputs + more)
    for log_p, factor, found in zip(before, odds, after, strict=True):
        torch.testing.assert_close(found.exp(), (log_p + factor).softmax(-1))
    for how in ("median", "mode"):  # means are those of two heads, of which one alone has a density
        moved = direct.reweigh(direct.expectation(outputs, how), outputs, more, how)
        torch.testing.assert_close(moved, direct.expectation(outputs + more, how), atol=1e-4, rtol=1e-4)
    n = direct.pieces.n
    _, shapes, *_ = outputs.split(direct._sizes, -1)
    _, of_shapes, *_ = more.split(direct._sizes, -1)
    moved = direct.reweigh(direct.expectation(outputs), outputs, more)[..., :n] - direct.expectation(outputs)[..., :n]
    torch.testing.assert_close(moved, direct.pieces.mean(shapes + of_shapes) - direct.pieces.mean(shapes))

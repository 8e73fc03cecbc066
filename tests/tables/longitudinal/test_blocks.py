"""Where gradients meet in the network of histories, as its graph says."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from evenhand import find_blocks
from evenhand.impartial import IMTLG, LinearBlock, Sum
from evenhand.tables import Schema
from evenhand.tables.frames import RawTable, read
from evenhand.tables.kinds import Preprocessing, TableLikelihood
from evenhand.tables.longitudinal._histories import Clock, Histories, visits_of
from evenhand.tables.longitudinal._network import HistoryVAE
from evenhand.tables.longitudinal._visits import Visits
from evenhand.tables.stack import Rows

NAMES = ["level", "size", "visits", "sort"]


@pytest.fixture
def start(panel):
    """An untrained network, histories, and one draw of features."""
    schema = Schema.infer(panel[NAMES])
    table = read(panel[NAMES], schema)
    units = Preprocessing.fit(table, schema, positive="centred")
    likelihood = TableLikelihood(schema, [units], parameters="moments")
    times = panel["year"].to_numpy(float)
    rows = visits_of(panel["who"].tolist(), times)
    encoded = Rows.encode(units.encode(table), likelihood, see_mask=True)
    histories = Histories.of(rows, times, Clock.fit(times, rows), encoded.record.dtype)
    visits = Visits.of(histories, encoded)
    network = HistoryVAE(visits.n_inputs, visits.inputs.shape[-1], likelihood, n_latent=3, n_hidden=8)
    context = network.context(visits.seen(visits.mask)[0], histories.clock, histories.present)
    noise = torch.randn(*histories.present.shape, 3)
    return network, visits, network.infer(context, histories.clock, noise), table


def losses_of_columns(network, visits, features, table):
    """One loss for every column, each by a head and a density of its own."""
    likelihood, losses = network.likelihood, {}
    for d, name in enumerate(likelihood.names):
        column = likelihood.schema[name]
        place = likelihood.schema.names.index(name)
        alone = Schema((column,))
        cells = RawTable(table.values[:, [place]], table.observed[:, [place]])
        own = TableLikelihood(alone, [Preprocessing.fit(cells, alone, positive="centred")], parameters="moments")
        mine = likelihood.heads == d
        targets = visits.targets[..., torch.tensor(likelihood.owners_of_targets) == d]
        raw = F.linear(features, network.head.weight[mine], network.head.bias[mine])
        losses[name] = -own.log_prob(raw, targets).sum()
    return losses


def test_columns_meet_at_the_features_of_the_decoder(start):
    network, visits, path, table = start
    (found,) = [
        block
        for block in find_blocks(losses_of_columns(network, visits, path.features, table), network)
        if block.kind == "features"
    ]
    assert found.shapes == (tuple(path.features.shape),)
    assert sorted(found.names) == sorted(NAMES)


def test_the_densities_side_by_side_are_those_of_columns_alone(start):
    network, visits, path, table = start
    together = -network.likelihood.log_prob(network.head(path.features), visits.targets).sum((0, 1))
    alone = losses_of_columns(network, visits, path.features, table)
    assert torch.allclose(together, torch.stack(list(alone.values())))


def test_a_block_settles_what_goes_on_and_leaves_the_heads_alone(start):
    network, visits, path, _ = start
    gradients = {}
    for method in (Sum(), IMTLG()):
        features = path.features.detach().requires_grad_()
        block = LinearBlock(method, network.likelihood.heads.tolist())
        outputs = block(features, network.head.weight, network.head.bias)
        loss = -network.likelihood.log_prob(outputs, visits.targets).sum()
        gradients[type(method).__name__] = torch.autograd.grad(loss, [features, network.head.weight])
    at_features, at_heads = zip(*gradients.values(), strict=True)
    assert torch.allclose(*at_heads)
    assert not torch.allclose(*at_features)
    assert at_features[0].norm().item() == pytest.approx(at_features[1].norm().item())
    assert np.isfinite(at_features[1].numpy()).all()


def test_visits_hardly_conflict(start):
    """At z each visit has variables of its own; at the state before the first visit all pull the same way."""
    network, visits, path, _ = start
    log_p = network.likelihood.log_prob(network.head(path.features), visits.targets)
    found = find_blocks({f"visit {t}": -log_p[:, t].sum() for t in range(log_p.shape[1])}, network)
    at_z, at_start = (
        next(block.reading.cosines for block in found if block.shapes == (shape,)) for shape in ((40, 5, 3), (40, 8))
    )
    assert (at_z - torch.eye(5)).abs().max() < 0.1
    assert at_start.min() > 0

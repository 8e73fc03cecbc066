"""The blocks of a mixture of experts: neutral with plain sums, in their own places, and each with its own effect."""

import copy

import pytest
import torch
from torch import nn

from evenhand.impartial import IMTLG, MGDA, Block, CAGrad, GradNorm, PCGrad, Scaling, Sum, UPGrad
from evenhand.modalities.objectives import Tight, mixture_bound, mixture_log_q, mixture_log_weights

from .._linear import CHOICES, SIZES, core, draw, gradients, holes, network, vector

GOALS = ["LI", "EEI", "DEI"]
OBJECTIVES = ["elbo", "iwae", "siwae", "mmjsd", "contrastive"]
B = 7


class Wide(nn.Module):
    """An encoder with scales of its own for every row, in the form that networks have."""

    def __init__(self, n):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n, 6), nn.Tanh(), nn.Linear(6, 4))

    def forward(self, x):
        return self.layers(x)


class Chosen(Scaling):
    """Fixed weights, one for each head."""

    def __init__(self, *weights):
        super().__init__()
        self.fixed = torch.tensor(weights)

    def weights(self, gram, /):
        return self.fixed.expand(gram.shape[:-1])


class Smooth(Scaling):
    """Weights by all inner products, which rounding cannot turn over as it can the faces of a quadratic program."""

    def weights(self, gram, /):
        return 1 + gram.sum(-1) / gram.diagonal(dim1=-2, dim2=-1).sum(-1, keepdim=True)


def setting(choice="mixture", seed=0):
    torch.manual_seed(seed)
    net = network(choice, encoders=Wide)
    return net, draw(B)


def pair(net, values, options, other, observed=None):
    """Gradients with two sets of options, on the same noise."""
    models = [core(net, **options), core(net, **{**options, **other})]
    noise = models[0].noise(len(values["a"]))
    return [gradients(model, values, observed, noise) for model in models]


def goals(*names, method=Sum):
    return {name: method() for name in names}


def same(found, expected, tolerance=1e-10):
    assert found.keys() == expected.keys()
    for name, g in found.items():
        torch.testing.assert_close(
            g, expected[name], rtol=tolerance, atol=tolerance, msg=lambda m, n=name: f"{n}: {m}"
        )


def allowed(choice, objective, gradient="stl"):
    return objective != "mmjsd" or (choice == "mixture" and gradient != "dreg")


CASES = [(c, o) for c in CHOICES for o in OBJECTIVES if allowed(c, o)]
cases = pytest.mark.parametrize(("choice", "objective"), CASES)


# Neutral blocks


@cases
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("gradient", ["stl", "plain", "dreg"])
def test_blocks_that_add_up_change_nothing(choice, objective, missing, gradient):
    if not allowed(choice, objective, gradient):
        pytest.skip("no importance weights")
    net, values = setting(choice)
    options = {"objective": objective, "gradient": gradient, "local_step": "backward", "n_negatives": 2}
    other = {"impartial": goals(*GOALS), "micro_batch": 2 * B}
    plain, found = pair(net, values, options, other, holes(B) if missing else None)
    assert len(plain) == len(list(net.parameters()))
    same(found, plain)


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("preserve_norm", [False, True])
def test_each_block_alone_is_neutral(goal, preserve_norm):
    net, values = setting("mixture-of-products")
    other = {"impartial": goals(goal), "preserve_norm": preserve_norm}
    same(*pair(net, values, {"objective": "siwae"}, other, holes(B)))


@cases
def test_the_bound_does_not_depend_on_blocks(choice, objective):
    net, values = setting(choice)
    plain, impartial = (
        core(net, objective=objective),
        core(net, objective=objective, impartial=goals(*GOALS, method=CAGrad), micro_batch=5),
    )
    noise = plain.noise(B)
    first, second = plain(values, holes(B), noise), impartial(values, holes(B), noise)
    for found, expected in zip(second, first, strict=True):
        torch.testing.assert_close(found, expected)


@cases
@pytest.mark.parametrize("missing", [False, True])
def test_gradients_reach_every_parameter(choice, objective, missing):
    net, values = setting(choice)
    model = core(net, objective=objective, impartial=goals(*GOALS, method=CAGrad), local_step="backward")
    found = gradients(model, values, holes(B) if missing else None, model.noise(B))
    assert found.keys() == dict(net.named_parameters()).keys()
    assert all((g != 0).any() and g.isfinite().all() for g in found.values())


# Where blocks are


@cases
@pytest.mark.parametrize("method", [CAGrad, MGDA])
@pytest.mark.parametrize("goal", GOALS)
def test_every_goal_changes_its_own_side(choice, objective, method, goal):
    net, values = setting(choice)
    plain, found = pair(net, values, {"objective": objective}, {"impartial": goals(goal, method=method)})
    own, others = ("decoders", "encoders") if goal == "DEI" else ("encoders", "decoders")
    torch.testing.assert_close(vector(found, others), vector(plain, others), rtol=1e-10, atol=1e-10)
    changed = (vector(found, own) - vector(plain, own)).norm() > 1e-3 * vector(plain, own).norm()
    assert changed == (goal == "LI" or choice != "product")


@pytest.mark.parametrize("choice", CHOICES)
def test_there_are_twice_the_experts_and_the_decoders_blocks(choice):
    net, values = setting(choice)
    model = core(net, impartial=goals(*GOALS, method=MGDA))
    gradients(model, values)
    a, d = net.n_experts, 3
    assert model.blocks["LI"].last.gram.shape == (a, d, d)
    if choice == "product":
        assert set(model.blocks) == {"LI"}
        return
    assert model.blocks["EEI"].last.gram.shape == (a, a, a)
    assert [block.last.gram.shape for block in model.blocks["DEI"]] == [(a, a)] * d


def test_every_place_has_a_method_of_its_own():
    net, values = setting()
    method = GradNorm(lr=0.1)
    model = core(net, impartial=dict.fromkeys(GOALS, method))
    for _ in range(3):
        gradients(model, values)
    places = [model.blocks["LI"], model.blocks["EEI"], *model.blocks["DEI"]]
    assert len({id(place.method) for place in [*places]} | {id(method)}) == 6
    assert method.steps.item() == 0
    assert all(place.method.steps.item() == 3 for place in places)
    assert model.blocks["LI"].method.state.shape == (4, 3, 3)  # and every expert its own weights


def test_mmjsd_settles_at_the_dynamic_prior():
    net, values = setting()
    model = core(net, objective="mmjsd", impartial=goals(*GOALS, method=MGDA))
    gradients(model, values)
    assert model.blocks["EEI"].last.gram.shape == (4, 4)


def apart(net, values, noise, objective, observed=None):
    """All gradients that meet at the samples, those of decoders, of densities and of the prior on their own."""
    experts = net.experts(values, observed)
    z = experts.mean.unsqueeze(1) + experts.scale.unsqueeze(1) * noise
    leaves = {}

    def split(kind):
        def views(_, n, observed=None):
            leaves[kind] = [z.detach().requires_grad_() for _ in range(n)]
            return leaves[kind]

        return views

    found = net(values, noise, observed, split=split("LI"), split_densities=split("EEI"))
    prior = z.detach().requires_grad_()
    log_prior = -0.5 * (prior.square() + torch.log(torch.tensor(2 * torch.pi))).sum(-1)
    weights = mixture_log_weights(found.log_likelihood, found.log_q, log_prior, experts.present)
    (-mixture_bound(objective, weights, experts.present).mean()).backward()
    return z, torch.stack([x.grad for x in leaves["LI"]]), torch.stack([x.grad for x in leaves["EEI"]]), prior.grad


@pytest.mark.parametrize("choice", ["mixture", "mixture-of-products"])
@pytest.mark.parametrize("objective", ["elbo", "iwae", "siwae"])
@pytest.mark.parametrize("goal", ["LI", "EEI"])
@pytest.mark.parametrize("preserve_norm", [False, True])
def test_samples_are_settled_expert_by_expert(choice, objective, goal, preserve_norm):
    """By hand: the gradients of every expert's samples go through the method, then on to the encoders."""
    net, values = setting(choice)
    model = core(net, objective=objective, impartial=goals(goal, method=MGDA), preserve_norm=preserve_norm)
    noise = model.noise(B)
    net.zero_grad()
    z, decoders, densities, prior = apart(net, values, noise, objective)

    def settled(parts):
        for a in range(net.n_experts):
            total = MGDA()(parts[:, a].flatten(1)).sum(0)
            plain = parts[:, a].flatten(1).sum(0)
            yield (total * (plain.norm() / total.norm() if preserve_norm else 1)).reshape(z.shape[1:])

    meet, rest = (decoders, densities) if goal == "LI" else (densities, decoders)
    net.zero_grad()
    z.backward(torch.stack(list(settled(meet))) + rest.sum(0) + prior)
    expected = {name: p.grad.clone() for name, p in net.encoders.named_parameters()}
    found = gradients(model, values, noise=noise)
    for name, g in expected.items():
        torch.testing.assert_close(found[f"encoders.{name}"], g, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("goal", ["LI", "EEI"])
def test_gradients_are_compared_where_rows_have_both(choice, goal):
    """Every expert's block knows which rows have the expert, and which of its decoders or densities they have."""
    if goal == "EEI" and choice == "product":
        return
    net, values = setting(choice)
    observed = holes(B)
    model = core(net, objective="siwae", impartial={goal: Smooth()}, preserve_norm=True)
    noise = model.noise(B)
    z, decoders, densities, prior = apart(net, values, noise, "siwae", observed)
    present = net.experts(values, observed).present
    assert not present.all() or choice == "product"
    meet, rest = (decoders, densities) if goal == "LI" else (densities, decoders)
    settled = []
    for a in range(net.n_experts):
        heads = observed if goal == "LI" else present.mT
        mask = torch.stack([row & there for row, there in zip(heads, present[a], strict=True)])
        y = z[a].detach().requires_grad_()
        views = Block(Smooth())(y, len(meet), observed=mask)
        torch.autograd.backward(views, list(meet[:, a]))
        settled.append(y.grad)
    net.zero_grad()
    z.backward(torch.stack(settled) + rest.sum(0) + prior)
    expected = {name: p.grad.clone() for name, p in net.encoders.named_parameters()}
    found = gradients(model, values, observed, noise)
    for name, g in expected.items():
        torch.testing.assert_close(found[f"encoders.{name}"], g, rtol=1e-7, atol=1e-9)


# Decoders


@pytest.mark.parametrize("choice", ["mixture", "mixture-of-products"])
@pytest.mark.parametrize("objective", ["elbo", "iwae", "siwae"])
@pytest.mark.parametrize("dropped", [0, 2])
@pytest.mark.parametrize("missing", [False, True])
def test_a_decoder_without_an_expert_loses_its_share(choice, objective, dropped, missing):
    net, values = setting(choice)
    observed = holes(B) if missing else None
    weights = [float(a != dropped) for a in range(net.n_experts)]
    options = {"objective": objective, "preserve_norm": False}
    model, without = core(net, **options), core(net, **options, impartial={"DEI": Chosen(*weights)})
    noise = model.noise(B)
    plain, found = gradients(model, values, observed, noise), gradients(without, values, observed, noise)

    net.zero_grad()
    terms = net(values, noise, observed)
    log_likelihood = terms.log_likelihood.detach().requires_grad_()
    log_weights = mixture_log_weights(log_likelihood, terms.log_q, terms.log_prior, terms.experts.present)
    (-mixture_bound(objective, log_weights, terms.experts.present).mean()).backward(inputs=[log_likelihood])
    terms.log_likelihood[dropped].backward(log_likelihood.grad[dropped])
    for name, p in net.decoders.named_parameters():
        assert p.grad.norm() > 0
        torch.testing.assert_close(plain[f"decoders.{name}"] - found[f"decoders.{name}"], p.grad)


# Parts of a batch


@pytest.mark.parametrize("impartial", [(), GOALS])
@pytest.mark.parametrize("micro_batch", [1, 2 * B, 10_000])
@pytest.mark.parametrize("gradient", ["stl", "dreg"])
def test_parts_of_a_batch_give_the_same_gradients(impartial, micro_batch, gradient):
    net, values = setting("mixture-of-products")
    options = {"n_samples": 5, "gradient": gradient, "impartial": goals(*impartial, method=CAGrad)}
    whole, parts = pair(net, values, options, {"micro_batch": micro_batch}, holes(B))
    same(parts, whole, 1e-12)


@pytest.mark.parametrize(("micro_batch", "largest"), [(None, 5 * B), (1, B), (2 * B, 2 * B), (2 * B + 1, 2 * B)])
def test_decoders_see_a_part_at_a_time(micro_batch, largest):
    net, values = setting()
    sizes = []
    net.decoders[0].register_forward_hook(lambda module, inputs, output: sizes.append(len(inputs[0])))
    model = core(net, n_samples=5, micro_batch=micro_batch)
    gradients(model, values)
    assert max(sizes) == largest
    assert sum(sizes) == 3 * 5 * B * (1 if micro_batch is None else 2)  # and once more in the backward pass
    sizes.clear()
    with torch.no_grad():
        model(values)
    assert sizes == [5 * B] * 3  # on a CPU, the samples of one expert at a time


# The local step


def test_betas_make_dimensions_even():
    model = core(network("mixture"))
    assert model.betas.tolist() == [4 / SIZES[name] for name in "abc"]


def test_the_local_step_backward_scales_what_decoders_learn():
    net, values = setting()
    plain, found = pair(net, values, {"objective": "elbo"}, {"local_step": "backward"})
    for d, name in enumerate("abc"):
        beta = 4 / SIZES[name]
        torch.testing.assert_close(vector(found, f"decoders.{d}"), beta * vector(plain, f"decoders.{d}"))
    assert not torch.allclose(vector(found, "encoders"), vector(plain, "encoders"), rtol=1e-2)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_only_the_local_step_forward_changes_the_bound(objective):
    net, values = setting()
    models = [core(net, objective=objective, local_step=step) for step in ("none", "backward", "forward")]
    noise = models[0].noise(B)
    none, backward, forward = (model(values, noise=noise) for model in models)
    assert torch.equal(none.bound, backward.bound)
    assert abs(none.bound - forward.bound) > 0.1
    torch.testing.assert_close(none.log_likelihood, forward.log_likelihood)  # which are reported as they are


def test_the_local_step_forward_is_that_of_weighted_likelihoods():
    net, values = setting()
    model = core(net, objective="siwae", local_step="forward")
    noise = model.noise(B)
    terms = net(values, noise)
    weighted = terms.log_likelihood * torch.tensor([4 / SIZES[name] for name in "abc"])
    expected = mixture_bound("siwae", mixture_log_weights(weighted, terms.log_q, terms.log_prior)).mean()
    torch.testing.assert_close(model(values, noise=noise).bound, expected)


# Options


OPTIONS = [
    ({"objective": "iwae"}, {"kl_weight": 0.5}),
    ({"objective": "mmjsd"}, {"kl_weight": 0.5}),
    ({"objective": "contrastive"}, {"kl_weight": 0.5}),
    ({"objective": "iwae"}, {"objective": "siwae"}),
    ({"objective": "iwae"}, {"objective": "elbo"}),
    ({"objective": "iwae"}, {"objective": "contrastive"}),
    ({"objective": "mmjsd"}, {"objective": "elbo"}),
    ({"objective": "iwae"}, {"gradient": "plain"}),
    ({"objective": "elbo"}, {"gradient": "plain"}),
    ({"objective": "iwae"}, {"gradient": "dreg"}),
    ({"objective": "siwae"}, {"gradient": "dreg"}),
    ({"objective": "contrastive"}, {"gradient": "dreg"}),
    ({"objective": "iwae"}, {"local_step": "backward"}),
    ({"objective": "iwae", "local_step": "backward"}, {"local_step": "forward"}),
    ({"objective": "contrastive"}, {"n_negatives": 2}),
    ({"objective": "contrastive"}, {"contrast": 1.2}),
    *[({"impartial": {goal: MGDA()}}, {"preserve_norm": True}) for goal in GOALS],
    ({"objective": "mmjsd", "impartial": {"EEI": MGDA()}}, {"preserve_norm": True}),
    *[({"impartial": {goal: MGDA()}}, {"impartial": {goal: UPGrad()}}) for goal in GOALS],
    *[({"impartial": {goal: MGDA()}}, {"impartial": {goal: IMTLG()}}) for goal in GOALS],
]


@pytest.mark.parametrize(("options", "other"), OPTIONS)
def test_every_option_does_something(options, other):
    net, values = setting()
    before, after = pair(net, values, copy.deepcopy(options), copy.deepcopy(other))
    difference = (vector(before) - vector(after)).norm() / vector(before).norm()
    assert difference > 1e-3


def test_the_number_of_samples_and_where_noise_comes_from():
    net, values = setting()
    few, many = core(net, n_samples=1), core(net, n_samples=200)
    assert few.noise(B).shape == (3, 1, B, 2)
    assert many.noise(B).shape == (3, 200, B, 2)
    assert many(values).bound > few(values).bound + 0.1
    first, again = (many.noise(B, torch.Generator().manual_seed(1)) for _ in range(2))
    assert torch.equal(first, again)
    assert many(values, noise=first).loss == many(values, noise=again).loss != many(values).loss


def test_a_weight_in_the_call_takes_the_place_of_the_own():
    net, values = setting()
    model, other = core(net), core(net, kl_weight=0.3)
    noise = model.noise(B)
    assert torch.equal(model(values, noise=noise, kl_weight=torch.tensor(0.3)).loss, other(values, noise=noise).loss)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "vae"}, "objective should be one of 'elbo'.* Found 'vae'"),
        ({"gradient": "score"}, "gradient should be one of .* Found 'score'"),
        ({"local_step": "both"}, "local_step should be one of .* Found 'both'"),
        ({"n_samples": 0}, "n_samples should be an integer >= 1. Found 0"),
        ({"n_samples": True}, "n_samples should be an integer >= 1. Found True"),
        ({"n_negatives": 1.5}, "n_negatives should be an integer >= 1. Found 1.5"),
        ({"micro_batch": 0}, "micro_batch should be an integer >= 1 or None. Found 0"),
        ({"kl_weight": -1.0}, "kl_weight should be a number >= 0, or a rate .* Found -1.0"),
        ({"kl_weight": float("nan")}, "kl_weight should be a number >= 0, or a rate .* Found nan"),
        ({"impartial": {"IL": Sum()}}, "goals of impartial should be one of 'LI'.* Found 'IL'"),
        ({"impartial": {"LI": "mgda"}}, "should be a method such as .* Found 'mgda'"),
        ({"objective": "mmjsd", "gradient": "dreg"}, "gradient should be 'stl' or 'plain' with objective='mmjsd'"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        core(network("mixture"), **options)


@pytest.mark.parametrize("choice", ["product", "mixture-of-products"])
def test_mmjsd_compares_single_modalities(choice):
    with pytest.raises(ValueError, match="experts should be 'mixture'"):
        core(network(choice), objective="mmjsd")


# Holes


@cases
@pytest.mark.parametrize("gradient", ["stl", "dreg"])
def test_what_is_missing_has_no_influence_at_all(choice, objective, gradient):
    if not allowed(choice, objective, gradient):
        pytest.skip("no importance weights")
    net, values = setting(choice)
    observed = holes(B)
    assert not observed.all(0).any()
    garbage = {
        n: torch.where(observed[:, [d]], x, 30 * torch.randn_like(x)) for d, (n, x) in enumerate(values.items())
    }
    model = core(net, objective=objective, gradient=gradient, impartial=goals(*GOALS, method=CAGrad))
    noise = model.noise(B)
    for found, expected in zip(model(garbage, observed, noise), model(values, observed, noise), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    before = gradients(model, values, observed, noise)
    same(gradients(model, garbage, observed, noise), before, 1e-12)


@cases
def test_a_full_mask_is_no_mask(choice, objective):
    net, values = setting(choice)
    model = core(net, objective=objective, impartial=goals(*GOALS, method=CAGrad), local_step="backward")
    noise = model.noise(B)
    full = torch.ones(B, 3, dtype=torch.bool)
    for found, expected in zip(model(values, full, noise), model(values, None, noise), strict=True):
        torch.testing.assert_close(found, expected)
    same(gradients(model, values, full, noise), gradients(model, values, None, noise), 1e-8)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("objective", ["elbo", "iwae", "siwae"])
def test_rows_without_a_modality_count_as_rows_of_a_smaller_model(choice, objective):
    net, values = setting(choice)
    small = network(choice, "ac", encoders=Wide)
    for i, d in enumerate([0, 2]):
        small.encoders[i].load_state_dict(net.encoders[d].state_dict())
    observed = torch.tensor([True, False, True]).expand(B, 3)
    model, other = core(net, objective=objective), core(small, objective=objective)
    present = net.experts(values, observed).present
    noise = model.noise(B)
    kept = noise[present[:, 0]]
    step, expected = model(values, observed, noise), other({n: values[n] for n in "ac"}, None, kept)
    torch.testing.assert_close(step.bound, expected.bound)
    torch.testing.assert_close(step.log_likelihood[[0, 2]], expected.log_likelihood)
    torch.testing.assert_close(step.rate[present[:, 0]], expected.rate)
    torch.testing.assert_close(step.log_q, expected.log_q)


# What a step says


@pytest.mark.parametrize("missing", [False, True])
def test_a_step_reports_means_over_what_is_there(missing):
    net, values = setting("mixture-of-products")
    observed = holes(B) if missing else torch.ones(B, 3, dtype=torch.bool)
    model = core(net)
    noise = model.noise(B)
    terms = net(values, noise, observed)
    step = model(values, observed if missing else None, noise)
    present = terms.experts.present
    for d in range(3):
        cells = [terms.log_likelihood[a, :, b, d] for a, b in present.nonzero().tolist() if observed[b, d]]
        assert step.log_likelihood[d].item() == pytest.approx(torch.cat(cells).mean().item())
    for a in range(net.n_experts):
        assert step.rate[a].item() == pytest.approx(terms.experts.rate()[a][present[a]].mean().item())
    log_q = mixture_log_q(terms.log_q, present)
    assert step.log_q.item() == pytest.approx(log_q.transpose(1, 2)[present].mean().item())
    assert step.bound.item() == -step.loss.item()
    assert model.score(step.reconstruction) == pytest.approx(
        sum(step.reconstruction[d].item() / SIZES[n] for d, n in enumerate("abc"))
    )


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("objective", ["elbo", "iwae", "siwae", "mmjsd"])
def test_samples_count_in_the_reconstruction_as_in_the_objective(objective, missing):
    """What an expert without weight generates is no reason to keep other weights."""
    net, values = setting()
    observed = holes(B) if missing else None
    model = core(net, objective=objective, **({"tightness": Tight()} if objective == "siwae" else {}))
    noise = model.noise(B)
    step = model(values, observed, noise)
    terms = net(values, noise, observed)
    log_p, present = terms.log_likelihood, terms.experts.present  # [A, K, B, D]
    log_w = mixture_log_weights(model._locally(log_p), terms.log_q, terms.log_prior, present, 1.0)
    for d in range(3):
        rows = []
        for b in range(B):
            there = [a for a in range(3) if present is None or present[a, b]]
            if observed is not None and not observed[b, d]:
                continue
            cells, logs = log_p[there, :, b, d], log_w[there, :, b]
            counts = {
                "siwae": logs.flatten().softmax(0).view_as(logs),
                "iwae": logs.softmax(1) / len(there),
            }.get(objective, torch.full_like(logs, 1 / logs.numel()))
            rows.append((counts * cells).sum())
        assert step.reconstruction[d].item() == pytest.approx(torch.stack(rows).mean().item())
        assert step.n_reconstruction[d].item() == len(rows)


def test_a_contrastive_step_reports_the_rows_themselves():
    net, values = setting()
    models = [core(net, objective=objective) for objective in ("iwae", "contrastive")]
    noise = models[0].noise(B)
    iwae, contrastive = (model(values, holes(B), noise) for model in models)
    for name in ("log_likelihood", "rate", "log_q"):
        torch.testing.assert_close(getattr(contrastive, name), getattr(iwae, name))


def test_experts_are_named_by_their_modalities():
    assert core(network("mixture-of-products")).expert_names == ["a", "b", "c", "a+b", "a+c", "b+c", "a+b+c"]


def test_random_methods_run_too():
    net, values = setting()
    found = gradients(core(net, impartial=goals(*GOALS, method=PCGrad)), values, holes(B))
    assert all(g.isfinite().all() for g in found.values())

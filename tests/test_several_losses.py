"""The benchmarks of several losses: data, stacked networks, contenders, OGM-GE, choices; and both of them, tiny."""

import dataclasses
import gzip
import json
import lzma
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from evenhand.impartial import IMTLG, MGDA

from .common._recorder import Cuda

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture(autouse=True)
def folder(monkeypatch):
    """Its files import one another; networks are in single precision."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    torch.set_default_dtype(torch.float32)
    yield
    torch.set_default_dtype(torch.float64)


@pytest.fixture
def data(tmp_path):
    """A few images of noise in the files of MNIST, Fashion-MNIST and SVHN."""
    rng = np.random.default_rng(0)
    for name in ("mnist", "fashion-mnist"):
        (tmp_path / name).mkdir()
        for stem, n in (("train", 240), ("t10k", 60)):
            images, labels = rng.integers(0, 256, n * 784, np.uint8), np.arange(n, dtype=np.uint8) % 10
            for kind, head, values in (("images-idx3", 16, images), ("labels-idx1", 8, labels)):
                path = tmp_path / name / f"{stem}-{kind}-ubyte.gz"
                path.write_bytes(gzip.compress(bytes(head) + values.tobytes()))
    (tmp_path / "svhn").mkdir()
    for part, n in (("train", 120), ("test", 40)):
        noise = rng.integers(0, 256, 3 * n * 1024, np.uint8)
        (tmp_path / "svhn" / f"{part}_00.xz").write_bytes(lzma.compress(noise.tobytes()))
    labels = {"train": np.arange(200) % 10, "test": np.arange(40) % 10}
    np.savez(tmp_path / "svhn" / "labels.npz", **labels)
    return tmp_path


# data


def test_two_images_lie_on_top_of_each_other(data):
    from several_losses._data import _shrunk, overlaid

    splits = overlaid("digit and garment", data)
    assert [len(part.labels) for part in (splits.train, splits.validation, splits.test)] == [200, 40, 60]
    assert splits.train.inputs[0].shape == (200, 1, 28, 28)
    assert splits.train.labels[:, 0].tolist() == [i % 10 for i in range(200)]
    assert sorted(splits.train.labels[:, 1].tolist()) == sorted(splits.train.labels[:, 0].tolist())
    assert splits.train.labels[:, 1].tolist() != splits.train.labels[:, 0].tolist()
    white, black = torch.full((1, 1, 28, 28), 255, dtype=torch.uint8), torch.zeros(1, 1, 28, 28, dtype=torch.uint8)
    upper, lower = _shrunk(white, black)[0, 0], _shrunk(black, white)[0, 0]
    assert upper[:20, :20].min() == lower[8:, 8:].min() == 255  # each fills its corner
    assert upper[23:].max() == lower[:5].max() == 0


def test_pairs_have_one_digit(data):
    from several_losses._data import paired
    from several_losses._files import svhn

    splits, source = paired(data), svhn("train", data)
    digits, photographs = splits.train.inputs
    assert (digits.shape, photographs.shape) == ((200, 1, 28, 28), (200, 3, 32, 32))
    for image, labels in zip(photographs[:30], splits.train.labels, strict=False):
        place = (source.images == image).flatten(1).all(1).nonzero().item()
        assert labels.tolist() == [source.labels[place].item()] * 3
        assert place < 100  # the last sixth is for validation


def test_photographs_are_those_of_the_library(data):
    from several_losses._files import svhn

    from evenhand.datasets._svhn import _decode

    content = lzma.decompress((data / "svhn" / "train_00.xz").read_bytes())
    assert np.array_equal(svhn("train", data).images.numpy(), _decode(content).transpose(0, 3, 1, 2))


def test_missing_files_are_named(tmp_path):
    from several_losses._files import mnist_like, svhn

    with pytest.raises(FileNotFoundError, match="should have a folder 'mnist'"):
        mnist_like("mnist", "train", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"should have test_00\.xz"):
        svhn("test", tmp_path)


# networks


def ordinary(encoder, seed, contender):
    """The same network from layers of torch."""

    def convolution(layer, n_in):
        weight, bias = layer.weight[seed, contender], layer.bias[seed, contender]
        one = nn.Conv2d(n_in, weight.shape[1], 5)
        one.weight.data, one.bias.data = weight.T.reshape(-1, n_in, 5, 5).clone(), bias.flatten().clone()
        return one

    last = nn.Linear(*encoder.last.weight.shape[2:])
    last.weight.data = encoder.last.weight[seed, contender].T.clone()
    last.bias.data = encoder.last.bias[seed, contender, 0].clone()
    pool, end = nn.Sequential(nn.MaxPool2d(2), nn.ReLU()), nn.Sequential(nn.Flatten(), last, nn.ReLU())
    return nn.Sequential(convolution(encoder.first, 3), pool, convolution(encoder.second, 4), pool, end)


def test_a_stack_of_networks_is_its_networks():
    from several_losses._networks import Encoder, Stack

    encoder, images = Encoder(Stack([3, 4], 3), (3, 20, 22), (4, 6), 7), torch.randn(2, 5, 3, 20, 22)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))  # contenders begin alike
    features = encoder(images)
    assert features.shape == (2, 3, 5, 7)
    assert torch.allclose(encoder(images, slice(1, 2)), features[:, 1:2], atol=1e-5)
    features.square().sum().backward()
    for seed in range(2):
        for contender in range(3):
            one = ordinary(encoder, seed, contender)
            expected = one(images[seed])
            assert torch.allclose(features[seed, contender], expected, atol=1e-5)
            expected.square().sum().backward()
            found = encoder.first.weight.grad[seed, contender].T.reshape_as(one[0].weight)
            assert torch.allclose(found, one[0].weight.grad, atol=1e-4)


def test_contenders_of_a_seed_begin_alike_and_seeds_do_not():
    from several_losses._networks import Linear, Stack

    weight = Linear(Stack([0, 1], 3), 4, 5).weight
    assert torch.equal(weight[:, 0], weight[:, 2])
    assert not torch.allclose(weight[0], weight[1])


def test_the_loss_is_torchs():
    from several_losses._networks import cross_entropy

    logits, labels = torch.randn(2, 3, 6, 10), torch.randint(10, (2, 6))
    expected = [[functional.cross_entropy(logits[s, c], labels[s]) for c in range(3)] for s in range(2)]
    assert torch.allclose(cross_entropy(logits, labels), torch.tensor(expected))


# contenders


def test_every_contender_weighs_its_own_losses():
    from several_losses._contenders import Contender, Weigher

    contenders = [Contender("a", (2.0, 0.0)), Contender("b", (1.0, 1.0), weighting="uncertainty weighting")]
    weigher, losses = Weigher(contenders, 3), torch.rand(3, 2, 2, requires_grad=True)
    weigher(losses).backward()
    assert torch.allclose(losses.grad[:, 0], torch.tensor([2.0, 0.0]).expand(3, 2))
    assert torch.allclose(losses.grad[:, 1], torch.full((3, 2), 0.5))


def test_famo_is_shown_its_own_losses_after_the_step():
    from several_losses._contenders import Contender, Weigher

    weigher = Weigher([Contender("a", (1.0, 1.0)), Contender("b", (1.0, 1.0), weighting="FAMO")], 1)
    weigher(torch.ones(1, 2, 2))
    asked = []

    def losses_of(of):
        asked.append(of)
        return torch.tensor([[[0.5, 0.9]]])

    weigher.update(losses_of)
    assert asked == [slice(1, 2)]
    assert weigher.rules[0].logits[0, 0] < weigher.rules[0].logits[0, 1]


def test_at_a_meeting_every_contender_has_its_own_method():
    from several_losses._contenders import Contender, Meeting

    contenders = [Contender(name, (1.0, 1.0), method=name) for name in ("sum", "mgda", "imtlg")]
    features = torch.randn(2, 3, 4, 5, requires_grad=True)
    gradients = torch.randn(2, 2, 3, 4, 5)
    views = Meeting(contenders, 2)(features, 2)
    sum((view * gradient).sum() for view, gradient in zip(views, gradients, strict=True)).backward()
    assert torch.allclose(features.grad[:, 0], gradients[:, :, 0].sum(0), atol=1e-5)
    for place, method in ((1, MGDA()), (2, IMTLG())):
        rows = gradients[:, 1, place].flatten(1)
        total = method(rows).sum(0)
        total = total * rows.sum(0).norm() / total.norm()
        assert torch.allclose(features.grad[1, place].flatten(), total, atol=1e-4)


# OGM-GE


def test_the_modality_that_is_ahead_is_held_back():
    from several_losses._ogm_ge import coefficients

    ahead, behind = torch.tensor([[30.0, 12.0]]), torch.tensor([[10.0, 12.0]])
    alpha = torch.tensor([0.1, 0.5])
    expected = [1 - np.tanh(0.1 * 3), 1.0]  # at a ratio of one nobody is ahead
    assert coefficients(ahead, behind, alpha)[0].tolist() == pytest.approx(expected)
    assert coefficients(behind, ahead, alpha).tolist() == [[1.0, 1.0]]


def test_scores_are_the_probabilities_of_the_right_classes():
    from several_losses._ogm_ge import scores

    logits, labels = torch.randn(2, 3, 6, 10), torch.randint(10, (2, 6))
    expected = sum(logits[1, 2, b].softmax(-1)[labels[1, b]] for b in range(6))
    assert scores(logits, labels)[1, 2].item() == pytest.approx(expected.item())


def test_modulation_scales_and_adds_noise_as_strong_as_the_gradient():
    from several_losses._ogm_ge import modulate

    torch.manual_seed(0)
    gradient = torch.stack([torch.randn(40_000), 3 * torch.randn(40_000)]).unsqueeze(0) + 1
    noise = modulate(gradient, torch.tensor([[0.25, 1.0]])) - torch.tensor([[[0.25], [1.0]]]) * gradient
    assert noise.std(-1)[0].tolist() == pytest.approx([1.0, 3.0], rel=0.03)
    assert noise.mean(-1)[0].tolist() == pytest.approx([0.0, 0.0], abs=0.06)


def test_ogm_ge_changes_the_encoders_of_its_contenders_only(data, monkeypatch):
    import fusion
    from several_losses._contenders import Contender
    from several_losses._data import paired

    monkeypatch.setattr(fusion, "modulate", lambda gradient, k: 0 * gradient + k.mean())
    contenders = [Contender("plain", (1.0, 0.0, 0.0)), Contender("OGM-GE", (1.0, 0.0, 0.0), modulation=0.5)]
    splits = paired(data)
    contest = fusion.Fusion(contenders, [0], splits)
    batch = splits.train.take(torch.arange(20).expand(1, -1))
    contest.weigher(contest.losses(batch, meet=True)).backward()
    before = [p.grad.clone() for p in contest.parameters() if p.grad is not None]
    assert all(torch.allclose(g[:, 0], g[:, 1], atol=1e-6) for g in before)
    contest.adjust_gradients()
    for encoder, k in zip(contest.encoders, contest.held_back._k, strict=True):
        assert all(torch.allclose(p.grad[:, 1], k) for p in encoder.parameters())
        assert not any(torch.allclose(p.grad[:, 0], k) for p in encoder.parameters())
    assert all(torch.allclose(p.grad[:, 0], p.grad[:, 1], atol=1e-6) for p in contest.joint.parameters())


# training


def test_every_call_is_a_step_recorded_or_not(monkeypatch):
    from several_losses._replayed import WARM_UP, Replayed

    cuda, count, seen = Cuda(monkeypatch), torch.zeros(1), []
    step = Replayed(lambda: count.add_(1), torch.device("cuda"))
    for _ in range(WARM_UP + 3):
        step()
        seen.append(count.item())
    assert seen == list(range(1, WARM_UP + 4))
    assert len(cuda.side) == len(cuda.graphs) == cuda.synchronised == 1
    assert cuda.graphs[0].replays == 3


def test_momentum_is_torchs():
    from several_losses._optimizers import Momentum

    ours, theirs = (nn.Parameter(torch.ones(3)) for _ in range(2))
    unused = nn.Parameter(torch.ones(2))
    optimizers = Momentum([ours, unused], torch.tensor(0.1)), torch.optim.SGD([theirs], lr=0.1, momentum=0.9)
    for step in range(4):
        for parameter, optimizer in zip((ours, theirs), optimizers, strict=True):
            optimizer.zero_grad()
            (parameter * torch.tensor([1.0, 2.0, step])).square().sum().backward()
            optimizer.step()
    assert torch.allclose(ours, theirs)
    assert unused.tolist() == [1, 1]


def test_the_learning_rate_falls_to_zero():
    from several_losses._optimizers import fallen

    assert [fallen(step, 4) for step in (0, 2, 4)] == pytest.approx([1, 0.5, 0])


def test_a_probe_reads_what_features_say():
    from several_losses._probe import probed

    torch.manual_seed(0)
    labels = torch.arange(20_000) % 10
    speaking, silent = torch.eye(10)[labels] + 0.1 * torch.randn(20_000, 10), torch.randn(20_000, 10)
    features = torch.stack([speaking, silent]).unsqueeze(0)
    parts = {"train": features[:, :, :15_000], "test": features[:, :, 15_000:]}
    found = probed(parts, {"train": labels[:15_000], "test": labels[15_000:]})
    assert list(found) == ["test"]
    assert found["test"][0, 0] > 0.99
    assert found["test"][0, 1] < 0.2


def test_contenders_learn_and_do_not_depend_on_their_neighbours():
    """Images whose halves are as bright as their classes say; a contender that ignores a task does not learn it."""
    import multitask
    from several_losses._contenders import Contender
    from several_losses._data import Examples, Splits
    from several_losses._optimizers import adam

    torch.manual_seed(0)
    labels = torch.stack([torch.arange(400) % 2, torch.arange(400) // 2 % 2], -1)
    images = torch.zeros(400, 1, 28, 28, dtype=torch.uint8)
    images[:, :, :14] += (200 * labels[:, 0])[:, None, None, None].byte()
    images[:, :, 14:] += (200 * labels[:, 1])[:, None, None, None].byte()
    part = Examples((images,), labels)
    first, both = Contender("first", (1.0, 0.0)), Contender("both", (1.0, 1.0), method="imtlg")
    accuracies = []
    for contenders in ([first, both], [both]):
        contest = multitask.TwoTasks(contenders, [0, 1], Splits(part, part, part))
        contest.train_for(4, 40, 0.003, adam)
        accuracies.append(contest.evaluate()["test"])
    assert accuracies[0][:, 0, 0].min() > 0.95
    assert accuracies[0][:, 0, 1].max() < 0.7
    assert accuracies[0][:, 1].min() > 0.95
    assert torch.allclose(accuracies[0][:, 1], accuracies[1][:, 0], atol=0.02)


# choices


def run_of(lr, **contenders):
    """A run in which validation and test differ by what is written."""
    values = {name: {"validation": v, "test": t} for name, (v, t) in contenders.items()}
    return {"lr": lr, "contenders": values}


def test_choices_are_made_on_validation_images():
    from several_losses._choices import chosen

    runs = [
        run_of(0.1, a=([[0.5], [0.7]], [[0.9], [0.9]]), b=([[0.1], [0.1]], [[1.0], [1.0]])),
        run_of(0.2, a=([[0.7], [0.7]], [[0.3], [0.4]]), b=([[0.6], [0.7]], [[1.0], [1.0]])),
    ]
    best = chosen(runs, ["a", "b"], lambda x: x[0])
    assert (best.name, best.lr, best.test) == ("a", 0.2, [[0.3], [0.4]])


def test_differences_are_paired_by_seed():
    from several_losses._choices import Choice, difference, verdict

    one = Choice("one", 0.1, [[0.50], [0.61], [0.72]])
    other = Choice("other", 0.1, [[0.49], [0.60], [0.70]])
    found = difference(one, other, lambda x: x[0])
    gains = np.array([0.01, 0.01, 0.02])
    assert found.mean == pytest.approx(gains.mean())
    assert found.margin == pytest.approx(4.303 * gains.std(ddof=1) / 3**0.5)
    clear = {"one": found._replace(margin=0.001), "two": found, "three": found._replace(mean=-1.0)}
    assert verdict(clear, "X") == "Of 3, better than X beyond the spread of seeds: one; worse: three."


def test_students_t_is_scipys():
    from scipy.stats import t
    from several_losses._choices import STUDENT

    assert [STUDENT[n] for n in range(2, 11)] == pytest.approx([t.ppf(0.975, n - 1) for n in range(2, 11)], rel=1e-3)


def test_delta_m_is_the_mean_relative_loss():
    from several_losses._choices import Choice
    from several_losses._tasks_table import delta_m

    alone, both = Choice("alone", 0.1, [[0.8, 0.5]]), Choice("both", 0.1, [[0.9, 0.4]])
    assert delta_m(both, alone) == pytest.approx((-0.125 + 0.2) / 2)


# all of it


@pytest.mark.parametrize("name", ["multitask", "fusion"])
def test_one_step_of_all_contenders_changes_all_of_their_networks(name, data):
    module = __import__(name)
    benchmark = module.BENCHMARK
    splits = next(iter(benchmark.data.values()))(next(iter(benchmark.data)), data).first(4)
    contest = benchmark.contest(benchmark.contenders(), [0], splits)
    before = [encoder.first.weight.detach().clone() for encoder in encoders(contest)]
    contest.train_for(1, 4, 0.01, benchmark.optimizer)
    for encoder, old in zip(encoders(contest), before, strict=True):
        moved = (encoder.first.weight - old).abs().flatten(2).amax(-1)
        assert moved.isfinite().all()
        assert (moved > 0).all()


class Recorded(TorchDispatchMode):
    """Refuses what a CUDA graph cannot record: numbers read by the host, sizes that depend on them, constants."""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        if operation.name().split("::")[1] in ("_local_scalar_dense", "nonzero", "lift_fresh", "masked_select"):
            raise AssertionError(f"{operation.name()} in a step")
        return operation(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", ["multitask", "fusion"])
def test_a_step_can_be_recorded(name, data, monkeypatch):
    """As on a GPU, where nothing is read on the way."""
    from several_losses import _contest
    from several_losses._optimizers import Momentum

    benchmark, calls = __import__(name).BENCHMARK, []
    splits = next(iter(benchmark.data.values()))(next(iter(benchmark.data)), data).first(12)
    contest = benchmark.contest(benchmark.contenders(), [0], splits)
    for module in [m for n, m in sys.modules.items() if n.startswith("evenhand.impartial")]:
        if hasattr(module, "host_reads_are_free"):
            monkeypatch.setattr(module, "host_reads_are_free", lambda tensor: False)

    def replayed(step, device):
        def call():
            calls.append(step)
            with Recorded() if len(calls) > 2 else nullcontext():
                step()

        return call

    monkeypatch.setattr(_contest, "Replayed", replayed)
    contest.train_for(1, 4, 0.01, Momentum)  # not Adam, which reads its counter on a CPU
    assert len(calls) == 3


def test_training_needs_torch_and_numpy_only():
    code = "import sys, multitask, fusion; print([m for m in sys.argv[1:] if m in sys.modules])"
    others = ["scipy", "sklearn", "pandas", "lightning", "safetensors", "typer", "rich", "pooch", "matplotlib"]
    path = os.pathsep.join([str(BENCHMARKS), *sys.path])
    command = [sys.executable, "-c", code, *others]
    found = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    assert found.stdout == "[]\n"


def encoders(contest):
    return getattr(contest, "encoders", None) or [contest.encoder]


ENDS = {"first task alone", "second task alone", "joint loss alone", "each modality alone"}
SOME = ENDS | {"MMPareto", "FAMO", "OGM-GE 0.3"}


@pytest.mark.parametrize(("name", "data_set"), [("multitask", "digits"), ("fusion", "MNIST and SVHN")])
def test_a_benchmark_runs_collects_and_prints(name, data_set, data, tmp_path, monkeypatch, capsys):
    module = __import__(name)
    some = [c for c in module.contenders() if c.name in SOME or c.name.endswith((" 0.5 : 0.5", " 1 : 1", " 1 : 3"))]
    benchmark = dataclasses.replace(module.BENCHMARK, contenders=lambda: some)
    cache, report = tmp_path / "cache", tmp_path / "report.json"
    options = ["--data", str(data), "--cache", str(cache), "--device", "cpu", "--only", data_set, "--rows", "40"]
    options += ["--epochs", "1", "--batch-size", "20", "--seeds", "2", "--learning-rates", "0.01", "0.02"]

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
        module.main(benchmark, "")
        return capsys.readouterr().out

    first = call(*options, "--limit", "0.001")
    assert "not begun, for lack of time" in first  # the first run is begun in any case
    call(*options)
    call("--cache", str(cache), "--collect", str(report))
    printed = call("--table", str(report))
    assert "tuned weights" in printed
    assert "MMPareto" in printed
    assert len(json.loads(report.read_text())["runs"]) == 2
    again = call(*options)
    assert again.strip() == printed.strip()  # nothing was run

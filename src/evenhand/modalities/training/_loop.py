"""Training of a multimodal model on Lightning Fabric: devices, precision, processes, exact resume."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from ...common import CapturedStep, pack, progress_bar, read_checkpoint, unpack, write_checkpoint
from ..rows import Modalities

if TYPE_CHECKING:
    from lightning_fabric import Fabric

LOOK_EVERY = 25  # steps between looks at a GPU, each of which waits for it


class Step(NamedTuple):
    """What a model says about a batch.

    Attributes:
        loss: To be minimised: the mean over rows.
        bound: Mean of the objective over the rows.
        log_likelihood: Mean of log p(x_d | z) over the experts and samples of rows that have modality d, ``[D]``.
        rate: Mean of KL(q_A || p) over rows, ``[A]``.
        log_q: Mean of log q over samples.
        n_likelihood: How many pairs of an expert and a row are in the mean of a modality, ``[D]``.
        n_rate: How many rows are in the mean of an expert, ``[A]``.
    """

    loss: Tensor
    bound: Tensor
    log_likelihood: Tensor
    rate: Tensor
    log_q: Tensor
    n_likelihood: Tensor
    n_rate: Tensor


class Trainable(Protocol):
    """A module that the loop can train; called with values, mask, noise and KL weight, it gives a `Step`."""

    names: list[str]
    expert_names: list[str]
    kl_weight: float

    def noise(self, n_rows: int, generator: torch.Generator) -> Tensor:
        """Standard normal numbers for a batch, ``[A, K, B, L]``."""

    def score(self, log_likelihood: Tensor) -> float:
        """How well rows were reconstructed, from mean log-likelihoods ``[D]``; higher is better."""

    def settings(self) -> dict[str, str]:
        """What must be the same for a training to be resumed."""


@dataclass
class Loop:
    """Trains a model from where it is, or from where a checkpoint left it.

    Args:
        model: What is trained, a module as in `Trainable`.
        data: The rows: `Modalities`, or a torch data set whose items are dictionaries of tensors without holes.
        fabric: Devices, precision, processes and loggers.
        optimizer: Makes an optimiser from parameters.
        epochs: How often every row is seen.
        batch_size: Rows in a step, of all processes together.
        validation: Rows on which the best weights are chosen, after every epoch.
        clip_norm: Longest gradient.
        kl_warm_up: Number of epochs in which the KL weight rises from 0.
        seed: Of the order of rows and of the noise.
        folder: Where checkpoints are; a training that finds one there goes on with it.
        checkpoint_every: Steps between checkpoints; None for one after every epoch.
        log_every: Steps between rows of the history; None for one after every epoch.
        compile: Whether the model is compiled and, on a GPU, steps are replayed as a CUDA graph.
        verbose: Whether to draw a progress bar; "auto" draws it on a terminal.
    """

    model: Any
    data: Any
    fabric: Fabric
    optimizer: Callable[[Iterator[nn.Parameter]], torch.optim.Optimizer]
    epochs: int
    batch_size: int = 128
    validation: Modalities | None = None
    clip_norm: float | None = None
    kl_warm_up: float = 0
    seed: int = 0
    folder: Path | None = None
    checkpoint_every: int | None = None
    log_every: int | None = None
    compile: bool = False
    verbose: bool | Literal["auto"] = "auto"
    history: list[dict[str, float]] = field(default_factory=list)

    def run(self) -> None:
        """Train; afterwards the model has the best weights, or the last ones without validation rows."""
        self._set_up()
        steps = self.steps_per_epoch
        done = self._epoch * steps + self._position
        verbose = self.verbose if self.fabric.is_global_zero else False
        with progress_bar(verbose, self.epochs * steps, done) as tick:
            while self._epoch < self.epochs:
                for n_rows, values, observed in self._batches():
                    self._step(n_rows, values, observed)
                    self._position += 1
                    tick(1, self._words())
                    self._after_step()
                self._after_epoch()
        if self._best is not None:
            self.model.load_state_dict(self._best)
        for logger in self.fabric.loggers:
            logger.save()  # some keep rows in memory until then

    @property
    def steps_per_epoch(self) -> int:
        """Number of batches; the last one may be smaller, but gives every process a row."""
        rows = len(self.data)
        last = rows % self.batch_size
        return rows // self.batch_size + (last >= self.fabric.world_size)

    def _set_up(self) -> None:
        if self.steps_per_epoch == 0:
            raise ValueError(f"data should have rows for every process. Found {len(self.data)}.")
        if self.batch_size < self.fabric.world_size:
            raise ValueError(
                f"batch_size should be at least 1 for each of {self.fabric.world_size} processes. "
                f"Found {self.batch_size}."
            )
        if self.fabric.strategy.precision.precision in ("bf16-true", "16-true"):
            raise ValueError(
                "precision should be 'bf16-mixed' or '16-mixed' for half precision: densities need more."
            )
        if self.checkpoint_every and self.folder is None:
            raise ValueError("folder should be given with checkpoint_every: it is where checkpoints go.")
        if not 0 <= self.kl_warm_up <= self.epochs:
            raise ValueError(
                f"kl_warm_up should be from 0 to the {self.epochs} epochs of the training, else the full KL weight "
                f"is never reached. Found {self.kl_warm_up}."
            )
        self._epoch = self._position = 0
        self._best: dict[str, Tensor] | None = None
        self._best_score = float("-inf")
        self._device = self.fabric.device
        self._generator = torch.Generator(self._device).manual_seed(self.seed)
        if isinstance(self.data, Modalities) and self.data.n_bytes < _room(self._device):
            self.data = self.data.to(self._device)
        module: Any = torch.compile(self.model, dynamic=False) if self.compile else self.model
        optimizer = self.optimizer(self.model.parameters())
        self._module, self._optimizer = self.fabric.setup(module, optimizer)
        self.model.train()
        alone = self._device.type == "cuda" and self.fabric.world_size == 1
        self._captured = CapturedStep(self._update) if self.compile and alone else None
        self._seen = _Means(self._device, len(self._columns()))
        if self.folder is not None and (state := read_checkpoint(self.folder, self._settings())) is not None:
            self._restore(state)

    # one step

    def _step(self, n_rows: int, values: Mapping[str, Tensor], observed: Tensor | None) -> None:
        rank, world = self.fabric.global_rank, self.fabric.world_size
        # noise for the rows of all processes, so that their number changes nothing
        noise = self.model.noise(n_rows, self._generator)[:, :, rank::world]
        weight = torch.full((1,), self._kl_weight(), device=self._device)
        # processes average; unequal parts must count as rows
        share = torch.full((1,), noise.shape[2] * world / n_rows, device=self._device)
        inputs = pack(values, observed=observed, noise=noise, kl_weight=weight, share=share)
        self._update(inputs) if self._captured is None else self._captured(inputs)
        self._seen.n += 1
        if self._device.type != "cpu" and self._position % LOOK_EVERY == 0:
            self._look()

    def _update(self, inputs: Mapping[str, Tensor]) -> None:
        """Forward, backward, and a step of the optimiser; on a GPU nothing here waits for it."""
        values, others = unpack(inputs)
        self._optimizer.zero_grad(set_to_none=True)
        step = Step(*self._module(values, others.get("observed"), others["noise"], others["kl_weight"]))
        self.fabric.backward((step.loss * others["share"]).sum())
        parts = (step.bound, step.log_likelihood, step.rate, step.log_q, step.loss, self._gradient_norm(step.loss))
        rows = torch.full_like(step.bound, others["noise"].shape[2]).reshape(1)
        counts = torch.cat([rows, step.n_likelihood, step.n_rate, rows, rows, rows])
        self._seen.add(torch.cat([part.detach().reshape(-1) for part in parts]), counts)
        if self._device.type == "cpu":
            self._look()  # before a NaN gets into the weights; on a GPU, soon after
        if self.clip_norm is not None:
            self.fabric.clip_gradients(
                self._module, self._optimizer, max_norm=self.clip_norm, error_if_nonfinite=False
            )
        self._optimizer.step()

    def _gradient_norm(self, like: Tensor) -> Tensor:
        """The length of the whole gradient; 0 where a scaler deals with infinite ones by itself."""
        if getattr(self.fabric.strategy.precision, "scaler", None) is not None:
            return torch.zeros_like(like)
        return torch.nn.utils.get_total_norm([p.grad for p in self.model.parameters() if p.grad is not None])

    def _look(self) -> None:
        if (broken := self._seen.broken()) is not None:
            raise FloatingPointError(self._complaint(*broken))

    def _complaint(self, ago: int, terms: Sequence[int]) -> str:
        """Causes come before their consequences: a posterior spoils everything, a decoder its own likelihood."""
        columns = self._columns()
        found = [columns[i] for i in terms]
        causes = [c for kind in ("rate", "log_likelihood") for c in found if c.startswith(kind)]
        kind, _, name = (causes or [c for c in found if c == "log_q"] or found)[0].partition("/")
        what = {"rate": f"the posterior of {name!r}", "log_likelihood": f"the log-likelihood of {name!r}"}
        what |= {"log_q": "the density of the experts", "gradient": "the gradient of a finite objective"}
        where = "in that modality" if name else "in the data"
        return (
            f"In epoch {self._epoch + 1}, {ago} step(s) ago, {what.get(kind, 'the objective')} became NaN or "
            f"infinite. Look for wild values {where}, lower the learning rate, or set clip_norm"
            f"{'.' if self.folder is None else '; the last checkpoint is unharmed.'}"
        )

    def _kl_weight(self) -> float:
        weight: float = self.model.kl_weight
        done = self._epoch + self._position / self.steps_per_epoch
        return weight * min(1.0, done / self.kl_warm_up) if self.kl_warm_up else weight

    # batches

    def _batches(self) -> Iterator[tuple[int, Mapping[str, Tensor], Tensor | None]]:
        """The batches of this epoch that are left: rows of all processes, and the values and mask of this one's."""
        rank, world = self.fabric.global_rank, self.fabric.world_size
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self._epoch)
        order = torch.randperm(len(self.data), generator=generator)
        batches = slice(self._position, self.steps_per_epoch)
        if isinstance(self.data, Modalities):
            for index in order.to(self.data.device).split(self.batch_size)[batches]:
                batch = self.data.rows(index[rank::world]).to(self._device)
                yield len(index), batch.values, batch.mask()
            return
        left: Sequence[Tensor] = order.split(self.batch_size)[batches]
        own = [index[rank::world].tolist() for index in left]
        # a loader draws a number when it starts, also in the middle of an epoch: not from the numbers of the networks
        loader = DataLoader(self.data, batch_sampler=own, generator=generator)
        for index, items in zip(left, loader, strict=True):
            yield len(index), {name: x.to(self._device) for name, x in items.items()}, None

    # between steps

    def _after_step(self) -> None:
        every = self.log_every
        if every and self._position % every == 0:
            self._log()
        if self.checkpoint_every and self._position % self.checkpoint_every == 0:
            self._save()

    def _after_epoch(self) -> None:
        self._look()
        self._epoch, self._position = self._epoch + 1, 0
        score = None if self.validation is None else self._validate()
        if self._seen.n or score is not None:
            self._log(score)
        self._save()

    def _validate(self) -> float:
        """The score of the validation rows, with the same noise every time; the best weights are kept."""
        generator = torch.Generator(self._device).manual_seed(self.seed)
        assert self.validation is not None
        total, number = torch.zeros(2, len(self.model.names), device=self._device, dtype=torch.float64)
        self.model.eval()
        with torch.no_grad(), self.fabric.autocast():
            for index in torch.arange(len(self.validation)).split(self.batch_size):
                batch = self.validation.rows(index.to(self.validation.device)).to(self._device)
                noise = self.model.noise(len(index), generator)
                step = Step(*self.model(batch.values, batch.mask(), noise))
                total += step.log_likelihood * step.n_likelihood
                number += step.n_likelihood
        self.model.train()
        score: float = self.model.score(total / number.clamp(min=1))
        if not math.isfinite(score):
            raise FloatingPointError(f"The log-likelihoods of the validation rows should be finite. Found {score}.")
        if score > self._best_score:
            self._best_score = score
            self._best = {name: x.detach().clone() for name, x in self.model.state_dict().items()}
        return score

    def _columns(self) -> list[str]:
        likelihoods = [f"log_likelihood/{name}" for name in self.model.names]
        rates = [f"rate/{name}" for name in self.model.expert_names]
        return ["bound", *likelihoods, *rates, "log_q", "loss", "gradient"]

    def _log(self, score: float | None = None) -> None:
        done = self._epoch * self.steps_per_epoch + self._position
        row: dict[str, float] = {"epoch": done / self.steps_per_epoch, "step": done}
        if self._seen.n:
            sums: Any = self.fabric.all_reduce(self._seen.take(), reduce_op="sum")
            # what no row had has no number
            columns = zip(self._columns(), *sums.tolist(), strict=True)
            row |= {name: total / number for name, total, number in columns if number}
        row["kl_weight"] = self._kl_weight()
        if score is not None:
            row["validation"] = score
        self.history.append(row)
        self.fabric.log_dict({name: value for name, value in row.items() if name != "step"}, step=done)

    def _words(self) -> str:
        last = self.history[-1] if self.history else {}
        return f"epoch {self._epoch + 1}/{self.epochs}" + (f", bound {last['bound']:.2f}" if "bound" in last else "")

    # checkpoints

    def _settings(self) -> dict[str, Any]:
        return {
            "batch_size": self.batch_size,
            "seed": self.seed,
            "rows": len(self.data),
            "epochs": self.epochs,
            "kl_warm_up": self.kl_warm_up,
            "clip_norm": self.clip_norm,
            "processes": self.fabric.world_size,
            "device": self._device.type,
            "precision": self.fabric.strategy.precision.precision,
            "optimizer": f"{type(self._optimizer.optimizer).__name__}, lr {self._optimizer.defaults.get('lr')}",
            **self.model.settings(),
        }

    def _save(self) -> None:
        if self.folder is None:
            return
        self._look()  # what is broken does not replace what is not
        own = torch.cuda.get_rng_state(self._device) if self._device.type == "cuda" else torch.empty(0)
        states: Any = [self.fabric.all_gather(s.to(self._device)) for s in (torch.get_rng_state(), own)]
        random = [state.cpu() for state in states]
        if self.fabric.is_global_zero:
            state = {
                "settings": self._settings(),
                "model": self.model.state_dict(),
                "optimizer": self._optimizer.state_dict(),
                "noise": self._generator.get_state(),
                "random": random,
                "epoch": self._epoch,
                "position": self._position,
                "seen": self._seen.state(),
                "history": self.history,
                "best": self._best,
                "best_score": self._best_score,
            }
            write_checkpoint(self.folder, state)
        self.fabric.barrier()

    def _restore(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._generator.set_state(state["noise"])
        rank = self.fabric.global_rank
        # copies: torch crashes when it is given a state in the middle of another tensor
        own, device = [part.reshape(self.fabric.world_size, -1)[rank].byte().clone() for part in state["random"]]
        torch.set_rng_state(own)
        if self._device.type == "cuda" and device.numel():
            torch.cuda.set_rng_state(device, self._device)
        self._epoch, self._position = state["epoch"], state["position"]
        self._seen.restore(state["seen"])
        self.history[:] = state["history"]
        self._best_score = state["best_score"]
        if state["best"] is not None:
            self._best = {name: x.to(self._device) for name, x in state["best"].items()}


def _room(device: torch.device) -> float:
    """How many bytes of data may live on a device: on a GPU, a quarter of what is free."""
    return torch.cuda.mem_get_info(device)[0] / 4 if device.type == "cuda" else math.inf


class _Means:
    """Sums of what n steps report, kept on the device, and since when one of them is not finite."""

    def __init__(self, device: torch.device, size: int) -> None:
        self.n = 0
        self._sums = torch.zeros(2, size, device=device, dtype=torch.float64)  # and how many things are in them
        self._bad = torch.zeros(size, device=device, dtype=torch.int64)  # steps since the first that was not finite

    def add(self, means: Tensor, counts: Tensor) -> None:
        self._sums += torch.stack([means * counts, counts])
        self._bad += (self._bad > 0) | ~means.isfinite()

    def broken(self) -> tuple[int, list[int]] | None:
        """How many steps ago numbers were first not finite, and which; None if all are."""
        bad = self._bad.tolist()
        first = max(bad)
        return (first - 1, [i for i, count in enumerate(bad) if count == first]) if first else None

    def take(self) -> Tensor:
        """Sums and counts ``[2, size]`` since the last call."""
        taken = self._sums.clone()
        self._sums.zero_()
        self.n = 0
        return taken

    def state(self) -> dict[str, Any]:
        return {"n": self.n, "sums": self._sums.clone()}

    def restore(self, state: dict[str, Any]) -> None:
        self.n = state["n"]
        self._sums.copy_(state["sums"])

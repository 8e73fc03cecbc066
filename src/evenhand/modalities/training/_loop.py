"""Training of a multimodal model on Lightning Fabric: devices, precision, processes, exact resume."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from ...common import CapturedStep, pack, progress_bar, read_checkpoint, unpack, write_checkpoint
from ..rows import Modalities
from ._batches import Batch, epoch_batches, number_of_batches
from ._check import check_training
from ._health import EVERY, Health
from ._held_rate import HeldRate
from ._luck import drawing_from, luck_of
from ._means import Means
from ._random_state import own_random_numbers, random_states, restore_random_states
from ._settings import optimizer_settings
from ._step import Axis, Step, columns_of, first_cause, means_and_counts, squared_columns
from ._warm_up import WarmUp
from ._words import how_it_goes, what_is_trained

if TYPE_CHECKING:
    from lightning_fabric import Fabric

LOOK_EVERY = 25  # steps between looks at a GPU, each of which waits for it


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
        clip_expert_norm: Longest gradient of a row at the posterior of an expert; see `Watch`.
        kl_warm_up: Number of epochs in which the KL weight rises from 0.
        learning_rate_warm_up: Number of epochs, or the part of one, in which the learning rate rises from 0.
        seed: Of the order of rows, of the noise, of dropout, and of what methods draw.
        seed_of_networks: What their first weights came from, for a training that is resumed.
        folder: Where checkpoints are; a training that finds one there resumes from it.
        checkpoint_every: Steps between checkpoints; None for one after every epoch.
        log_every: Steps between rows of the history; None for one after every epoch.
        compile: Whether the model is compiled and, on a GPU, steps are replayed as a CUDA graph.
        verbose: Whether to show progress: a bar on a terminal, a line now and then elsewhere; "auto" keeps quiet
            about short trainings there.
    """

    model: Any
    data: Any
    fabric: Fabric
    optimizer: Callable[[Iterator[nn.Parameter]], torch.optim.Optimizer]
    epochs: int
    batch_size: int = 128
    validation: Modalities | None = None
    clip_norm: float | None = None
    clip_expert_norm: float | None = None
    kl_warm_up: float = 0
    learning_rate_warm_up: float = 0
    seed: int = 0
    seed_of_networks: int = 0
    folder: Path | None = None
    checkpoint_every: int | None = None
    log_every: int | None = None
    compile: bool = False
    verbose: bool | Literal["auto"] = "auto"
    history: list[dict[str, float]] = field(default_factory=list)

    def run(self) -> None:
        """Train; afterwards the model has the best weights, or the last ones without validation rows."""
        check_training(self)
        with own_random_numbers(self.fabric, self.seed):
            self._set_up()
            self._train()

    def _train(self) -> None:
        steps = self.steps_per_epoch
        what = what_is_trained(self.model.names, len(self.data), self.epochs, steps)
        verbose = self.verbose if self.fabric.is_global_zero else False
        bar = progress_bar(verbose, self.epochs * steps, self._done, what)
        with drawing_from(self._luck, self.model), bar as tick:
            while self._epoch < self.epochs:
                for batch in self._batches():
                    self._step(batch)
                    self._position += 1
                    tick(1, self._words())
                    self._after_step()
                self._after_epoch()
        if self._best is not None:
            self.model.load_state_dict(self._best)
        if self._held is not None and (missed := self._held.missed()) and self.fabric.is_global_zero:
            warnings.warn(missed, stacklevel=2)
        for logger in self.fabric.loggers:
            logger.save()  # some keep rows in memory until then

    @property
    def steps_per_epoch(self) -> int:
        """Number of batches of an epoch."""
        return number_of_batches(len(self.data), self.batch_size, self.fabric.world_size)

    @property
    def _usual_rows(self) -> int:
        """Rows of all batches of an epoch but the last one, for which alone it does not pay to compile."""
        return min(self.batch_size, len(self.data))

    @property
    def _done(self) -> int:
        """Number of steps done."""
        return self._epoch * self.steps_per_epoch + self._position

    def _set_up(self) -> None:
        self._epoch = self._position = 0
        self._best: dict[str, Tensor] | None = None
        self._best_score = float("-inf")
        self._device = self.fabric.device
        self._generator = torch.Generator(self._device).manual_seed(self.seed)
        self._luck = luck_of(self.seed, self._device)
        if isinstance(self.data, Modalities) and self.data.n_bytes < _room(self._device):
            self.data = self.data.to(self._device)
        module: Any = torch.compile(self.model, dynamic=False) if self.compile else self.model
        optimizer = self.optimizer(self.model.parameters())
        self._settings = self._settings_with(optimizer)
        self._module, self._optimizer = self.fabric.setup(module, optimizer)
        self.model.train()
        alone = self._device.type == "cuda" and self.fabric.world_size == 1
        self._captured = CapturedStep(self._update, generators=[self._luck]) if self.compile and alone else None
        target = self.model.target_rate
        self._held = None if target is None else HeldRate(target, self._device)
        self._warm_up = self._warm_up_of(optimizer) if self.learning_rate_warm_up else None
        self._seen, self._lately = (Means(self._device, len(self._columns())) for _ in range(2))
        self._shown: dict[str, float] = {}
        self._health = Health(self.model.expert_names)
        if self.folder is not None and (state := read_checkpoint(self.folder, self._settings)) is not None:
            self._restore(state)

    def _warm_up_of(self, optimizer: torch.optim.Optimizer) -> WarmUp:
        steps = self.learning_rate_warm_up * self.steps_per_epoch
        return WarmUp(optimizer, steps, None if self._captured is None else self._device)

    # one step

    def _step(self, batch: Batch) -> None:
        rank, world = self.fabric.global_rank, self.fabric.world_size
        # noise for the rows of all processes, so that their number changes nothing
        noise = self.model.noise(batch.n_rows, self._generator)[:, :, rank::world]
        weight = self._weight_of_step()
        # processes average; unequal parts must count as rows
        share = torch.full((1,), noise.shape[2] * world / batch.n_rows, device=self._device)
        progress = torch.full((1,), float(self._done), device=self._device)
        others = {"noise": noise, "kl_weight": weight, "share": share, "progress": progress}
        inputs = pack(batch.values, observed=batch.observed, **others)
        if self._warm_up is not None:
            self._warm_up.set(self._done)
        odd = self.compile and batch.n_rows != self._usual_rows
        with torch.compiler.set_stance("force_eager") if odd else nullcontext():
            self._update(inputs) if self._captured is None else self._captured(inputs)
        self._seen.n += 1
        if self._device.type != "cpu" and self._position % LOOK_EVERY == 0:
            self._look()

    def _update(self, inputs: Mapping[str, Tensor]) -> None:
        """Forward, backward, and a step of the optimiser; on a GPU nothing here waits for it."""
        values, others = unpack(inputs)
        self._optimizer.zero_grad(set_to_none=True)
        told = (others[name] for name in ("noise", "kl_weight", "progress"))
        probe = others["noise"].new_zeros(len(self.model.network.subsets), requires_grad=True)
        step = Step(*self._module(values, others.get("observed"), *told, probe, self.clip_expert_norm))
        self.fabric.backward((step.loss * others["share"]).sum())
        if self._held is not None:
            sums: Any = self.fabric.all_reduce(HeldRate.sums(step), reduce_op="sum")
            self._held.see(sums)
        numbers = means_and_counts(step, *self._lengths(step.loss, probe), others["noise"].shape[2])
        self._seen.add(*numbers)
        self._lately.add(*numbers)
        if self._device.type == "cpu":
            self._look()  # before a NaN gets into the weights; on a GPU, soon after
        if self.clip_norm is not None:
            self.fabric.clip_gradients(
                self._module, self._optimizer, max_norm=self.clip_norm, error_if_nonfinite=False
            )
        self._optimizer.step()

    def _lengths(self, like: Tensor, probe: Tensor) -> tuple[Tensor, Tensor]:
        """The length of the whole gradient, and what a `Watch` told; 0 where a scaler deals with infinite ones."""
        squares = torch.zeros_like(probe) if probe.grad is None else probe.grad
        if getattr(self.fabric.strategy.precision, "scaler", None) is not None:
            return torch.zeros_like(like), squares.where(squares.isfinite(), 0.0)
        parameters = self.model.parameters()
        return torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None]), squares

    def _look(self) -> None:
        if (broken := self._seen.broken()) is not None:
            raise FloatingPointError(self._complaint(*broken))

    def _complaint(self, ago: int, terms: Sequence[int]) -> str:
        columns = self._columns()
        what, owner = first_cause([columns[i] for i in terms])
        return (
            f"In epoch {self._epoch + 1}, {ago} step(s) ago, {what} became NaN or infinite. Look for wild values "
            f"{'in that modality' if owner else 'in the data'}, lower the learning rate, or set clip_norm"
            f"{'.' if self.folder is None else '; the last checkpoint is unharmed.'}"
        )

    def _weight_of_step(self) -> Tensor:
        if self._held is not None:
            return self._held.weight()  # on a GPU it stays there
        return torch.full((1,), self._kl_weight(), device=self._device)

    def _kl_weight(self) -> float:
        if self._held is not None:
            return float(self._held.weight())
        weight: float = self.model.kl_weight
        done = self._epoch + self._position / self.steps_per_epoch
        return weight * min(1.0, done / self.kl_warm_up) if self.kl_warm_up else weight

    def _batches(self) -> Iterator[Batch]:
        """The batches of this epoch that are left."""
        generator = torch.Generator().manual_seed((self.seed * 1_000_003 + self._epoch) % 2**63)
        left = slice(self._position, self.steps_per_epoch)
        rank, world = self.fabric.global_rank, self.fabric.world_size
        return epoch_batches(self.data, self.batch_size, left, generator, self._device, rank, world)

    # between steps

    def _after_step(self) -> None:
        if self._done % EVERY == 0:
            self._look_after_experts()
        every = self.log_every
        if every and self._position % every == 0:
            self._log()
        if self.checkpoint_every and self._position % self.checkpoint_every == 0:
            self._save()

    def _look_after_experts(self) -> None:
        """Warn of experts that die: most do in the first hundreds of steps, and nothing else shows it."""
        self._shown = self._means(self._lately)
        for sentence in self._health.look(self._done, self._shown) if self.fabric.is_global_zero else ():
            warnings.warn(sentence, stacklevel=2)

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
        rates = torch.zeros(2, device=self._device, dtype=torch.float64)
        self.model.eval()
        with torch.no_grad(), self.fabric.autocast():
            for index in torch.arange(len(self.validation)).split(self.batch_size):
                batch = self.validation.rows(index.to(self.validation.device)).to(self._device)
                noise = self.model.noise(len(index), generator)
                step = Step(*self.model(batch.values, batch.mask(), noise, None, float(self._done)))
                total += step.reconstruction * step.n_reconstruction
                number += step.n_reconstruction
                rates += HeldRate.sums(step)
        self.model.train()
        score: float = self.model.score(total / number.clamp(min=1))
        if not math.isfinite(score):
            raise FloatingPointError(f"The log-likelihoods of the validation rows should be finite. Found {score}.")
        nearer = self._held is not None and self._held.measure(rates)
        if nearer or (score > self._best_score and (self._held is None or self._held.as_near)):
            self._best_score = score
            if self._held is not None:
                self._held.choose()
            self._best = {name: x.detach().clone() for name, x in self.model.state_dict().items()}
        return score

    def _names(self) -> dict[Axis, list[str]]:
        return {"modality": self.model.names, "expert": self.model.expert_names}

    def _columns(self) -> list[str]:
        return columns_of(self._names())

    def _log(self, score: float | None = None) -> None:
        done = self._done
        row: dict[str, float] = {"epoch": done / self.steps_per_epoch, "step": done}
        if self._seen.n:
            self._shown = self._means(self._seen)
            row |= self._shown
        row["kl_weight"] = self._kl_weight()
        if self._held is not None:
            row["rate"] = self._held.shown(measured=score is not None)
        if score is not None:
            row["validation"] = score
        self.history.append(row)
        self.fabric.log_dict({name: value for name, value in row.items() if name != "step"}, step=done)

    def _means(self, seen: Means) -> dict[str, float]:
        """The means of all processes since the last time; what no row had has no number."""
        sums: Any = self.fabric.all_reduce(seen.take(), reduce_op="sum")
        columns = zip(self._columns(), *sums.tolist(), strict=True)
        means = {name: total / number for name, total, number in columns if number}
        return means | {name: math.sqrt(means[name]) for name in squared_columns(self._names()) & means.keys()}

    def _words(self) -> str:
        words = [f"epoch {self._epoch + 1}/{self.epochs}", how_it_goes(self._shown, self.model.expert_names)]
        return ", ".join(filter(None, words))

    # checkpoints

    def _settings_with(self, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
        """What must be the same for a training to be resumed."""
        return {
            "batch_size": self.batch_size,
            "seed": self.seed,
            "seed of the networks": self.seed_of_networks,
            "rows": len(self.data),
            "data (a checksum of some rows)": _fingerprint(self.data),
            "validation (a checksum of some rows)": _fingerprint(self.validation),
            "epochs": self.epochs,
            "kl_warm_up": self.kl_warm_up,
            "clip_norm": self.clip_norm,
            "clip_expert_norm": self.clip_expert_norm,
            "learning_rate_warm_up": self.learning_rate_warm_up,
            "processes": self.fabric.world_size,
            "device": self._device.type,
            "precision": self.fabric.strategy.precision.precision,
            **optimizer_settings(optimizer),
            **self.model.settings(),
        }

    def _save(self) -> None:
        if self.folder is None:
            return
        self._look()  # what is broken does not replace what is not
        random = random_states(self.fabric)
        if self.fabric.is_global_zero:
            state = {
                "settings": self._settings,
                "model": self.model.state_dict(),
                "optimizer": self._optimizer.state_dict(),
                "noise": self._generator.get_state(),
                "luck": self._luck.get_state(),
                "random": random,
                "epoch": self._epoch,
                "position": self._position,
                "seen": self._seen.state(),
                "history": self.history,
                "best": self._best,
                "best_score": self._best_score,
                "held": None if self._held is None else self._held.state_dict(),
            }
            write_checkpoint(self.folder, state)
        self.fabric.barrier()

    def _restore(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._generator.set_state(state["noise"])
        self._luck.set_state(state["luck"])
        restore_random_states(self.fabric, state["random"])
        self._epoch, self._position = state["epoch"], state["position"]
        self._seen.restore(state["seen"])
        self.history[:] = state["history"]
        self._best_score = state["best_score"]
        if self._held is not None:
            self._held.load_state_dict(state["held"])
        if state["best"] is not None:
            self._best = {name: x.to(self._device) for name, x in state["best"].items()}


def _fingerprint(rows: Any) -> str | None:
    """Of rows that are all there; a torch data set may make them anew every time."""
    return rows.fingerprint() if isinstance(rows, Modalities) else None


def _room(device: torch.device) -> float:
    """How many bytes of data may live on a device: on a GPU, a quarter of what is free."""
    return torch.cuda.mem_get_info(device)[0] / 4 if device.type == "cuda" else math.inf

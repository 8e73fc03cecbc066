"""Many runs at once: one step advances R replicas that differ in seed, method, learning rate or KL weight."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...common import ArgumentError, CapturedStep, RateControl, check_kl_weight, wanted_rate
from ...impartial import Draws, LinearBlock, Method, PerReplica
from ..families import Family
from ..objectives import BatchOfRows, ObjectiveName, make_objective
from ._noise import Draw, Noise
from ._rows import Rows
from ._state import check_keys, check_settings, check_tensors, copies, numbered

MEASURED = 100_000  # training rows that a family looks at before training
STATE = ("runs", "settings", "model", "moments", "blocks", "noise", "control", "steps", "lr", "loss")


@dataclass(frozen=True)
class Run:
    """What makes a replica different from its neighbours.

    Attributes:
        seed: Of initial weights, batches, dropout and noise.
        method: What settles the conflict among the columns; at all blocks, where a model has several.
        lr: Learning rate.
        kl_weight: Weight of the KL term; "rate:8" for one that moves such that the rate is 8 nats per row.
        preserve_norm: Whether blocks rescale their sums to the length of the plain sum.
        column_weights: What the likelihood of every column counts in training, in the schema's order; all 1 if empty.
            What is measured stays a likelihood.
    """

    seed: int
    method: Method
    lr: float = 1e-3
    kl_weight: float | str = 1.0
    preserve_norm: bool = True
    column_weights: tuple[float, ...] = ()


class Stack:
    """R runs of one model on one table.

    Args:
        model: A family of models with a replica for every run.
        runs: The runs.
        rows: The table on the device; rows of several splits are concatenated.
        train: For every distinct seed, in order of appearance, which rows to train on ``[S, n]``.
        objective: One of those that the family knows.
        n_samples: K, samples of z for each row.
        analytic_kl: Whether the ELBO uses the KL term in closed form instead of that of the samples.
        batch_size: Rows in a step.
        dropout: Probability that an input of the encoder is dropped.
        hide: Probability that an observed cell is hidden from the encoder, while it is still scored.
        kl_warm_up: Number of steps over which the KL weight rises from 0; not for weights that hold a rate.
        decay: Number of steps over which learning rates fall to zero, along half a cosine; 0 for constant ones.
        compile_step: Whether torch.compile fuses the forward and the backward pass (worth it on a GPU).

    Attributes:
        control: What moves the KL weights of runs that hold a rate; None if there are none.
    """

    def __init__(
        self,
        model: Family,
        runs: Sequence[Run],
        rows: Rows,
        train: Tensor,
        *,
        objective: ObjectiveName = "elbo",
        n_samples: int = 1,
        analytic_kl: bool = True,
        batch_size: int = 128,
        dropout: float = 0.1,
        hide: float = 0.0,
        kl_warm_up: int = 0,
        decay: int = 0,
        compile_step: bool = False,
    ) -> None:
        self.device = rows.record.device
        self.model = model.to(self.device)
        self.rows, self.runs = rows, list(runs)
        self.kl_warm_up, self.decay = kl_warm_up, decay
        check_objective(type(model), objective)
        self.control = self._make_control()
        self.objective = make_objective(objective, analytic_kl=analytic_kl)
        self._analytic_kl = analytic_kl
        self._measure(train)
        self.draws = Draws()
        self.blocks = self._make_blocks()
        self.noise = Noise(
            [run.seed for run in runs],
            train.to(self.device),
            batch_size=batch_size,
            shape=(n_samples, model.n_noise),
            n_inputs=rows.n_inputs,
            n_columns=model.likelihood.n,
            n_uniform=self._n_uniform(),  # drawn even for `Sum` alone: noise must not depend on the neighbours
            dropout=dropout,
            hide=hide,
        )
        self._settings()
        # a tensor, so that a captured step reads the learning rate of the moment
        self.lr = torch.tensor(max(run.lr for run in runs), device=self.device)
        on_gpu = self.device.type == "cuda"
        # torch's own fused step has one program for 65,536 numbers of a layer: too few to keep a GPU busy
        compiled = on_gpu and compile_step
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=self.lr, fused=not compiled, foreach=compiled, capturable=on_gpu
        )
        self.steps = torch.zeros(1, device=self.device)
        self._loss = _compiled(self._plain_loss) if compile_step else self._plain_loss
        self._update = _compiled(self._plain_update) if compiled else self._plain_update
        self._captured = CapturedStep(lambda inputs: self._step(), "Train on the CPU.") if on_gpu else None
        self.loss = torch.zeros(len(runs), device=self.device)

    def _measure(self, train: Tensor) -> None:
        """Let the family look at the training rows, or at some of very many."""
        rows = train.unique().to(self.device)
        inputs, targets, mask = self.rows.split(self.rows.record[rows[:: len(rows) // MEASURED + 1]])
        self.model.measure(inputs, targets, mask)

    def _make_blocks(self) -> list[LinearBlock]:
        methods = [run.method for run in self.runs]
        if all(method.is_identity for method in methods):
            return []  # ordinary training needs no block
        return [
            LinearBlock(PerReplica(methods, draws=self.draws), heads, preserve_norm=self._restored()).to(self.device)
            for heads in self._places()
        ]

    def _make_control(self) -> RateControl | None:
        weights = [run.kl_weight for run in self.runs]
        for weight in weights:
            check_kl_weight("kl_weight", weight)
        if not RateControl.needed(weights):
            return None
        if self.kl_warm_up:
            raise ArgumentError("kl_warm_up", "be 0 where a KL weight holds a rate", str(self.kl_warm_up))
        return RateControl(weights, self.device)

    def _places(self) -> list[list[int]]:
        """The heads at every place where gradients meet; that of the direct way is the last."""
        places = self.model.block_heads * self.objective.n_passes
        return places if self.model.direct is None else [*places, self.model.direct.heads]

    def _restored(self) -> bool | Tensor:
        answers = [run.preserve_norm for run in self.runs]
        return answers[0] if len(set(answers)) == 1 else torch.tensor(answers, device=self.device)

    def _n_uniform(self) -> int:
        widths = [p.shape[-1] for p in self.model.parameters()]
        return max(self.model.likelihood.n, *widths)

    def _settings(self) -> None:
        fixed = [1.0 if wanted_rate(run.kl_weight) else float(run.kl_weight) for run in self.runs]
        self.kl_weights = torch.tensor(fixed, device=self.device)
        rates = torch.tensor([run.lr for run in self.runs], device=self.device)
        self._column_weights = self._weights_of_columns()
        slower = rates / rates.max()
        self._slower = None if bool((slower == 1).all()) else slower
        self._ones = torch.ones_like(rates)
        self._fastest = float(rates.max())

    def _weights_of_columns(self) -> Tensor | None:
        """What columns count, ``[R, 1, D]`` in inner order; None where all count the same."""
        given, n = [run.column_weights for run in self.runs], self.model.likelihood.n
        if not any(given):
            return None
        for weights in filter(None, given):
            if len(weights) != n or not all(0 <= w < float("inf") for w in weights):
                raise ArgumentError("column_weights", f"be {n} numbers >= 0, one for every column", repr(weights))
        counted = torch.tensor([w or (1.0,) * n for w in given], device=self.device)
        return counted[:, self.model.likelihood.order].unsqueeze(1)

    @property
    def steps_per_epoch(self) -> int:
        """Number of full batches in the training rows."""
        return self.noise.steps_per_epoch

    def train(self, steps: int) -> None:
        """Advance all replicas by a number of steps."""
        self.model.train()
        for _ in range(steps):
            self.noise.prepare()
            if self._captured is None:
                self._step()
            else:
                self._captured()

    def _step(self) -> None:
        weights = self.kl_weights if self.control is None else self.control.weights()
        if self.kl_warm_up:
            weights = weights * ((self.steps + 1) / self.kl_warm_up).clamp(max=1.0)
        self.model.start_step(self.steps, self.steps_per_epoch)
        self.optimizer.zero_grad(set_to_none=True)
        loss, self.draws.numbers = self._loss(weights)
        loss.backward(self._ones)
        if self.decay:
            done = (self.steps / self.decay).clamp(max=1.0)
            self.lr.copy_((0.5 * self._fastest * (1 + torch.cos(torch.pi * done))).squeeze(0))
        self._update(loss.detach())

    def _plain_update(self, loss: Tensor) -> None:
        """Adam; replicas with a smaller learning rate go only a part of the way of the fastest."""
        self.loss.copy_(loss)
        self.noise.advance()
        self.steps.add_(1)
        if self._slower is None:
            self.optimizer.step()
            return
        parameters = [p.data for p in self.model.parameters()]
        before = [p.clone() for p in parameters]
        self.optimizer.step()
        for new, old in zip(parameters, before, strict=True):
            new.copy_(torch.lerp(old, new, self._slower.view(-1, *[1] * (new.ndim - 1)).to(new)))

    def _plain_loss(self, kl_weights: Tensor) -> tuple[Tensor, Tensor | None]:
        """What every replica minimises, ``[R]``, in nats per row; and the random numbers of the methods."""
        draw = self.noise.look()
        record = self.rows.record.index_select(0, draw.rows.flatten()).view(*draw.rows.shape, -1)
        return self._loss_of(record, draw, kl_weights), draw.uniform

    def _loss_of(self, record: Tensor, draw: Draw, kl_weights: Tensor) -> Tensor:
        inputs, targets, mask = self.rows.split(record)
        inputs, statistics = self.model.normalise_by_batch(inputs, targets, mask)
        visible = mask if draw.visible is None else mask * draw.visible
        seen = self.rows.seen(inputs, visible)
        if draw.keep is not None:
            seen = seen * draw.keep
        features = self.model.look(seen)
        counted = mask if self._column_weights is None else mask * self._column_weights
        batch = BatchOfRows(features, targets, counted, draw.normal, kl_weights, statistics, self.control)
        loss = self.objective.loss(self.model, batch, self._blocks_by_pass())
        direct = self.model.direct
        if direct is None:
            return loss
        outputs = direct.outputs(features, *self.blocks[-1:])
        return loss + direct.loss(outputs, targets, mask - visible)

    def _blocks_by_pass(self) -> list[list[LinearBlock]]:
        passes = self.objective.n_passes
        joint = self.blocks if self.model.direct is None else self.blocks[:-1]
        places = len(joint) // passes
        return [joint[i * places : (i + 1) * places] for i in range(passes)]

    def keep(self, replicas: Sequence[int]) -> None:
        """Go on with some replicas only."""
        index = torch.tensor(list(replicas), device=self.device)
        self.runs = [self.runs[r] for r in replicas]
        self.model.keep(index)
        for parameter in self.model.parameters():
            state = self.optimizer.state.get(parameter, {})
            for name in ("exp_avg", "exp_avg_sq"):
                if name in state:
                    state[name] = state[name][index].contiguous()
        self.noise.keep(replicas)
        if self.control is not None:
            self.control.keep(index)
            if not RateControl.needed([run.kl_weight for run in self.runs]):
                self.control = None
        if all(run.method.is_identity for run in self.runs):
            self.blocks = []
        for block in self.blocks:
            block.method.keep(replicas)  # type: ignore[operator]
            block.preserve_norm = self._restored()
        self._settings()
        self.lr.fill_(self._fastest)
        self.loss = self.loss[index].contiguous()
        self._forget()

    def calibrate(self, measured: Tensor) -> Tensor:
        """Aim at targets by the rates that were measured, ``[R]``, and say how far these are off; see `Best.offer`.

        Rates in training differ from those that users read: inputs are dropped and cells are hidden there.
        """
        if self.control is None:
            return torch.zeros_like(self.loss)
        self.control.calibrate(measured)
        return self.control.off(measured)

    def shorten(self, decay: int) -> None:
        """Let learning rates fall to zero by an earlier step."""
        self.decay = decay
        self._forget()

    def _forget(self) -> None:
        """A record would read the parameters, moments and methods of before."""
        if self._captured is not None:
            self._captured.forget()

    def state(self) -> dict[str, Tensor]:
        """A copy of all weights and running averages."""
        return copies(self.model.state_dict())

    def state_dict(self) -> dict[str, Any]:
        """A copy of everything that the runs need to resume exactly where they are, to be called between two steps.

        It holds tensors, numbers, strings, lists and dictionaries, so that ``torch.load(..., weights_only=True)``
        reads it. Random numbers that are drawn already are not in it: they are drawn again.
        """
        return {
            "runs": self._described(),
            "settings": self._fixed(),
            "model": self.state(),
            "moments": [copies(self.optimizer.state.get(p, {})) for p in self.model.parameters()],
            "blocks": [copies(block.state_dict()) for block in self.blocks],
            "noise": self.noise.state_dict(),
            "control": {} if self.control is None else self.control.state_dict(),
            **copies({"steps": self.steps, "lr": self.lr, "loss": self.loss}),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where another stack was, with the same runs on the same table.

        After `keep` the state is that of the kept runs: it fits a stack that was built for them.

        Raises:
            ValueError: If the state is of another stack. Nothing has changed then.
        """
        self._check_state(state)
        self.model.load_state_dict(state["model"])
        self.optimizer.state.clear()  # its groups stay: the learning rate there is the tensor of this stack
        for parameter, moments in zip(self.model.parameters(), state["moments"], strict=True):
            if moments:
                self.optimizer.state[parameter] = copies(moments, self.device)
        for block, learnt in zip(self.blocks, state["blocks"], strict=True):
            block.load_state_dict(learnt)
        self.noise.load_state_dict(state["noise"])
        if self.control is not None:
            self.control.load_state_dict(state["control"])
        for name in ("steps", "lr", "loss"):
            getattr(self, name).copy_(state[name])
        self._forget()

    def _check_state(self, state: Mapping[str, Any]) -> None:
        check_keys(state, STATE, "Stack", optional=("control",))
        if len(state["runs"]) != len(self.runs):
            raise ValueError(
                f"runs should be {len(state['runs'])}, as many as the state is of. Found {len(self.runs)}. Build the "
                "stack with the runs that were there when the state was saved."
            )
        check_settings(numbered(state["runs"]), numbered(self._described()))
        check_settings(state["settings"], self._fixed())
        check_tensors(state["model"], self.model.state_dict())
        counters = {name: getattr(self, name) for name in ("steps", "lr", "loss")}
        check_tensors({name: state[name] for name in counters}, counters)
        check_tensors(state.get("control", {}), {} if self.control is None else self.control.state_dict())
        self.noise.check_state(state["noise"])

    def _described(self) -> list[dict[str, Any]]:
        """The runs in words and numbers."""
        return [
            {
                "seed": int(run.seed),
                "method": repr(run.method),
                "lr": float(run.lr),
                "kl_weight": run.kl_weight if wanted_rate(run.kl_weight) else float(run.kl_weight),
                "preserve_norm": bool(run.preserve_norm),
                **({"column_weights": list(run.column_weights)} if run.column_weights else {}),
            }
            for run in self.runs
        ]

    def _fixed(self) -> dict[str, Any]:
        """What all runs share and what steps depend on, besides the noise."""
        return {
            "objective": self.objective.name,
            "analytic_kl": bool(self._analytic_kl),
            "kl_warm_up": int(self.kl_warm_up),
            "decay": int(self.decay),
            "heads": [block.heads.tolist() for block in self.blocks],
        }


def check_objective(family: type[Family], objective: str) -> None:
    """Refuse an objective that a family cannot be trained with."""
    if objective not in family.objectives:
        known = ", ".join(map(repr, family.objectives))
        raise ArgumentError("objective", f"be one of {known} with model={family.name!r}", repr(objective))


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    # layers of 50 units are small: copies padded to 52 take longer than they save
    return torch.compile(function, dynamic=False, options={"shape_padding": False})

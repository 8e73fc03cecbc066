"""The impartiality blocks of a mixture: one or several for each goal of section 4.2 of the paper."""

from __future__ import annotations

import copy
from collections.abc import Mapping

from torch import nn

from ...common import check_choice
from ...impartial import Block, Method, ParameterBlock
from ..models import MixtureVAE
from ._options import GOALS, Goal, Options


def make_blocks(network: MixtureVAE, methods: Mapping[Goal, Method], options: Options) -> nn.ModuleDict:
    """The blocks by goal. Every place has a copy of its method, because methods may learn.

    Args:
        network: The model.
        methods: A method for each goal that is pursued.
        options: Of the model.
    """
    blocks = nn.ModuleDict()
    for goal, method in methods.items():
        check_choice("The goals of impartial", goal, GOALS)
        if not isinstance(method, Method):
            raise ValueError(f"impartial[{goal!r}] should be a method such as IMTLG(). Found {method!r}.")
        if goal == "LI" or network.n_experts > 1:  # a single expert has nobody to settle with
            blocks[goal] = _block(goal, method, network, options)
    return blocks


def _block(goal: Goal, method: Method, network: MixtureVAE, options: Options) -> nn.Module:
    keep = options.preserve_norm
    if goal == "DEI":
        copies = [ParameterBlock(d, copy.deepcopy(method), preserve_norm=keep) for d in network.decoders]
        return nn.ModuleList(copies)
    # a problem for each expert, but there is one dynamic prior
    axes = 0 if goal == "EEI" and options.objective == "mmjsd" else 1
    return Block(copy.deepcopy(method), preserve_norm=keep, problem_axes=axes)

"""Captions as codes of words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

LENGTH = 32  # words of a caption, its end included
N_SYMBOLS = 1600  # so that the size of a model does not depend on a file
UNKNOWN, PADDING, END = "<unknown>", "<padding>", "<end>"
SPECIAL = (UNKNOWN, PADDING, END)
WORD = re.compile(r"[a-z0-9']+|[.,;]")


@dataclass(frozen=True)
class Vocabulary:
    """Words and their codes.

    Attributes:
        symbols: The symbol of every code: three special ones, then words, the frequent ones first.

    Example:
        >>> words = Vocabulary.of(["A red bird.", "A small red bird with a long beak."])
        >>> words.read(words.codes(["A red cat."]))
        ['a red <unknown> .']
    """

    symbols: tuple[str, ...]

    @classmethod
    def of(cls, captions: Iterable[str]) -> Vocabulary:
        """The most frequent words of captions, 1600 symbols at most."""
        counts = Counter(word for caption in captions for word in _words(caption))
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        return cls((*SPECIAL, *ranked[: N_SYMBOLS - len(SPECIAL)]))

    def codes(self, captions: Sequence[str]) -> Tensor:
        """Captions as codes, ``[N, 32]``: cut to 31 words, then the end, then padding."""
        known = self._code_of
        rows = [[*_words(caption)[: LENGTH - 1], END] for caption in captions]
        padded = [row + [PADDING] * (LENGTH - len(row)) for row in rows]
        codes = [[known.get(word, known[UNKNOWN]) for word in row] for row in padded]
        return torch.tensor(codes, dtype=torch.long).reshape(-1, LENGTH)

    def read(self, codes: Tensor) -> list[str]:
        """Codes, ``[N, 32]``, as captions: what stands before the end."""
        captions = [
            [self.symbols[code] if code < len(self.symbols) else UNKNOWN for code in row] for row in codes.tolist()
        ]
        return [" ".join(row[: row.index(END)] if END in row else row) for row in captions]

    @cached_property
    def _code_of(self) -> dict[str, int]:
        return {symbol: code for code, symbol in enumerate(self.symbols)}


def _words(caption: str) -> list[str]:
    return WORD.findall(caption.lower())

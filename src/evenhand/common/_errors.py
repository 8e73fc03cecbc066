"""Errors that carry what they say as fields, so that a face can speak of its own arguments."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(eq=False)
class ArgumentError(ValueError):
    """A mistake of the caller: which argument, what it should be, what was found, and what to do.

    Args:
        argument: What the caller calls it, such as "n_samples" or "--out".
        expected: What completes "<argument> should ...", such as "be an integer >= 1".
        found: What completes "Found ...", such as "0".
        advice: A sentence about what to do, if there is one.

    Example:
        >>> error = ArgumentError("path", "end in .csv", "'x.doc'", "Rename it.")
        >>> str(error.about("--out"))
        "--out should end in .csv. Found 'x.doc'. Rename it."
    """

    argument: str
    expected: str
    found: str
    advice: str = ""

    def __str__(self) -> str:
        told = f"{self.argument} should {self.expected}. Found {self.found}."
        return f"{told}{self.advice}" if self.advice.startswith("\n") else f"{told} {self.advice}".rstrip()

    def about(self, argument: str) -> ArgumentError:
        """The same mistake in another argument's name, such as that of an option at the shell."""
        return replace(self, argument=argument)

    def advised(self, advice: str) -> ArgumentError:
        """The same mistake with other advice."""
        return replace(self, advice=advice)

    def __reduce__(self) -> tuple[type[ArgumentError], tuple[str, str, str, str]]:
        return type(self), (self.argument, self.expected, self.found, self.advice)

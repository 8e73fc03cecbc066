"""What methods are called in tables: "GradNorm 1 >> PCGrad", or "GN-PG (α=1)" as in the paper."""
# ruff: noqa: RUF001  # the paper's letter is α

from __future__ import annotations

# Full and short titles; what the paper does not have keeps its title.
_TITLES = {
    "sum": ("vanilla", "vanilla"),
    "gradnorm": ("GradNorm", "GN"),
    "mgda": ("MGDA", "MGDA"),
    "imtlg": ("IMTL-G", "IMTL-G"),
    "cagrad": ("CAGrad", "CG"),
    "nash": ("Nash-MTL", "Nash-MTL"),
    "aligned": ("Aligned-MTL", "Aligned-MTL"),
    "upgrad": ("UPGrad", "UPGrad"),
    "graddrop": ("GradDrop", "GD"),
    "pcgrad": ("PCGrad", "PG"),
}


def method_label(method: str) -> str:
    """The title of a method or chain.

    Example:
        >>> method_label("gradnorm-1>>pcgrad")
        'GradNorm 1 >> PCGrad'
    """
    return " >> ".join(f"{_title(name)[0]} {alpha}".rstrip() for name, alpha in _steps(method))


def short_method_label(method: str, alpha: float | None = None) -> str:
    """The title of a method or chain as the paper's table 7 has it.

    Args:
        method: Its name.
        alpha: Its parameter, where it is not in the name.

    Example:
        >>> short_method_label("imtlg>>graddrop"), short_method_label("gradnorm-1>>pcgrad")
        ('IMTL-G-GD', 'GN-PG (α=1)')
    """
    steps = _steps(method)
    alphas = [number for _, number in steps if number] if alpha is None else [f"{alpha:g}"]
    return "-".join(_title(name)[1] for name, _ in steps) + "".join(f" (α={number})" for number in alphas)


def _title(name: str) -> tuple[str, str]:
    return _TITLES.get(name, (name, name))


def _steps(method: str) -> list[tuple[str, str]]:
    """The methods of a chain, each with the parameter that its name ends with; GradNorm has 0 if it does not."""
    steps = []
    for step in method.split(">>"):
        name, _, alpha = step.strip().partition("-")
        known = name in _TITLES
        steps.append((name, alpha or ("0" if name == "gradnorm" else "")) if known else (step.strip(), ""))
    return steps

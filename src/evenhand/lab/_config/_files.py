"""Configs of experiments as TOML files, with a hash that distinguishes them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ...common import ArgumentError
from ...tables.schema import toml_value
from ._build import build, to_plain
from ._multimodal import MultimodalExperiment
from ._panels import PanelExperiment
from ._survival import SurvivalExperiment
from ._tables import TableExperiment

Experiment = TableExperiment | PanelExperiment | MultimodalExperiment | SurvivalExperiment

# The one dictionary from a name in a TOML file to a class.
EXPERIMENTS: Mapping[str, type[Experiment]] = MappingProxyType(
    {
        "table": TableExperiment,
        "panel": PanelExperiment,
        "multimodal": MultimodalExperiment,
        "survival": SurvivalExperiment,
    }
)


ADDED = (
    ("objective", "floor", 0.0),
    ("objective", "n_backward", 0),
    ("model", "scale", ""),
    ("impartial", "preserve_norm", True),
    ("evaluation", "judge", "published"),
)
"""Settings that are newer than 0.1.0's first runs, with what these had."""


def read_config(path: str | Path, overrides: Iterable[str] = ()) -> Experiment:
    """The experiment that a TOML file describes.

    Args:
        path: The file. Its first key is ``experiment``, such as "table" or "multimodal".
        overrides: Settings that replace those of the file, such as "training.epochs=10".
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"path should be a config in TOML. Found no file at {path}.")
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} should be a config in TOML. Found a mistake: {error}.") from error
    config = from_dict(document, overrides)
    return _with_data(config, config.data.beside(path.parent))


def from_dict(document: Mapping[str, Any], overrides: Iterable[str] = ()) -> Experiment:
    """The experiment of a TOML document, as nested dictionaries."""
    document = {k: dict(v) if isinstance(v, Mapping) else v for k, v in document.items()}
    for text in overrides:
        _override(document, text)
    kind = document.pop("experiment", None)
    if not isinstance(kind, str) or kind not in EXPERIMENTS:
        raise ArgumentError("experiment", f"be one of {', '.join(map(repr, EXPERIMENTS))}", repr(kind))
    config: Experiment = build(EXPERIMENTS[kind], document, "")
    return config


def to_dict(config: Experiment) -> dict[str, Any]:
    """The experiment as nested dictionaries, as JSON and TOML can hold it."""
    kind = next(name for name, cls in EXPERIMENTS.items() if type(config) is cls)
    return {"experiment": kind, **to_plain(config)}


def to_toml(config: Experiment) -> str:
    """The experiment as a TOML file, with all settings."""
    return toml_text(to_dict(config))


def toml_text(document: Mapping[str, Any]) -> str:
    """The TOML file of an experiment as nested dictionaries; also of one that is no longer accepted."""
    parts = [f"{key} = {toml_value(value)}" for key, value in document.items() if not isinstance(value, Mapping)]
    for section, settings in document.items():
        if isinstance(settings, Mapping):
            lines = (f"{key} = {toml_value(value)}" for key, value in settings.items())
            parts.append("\n".join([f"[{section}]", *lines]))
    return "\n\n".join(parts) + "\n"


def hash_of(config: Experiment) -> str:
    """Eight letters that change with every setting."""
    plain = from_dict(to_dict(config))  # a 1 where a 1.0 belongs becomes one, as in a config that is read
    # where a file lies does not matter; its checksum does
    document = to_dict(_with_data(plain, plain.data.without_folders()))
    for section, name, before in ADDED:  # a run from before there was this setting stays the same run
        if document.get(section, {}).get(name) == before:
            del document[section][name]
    canonical = json.dumps(document, sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:8]


def resolve(config: Experiment) -> Experiment:
    """The config with the checksum of the files that it names, if it names any, once they have been looked at."""
    files = config.data.files
    for path in files:
        if not Path(path).is_file():
            raise FileNotFoundError(f"data should name files that exist. Found none at {path}.")
    config.data.check_content()
    if not files:
        return config
    sha256 = hashlib.sha256(b"".join(Path(path).read_bytes() for path in files)).hexdigest()
    if config.data.sha256 not in ("", sha256):
        raise ValueError(
            f"{' with '.join(files)} should have the sha256 that the config names ({config.data.sha256[:8]}…). Found "
            f"{sha256[:8]}…: its content has changed. Remove data.sha256 to start a new run."
        )
    return _with_data(config, dataclasses.replace(config.data, sha256=sha256))


def _with_data(config: Experiment, data: Any) -> Experiment:
    return dataclasses.replace(config, data=data)


def _override(document: dict[str, Any], text: str) -> None:
    """Put "section.key=value" into a document; the value is TOML, or plain text."""
    key, equals, raw = text.partition("=")
    parts = [part.strip() for part in key.split(".")]
    if not equals or not all(parts) or len(parts) > 2:
        raise ValueError(f"An override should look like training.epochs=10. Found {text!r}.")
    try:
        value = tomllib.loads(f"value = {raw.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        value = raw.strip()
    target = document if len(parts) == 1 else document.setdefault(parts[0], {})
    if not isinstance(target, dict):
        raise ValueError(f"{parts[0]} should be a section to set {text!r} in. Found {target!r}.")
    target[parts[-1]] = value

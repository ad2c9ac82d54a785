"""Options of a model's environment, and their file.

The file is JSON and lies beside the model of another library.
"""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Literal

from quincunx_env.core.rules import BaseRules, SeveralRules
from quincunx_env.registry import GAMES, spec_of
from quincunx_env.utils.files import read_text, write_text


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """Options of an environment that shape its observations and actions.

    All but ``observation`` have the environments' defaults.
    """

    observation: Literal["pieces", "vector"] | None = None
    """what a policy named ``module:attribute`` observes, or the environment in which a model without a JSON file beside
    it was trained"""
    actions: Literal["joint", "hand"] = "joint"
    """its actions; these and the next three options are as of an environment"""
    preview: bool = False
    """whether it observes the preview"""
    padded: bool = False
    """whether its observations and actions have one shape under all rules"""
    mask_in: Literal["info", "obs"] = "info"
    """place of the mask"""

    @property
    def encoding(self) -> "Encoding":
        """These options alone."""
        return Encoding(**{option.name: getattr(self, option.name) for option in fields(Encoding)})


def options_file(model: Path) -> Path:
    """Return the path of the JSON file beside a model."""
    return model.with_suffix(".json")


def write_options(model: Path, rules: BaseRules | SeveralRules, encoding: Encoding) -> None:
    """Write the options of a model's environment beside the model, atomically."""
    each = [asdict(one) for one in rules] if isinstance(rules, SeveralRules) else asdict(rules)  # type: ignore[call-overload]
    content = {"game": spec_of(rules).name, "rules": each, **asdict(encoding)}
    write_text(options_file(model), json.dumps(content, indent=2) + "\n")


def read_options(model: Path) -> tuple[BaseRules | SeveralRules, Encoding]:
    """Read what `write_options` wrote. Missing options have their defaults.

    Raises:
        ValueError: if the file cannot be read, or holds anything else.
    """
    path = options_file(model)
    try:
        content = json.loads(read_text(path))
        make, rules = GAMES[content.pop("game")].Rules, content.pop("rules")
        several = SeveralRules(make(**each) for each in rules) if isinstance(rules, list) else make(**rules)
        return several, Encoding(**content)
    except (AttributeError, KeyError, OSError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path.name} beside it does not hold the options of its environment ({type(error).__name__}: {error}): "
            "write it again, or delete it and name the options"
        ) from error

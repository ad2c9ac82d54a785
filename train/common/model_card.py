"""Write cards of trained networks for the Hugging Face Hub.

They are Markdown with metadata. The training scripts write one as ``README.md`` beside their results. Every figure is
read from these; a card adds none. Nothing is uploaded. The format: https://huggingface.co/docs/hub/model-cards.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quincunx_env.utils.errors import requires_extra

with requires_extra("train"):
    from huggingface_hub import EvalResult, ModelCard, ModelCardData

from quincunx_env.utils.files import write_atomically
from quincunx_env.utils.markdown import markdown_table

Facts = Mapping[str, Any]
"""Results of a training run, as the scripts in ``train`` write them as JSON."""

VARIANTS = {
    "solitaire": "solitaire",
    "2-corners": "2 players, corners",
    "3-corners": "3 players, corners",
    "4-corners": "4 players, corners",
    "2-open": "2 players, open start",
    "3-open": "3 players, open start",
    "4-open": "4 players, open start",
    "mini": "mini variant, solitaire",
    "mini-2": "mini variant, 2 players",
    "spiral": "spiral game, one deal",
    "spiral-end": "spiral game scored at the end, one deal",
}
"""Variants of the games by their names in the files of training runs."""


def percent(share: float, digits: int = 1) -> str:
    """Return a share as a percentage."""
    return f"{100 * share:.{digits}f} %"


# --- The card of a network -------------------------------------------------------------------------------------------


def model_card(facts: Facts, name: str, picture: str | None = None) -> ModelCard:
    """Return a network's card: ``content`` is the file, ``text`` without metadata.

    Args:
        facts: what the training script wrote.
        name: of the network, which lies beside the card as ``<name>.safetensors``.
        picture: of the learning curve, relative to the card.

    Raises:
        KeyError: if an entry is missing.
    """
    benchmark: Mapping[str, Mapping[str, Any]] = facts["benchmark"]
    arguments = facts["arguments"]
    if "teacher" in arguments:
        kind, methods = "value", ["expert-iteration", "distillation"]
    elif "td_lambda" in arguments:
        kind, methods = "value", ["td-lambda"]
    else:
        kind, methods = "policy", ["ppo", "action-masking"]
    metadata = ModelCardData(
        library_name="quincunx_env",
        pipeline_tag="reinforcement-learning",
        tags=["reinforcement-learning", "quincunx", "card-game", "quincunx_env", *methods],
        model_name=name,
        eval_results=[result for each in benchmark.items() for result in _eval_results(*each)],
    )
    variants = "; ".join(VARIANTS.get(variant, variant) for variant in benchmark)
    text = CARD.format(
        metadata=metadata.to_yaml(),
        name=name,
        about=f"A {kind} network for the environments of the Python package `quincunx_env`: {variants}.",
        picture=f"![learning curve]({picture})\n\n" if picture else "",
        results=results_table(facts, name),
        command=facts["command"],
        training=_training(facts),
        seed=arguments["seed"],
    )
    return ModelCard(text)


CARD = """\
---
{metadata}
---

# {name}

{about}

{picture}## Use

```python
from quincunx_agents import load

agent = load("{name}.safetensors")  # needs the extra quincunx_env[arena], not PyTorch
```

`agent` is an agent for `quincunx_env.arena` and for `opponents=` of the environments.

## Results

Numbered deals of the domain `benchmark`, from 0 on. Lost rounds of the solitaire count as 0. With several players each
deal is played from every seat against the opponent in all others: a shared win counts as its share, even is the win
rate among equals, the margin is the difference to the mean of the others. Intervals are Student's, over deals.

{results}

## Training

From a checkout of the package's sources:

    {command}

{training}

## Data

Games that the training dealt from the domain `play` with the seed {seed}; no games of people and no data of others.
Evaluations during training use `validation` deals. The results above are from `benchmark` deals, which training does
not use.
"""


def _eval_results(variant: str, result: Mapping[str, Any]) -> list[EvalResult]:
    alone = "mean" in result
    environment = "Quincunx/Solitaire-v0" if alone else "Quincunx/VsOpponents-v0"
    sample = f"{result['deals']:,} benchmark deals"

    def metric(type: str, name: str, key: str, digits: int) -> EvalResult:
        interval = f"{result[f'{key}_low']:.{digits}f} to {result[f'{key}_high']:.{digits}f}"
        return EvalResult(
            task_type="reinforcement-learning",
            task_name="reinforcement learning",
            dataset_type=environment,
            dataset_name=f"{environment}, {VARIANTS.get(variant, variant)}",
            metric_type=type,
            metric_name=f"{name}, 95 % interval {interval}, {sample}",
            metric_value=result[key],
        )

    if alone:
        return [metric("mean_reward", "mean score", "mean", 1)]
    return [metric("win_rate", "win rate", "win_rate", 3), metric("mean_reward", "margin in points", "margin", 1)]


def results_table(facts: Facts, name: str) -> str:
    """Return a network's results as a table, with baselines of the solitaire."""
    benchmark: Mapping[str, Mapping[str, Any]] = facts["benchmark"]
    if any("win_rate" in result for result in benchmark.values()):
        opponent = f"`{facts['arguments']['against']}`"
        cells = [
            (VARIANTS.get(variant, variant), opponent, f"{each['deals']:,}", *multiplayer_columns(each))
            for variant, each in benchmark.items()
        ]
        return markdown_table(("variant", "opponent", "deals", *MULTIPLAYER), cells)
    rows = [*facts.get("baselines", {}).items()]
    rows += [
        (name if len(benchmark) == 1 else VARIANTS.get(variant, variant), result)
        for variant, result in benchmark.items()
    ]
    alone = [(each, f"{result['deals']:,}", *solitaire_columns(result)) for each, result in rows]
    return markdown_table(("agent", "deals", *SOLITAIRE), alone)


SOLITAIRE = ("mean score", "95 % interval", "lost", "150 and more")
"""Headings of a result of the solitaire."""

MULTIPLAYER = ("win rate", "95 % interval", "even", "margin", "95 % interval")
"""Headings of a result of several players."""


def solitaire_columns(result: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a solitaire result as text, in the columns of `SOLITAIRE`."""
    return (
        f"{result['mean']:.1f}",
        f"{result['mean_low']:.1f} to {result['mean_high']:.1f}",
        percent(result["lost"], 2),
        percent(result["at_least_150"]),
    )


def multiplayer_columns(result: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a multiplayer result as text, in the columns of `MULTIPLAYER`."""
    return (
        percent(result["win_rate"]),
        f"{100 * result['win_rate_low']:.1f} to {percent(result['win_rate_high'])}",
        percent(result["even"]),
        f"{result['margin']:+.1f}",
        f"{result['margin_low']:+.1f} to {result['margin_high']:+.1f}",
    )


def _training(facts: Facts) -> str:
    rows = [("environment steps", f"{facts['steps']:,}")]
    if "teacher" in facts["arguments"]:
        rows.append(("initial weights, and values", f"from `{facts['arguments']['teacher']}`"))
        rows.append(("positions searched", f"{facts['positions']:,}"))
    if "seconds" in facts:
        rows.append(("processor time", f"{sum(facts['seconds'].values()) / 60:.0f} min"))
    versions = ", ".join(f"{library} {version}" for library, version in facts["versions"].items())
    return markdown_table(("", ""), [*rows, ("machine", facts["machine"]), ("versions", versions)])


# --- Files of a run --------------------------------------------------------------------------------------------------


def write_model_card(folder: Path, name: str, facts: Facts) -> None:
    """Write the card of a finished run as ``README.md``. It has the run's ``learning_curve.png`` if there is one."""
    picture = "learning_curve.png"
    card = model_card(facts, name, picture if (folder / picture).exists() else None)
    write_atomically(folder / "README.md", lambda path: path.write_text(card.content, encoding="utf-8", newline="\n"))

"""Write cards of trained networks for the Hugging Face Hub: Markdown with metadata.

The training scripts write one as ``README.md`` beside their results. Every figure is read from these; a card adds none.
Nothing is uploaded. The format is that of https://huggingface.co/docs/hub/model-cards.
"""

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

from quincunx_env.utils.errors import requires_extra

with requires_extra("train"):
    from huggingface_hub import EvalResult, ModelCard, ModelCardData

from quincunx_env.utils.files import write_atomically
from quincunx_env.utils.markdown import markdown_table

Facts = Mapping[str, Any]
"""Results of a training run: what the scripts in ``train`` write as JSON."""

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
    """A share as a percentage."""
    return f"{100 * share:.{digits}f} %"


# --- The card of a network -------------------------------------------------------------------------------------------


def model_card(
    facts: Facts, name: str, *, picture: str | None = None, load: str | None = None, license: str | None = None
) -> ModelCard:
    """Return the card of a trained network; its ``content`` is the file, its ``text`` leaves out the metadata.

    Args:
        facts: what the training script wrote. ``benchmark`` is required: the results of each variant.
        name: of the network.
        picture: address of a picture, relative to the card.
        load: argument of ``quincunx_agents.load``, by default the file ``<name>.safetensors``.
        license: of the weights, by the Hub's name, such as ``mit``.

    Raises:
        KeyError: if an entry is missing.
    """
    benchmark: Mapping[str, Mapping[str, Any]] = facts["benchmark"]
    arguments = facts.get("arguments", {})
    teacher = arguments.get("teacher")
    value_network = "td_lambda" in arguments or teacher is not None
    values_by = ("expert-iteration", "distillation") if teacher else ("td-lambda",)
    metadata = ModelCardData(
        license=license,
        library_name="quincunx_env",
        pipeline_tag="reinforcement-learning",
        tags=[
            *("reinforcement-learning", "quincunx", "card-game", "quincunx_env"),
            *(("self-play", *values_by) if value_network else ("ppo", "action-masking") if arguments else ()),
        ],
        model_name=name,
        eval_results=[result for each in benchmark.items() for result in _eval_results(*each)],
    )
    kind = "value network" if value_network else "policy network"
    variants = "; ".join(VARIANTS.get(variant, variant) for variant in benchmark)
    learned = " + a preference learned from a search" if arguments.get("search_share") else ""
    averaged = "" if arguments.get("policy") == "mlp" else ", by logits averaged over the symmetries of the grid"
    how = (
        "It estimates the points still to come from an afterstate; the agent takes the action with the highest "
        f"immediate points + V(afterstate){learned}."
        if value_network
        else f"The agent takes the most probable legal action{averaged}, without lookahead."
    )
    parts = [
        f"# {name}\n",
        _paragraph(f"A {kind} for the environments of the Python package `quincunx_env`: {variants}. {how}"),
        *([f"![{_alternative(picture)}]({picture})\n"] if picture else []),
        f"## Use\n\n{USE.format(load=load or f'{name}.safetensors')}",
        f"## Results\n\n{_results(facts)}",
        f"## Training\n\n{_training(facts)}",
        f"## Data\n\n{_data(facts)}",
        f"## Limits\n\n{_limits(facts)}",
    ]
    return ModelCard(f"---\n{metadata.to_yaml()}\n---\n\n" + "\n".join(parts))


USE = """\
```python
from quincunx_agents import load

agent = load("{load}")  # needs the extra quincunx_env[arena], not PyTorch
```

`agent` is an agent for `quincunx_env.arena` and for `opponents=` of the environments.
"""


def _paragraph(text: str, indent: str = "") -> str:
    return fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) + "\n"


def _alternative(picture: str) -> str:
    return "learning curve" if "curve" in picture else "a rendered game"


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


def _results(facts: Facts) -> str:
    benchmark: Mapping[str, Mapping[str, Any]] = facts["benchmark"]
    arguments = facts.get("arguments", {})
    opponent = arguments.get("against")
    rows, alone = [], all("mean" in result for result in benchmark.values())
    for variant, result in benchmark.items():
        name, deals = VARIANTS.get(variant, variant), f"{result['deals']:,}"
        if alone:
            rows.append((name, deals, *solitaire_columns(result)))
        else:
            rows.append((name, f"`{opponent}`", deals, *multiplayer_columns(result)))
    rows += [(f"agent `{name}`", f"{r['deals']:,}", *solitaire_columns(r)) for name, r in baselines(facts).items()]
    header = ("variant", "deals", *SOLITAIRE) if alone else ("variant", "opponent", "deals", *MULTIPLAYER)
    note = NOTE_ALONE.format(arguments.get("lost_value", 0)) if alone else NOTE_SEVERAL
    first = " or ".join(f"{number:,}" for number in sorted({result.get("first", 0) for result in benchmark.values()}))
    text = _paragraph(f"Numbered deals of the domain `benchmark`, from {first} on. {note}")
    text += "\n"
    text += markdown_table(header, rows) + "\n"
    commands = [f"    {result['command']}\n" for result in benchmark.values() if "command" in result]
    return text + ("\nMeasured by\n\n" + "".join(commands) if commands else "")


SOLITAIRE = ("mean score", "95 % interval", "lost", "150 and more")
"""Headings of `solitaire_columns`."""

MULTIPLAYER = ("win rate", "95 % interval", "even", "margin", "95 % interval")
"""Headings of `multiplayer_columns`."""

NOTE_ALONE = "Lost rounds count as {:g}; the interval is Student's t interval, with the deal as the unit."
NOTE_SEVERAL = (
    "Each deal is played from every seat against the opponent in all others. A shared win counts as its share, even is "
    "the win rate among equals, the margin is the difference to the mean of the others; intervals treat the deal as "
    "the unit."
)


def solitaire_columns(result: Mapping[str, Any]) -> tuple[str, ...]:
    """Mean score with its interval, shares of lost rounds and of the highest class, as text."""
    return (
        f"{result['mean']:.1f}",
        f"{result['mean_low']:.1f} to {result['mean_high']:.1f}",
        percent(result["lost"], 2),
        percent(result["at_least_150"]),
    )


def multiplayer_columns(result: Mapping[str, Any]) -> tuple[str, ...]:
    """Win rate and margin with their intervals, and the win rate among equals, as text."""
    return (
        percent(result["win_rate"]),
        f"{100 * result['win_rate_low']:.1f} to {percent(result['win_rate_high'])}",
        percent(result["even"]),
        f"{result['margin']:+.1f}",
        f"{result['margin_low']:+.1f} to {result['margin_high']:+.1f}",
    )


def baselines(facts: Facts) -> Mapping[str, Mapping[str, Any]]:
    """Results of other agents on the same deals."""
    found: Mapping[str, Mapping[str, Any]] = facts.get("baselines", {})
    return found


def _training(facts: Facts) -> str:
    text = f"From a checkout of the package's sources:\n\n    {facts['command']}\n\n"
    seconds, teacher = facts.get("seconds"), facts.get("arguments", {}).get("teacher")
    rows = [
        *([("initial weights, and values", f"those of `{teacher}`")] if teacher else []),
        ("environment steps", f"{facts['steps']:,}"),
        *([("positions searched", f"{facts['positions']:,}")] if "positions" in facts else []),
        *([("processor time", f"{sum(seconds.values()) / 60:.0f} min")] if seconds else []),
        ("machine", facts["machine"]),
        ("versions", ", ".join(f"{library} {version}" for library, version in facts["versions"].items())),
    ]
    text += markdown_table(("", ""), rows) + "\n"
    history = facts.get("validation")
    if not history:
        return text
    names = [*history[-1]["variants"]]
    table = [(f"{entry['steps']:,}", *(_estimate(entry["variants"][name]) for name in names)) for entry in history]
    deals = history[-1]["variants"][names[0]]["deals"]
    measured = "mean score" if "mean" in history[-1]["variants"][names[0]] else "win rate"
    text += f"\nDuring training, on {deals:,} deals of the domain `validation`, {measured} with 95 % interval:\n\n"
    return text + markdown_table(("environment steps", *(VARIANTS.get(name, name) for name in names)), table) + "\n"


def _estimate(figures: Mapping[str, Any]) -> str:
    if "mean" in figures:
        return f"{figures['mean']:.1f} ({figures['mean_low']:.1f} to {figures['mean_high']:.1f})"
    low, high = (f"{100 * figures[f'win_rate_{end}']:.1f}" for end in ("low", "high"))
    return f"{percent(figures['win_rate'])} ({low} to {high})"


def _data(facts: Facts) -> str:
    arguments = facts.get("arguments", {})
    seed = f" with the seed {arguments['seed']}" if "seed" in arguments else ""
    return _paragraph(
        f"Games that the training dealt from the domain `play`{seed}; no games of people and no data of others. "
        "Evaluations during training use `validation` deals. The results above are from `benchmark` deals, which "
        "training does not use."
    )


def _limits(facts: Facts) -> str:
    arguments = facts.get("arguments", {})
    names = ", ".join(VARIANTS.get(variant, variant) for variant in facts["benchmark"])
    several = any("win_rate" in result for result in facts["benchmark"].values())
    if share := arguments.get("options_share"):
        names += f", and in {percent(share, 0)} of the games with options of the rules"
    limits = [
        f"It is trained on: {names}. Rules with other observations are refused with `ValueError`; the figures above "
        "do not hold for rules that differ otherwise.",
        "One training run: the intervals are over deals and say nothing about other seeds of the training.",
    ]
    if several:
        limits.append(f"Win rates are against one opponent, `{arguments.get('against')}`, and do not order agents.")
    return "".join(_paragraph(f"- {limit}", "  ") for limit in limits)


# --- Files of a run --------------------------------------------------------------------------------------------------


def facts_of_evaluation(evaluation: Mapping[str, Mapping[str, Any]], variant: str = "solitaire") -> dict[str, Any]:
    """Results of a solitaire run from its ``evaluation.json``: `quincunx_env.arena.Evaluation.to_json` by agent."""

    def figures(result: Mapping[str, Any]) -> dict[str, Any]:
        low, high = result["ci95"]
        *_, highest = result["classes"].values()
        own = {"mean": result["mean"], "mean_low": low, "mean_high": high, "lost": result["lost"]}
        return own | {"at_least_150": highest, "deals": result["deals"]}

    others = {name: figures(result) for name, result in evaluation.items() if name != "trained"}
    return {"benchmark": {variant: figures(evaluation["trained"])}, "baselines": others}


def write_model_card(folder: Path, name: str, facts: Facts) -> None:
    """Write the card of a finished run as ``README.md``, with its ``learning_curve.png`` if there is one."""
    picture = "learning_curve.png"
    card = model_card(facts, name, picture=picture if (folder / picture).exists() else None)
    write_atomically(folder / "README.md", lambda path: path.write_text(card.content, encoding="utf-8", newline="\n"))

"""Cards of trained networks for the Hugging Face Hub: Markdown with metadata, written from the files of a training run.

    quincunx card runs/mine --out runs/mine/README.md        # of a run of train.ppo, train.selfplay or train.rllib
    quincunx card mine.safetensors                           # of weights with their results in mine.json beside them

Every figure is read from these files; a card adds none. The format of the metadata, ``model-index`` included, is that
of https://huggingface.co/docs/hub/model-cards. Nothing is uploaded.
"""

import argparse
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from quincunx_env.utils.errors import fail, one_line_errors
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


class CardError(RuntimeError):
    """Files of which no card can be written; the message names them and the way out."""


# --- Markdown --------------------------------------------------------------------------------------------------------


def front_matter(data: Mapping[str, Any]) -> str:
    """Metadata of the Hub at the top of a Markdown file: YAML between two lines ``---``, and an empty line.

    Args:
        data: mappings, sequences, and scalars that JSON can hold; JSON's scalars are YAML's.
    """
    return "\n".join(["---", *_yaml(data), "---", "", ""])


def _yaml(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for key, entry in value.items():
            lines = [*_yaml(entry)]
            if isinstance(entry, Mapping | list) and entry:
                yield f"{key}:"
                yield from (f"  {line}" for line in lines)
            else:
                yield f"{key}: {lines[0]}"
    elif isinstance(value, list) and value:
        for entry in value:
            first, *rest = _yaml(entry)
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)
    else:
        yield json.dumps(value, ensure_ascii=False)


def percent(share: float, digits: int = 1) -> str:
    """A share as a percentage."""
    return f"{100 * share:.{digits}f} %"


# --- The card of a network -------------------------------------------------------------------------------------------


def model_card(
    facts: Facts, name: str, *, picture: str | None = None, load: str | None = None, license: str | None = None
) -> str:
    """The card of a trained network.

    Args:
        facts: what the training script wrote. ``benchmark`` is required: the results of each variant.
        name: of the network.
        picture: address of a picture, relative to the card.
        load: argument of ``quincunx_agents.load``, by default the file ``<name>.safetensors``.
        license: of the weights, by the Hub's name, such as ``mit``.

    Raises:
        KeyError: if an entry is missing, as TypeError and ValueError for one of another form.
    """
    benchmark: Mapping[str, Mapping[str, Any]] = facts["benchmark"]
    arguments = facts.get("arguments", {})
    teacher = arguments.get("teacher")
    value_network = "td_lambda" in arguments or teacher is not None
    values_by = ("expert-iteration", "distillation") if teacher else ("td-lambda",)
    metadata: dict[str, Any] = {
        **({"license": license} if license else {}),
        "library_name": "quincunx_env",
        "pipeline_tag": "reinforcement-learning",
        "tags": [
            *("reinforcement-learning", "quincunx", "card-game", "quincunx_env"),
            *(("self-play", *values_by) if value_network else ("ppo", "action-masking") if arguments else ()),
        ],
        "model-index": [{"name": name, "results": [_result(*each) for each in benchmark.items()]}],
    }
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
    return front_matter(metadata) + "\n".join(parts)


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


def _result(variant: str, result: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of ``model-index``."""
    alone = "mean" in result
    environment = "Quincunx/Solitaire-v0" if alone else "Quincunx/VsOpponents-v0"
    sample = f"{result['deals']:,} benchmark deals"

    def metric(type: str, name: str, key: str, digits: int) -> dict[str, Any]:
        interval = f"{result[f'{key}_low']:.{digits}f} to {result[f'{key}_high']:.{digits}f}"
        return {"type": type, "name": f"{name}, 95 % interval {interval}, {sample}", "value": result[key]}

    metrics = (
        [metric("mean_reward", "mean score", "mean", 1)]
        if alone
        else [metric("win_rate", "win rate", "win_rate", 3), metric("mean_reward", "margin in points", "margin", 1)]
    )
    name = VARIANTS.get(variant, variant)
    return {
        "task": {"type": "reinforcement-learning", "name": "reinforcement learning"},
        "dataset": {"type": environment, "name": f"{environment}, {name}"},
        "metrics": metrics,
    }


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
    if "command" not in facts:
        return "The files of this run hold no record of its training.\n"
    commands = [*facts.get("members", []), facts["command"]]
    text = "From a checkout of the package's sources:\n\n" + "".join(f"    {each}\n" for each in commands) + "\n"
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
    members = len(facts.get("members", []))
    runs = f"The mean of {members} networks, one training run each" if members else "One training run"
    limits = [
        f"It is trained on: {names}. Rules with other observations are refused with `ValueError`; the figures above "
        "do not hold for rules that differ otherwise.",
        f"{runs}: the intervals are over deals and say nothing about other seeds of the training.",
    ]
    if several:
        limits.append(f"Win rates are against one opponent, `{arguments.get('against')}`, and do not order agents.")
    return "".join(_paragraph(f"- {limit}", "  ") for limit in limits)


SHIPPED = ("quincunx_agents", "networks", "weights")
"""Folder of the networks of the package, which `quincunx_agents.load` finds by their names."""


# --- Files of a run --------------------------------------------------------------------------------------------------


def read_facts(path: Path | str) -> tuple[str, Facts, Path]:
    """Read the results of a training run.

    Args:
        path: the folder of a run, a weights file with ``<name>.json`` beside it, or that file.

    Returns:
        The name of the network, its results, and the folder they are in.

    Raises:
        CardError: if there are none, or if they are damaged.
    """
    path = Path(path)
    if path.is_dir():
        return _read_folder(path)
    file = path.with_suffix(".json")
    if not file.exists():
        raise CardError(f"there is no {file}: a card is written from the results that a finished training run writes")
    facts = _read(file)
    if "benchmark" not in facts:
        raise CardError(f"{file} has no entry 'benchmark': a card is written from the results of a training run")
    return file.stem, facts, file.parent


def _read_folder(folder: Path) -> tuple[str, Facts, Path]:
    found = {file.stem: _read(file) for file in sorted(folder.glob("*.json"))}
    runs = {name: facts for name, facts in found.items() if "benchmark" in facts}
    if len(runs) == 1:
        [(name, facts)] = runs.items()
        return name, facts, folder
    if runs:
        raise CardError(f"{folder} holds several networks, {', '.join(runs)}: name the file of one")
    evaluation = found.get("evaluation", {})
    if "trained" not in evaluation:
        raise CardError(f"{folder} holds no results of a solitaire or a value network: has the training run finished?")
    weights = [file.stem for file in folder.glob("*.safetensors")]
    facts = facts_of_evaluation(evaluation)
    return weights[0] if len(weights) == 1 else folder.resolve().name, facts, folder


def _read(file: Path) -> dict[str, Any]:
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
    except (RecursionError, ValueError) as error:
        raise CardError(f"{file} is damaged or no JSON: {error}") from error
    return facts if isinstance(facts, dict) else {}


def facts_of_evaluation(evaluation: Mapping[str, Mapping[str, Any]], variant: str = "solitaire") -> dict[str, Any]:
    """Results of a solitaire run from its ``evaluation.json``: `quincunx_env.arena.Evaluation.to_json` by agent."""

    def figures(result: Mapping[str, Any]) -> dict[str, Any]:
        low, high = result["ci95"]
        *_, highest = result["classes"].values()
        own = {"mean": result["mean"], "mean_low": low, "mean_high": high, "lost": result["lost"]}
        return own | {"at_least_150": highest, "deals": result["deals"]}

    others = {name: figures(result) for name, result in evaluation.items() if name != "trained"}
    return {"benchmark": {variant: figures(evaluation["trained"])}, "baselines": others}


def card_of(path: Path, *, out: Path | None = None, picture: Path | None = None, license: str | None = None) -> str:
    """The card of a training run.

    Args:
        path: as `read_facts` takes it.
        out: file that the card is for, from which its picture is linked; by default one beside the results.
        picture: file of a picture; by default the ``learning_curve.png`` beside the results, if there is one.
        license: as `model_card` takes it.

    Raises:
        CardError: if there are no results, or if they are damaged.
    """
    try:
        name, facts, folder = read_facts(path)
        picture = picture or folder / "learning_curve.png"
        address = None
        if picture.exists():
            address = Path(os.path.relpath(picture.resolve(), (out.parent if out else folder).resolve())).as_posix()
        shipped = folder.resolve().parts[-len(SHIPPED) :] == SHIPPED
        return model_card(facts, name, picture=address, load=name if shipped else None, license=license)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CardError(f"{path} holds no complete results of a training run: {error!r}") from error


# --- Program ---------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None, program: str = "python -m quincunx_env.hub") -> None:
    """Run the command line, or ``arguments`` in place of it; ``program`` precedes them in what is printed."""
    parser = argparse.ArgumentParser(
        prog=program,
        description="Write the model card of a trained network for the Hugging Face Hub. Nothing is uploaded.",
    )
    parser.add_argument("path", type=Path, help="folder of a training run, or a weights file of one")
    parser.add_argument("--out", type=Path, help="file to write, README.md on the Hub; by default the card is printed")
    parser.add_argument("--picture", type=Path, help="picture to show; by default learning_curve.png of the run")
    parser.add_argument("--license", help="licence of the weights by the Hub's name, such as mit")
    options = parser.parse_args(arguments)
    if not options.path.exists():
        fail(f"there is no {options.path}")
    if options.picture is not None and not options.picture.exists():
        fail(f"there is no picture {options.picture}")
    with one_line_errors(CardError):
        card = card_of(options.path, out=options.out, picture=options.picture, license=options.license)
        if options.out is None:
            print(card, end="")
        else:
            write_atomically(options.out, lambda path: path.write_text(card, encoding="utf-8", newline="\n"))
            print(f"Written to {options.out}")


if __name__ == "__main__":
    main()

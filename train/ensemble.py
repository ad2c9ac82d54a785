"""Merge value networks into one that computes the mean of their outputs: an ensemble in the file of one network.

    python -m train.ensemble runs/one/one.safetensors runs/two/two.safetensors --name merged

Errors of networks that were trained apart from each other partly cancel out (Hansen & Salamon, Neural Network
Ensembles, IEEE Transactions on Pattern Analysis and Machine Intelligence 12, 1990). The layers of the merged network
are those of its members side by side, with weights of 0 from one member to another: it plays and is exported as any
other one.

The members are networks that `train.selfplay` has written with their model cards beside them. They must read the same
features and have learned the same variants. The script writes ``<name>.safetensors`` and the model card
``<name>.json`` to ``runs/<name>``.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from quincunx_env.utils.errors import requires_extra

with requires_extra("train"):
    import torch
from torch import Tensor

from quincunx_agents.afterstates import FeatureLayout, Floats
from quincunx_agents.networks.value import (
    VARIANTS,
    ValueAgent,
    ValueWeights,
    feature_module_of,
    layout_of,
    load_weights,
    save_weights,
)
from quincunx_agents.networks.weights_io import WeightsError
from train.common import checkpoint
from train.common.evaluation import provenance, require_opponent, strengths, write_json
from train.common.options import (
    CheckedOptions,
    Count,
    CountOrNone,
    NumDeals,
    OptionError,
    PolicyName,
    RunName,
    Valid,
    run_script,
)


@dataclass
class Arguments(CheckedOptions):
    """Every option of the script."""

    members: tyro.conf.Positional[Annotated[tuple[Path, ...], Valid("two or more files", lambda paths: len(paths) > 1)]]
    """weights files of the networks to merge"""
    name: RunName
    """the folder below ``runs``, and the name of the weights; an earlier run of that name is renamed"""
    candidates: CountOrNone = None
    """actions of a position that the merged network evaluates, the best by the heuristic; 0: all. As many as the member
    with the most if None"""
    against: PolicyName = "heuristic-v0"
    """opponent in the evaluation, a name of the arena"""
    test_deals: NumDeals = 500
    """benchmark deals of the card, for each variant"""
    threads: Count = 1
    """of PyTorch"""
    progress: bool = True
    """show a progress bar"""


@checkpoint.unlocks_runs()
def main(arguments: Arguments) -> dict[str, Any]:
    """Merge networks, evaluate the result, and write it to ``runs/<name>``; returns the model card."""
    torch.set_num_threads(arguments.threads)
    members = [load_weights(path) for path in arguments.members]
    cards = [json.loads(path.with_suffix(".json").read_text(encoding="utf-8")) for path in arguments.members]
    merged = merge(members)
    if arguments.candidates is not None:
        merged = merged._replace(candidates=arguments.candidates)
    require_opponent(arguments.against, merged.variants)
    agent, deals, progress = ValueAgent(merged), arguments.test_deals, arguments.progress
    found = strengths(agent, arguments.against, merged.variants, deals, "benchmark", progress)
    card = provenance("train.ensemble", arguments) | summary(cards) | {"benchmark": found}
    card["arguments"]["against"] = arguments.against
    folder = Path("runs") / arguments.name
    checkpoint.begin_run(folder)
    folder.mkdir(parents=True, exist_ok=True)
    save_weights(folder / f"{arguments.name}.safetensors", merged)
    write_json(folder / f"{arguments.name}.json", card)
    print(f"Written to {folder}: {arguments.name}.safetensors, {arguments.name}.json")
    return card


def summary(cards: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the model card says of the training: commands, what the arguments have in common, and the whole effort.

    Raises:
        OptionError: if a member's card is not one of `train.selfplay`.
    """
    for needed in ("command", "arguments", "steps", "seconds", "steps_per_second"):
        if any(needed not in card for card in cards):
            raise OptionError(f"the model card of a member has no entry {needed!r}: it is not of train.selfplay")
    first, *others = (card["arguments"] for card in cards)
    phases = dict.fromkeys(phase for card in cards for phase in card["seconds"])
    seconds = {phase: sum(card["seconds"].get(phase, 0) for card in cards) for phase in phases}
    steps = sum(card["steps"] for card in cards)
    return {
        "members": [card["command"] for card in cards],
        "arguments": {
            name: value for name, value in first.items() if all(name in each and each[name] == value for each in others)
        },
        "steps": steps,
        "seconds": seconds,
        "steps_per_second": round(steps / sum(card["steps"] / card["steps_per_second"] for card in cards)),
    }


def merge(members: Sequence[ValueWeights]) -> ValueWeights:
    """The network that computes the mean of the outputs of several, up to rounding.

    It evaluates as many candidates as the member with the most.

    Raises:
        OptionError: if their features or variants differ.
    """
    module = feature_module_of(VARIANTS[members[0].variants[0]])
    variants, candidates = members[0].variants, [each.candidates for each in members]
    if any(each.variants != variants for each in members):
        raise OptionError("the networks must have learned the same variants")
    layouts = {layout_of(module, each.tensors) for each in members}
    if len(layouts) > 1:
        raise OptionError("the networks must read the same features: --card-set and --replies of their runs differ")
    tensors = merged_tensors([each.tensors for each in members], layouts.pop())
    try:
        layout_of(module, tensors)
    except ValueError:
        raise OptionError("the networks must have an even --width") from None
    return ValueWeights(tensors, variants, 0 if 0 in candidates else max(candidates))


def merged_tensors(members: Sequence[Mapping[str, Floats]], layout: FeatureLayout) -> dict[str, Floats]:
    """The tensors of networks side by side; names and shapes as in `quincunx_agents.networks.value`."""
    merged = dict[str, Tensor]()
    for name in members[0]:
        parts = [torch.from_numpy(each[name]) for each in members]
        layer, _, kind = name.rpartition(".")
        if layer == "trunk.4":  # the outputs
            merged[name] = torch.cat(parts, dim=1).div(len(parts)) if kind == "weight" else torch.stack(parts).mean(0)
        elif kind == "bias" or (layer.startswith("set_encoders") and layer.endswith(".0")):
            merged[name] = torch.cat(parts)  # first layers read the same elements
        elif layer == "trunk.0":  # which reads the members' encodings of each set in turn, and the same context
            widths = [(part.shape[1] - layout.context) // len(layout.sets) for part in parts]
            *encodings, context = zip(
                *(
                    part.split([*[width] * len(layout.sets), layout.context], dim=1)
                    for part, width in zip(parts, widths, strict=True)
                ),
                strict=True,
            )
            merged[name] = torch.cat([*(torch.block_diag(*each) for each in encodings), torch.cat(context)], dim=1)
        else:
            merged[name] = torch.block_diag(*parts)
    return {name: tensor.contiguous().numpy() for name, tensor in merged.items()}


if __name__ == "__main__":
    run_script(main, Arguments, "train.ensemble", __doc__, WeightsError, ValueError)

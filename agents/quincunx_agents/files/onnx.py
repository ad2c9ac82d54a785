"""ONNX models, run by ONNX Runtime, which executes no Python code.

A model maps flat observations, and masks if it takes them, to scores of all actions, such as logits or Q-values, or to
actions. Batches are along the first axis of all of them. The names of inputs and outputs do not matter. However, one of
two inputs must be called ``mask`` or ``action_mask``: it is the mask.

| | shape | dtype |
|---|---|---|
| first input | [n, size] | any number: the ``flat`` observation, with or without the preview, padded or not |
| mask | [n, actions] | bool, or any number: 1 for a legal action |
| output | [n, actions] | float: scores; illegal actions are masked here |
| or, if there is none of that shape | [n] | integer: actions |

All weights have to be in the file itself. Operators of control flow and random ones are refused.
"""

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from quincunx_env.utils.extras import needs_extra

with needs_extra("onnx", "an ONNX model"):
    import onnx
    import onnxruntime

from quincunx_agents.afterstates import Bools, Ints
from quincunx_agents.files.encodings import Encoded, Encoding, encodings, other_game
from quincunx_env.core.observation import Pieces
from quincunx_env.core.policy import Policy
from quincunx_env.core.rules import BaseRules

MASKS = ("mask", "action_mask")
"""Names of an input that is the mask."""

DTYPES = {"float": "float32", "double": "float64"}
"""ONNX types of numbers whose names differ from NumPy's, without ``tensor()``."""

EXTERNAL = "session.model_external_initializers_file_folder_path"
"""Setting of ONNX Runtime: the folder of weights in other files, by default the current one. A file has none in it."""

CONTROL_FLOW = {"If", "Loop", "Scan", "SequenceMap"}
"""Operators that run a graph, perhaps for ever."""

RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
"""Operators that draw random numbers, as ``Dropout`` does in training."""

SILENT = 4
"""ONNX Runtime's level of messages on stderr: fatal errors only; others are raised."""


class Model:
    """A loaded model; a `quincunx_env.core.policy.PolicyFactory`."""

    def __init__(self, path: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # the arena uses one process for each core
        options.log_severity_level = SILENT
        options.add_session_config_entry(EXTERNAL, str(path))
        options.add_session_config_entry("session.load_model_format", "ONNX")  # the format whose operators are checked
        content = path.read_bytes()
        _require_plain(content)
        try:
            self.session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            if "external data" in str(error).lower():
                raise ValueError(
                    "its weights are in other files; save it as one file, by torch.onnx.export(..., "
                    "external_data=False) or onnx.save(onnx.load(path), path)"
                ) from error
            raise
        inputs = {found.name: found for found in self.session.get_inputs()}
        masks = [name for name in inputs if name in MASKS]
        if not inputs or len(inputs) > 2 or (len(inputs) == 2 and len(masks) != 1):
            names = ", ".join(inputs) or "none"
            raise ValueError(f"its inputs are {names}: a flat observation is needed, and a mask if it takes one")
        self.mask = inputs.pop(masks[0]) if len(inputs) == 2 else None
        (self.observation,) = inputs.values()

    def for_rules(self, rules: BaseRules) -> Policy:
        """Return the policy for games with observations of the model's size.

        Raises:
            ValueError: if it takes other observations.
        """
        shape = self.observation.shape

        def fits(encoding: Encoding) -> bool:
            return len(shape) == 2 and encoding.form != "pieces" and shape[1] == encoding.size

        for encoding in filter(fits, encodings(rules)):
            return self._policy(encoding)
        raise other_game(rules, fits, f"of the shape {shape}")

    def _policy(self, encoding: Encoding) -> Policy:
        outputs, observer = self.session.get_outputs(), encoding.observer
        sizes = {observer.num_actions, sum(observer.factors or ()), observer.places.num_actions}
        scored = [each.name for each in outputs if "float" in each.type and len(each.shape) == 2]
        scored = [each.name for each in outputs if each.name in scored and _length(each.shape[1]) in {None, *sizes}]
        if scored:
            return encoding.policy(lambda encoded, mask: self._run(scored[0], encoded, mask))
        chosen = [each.name for each in outputs if "int" in each.type and len(each.shape) == 1]
        if not chosen:
            shapes = ", ".join(f"{each.name} {each.type} {each.shape}" for each in outputs)
            raise ValueError(f"its outputs are neither scores [n, {observer.num_actions}] nor actions [n]: {shapes}")

        def choose(observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
            return np.asarray(self._run(chosen[0], encoding.encode(observation, mask), mask), np.int64)

        padded = getattr(observer, "unpad_policy", None)
        return padded(choose) if padded is not None else choose

    def _run(self, output: str, encoded: Encoded, mask: Bools) -> Any:
        """Compute one output for n positions. They are computed one after the other if the model takes only one."""
        inputs = {self.observation.name: np.asarray(encoded).astype(_dtype(self.observation))}
        if self.mask is not None:
            inputs[self.mask.name] = mask.astype(_dtype(self.mask))
        rows = _length(self.observation.shape[0]) or len(mask)
        parts = [
            self.session.run([output], {name: array[at : at + rows] for name, array in inputs.items()})[0]
            for at in range(0, len(mask), rows)
        ]
        return np.concatenate(parts)


def read(path: Path, trust: bool) -> Model:
    """Read a model.

    Args:
        path: of the file.
        trust: makes no difference, because nothing is executed.

    Raises:
        ValueError: if it takes other inputs, or has operators of control flow or random ones.
    """
    return Model(path)


def _require_plain(content: bytes) -> None:
    """Refuse operators of control flow and random ones. Any operator with a graph in it is one of control flow.

    Raises:
        ValueError: naming the operator.
    """
    model = onnx.load_model_from_string(content)
    for node in itertools.chain(model.graph.node, *(function.node for function in model.functions)):
        if node.op_type in CONTROL_FLOW or any(each.HasField("g") or each.graphs for each in node.attribute):
            raise ValueError(f"it has the operator {node.op_type}: export the model without control flow")
        if node.op_type in RANDOM or (node.op_type == "Dropout" and any(node.input[2:])):
            raise ValueError(f"it has the operator {node.op_type}: export the model without random numbers")


def _length(axis: Any) -> int | None:
    """Return the length of an axis, None if it varies."""
    return axis if isinstance(axis, int) else None


def _dtype(value: Any) -> str:
    name: str = value.type.removeprefix("tensor(").removesuffix(")")
    return DTYPES.get(name, name)

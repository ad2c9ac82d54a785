"""Make one step of expert iteration from a shipped network.

    python -m train.expert_iteration --name expert --teacher two-players --variants 2-corners    # two players
    python -m train.expert_iteration --resume --name expert --workers 2                          # after an interruption
    python -m train.expert_iteration --help                                                      # every flag

A run writes to ``runs/<name>``: ``positions/``, the weights ``<name>.safetensors``, ``<name>.json`` and a model card.
``learning_curve.png`` has network and apprentice on ``validation`` deals. The final figures are from ``benchmark``
deals.
"""

from train.common.options import run_script
from train.expert_iteration.training import Arguments, main

if __name__ == "__main__":
    run_script(main, Arguments, "train.expert_iteration", __doc__)

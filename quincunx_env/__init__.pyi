"""The public names of the package. `__init__.py` imports each at its first use."""

from . import quincunx_v0 as quincunx_v0
from . import spiral as spiral
from . import spiral_v0 as spiral_v0
from .core.game import IllegalAction as IllegalAction
from .core.resample import resample as resample
from .envs.batched import BatchedGames as BatchedGames
from .envs.masks import sample_action as sample_action
from .envs.masks import sampling_mask as sampling_mask
from .envs.solitaire import SolitaireEnv as SolitaireEnv
from .envs.solitaire import SolitaireVectorEnv as SolitaireVectorEnv
from .envs.vs_opponents import VsOpponentsEnv as VsOpponentsEnv
from .envs.vs_opponents import VsOpponentsVectorEnv as VsOpponentsVectorEnv
from .notation.record import Record as Record
from .notation.rules_card import rules_card as rules_card
from .notation.text import parse_action as parse_action
from .notation.text import print_action as print_action
from .notation.text import to_text as to_text
from .policies import registered_policies as registered_policies
from .policies import resolve as resolve
from .quincunx import Batch as Batch
from .quincunx import Deal as Deal
from .quincunx import Game as Game
from .quincunx import Observer as Observer
from .quincunx import Rules as Rules
from .quincunx.cards import card_name as card_name
from .quincunx.cards import parse_card as parse_card
from .registry import make_observer as make_observer

__all__: list[str]
__version__: str

"""Policies by name, and from files.

Packages offer policies as entry points of the group ``quincunx_env.policies``. The baseline agents of this distribution
are declared that way. Any other package can add its own in its ``pyproject.toml``::

    [project.entry-points."quincunx_env.policies"]
    my-agent = "my_package.module:attribute"

Any policy that Python can import can also be named as ``"module:attribute"``, and one in a file by its path.
"""

from quincunx_env.codec import Encoding
from quincunx_env.core.policy import definition
from quincunx_env.policies.chat import ChatPolicy, ModelError
from quincunx_env.policies.encoded import EncodedPolicy
from quincunx_env.policies.files import ModelOptions, PolicyFile, PolicyFileError, UntrustedFileError
from quincunx_env.policies.identities import identity
from quincunx_env.policies.names import (
    NAME,
    by_display_name,
    check_name,
    display_name,
    is_name,
    load_path,
    registered_policies,
    resolve,
    split_name,
)

__all__ = [
    "NAME",
    "ChatPolicy",
    "EncodedPolicy",
    "Encoding",
    "ModelError",
    "ModelOptions",
    "PolicyFile",
    "PolicyFileError",
    "UntrustedFileError",
    "by_display_name",
    "check_name",
    "definition",
    "display_name",
    "identity",
    "is_name",
    "load_path",
    "registered_policies",
    "resolve",
    "split_name",
]

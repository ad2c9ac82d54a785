"""The device on which a script computes features and networks."""

from dataclasses import dataclass

from quincunx_env.utils.errors import requires_extra

with requires_extra("train"):
    import array_api_compat.torch
    import torch

from quincunx_agents.afterstates import NUMPY, Backend
from train.common.options import CheckedOptions, CountOrNone, OptionError


@dataclass
class DeviceOptions(CheckedOptions):
    """Device of features and networks, and processes that play games."""

    device: str = "cpu"
    """PyTorch's device for features and networks; the engine runs on the CPU"""
    workers: CountOrNone = None
    """processes that play; 0: this one does. The result is the same. If None 2 with --device cpu, 0 with others"""

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            torch.empty(0, device=self.device)
        except (AssertionError, RuntimeError) as error:
            reason = str(error).splitlines()[0]
            raise ValueError(f"--device must be a device of PyTorch, got {self.device!r}: {reason}") from None
        if self.backend != NUMPY and self.workers:
            raise OptionError(f"--device {self.device} needs --workers 0: its tensors stay in one process")

    @property
    def backend(self) -> Backend:
        """Backend of features and networks while playing. NumPy is faster on the CPU; elsewhere it is PyTorch."""
        device = torch.device(self.device)
        return NUMPY if device.type == "cpu" else Backend(array_api_compat.torch, device)

    @property
    def num_workers(self) -> int:
        """The number of processes that play."""
        if self.workers is not None:
            return self.workers
        return 2 if self.backend == NUMPY else 0

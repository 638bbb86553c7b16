"""Inference: numpy batches in, numpy batches out, from any number of Python threads."""

import copy
import math
import threading
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from damas_env.observation import NUM_FEATURES
from damas_env.position import THREADS
from damas_rl.machine import made_by_intel
from damas_rl.networks.base import PolicyValueNet

Precision = Literal["auto", "float32", "bfloat16"]

_BATCH_STEP = 16
"""Larger batches are filled up to a multiple of this many positions where a CPU computes in bfloat16.

torch prepares and keeps code for each batch size there: without this, batches of 1 to 256 positions were a fifth slower
(each size is met for the first time once) and took 0.7 GB more.
"""


class NetworkError(FloatingPointError):
    """A network gave numbers that are not finite; the message says where they come from."""


def choose_device(device: str) -> torch.device:
    """``"auto"`` (a GPU if there is one), ``"cpu"`` or ``"cuda"`` as a torch device.

    Raises:
        ValueError: unknown name, or no usable GPU.
    """
    usable = torch.cuda.is_available()
    if device == "auto":
        return torch.device("cuda" if usable else "cpu")
    if device not in ("cpu", "cuda"):
        raise ValueError(f"device={device!r}: choose auto, cpu or cuda.")
    if device == "cuda" and not usable:
        raise ValueError("device=cuda: torch finds no usable GPU on this machine; choose device=cpu or device=auto.")
    return torch.device(device)


def choose_dtype(precision: Precision, device: torch.device) -> torch.dtype:
    """``"auto"`` is bfloat16 where the device multiplies it faster than float32, else float32.

    Raises:
        ValueError: unknown name.
    """
    if precision not in ("auto", "float32", "bfloat16"):
        raise ValueError(f"precision={precision!r}: choose auto, float32 or bfloat16.")
    if precision == "auto":
        if device.type == "cuda":
            fast = torch.cuda.is_bf16_supported(including_emulation=False)
        else:
            fast = _has("amx_tile") or (_has("avx512_bf16") and not made_by_intel())
        return torch.bfloat16 if fast else torch.float32
    return torch.float32 if precision == "float32" else torch.bfloat16


def _has(instructions: str) -> bool:
    """True if the processor has these instructions for bfloat16, which is slower than float32 without them.

    With ``avx512_bf16`` alone a core of Intel's multiplies no more numbers in a cycle than in float32 and converts
    them besides: a fifth fewer positions. With AMD's torch is nearly twice as fast (docs/performance.md).
    """
    check = getattr(torch.cpu, f"_is_{instructions}_supported", None)  # torch has no public name for this
    return check is not None and check()


def use_threads(threads: int) -> None:
    """Sets how many threads torch uses for one operation that this thread starts; 0 = one for each core.

    Part of this setting belongs to the calling thread and part (MKL's) to the whole process, so whoever starts work
    sets it anew each time; that takes less than a microsecond.
    """
    torch.set_num_threads(threads or THREADS)


def check_inputs(boards: NDArray[np.uint64], features: NDArray[np.float32]) -> None:
    """ValueError unless these are boards uint64[B, 4] and features float32[B, 6]."""
    count = len(boards)
    if boards.shape != (count, 4) or boards.dtype != np.uint64:
        raise ValueError(f"boards must be uint64[B, 4], not {boards.dtype}{list(boards.shape)}.")
    if features.shape != (count, NUM_FEATURES) or features.dtype != np.float32:
        raise ValueError(
            f"features must be float32[{count}, {NUM_FEATURES}], not {features.dtype}{list(features.shape)}."
        )


class Evaluator:
    """A frozen copy of a network that evaluates numpy batches.

    Several Python threads may call :meth:`evaluate` at once; torch releases the interpreter lock while it computes.
    On a CPU each call uses ``threads`` cores, and what it returns depends on its own arguments alone. On a GPU each
    calling thread has its own stream and pinned memory, so that transfers of one hide behind the work of another.

    Attributes:
        device, dtype: where and in which precision the network runs.
    """

    def __init__(
        self, net: PolicyValueNet, device: str = "auto", precision: Precision = "auto", threads: int = 1
    ) -> None:
        """Copies the weights of ``net``; see :func:`choose_device` and :func:`choose_dtype` for the choices.

        Raises:
            ValueError: unknown choice, or there is no usable GPU.
        """
        self.device = choose_device(device)
        self.dtype = choose_dtype(precision, self.device)
        self._threads = threads
        self._streams = threading.local()
        self.update(net)

    def update(self, net: PolicyValueNet) -> None:
        """Takes over the weights that ``net`` has now; calls that are under way finish with the old ones."""
        frozen = copy.deepcopy(net).eval().requires_grad_(False).to(self.device, self.dtype)
        # The last layers are tiny, and values are compared at a resolution that bfloat16 does not have.
        frozen.value_hidden.to(torch.float32)
        frozen.value.to(torch.float32)
        frozen.value_hidden.load_state_dict(net.value_hidden.state_dict())
        frozen.value.load_state_dict(net.value.state_dict())
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)  # other streams read these weights
        self._net = frozen

    def weights(self) -> dict[str, NDArray[np.generic]]:
        """The weights that the network computes with, by name; for another evaluator, wherever it runs."""
        tensors = self._net.state_dict()
        return {
            name: (array.float() if array.is_floating_point() else array).cpu().numpy()
            for name, array in tensors.items()
        }

    def evaluate(
        self, boards: NDArray[np.uint64], features: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Evaluates positions.

        Args:
            boards: uint64[B, 4], in the view of the side to move.
            features: float32[B, 6].

        Returns:
            policy logits float32[B, N] of all actions, illegal ones too; value float32[B] = P(win) - P(loss) of the
            side to move; expected plies left float32[B].

        Raises:
            ValueError: arrays of another shape or type.
            NetworkError: a result is not finite.
        """
        check_inputs(boards, features)
        net, count = self._net, len(boards)
        inputs = [
            torch.from_numpy(np.require(array, requirements=["C", "W"])) for array in (boards.view(np.int64), features)
        ]
        with torch.inference_mode():
            if self.device.type == "cuda":
                outputs = self._on_gpu(net, inputs)
            else:
                use_threads(self._threads)
                filling = -count % _BATCH_STEP if self.dtype == torch.bfloat16 and count > _BATCH_STEP else 0
                outputs = _outputs(net, *(functional.pad(array, (0, 0, 0, filling)) for array in inputs))
        policy, value, moves_left, checksum = outputs
        if not math.isfinite(checksum):
            raise NetworkError(diagnosis(net, inputs[1]))
        return policy[:count].numpy(), value[:count].numpy(), moves_left[:count].numpy()

    def _on_gpu(self, net: PolicyValueNet, inputs: list[Tensor]) -> tuple[Tensor, ...]:
        """The outputs, in pinned memory of the host."""
        if not hasattr(self._streams, "stream"):
            self._streams.stream = torch.cuda.Stream(self.device)
        with torch.cuda.stream(self._streams.stream):
            on_device = [array.pin_memory().to(self.device, non_blocking=True) for array in inputs]
            results = []
            for output in _outputs(net, *on_device):
                results.append(torch.empty(output.shape, dtype=output.dtype, pin_memory=True))
                results[-1].copy_(output, non_blocking=True)
        self._streams.stream.synchronize()
        return tuple(results)


def _outputs(net: PolicyValueNet, boards: Tensor, features: Tensor) -> tuple[Tensor, ...]:
    """Policy logits, value, plies left, and a number that is finite if and only if all network outputs are."""
    policy, outcome, moves_left = net(boards, features)
    policy, chances = policy.float(), outcome.softmax(dim=1)
    checksum = policy.sum() + chances.sum() + moves_left.sum()
    return policy, chances[:, 0] - chances[:, 2], moves_left, checksum


def diagnosis(net: PolicyValueNet, features: Tensor) -> str:
    """Why an output is not finite."""
    for name, weights in net.named_parameters():
        if not weights.isfinite().all():
            return f"The network's outputs are not finite: its weights {name!r} contain NaN or infinity."
    rows = (~features.isfinite().all(dim=1)).nonzero()
    if len(rows):
        return f"The network's outputs are not finite: the features of position {int(rows[0])} of the batch are not."
    return "The network's outputs are not finite although its weights and inputs are: activations overflow."

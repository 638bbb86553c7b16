"""Fits the weights of the learned evaluation to quiet positions of games."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from damas_rl.search.evaluation import MAN
from damas_rl.search.learned import (
    BLOCK_BITS,
    BLOCKS,
    FEW,
    FINENESS,
    HIDDEN,
    INNER,
    KING,
    MANY,
    PAIRS,
    PATTERNS,
    SCALE,
    WEIGHTS,
)
from damas_rl.tuning.games import Samples

_BITS = WEIGHTS["kings"].shape[1]
_DIGITS = np.arange(PATTERNS)[:, None] // 3 ** np.arange(4) % 3
"""int64[81, 4]: what a pattern says of each square of its block: 0 = no man, 1 = own man, 2 = other man."""

_VALIDATION = 10


@dataclass(frozen=True)
class FitConfig:
    """How weights are fitted.

    Attributes:
        epochs: passes over the positions.
        batch: positions of a step.
        rate: largest learning rate; it rises over the first tenth of the steps and falls to nothing.
        result_share: of the game's result in what is learned; the rest is the search's score.
        seed: of first weights and of the order of positions.
    """

    epochs: int = 5
    batch: int = 4096
    rate: float = 5e-3
    result_share: float = 0.5
    seed: int = 0


@dataclass(frozen=True)
class Loss:
    """Cross entropies on games that were not learned from, after an epoch.

    Attributes:
        epoch: from 1.
        training: on what was learned, mean over the epoch.
        mixed: on the same mixture of result and score.
        result: on results alone.
    """

    epoch: int
    training: float
    mixed: float
    result: float


class _Model(nn.Module):
    """The learned evaluation over ``SCALE``, in the view of the side to move, for gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs = nn.EmbeddingBag(len(PAIRS) * PATTERNS**2, 2, mode="sum")
        self.pieces = nn.Linear(4 * _BITS, HIDDEN)
        self.inner = nn.Linear(HIDDEN, INNER)
        self.output = nn.Linear(INNER, 1)
        nn.init.zeros_(self.pairs.weight)

    def forward(self, inputs: "_Inputs") -> Tensor:
        """float32[B]."""
        few, many = self.pairs(inputs.pairs).unbind(1)
        tables = torch.lerp(few, many, (inputs.counts.clamp(FEW, MANY) - FEW) / (MANY - FEW))
        hidden = self.pieces(inputs.pieces.float()).clamp(0, 1)
        network = self.output(self.inner(hidden).clamp(0, 1))[:, 0]
        return network + tables + inputs.material

    def weights(self) -> np.void:
        """The fitted weights, as alpha-beta takes them."""
        record = np.zeros(1, dtype=WEIGHTS)[0]
        record["learned"] = 1
        tables = self.pairs.weight.detach().numpy().reshape(record["pairs"].shape) * SCALE
        # Men are worth MAN on top of what was learned; the first pairs cover the board once.
        balance = (_DIGITS == 1).sum(axis=1) - (_DIGITS == 2).sum(axis=1)
        tables[: BLOCKS // 2] += MAN * np.add.outer(balance, balance).reshape(-1, 1)
        limits = np.iinfo(np.int16)
        record["pairs"] = np.clip(np.rint(tables * FINENESS), limits.min, limits.max)
        own_men, own_kings, other_men, other_kings = self.pieces.weight.detach().numpy().T.reshape(4, _BITS, HIDDEN)
        owners = _DIGITS[:, :, None]
        for block, squares in enumerate(BLOCK_BITS):
            record["blocks"][block] = ((owners == 1) * own_men[squares] + (owners == 2) * other_men[squares]).sum(
                axis=1
            )
        record["kings"] = own_kings, other_kings
        record["bias"] = self.pieces.bias.detach().numpy()
        record["inner"] = self.inner.weight.detach().numpy().T
        record["inner_bias"] = self.inner.bias.detach().numpy()
        record["output"] = self.output.weight.detach().numpy()[0]
        record["output_bias"] = self.output.bias.detach().numpy()[0]
        return record


@dataclass(frozen=True)
class _Inputs:
    """What the model sees of N positions.

    Attributes:
        pairs: int32[N, pairs], entries of the tables.
        pieces: uint8[N, 4 * bits], the boards bit by bit.
        counts: float32[N], pieces on the board.
        material: float32[N], what they are worth, over ``SCALE``.
    """

    pairs: Tensor
    pieces: Tensor
    counts: Tensor
    material: Tensor

    def take(self, rows: Tensor) -> "_Inputs":
        return _Inputs(self.pairs[rows], self.pieces[rows], self.counts[rows], self.material[rows])


def _inputs(boards: NDArray[np.uint64]) -> _Inputs:
    bits = (boards[:, :, None] >> np.arange(_BITS, dtype=np.uint64) & np.uint64(1)).astype(np.uint8)
    men = bits[:, 0].astype(np.int32) + 2 * bits[:, 2]
    patterns = men[:, np.array(BLOCK_BITS)] @ 3 ** np.arange(4, dtype=np.int32)
    one, other = (patterns[:, [pair[side] for pair in PAIRS]] for side in (0, 1))
    first = np.arange(len(PAIRS), dtype=np.int32) * PATTERNS**2
    counts = np.bitwise_count(boards).astype(np.float32)
    material = MAN * (counts[:, 0] - counts[:, 2]) + KING * (counts[:, 1] - counts[:, 3])
    return _Inputs(
        torch.from_numpy(first + PATTERNS * one + other),
        torch.from_numpy(bits.reshape(len(boards), -1)),
        torch.from_numpy(counts.sum(axis=1)),
        torch.from_numpy(material / SCALE),
    )


def fit(samples: Samples, config: FitConfig, progress: Callable[[Loss], None] | None = None) -> np.void:
    """The weights that predict results and scores best on games that were not learned from, of all epochs.

    Args:
        samples: positions; every tenth game is kept out of training.
        config: see there.
        progress: called after each epoch.
    """
    torch.set_num_threads(1)  # steps are so small that several threads would wait for each other
    torch.manual_seed(config.seed)
    inputs = _inputs(samples.boards)
    results = torch.from_numpy((samples.results + 1) / 2).float()
    scores = torch.sigmoid(torch.from_numpy(samples.scores / SCALE).float())
    targets = config.result_share * results + (1 - config.result_share) * scores
    held_out = torch.from_numpy(samples.games % _VALIDATION == 0)
    training, validation = (torch.nonzero(mask)[:, 0] for mask in (~held_out, held_out))
    model = _Model()
    optimizer = torch.optim.Adam(model.parameters(), config.rate)
    steps = len(training) // config.batch
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, config.rate, total_steps=config.epochs * steps + 1, pct_start=0.1
    )
    best, weights = np.inf, model.weights()
    for epoch in range(1, config.epochs + 1):
        order, total = training[torch.randperm(len(training))], 0.0
        for batch in order[: steps * config.batch].split(config.batch):
            loss = binary_cross_entropy_with_logits(model(inputs.take(batch)), targets[batch])
            total += loss.item()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        with torch.no_grad():
            found = torch.cat([model(inputs.take(batch)) for batch in validation.split(16384)])
            mixed, result = (
                binary_cross_entropy_with_logits(found, wanted[validation]).item() for wanted in (targets, results)
            )
        if progress:
            progress(Loss(epoch, total / steps, mixed, result))
        if mixed < best:
            best, weights = mixed, model.weights()
    return weights

"""The replay buffer: a bounded ring of compact records, a window that grows, and training batches."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from damas_env.actions import encode, find
from damas_env.kernel import Spec, kernel, popcount
from damas_env.movegen import WORK, generate
from damas_env.position import in_chunks
from damas_env.rules import RuleSet
from damas_rl import saved
from damas_rl.records import Records, empty_records
from damas_rl.strict import check_ranges


@dataclass(frozen=True)
class ReplayConfig:
    """How many and which records are learned from.

    The window is the number of newest records that batches are drawn from. After N records in all it is
    ``w * (1 + slope * ((N / w) ** exponent - 1) / exponent)`` for N > w, else all of them (Wu 2019, appendix C).

    Attributes:
        capacity: most records that are kept.
        window: w, records up to which the window holds all.
        exponent: how fast the window grows beyond that; 1 = in proportion to N.
        slope: share of each new record by which the window grows at first.
    """

    capacity: int = 500_000
    window: int = 50_000
    exponent: float = 0.75
    slope: float = 0.4

    def __post_init__(self) -> None:
        check_ranges("replay", self, capacity=(1, 1 << 31), window=(1, 1 << 31), exponent=(0.01, 1.0), slope=(0.0, 1.0))
        if self.window > self.capacity:
            raise ValueError(f"replay.window={self.window} is larger than replay.capacity={self.capacity}.")


class TrainingBatch(NamedTuple):
    """Training data of n positions; W is the largest number of legal moves among them.

    Attributes:
        boards: int64[n, 4], bit patterns. features: float32[n, 6].
        actions: int64[n, W], legal actions in canonical order, then zeros. legal: bool[n, W], False for those zeros.
        policy: float32[n, W], target probability of each action; a row sums to 1, or to 0 if it has no target.
        z: int64[n], result for the side to move. q: float32[n], value that the search found for it.
        plies_left: float32[n]. weight: float32[n]. pieces: int64[n], pieces on the board.
    """

    boards: NDArray[np.int64]
    features: NDArray[np.float32]
    actions: NDArray[np.int64]
    legal: NDArray[np.bool_]
    policy: NDArray[np.float32]
    z: NDArray[np.int64]
    q: NDArray[np.float32]
    plies_left: NDArray[np.float32]
    weight: NDArray[np.float32]
    pieces: NDArray[np.int64]


@kernel
def _fill(
    start: int, end: int, spec: Spec, rows: NDArray[np.int64], boards: NDArray[np.uint64],
    targets: NDArray[np.int16], shares: NDArray[np.float32], actions: NDArray[np.int16], policy: NDArray[np.float32],
    counts: NDArray[np.int64], pieces: NDArray[np.int64], wrong: NDArray[np.int64],
) -> None:  # fmt: skip
    """Writes legal actions, target policy and number of pieces; ``wrong`` counts targets that are not legal."""
    work = np.empty(1, WORK)[0]
    for item in range(start, end):
        row = rows[item]
        count = generate(spec, boards[row, 0], boards[row, 1], boards[row, 2], boards[row, 3], work)
        encode(spec, count, work)
        for index in range(count):
            actions[item, index] = work.actions[index]
        counts[item], wrong[item] = count, 0
        pieces[item] = popcount(boards[row, 0] | boards[row, 1] | boards[row, 2] | boards[row, 3])
        for slot in range(targets.shape[1]):
            if targets[row, slot] >= 0:
                place = find(actions[item], count, targets[row, slot])
                if place < 0:
                    wrong[item] += 1
                else:
                    policy[item, place] = shares[row, slot]


class ReplayBuffer:
    """A ring of :class:`~damas_rl.records.Records`; the oldest rows make room for new ones.

    Attributes:
        added: records that have ever been added.
        sampled: records that have ever been drawn.
    """

    def __init__(self, rules: RuleSet, config: ReplayConfig) -> None:
        """An empty buffer for positions of ``rules``."""
        self.rules, self.config = rules, config
        self.added, self.sampled = 0, 0
        self._held = 0
        self._rows = empty_records(config.capacity)

    def __len__(self) -> int:
        return self._held

    @property
    def window(self) -> int:
        """Number of newest records that :meth:`sample` draws from."""
        config, total = self.config, self.added
        if total > config.window:
            growth = ((total / config.window) ** config.exponent - 1.0) / config.exponent
            total = int(config.window * (1.0 + config.slope * growth) + 1e-6)
        return min(total, self._held)

    @property
    def replay_ratio(self) -> float:
        """Rows drawn for each row added, so far; 0 for an empty buffer."""
        return self.sampled / self.added if self.added else 0.0

    def steps_due(self, replay_ratio: float, batch_size: int) -> int:
        """Batches that may be drawn before :attr:`replay_ratio` exceeds ``replay_ratio``."""
        return max(0, int((replay_ratio * self.added - self.sampled) // batch_size))

    def add(self, records: Records) -> None:
        """Appends records.

        Raises:
            ValueError: a number is not finite, a result is none of -1, 0, 1, or a weight is not positive; nothing has
                been added then.
        """
        if not len(records.z):
            return
        for name in ("features", "policy", "q", "weight"):
            bad = ~np.isfinite(getattr(records, name)).reshape(len(records.z), -1).all(axis=1)
            if bad.any():
                raise ValueError(f"Record {int(np.flatnonzero(bad)[0])} holds a number in {name!r} that is not finite.")
        if (np.abs(records.z) > 1).any():
            raise ValueError("The result z of a record must be 1, 0 or -1.")
        if (records.weight <= 0).any():
            raise ValueError("The weight of a record must be positive.")
        capacity = self.config.capacity
        kept = min(len(records.z), capacity)
        slots = np.arange(self.added + len(records.z) - kept, self.added + len(records.z)) % capacity
        columns: zip[tuple[NDArray[Any], NDArray[Any]]] = zip(self._rows, records, strict=True)
        for column, new in columns:
            column[slots] = new[len(new) - kept :]
        self.added += len(records.z)
        self._held = min(self._held + kept, capacity)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Draws rows of the window with equal chances, with replacement.

        Args:
            rng: source of randomness.
            size: rows to draw.

        Returns:
            int64[size], rows for :meth:`batch`, valid until the next :meth:`add`.

        Raises:
            ValueError: the buffer is empty.
        """
        if not self._held:
            raise ValueError("The replay buffer is empty; play some games first.")
        ages = rng.integers(0, self.window, size)
        self.sampled += size
        return (self.added - 1 - ages) % self.config.capacity

    def draw(self, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Different rows of the window (int64[n], all if there are fewer than ``count``), not to be learned from."""
        ages = rng.choice(self.window, min(count, self.window), replace=False)
        return (self.added - 1 - ages) % self.config.capacity

    def positions(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
        """``boards`` and ``features`` of some rows."""
        return self._rows.boards[rows], self._rows.features[rows]

    def revise(
        self, rows: NDArray[np.int64], actions: NDArray[np.int16], policy: NDArray[np.float32], q: NDArray[np.float32]
    ) -> None:
        """Replaces what the search found in some rows."""
        self._rows.actions[rows], self._rows.policy[rows], self._rows.q[rows] = actions, policy, q

    def batch(self, rows: NDArray[np.int64]) -> TrainingBatch:
        """Training data of some rows; the legal moves are generated anew from the boards.

        Raises:
            ValueError: a record's policy names an illegal action.
        """
        data, size, room = self._rows, len(rows), self.rules.max_moves
        actions = np.zeros((size, room), dtype=np.int16)
        policy = np.zeros((size, room), dtype=np.float32)
        counts, pieces, wrong = (np.empty(size, dtype=np.int64) for _ in range(3))
        in_chunks(
            _fill, size, self.rules.spec, rows, data.boards, data.actions, data.policy, actions, policy, counts, pieces,
            wrong,
        )  # fmt: skip
        if wrong.any():
            item = int(np.flatnonzero(wrong)[0])
            boards = [f"{word:#x}" for word in data.boards[rows[item]].tolist()]
            raise ValueError(f"The policy of the record with boards {boards} names an action that is not legal there.")
        width = int(counts.max())
        return TrainingBatch(
            boards=data.boards[rows].view(np.int64),
            features=data.features[rows],
            actions=actions[:, :width].astype(np.int64),
            legal=np.arange(width) < counts[:, None],
            policy=policy[:, :width].copy(),
            z=data.z[rows].astype(np.int64),
            q=data.q[rows],
            plies_left=data.plies_left[rows].astype(np.float32),
            weight=data.weight[rows],
            pieces=pieces,
        )

    def state_dict(self) -> dict[str, Any]:
        """The rows of the window, oldest first, and the counts. Older rows cannot come back into the window."""
        slots = np.arange(self.added - self.window, self.added) % self.config.capacity
        rows = {name: column[slots] for name, column in self._rows._asdict().items()}
        return {"rows": rows, "added": self.added, "sampled": self.sampled}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores :meth:`state_dict`; rows that this buffer has no room for are left out, oldest first.

        Raises:
            SavedError: it is no such state; nothing has changed then.
        """
        records, added, sampled = self._read_state(state)
        self.added, self._held = added - len(records.z), 0
        self.add(records)
        self.sampled = sampled

    def check_state_dict(self, state: Mapping[str, Any]) -> None:
        """Refuses what :meth:`load_state_dict` would refuse, and changes nothing."""
        self._read_state(state)

    def _read_state(self, state: Mapping[str, Any]) -> tuple[Records, int, int]:
        """Records, ``added`` and ``sampled`` of a saved buffer."""
        rows = saved.part(state, "rows", "the replay buffer")
        size = np.shape(saved.part(rows, "z", "the rows of the replay buffer"))
        records = saved.records_of(rows, "", size[:1])
        saved.check_records(records, self.rules)
        return records, saved.whole(state, "added", len(records.z)), saved.whole(state, "sampled")

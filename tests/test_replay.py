"""The replay buffer: ring, growing window, dense batches whose masks are the rules' own, checkpoints."""

import numpy as np
import pytest

from damas_env.position import Positions
from damas_env.rules import get_rules
from damas_rl.records import Records
from damas_rl.replay import ReplayBuffer, ReplayConfig
from learning_cases import BIG, random_records

CBD = get_rules("cbd")


def part(records, start, end):
    return Records(*(column[start:end] for column in records))


def numbered(count, first=0):
    """Records whose plies_left tell them apart."""
    records = random_records(CBD, 200)
    records = Records(*(np.resize(column, (count, *column.shape[1:])) for column in records))
    records.plies_left[:] = np.arange(first, first + count)
    return records


def ages_seen(buffer, draws=20_000):
    rows = buffer.sample(np.random.default_rng(0), draws)
    return np.unique(buffer.added - 1 - buffer.batch(rows).plies_left.astype(int))


@pytest.mark.parametrize("rules", [CBD, BIG], ids=["8x8", "10x10"])
def test_batches_hold_what_was_added(rules):
    records = random_records(rules, 300)
    buffer = ReplayBuffer(rules, ReplayConfig(capacity=1000, window=1000))
    buffer.add(records)
    rows = buffer.sample(np.random.default_rng(0), 700)
    batch = buffer.batch(rows)
    assert set(rows) <= set(range(300))
    assert len(np.unique(rows)) > 200
    positions = Positions.from_boards(rules, records.boards[rows], np.zeros(700, np.int8))
    width = positions.counts.max()
    assert batch.actions.shape == batch.legal.shape == batch.policy.shape == (700, width)
    assert np.array_equal(batch.legal.sum(axis=1), positions.counts)
    for item, row in enumerate(rows):
        count = positions.counts[item]
        assert np.array_equal(batch.actions[item, :count], positions.actions[item, :count])
        assert batch.legal[item, :count].all()
        wanted = dict(zip(records.actions[row], records.policy[row], strict=True))
        for action, share in zip(batch.actions[item, :count], batch.policy[item, :count], strict=True):
            assert share == wanted.get(action, 0.0)
    assert (batch.actions[~batch.legal] == 0).all()
    assert (batch.policy[~batch.legal] == 0).all()
    np.testing.assert_allclose(batch.policy.sum(axis=1), 1.0, rtol=1e-5)
    assert np.array_equal(batch.boards, records.boards[rows].view(np.int64))
    for name in ("features", "z", "q", "plies_left", "weight"):
        assert np.array_equal(getattr(batch, name), getattr(records, name)[rows])
    assert batch.pieces.tolist() == [sum(int(word).bit_count() for word in records.boards[row]) for row in rows]


def test_ring_keeps_the_newest_rows():
    records = numbered(1000)
    buffer = ReplayBuffer(CBD, ReplayConfig(capacity=300, window=300))
    for start in range(0, 1000, 90):
        buffer.add(part(records, start, start + 90))
        assert len(buffer) == min(300, start + 90, 1000)
    assert buffer.added == 1000
    assert ages_seen(buffer).tolist() == list(range(300))
    buffer.add(part(records, 0, 0))
    assert ages_seen(buffer).tolist() == list(range(300))
    buffer = ReplayBuffer(CBD, ReplayConfig(capacity=300, window=300))
    buffer.add(records)  # more than there is room for, at once
    assert len(buffer) == 300
    assert ages_seen(buffer).tolist() == list(range(300))


def test_window_grows_more_slowly_than_experience():
    config = ReplayConfig(capacity=100_000, window=200, exponent=0.5, slope=0.5)
    buffer = ReplayBuffer(CBD, config)
    sizes = {}
    for total in range(100, 3300, 100):
        buffer.add(numbered(100, total - 100))
        sizes[total] = buffer.window
    assert [sizes[total] for total in (100, 200)] == [100, 200]
    # 200 * (1 + 0.5 * (sqrt(N / 200) - 1) / 0.5) = 200 * sqrt(N / 200)
    assert [sizes[total] for total in (800, 1800, 3200)] == [400, 600, 800]
    assert ages_seen(buffer).tolist() == list(range(800))


def test_rows_that_left_the_window_never_come_back():
    config = ReplayConfig(capacity=10**9, window=1000, exponent=1.0, slope=1.0)
    for slope, exponent in ((1.0, 1.0), (0.4, 0.75), (1.0, 0.01), (0.0, 0.5)):
        buffer = ReplayBuffer.__new__(ReplayBuffer)
        buffer.config, buffer._held = ReplayConfig(config.capacity, 1000, exponent, slope), 10**9
        oldest = []
        for total in range(1, 5000):
            buffer.added = total
            oldest.append(total - buffer.window)
        assert oldest == sorted(oldest)


def test_reuse_counts_rows_drawn_for_each_new_row():
    buffer = ReplayBuffer(CBD, ReplayConfig(capacity=1000, window=500))
    assert buffer.replay_ratio == 0
    assert buffer.steps_due(4.0, 64) == 0
    buffer.add(numbered(320))
    assert buffer.steps_due(4.0, 64) == 20
    for _ in range(20):
        assert buffer.steps_due(4.0, 64) > 0
        buffer.sample(np.random.default_rng(0), 64)
    assert buffer.replay_ratio == 4.0
    assert buffer.steps_due(4.0, 64) == 0
    buffer.add(numbered(31))
    assert buffer.steps_due(4.0, 64) == 1


def test_rows_for_reanalysis_are_different_ones_of_the_window():
    buffer = ReplayBuffer(CBD, ReplayConfig(capacity=500, window=100, slope=0.0))
    for first in range(0, 700, 100):
        buffer.add(numbered(100, first))
    rows = buffer.draw(np.random.default_rng(0), 60)
    drawn = buffer.batch(rows).plies_left
    assert len(set(drawn.tolist())) == 60 and drawn.min() >= 600 and drawn.max() < 700
    assert sorted(buffer.batch(buffer.draw(np.random.default_rng(0), 1000)).plies_left) == list(range(600, 700))
    assert buffer.sampled == 0


def test_equal_seeds_draw_equal_rows():
    buffer = ReplayBuffer(CBD, ReplayConfig(capacity=1000, window=500))
    buffer.add(numbered(400))
    draws = [buffer.sample(np.random.default_rng(seed), 64) for seed in (5, 5, 6)]
    assert np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])


def test_checkpoint_holds_the_window_and_goes_on_equally():
    config = ReplayConfig(capacity=500, window=100, exponent=0.5, slope=0.5)
    buffer = ReplayBuffer(CBD, config)
    for first in range(0, 700, 100):
        buffer.add(numbered(100, first))
    buffer.sample(np.random.default_rng(0), 123)
    state = buffer.state_dict()
    assert len(state["rows"]["z"]) == buffer.window < len(buffer)
    twin = ReplayBuffer(CBD, config)
    twin.add(numbered(50))  # is replaced
    twin.load_state_dict(state)
    assert (twin.added, twin.sampled, twin.window, twin.replay_ratio) == (700, 123, buffer.window, buffer.replay_ratio)
    for first in range(700, 1500, 100):
        for each in (buffer, twin):
            each.add(numbered(100, first))
        batches = [each.batch(each.sample(np.random.default_rng(first), 400)) for each in (buffer, twin)]
        for one, other in zip(*batches, strict=True):
            assert np.array_equal(one, other)


def test_checkpoint_of_a_smaller_window_never_yields_rows_that_are_not_there():
    small, large = ReplayConfig(capacity=500, window=100, slope=0.0), ReplayConfig(capacity=500, window=400)
    buffer = ReplayBuffer(CBD, small)
    buffer.add(numbered(400))
    state = buffer.state_dict()
    state["rows"]["z"][:] = 7  # the saved rows are copies
    assert (buffer.batch(buffer.sample(np.random.default_rng(0), 50)).z != 7).all()
    wider = ReplayBuffer(CBD, large)
    wider.load_state_dict(buffer.state_dict())
    assert wider.window == len(wider) == 100
    assert ages_seen(wider).tolist() == list(range(100))
    narrow = ReplayBuffer(CBD, ReplayConfig(capacity=60, window=60))
    narrow.load_state_dict(buffer.state_dict())
    assert narrow.added == 400
    assert ages_seen(narrow).tolist() == list(range(60))
    with pytest.raises(ValueError, match="without its part 'boards'"):
        wider.load_state_dict({"rows": {"z": np.zeros(1)}, "added": 1, "sampled": 0})


def test_bad_records_are_refused_and_change_nothing():
    buffer = ReplayBuffer(CBD, ReplayConfig(capacity=500, window=100))
    with pytest.raises(ValueError, match="empty"):
        buffer.sample(np.random.default_rng(0), 1)
    for name, value, message in (
        ("q", np.nan, "Record 7 holds a number in 'q'"),
        ("policy", np.inf, "Record 7 holds a number in 'policy'"),
        ("z", 2, "1, 0 or -1"),
        ("weight", 0.0, "positive"),
    ):
        records = numbered(20)
        getattr(records, name)[7] = value
        with pytest.raises(ValueError, match=message):
            buffer.add(records)
    assert len(buffer) == buffer.added == 0
    records = numbered(20)
    records.actions[3, 0] = 0  # a8-a8 is never legal here
    buffer.add(records)
    with pytest.raises(ValueError, match="not legal"):
        buffer.batch(np.arange(20))


@pytest.mark.parametrize(
    "change", [{"capacity": 0}, {"window": 0}, {"exponent": 0.0}, {"slope": 1.5}, {"window": 600_000}]
)
def test_impossible_settings_are_refused(change):
    with pytest.raises(ValueError, match=f"replay.{next(iter(change))}="):
        ReplayConfig(**change)

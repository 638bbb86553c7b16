"""The core agrees with the reference on more than 100,000 positions, move by move and successor by successor."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

from agreement import BRAZILIAN, Report, compare, compare_mixed
from reference_rules import RefMove, State

PROCESSES, POSITIONS = 2, 104_000


def test_random_games_and_king_heavy_set_ups() -> None:
    report = Report()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
        for part in pool.map(compare_mixed, range(PROCESSES), [POSITIONS // PROCESSES] * PROCESSES):
            report.add(part)
    print(report)
    assert report.failures == []
    assert report.positions == POSITIONS
    # The sample must contain what is rare: captures, crownings, and captures that share their (from, to).
    assert report.captures > POSITIONS and report.promotions > 1000 and report.shared_pairs > 1000


def test_a_disagreement_is_seen() -> None:
    """Guards the comparison itself: a move left out, added or crowned wrongly is reported."""
    state = State.initial(BRAZILIAN)
    legal = state.legal_moves()
    assert compare([(state, legal)]).failures == []
    assert "only core" in compare([(state, legal[1:])]).failures[0]
    assert len(compare([(state, [*legal, RefMove(21, 14, (), False)])]).failures) == 1
    assert len(compare([(state, [legal[0]._replace(promotes=True), *legal[1:]])]).failures) == 1

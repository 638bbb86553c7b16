"""The search kernels: node by node against the reference, then the properties that players and training rely on.

Values belong to the side to move in the state that they are attached to, so a position and its colour-swapped twin
must agree in everything.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from damas_env.game import Game
from damas_env.observation import features
from damas_env.position import Positions
from damas_env.rules import RuleSet, get_rules
from damas_rl.search import choice, pools
from damas_rl.search.alphabeta import AlphaBeta, Limits
from damas_rl.search.mcts import Search, SearchConfig, SearchResult
from damas_rl.tablebase import endgames
from reference_search import DRAW, LOSS, WIN, ReferenceSearch, halving
from search_cases import (
    RULES,
    SHUFFLE,
    HashEvaluator,
    after,
    before_the_end,
    draws,
    everything,
    join,
    mates,
    random_games,
    solve,
    twin,
)

PROOF = {endgames.UNKNOWN: None, endgames.WIN: WIN, endgames.DRAW: DRAW, endgames.LOSS: LOSS}


def search_all(
    positions: Positions, config: SearchConfig, simulations: int, seed: int | None = None
) -> tuple[Search, SearchResult]:
    search = Search(RULES, HashEvaluator(), config, len(positions), simulations)
    rng = None if seed is None else np.random.default_rng(seed)
    return search, search.run(positions, simulations, rng)


def compare(search: Search, result: SearchResult, game: int, reference: ReferenceSearch) -> int:
    """Asserts that a tree and its result equal the reference; returns the number of nodes."""
    trees, todo, nodes = search.trees, [(0, reference.root)], 0
    while todo:
        node, want = todo.pop()
        nodes += 1
        for name in ("boards", "counters", "plies", "repetitions"):
            assert (trees.nodes[name][game, node] == getattr(want.game, name)[0]).all(), name
        assert trees.nodes["visits"][game, node] == want.visits
        assert trees.nodes["value"][game, node] == want.total
        assert PROOF[int(trees.nodes["proven"][game, node])] == want.proof
        assert trees.nodes["num_edges"][game, node] == len(want.edges)
        if want.edges:
            assert trees.nodes["net_value"][game, node] == want.net_value
        for edge, wanted in enumerate(want.edges, int(trees.nodes["first_edge"][game, node])):
            assert trees.edges["action"][game, edge] == wanted.action
            assert trees.edges["visits"][game, edge] == wanted.visits
            assert trees.edges["value"][game, edge] == wanted.total
            assert trees.edges["prior"][game, edge] == pytest.approx(wanted.prior, rel=1e-6)
            assert trees.edges["logit"][game, edge] == np.float32(wanted.logit)
            assert trees.edges["in_flight"][game, edge] == 0
            child = int(trees.edges["child"][game, edge])
            assert (child >= 0) == (wanted.child is not None)
            if wanted.child is not None:
                assert (trees.nodes["parent"][game, child], trees.nodes["parent_edge"][game, child]) == (node, edge)
                todo.append((child, wanted.child))
    assert nodes == trees.roots["nodes_used"][game]
    root, count = reference.root, len(reference.root.edges)
    assert result.counts[game] == count
    assert result.simulations[game] == reference.simulations
    assert result.policy[game, :count] == pytest.approx(reference.policy(), abs=1e-5)
    assert result.q[game, :count] == pytest.approx([root.completed(edge) for edge in root.edges], abs=1e-5)
    assert result.choice[game] == reference.choice()
    assert result.value[game] == pytest.approx(root.total / root.visits if root.proof is None else root.proof)
    return nodes


CONFIGS = {
    "puct": SearchConfig(kind="puct"),
    "puct noisy": SearchConfig(kind="puct", c_puct=2.5, fpu_reduction=0.1),
    "puct noisy, forced": SearchConfig(kind="puct", forced_playouts=2.0),
    "puct noisy, forced, 3 leaves": SearchConfig(kind="puct", forced_playouts=3.0, leaves_per_tree=3),
    "puct 8 leaves": SearchConfig(kind="puct", leaves_per_tree=8),
    "puct tempered": SearchConfig(kind="puct", prior_temperature=1.7),
    "gumbel": SearchConfig(kind="gumbel", considered=8),
    "gumbel noisy": SearchConfig(kind="gumbel", considered=4, c_visit=10.0, c_scale=0.5),
    "gumbel 5 leaves": SearchConfig(kind="gumbel", leaves_per_tree=5),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_trees_equal_the_reference(name: str) -> None:
    config, positions, simulations = CONFIGS[name], everything(), 100
    search, result = search_all(positions, config, simulations, seed=3 if "noisy" in name else None)
    nodes = 0
    for game in range(len(positions)):
        count = int(positions.counts[game])
        reference = ReferenceSearch(
            config,
            HashEvaluator(),
            positions.take(np.array([game])),
            simulations,
            noise=search.trees.roots["noise"][game, :count] if config.kind == "gumbel" else None,
            root_priors=result.priors[game, :count] if name.startswith("puct noisy") else None,
        )
        nodes += compare(search, result, game, reference)
    # The sample must contain what is rare: all kinds of proofs, at roots and below, and repetitions.
    used = np.arange(search.trees.nodes["proven"].shape[1]) < search.trees.roots["nodes_used"][:, None]
    assert nodes > 25 * len(positions)
    assert {endgames.WIN, endgames.LOSS, endgames.DRAW, endgames.UNKNOWN} == set(result.proven.tolist())
    assert (used & (search.trees.nodes["repetitions"] == 2)).any()
    for proof in (endgames.WIN, endgames.LOSS):
        assert (used & (search.trees.nodes["num_edges"] > 0) & (search.trees.nodes["proven"] == proof))[:, 1:].any()


def test_the_network_sees_the_plies_of_capped_games() -> None:
    rules = replace(RULES, name="capped", ply_cap=60)
    start = Positions.initial(rules, 1)
    config = SearchConfig()
    for _ in range(9):
        start.step(start.actions[:, 0])
    search = Search(rules, HashEvaluator(), config, 1, 100)
    result = search.run(start, 100)
    assert compare(search, result, 0, ReferenceSearch(config, HashEvaluator(), start, 100)) > 60


def test_a_difference_is_seen() -> None:
    """Guards the comparison itself."""
    positions, config = Positions.initial(RULES), SearchConfig()
    search, result = search_all(positions, config, 200)
    compare(search, result, 0, ReferenceSearch(config, HashEvaluator(), positions, 200))
    for other in (SearchConfig(c_puct=1.6), SearchConfig(fpu_reduction=0.35), SearchConfig(kind="gumbel")):
        with pytest.raises(AssertionError):
            compare(search, result, 0, ReferenceSearch(other, HashEvaluator(), positions, 200))


@pytest.mark.parametrize("kind", ["puct", "gumbel"])
def test_visits_are_on_legal_moves_and_add_up(kind: str) -> None:
    positions = everything()
    search, result = search_all(positions, SearchConfig(kind=kind, leaves_per_tree=3), 64, seed=0)
    legal = np.arange(result.visits.shape[1]) < positions.counts[:, None]
    assert (result.counts == positions.counts).all()
    assert (result.actions == np.where(legal, positions.actions, -1)).all()
    for array in (result.visits, result.policy, result.priors, result.q):
        assert (array[~legal] == 0).all()
    assert (result.visits.sum(axis=1) == result.simulations).all()
    assert ((result.simulations == 64) == (result.proven == endgames.UNKNOWN))[result.simulations < 64].all()
    assert (search.trees.nodes["visits"][:, 0] == result.simulations + 1).all()
    assert result.policy.sum(axis=1) == pytest.approx(1.0, abs=1e-5)
    assert (positions.actions == result.choice[:, None]).any(axis=1).all()


def test_budgets_of_one_batch_may_differ() -> None:
    """A search with room for more simulations runs a smaller budget as a search made for that budget does."""
    positions = random_games()[0][12].take(np.arange(6))
    for kind in ("puct", "gumbel"):
        config = SearchConfig(kind=kind)
        budgets = np.array([100, 30, 100, 30, 30, 7], np.int32)
        mixed = Search(RULES, HashEvaluator(), config, 6, 100).run(positions, budgets)
        assert mixed.simulations.tolist() == budgets.tolist()
        for budget in (7, 30, 100):
            _, alone = search_all(positions, config, budget)
            rows = budgets == budget
            assert (mixed.visits[rows] == alone.visits[rows]).all()
            assert (mixed.choice[rows] == alone.choice[rows]).all()


# ---------------------------------------------------------------------------------------------------- proofs


@pytest.mark.parametrize("kind", ["puct", "gumbel"])
def test_proofs_agree_with_exhaustive_search(kind: str) -> None:
    positions = join([*(before_the_end(plies, range(96)) for plies in (1, 2, 3)), draws()])
    _, result = search_all(positions, SearchConfig(kind=kind, c_puct=5.0), 600)
    seen = {WIN: 0, DRAW: 0, LOSS: 0}
    for game in range(len(positions)):
        exact = solve(positions.take(np.array([game])), 3)
        proof = PROOF[int(result.proven[game])]
        if exact is not None and proof is not None:
            assert proof == exact == result.value[game]
            seen[exact] += 1
    assert seen[WIN] > 100 and seen[LOSS] > 30 and seen[DRAW] > 2, seen


@pytest.mark.parametrize("kind", ["puct", "gumbel"])
@pytest.mark.parametrize("seed", [None, 5])
def test_mate_in_one_is_found_and_kept(kind: str, seed: int | None) -> None:
    positions = mates()
    assert len(positions) > 40
    _, result = search_all(positions, SearchConfig(kind=kind), 400, seed)
    assert (result.proven == endgames.WIN).all() and (result.value == 1.0).all()
    for game in range(len(positions)):
        for index in range(int(positions.counts[game])):
            then = positions.take(np.array([game]))
            then.step(then.actions[:, index])
            if result.policy[game, index] > 0:
                assert then.lost[0] or solve(then, 4) == LOSS
            if result.choice[game] == positions.actions[game, index]:
                assert result.policy[game, index] > 0


def test_a_proven_win_is_played_to_its_end() -> None:
    """From roots that are proven won the choices win against any reply, one search for each move."""
    positions = join([before_the_end(plies, range(96)) for plies in (3, 5)])
    search = Search(RULES, HashEvaluator(), SearchConfig(), len(positions), 800)
    won = search.run(positions, 800).proven == endgames.WIN
    single_move = np.array([solve(positions.take(np.array([game])), 1) == WIN for game in range(len(positions))])
    positions = positions.take(np.flatnonzero(won & ~single_move))
    assert len(positions) >= 5
    winners, rng = positions.colors.copy(), np.random.default_rng(0)
    for _ in range(20):
        going = np.flatnonzero(positions.terminations == 0)
        if not len(going):
            break
        part = positions.take(going)
        result = search.run(part, 800)
        replies = part.actions[np.arange(len(going)), (rng.random(len(going)) * part.counts).astype(int)]
        mine = part.colors == winners[going]
        assert (result.proven[mine] == endgames.WIN).all()
        actions = np.full(len(positions), -1)
        actions[going] = np.where(mine, result.choice, replies)
        positions.step(actions)
    assert (positions.winners() == winners).all()


@pytest.mark.parametrize("kind", ["puct", "gumbel"])
@pytest.mark.parametrize(
    "fen, won",
    [
        ("W:WK9,K22:B28", True),  # blocks the man
        ("W:WK29,K31:B11", True),  # takes it
        ("B:WK30,25:BK1,K2", False),
        ("W:W21,22,25,27,31:B3,6,8,11,12,K1", False),
    ],
)
def test_twins_have_equal_values_and_mirrored_moves(fen: str, won: bool, kind: str) -> None:
    games = [Game(RULES, fen), Game(RULES, twin(fen))]
    assert games[0].fen() == Game(RULES, twin(twin(fen))).fen() != games[1].fen()
    results = [search_all(game.positions, SearchConfig(kind=kind), 150)[1] for game in games]
    for name in ("value", "policy", "q", "visits", "proven", "choice"):
        assert (getattr(results[0], name) == getattr(results[1], name)).all(), name
    moves = [game.push(int(result.choice[0])) for game, result in zip(games, results, strict=True)]
    assert (moves[1].frm, moves[1].to) == (33 - moves[0].frm, 33 - moves[0].to)
    assert sorted(moves[1].captures) == sorted(33 - square for square in moves[0].captures)
    if won:
        assert results[0].value[0] == 1.0
        assert [solve(game.positions, 5) for game in games] == [LOSS, LOSS]


def test_win_on_the_last_ply_of_a_counter() -> None:
    """No legal move is looked at before the draw laws: the last ply of a count wins if it blocks or takes all."""
    for kind in ("puct", "gumbel"):
        blocking = after("W:WK9,K22:B28", kings_only=39)
        _, result = search_all(blocking, SearchConfig(kind=kind, c_puct=5.0), 400)
        assert result.value[0] == 1.0 and result.proven[0] == endgames.WIN
        assert Game(RULES, "W:WK9,K22:B28").push(int(result.choice[0])).to == 32
        drawn = after("W:WK9,K22:BK28", kings_only=39, ending=9)
        _, result = search_all(drawn, SearchConfig(kind=kind, c_puct=50.0, considered=32), 400)
        assert result.proven[0] == endgames.DRAW and result.value[0] == 0.0
        assert (result.q[0, : result.counts[0]] == 0.0).all()  # whatever the network says


def test_repetition_counts_the_game_before_the_root() -> None:
    """Two occurrences before the root and one in the tree draw; without the history the same boards do not."""
    played = after(SHUFFLE, "31-26 2-9 26-31 9-2 31-26 2-9 26-31")
    fresh = Positions.from_boards(RULES, played.boards, played.colors)
    back = Game(RULES, SHUFFLE).positions.boards[0]
    results = [search_all(batch, SearchConfig(c_puct=50.0), 200) for batch in (played, fresh)]
    draws_ = []
    for search, result in results:
        trees = search.trees
        for edge in range(int(result.counts[0])):
            child = int(trees.edges["child"][0, edge])
            if child >= 0 and (trees.nodes["boards"][0, child] == back).all():
                draws_.append((int(trees.nodes["proven"][0, child]), int(trees.nodes["repetitions"][0, child])))
    assert draws_ == [(endgames.DRAW, 2), (endgames.UNKNOWN, 0)]


# ----------------------------------------------------------------------------------------------------- noise


def test_dirichlet_noise_is_in_the_root_priors_only() -> None:
    positions = everything()
    config = SearchConfig(noise_fraction=0.25)
    _, quiet = search_all(positions, config, 50)
    search, noisy = search_all(positions, config, 50, seed=11)
    drawn = []
    for game, count in enumerate(positions.counts.tolist()):
        logits = noisy.logits[game, :count].astype(float)
        priors = np.exp(logits) / np.exp(logits).sum()
        assert quiet.priors[game, :count] == pytest.approx(priors, rel=1e-5)
        noise = (noisy.priors[game, :count] - 0.75 * priors) / 0.25
        assert noise.sum() == pytest.approx(1.0, abs=1e-5)
        assert (noise > -1e-5).all()
        if count > 1:
            assert len(np.unique(noise.round(9))) == count
        drawn.append(noise)
        for node in range(1, int(search.trees.roots["nodes_used"][game])):
            first = int(search.trees.nodes["first_edge"][game, node])
            edges = slice(first, first + int(search.trees.nodes["num_edges"][game, node]))
            weights = np.exp(search.trees.edges["logit"][game, edges].astype(float))
            assert search.trees.edges["prior"][game, edges] == pytest.approx(weights / weights.sum(), rel=1e-5)
    assert any(len(noise) == len(drawn[0]) and (noise != drawn[0]).any() for noise in drawn[1:])


def test_forced_playouts_spread_visits_that_the_policy_leaves_out() -> None:
    positions, k = Positions.initial(RULES, 8), 4.0
    _, plain = search_all(positions, SearchConfig(), 200, seed=5)
    search, forced = search_all(positions, SearchConfig(forced_playouts=k), 200, seed=5)
    tried = forced.visits > 0
    owed = np.floor(np.sqrt(k * forced.priors * 200))
    assert (forced.visits[tried] >= owed[tried] - 1).all()
    assert (plain.visits[plain.visits > 0] < np.floor(np.sqrt(k * plain.priors * 200))[plain.visits > 0]).any()
    shares = forced.visits / forced.visits.sum(axis=1, keepdims=True)
    best = forced.visits.argmax(axis=1)[:, None]
    assert (np.take_along_axis(forced.policy, best, 1) > np.take_along_axis(shares, best, 1)).any()
    assert forced.policy.sum(axis=1) == pytest.approx(1.0)
    # Without noise, which is how players and fast searches run, nothing is forced.
    _, quiet = search_all(positions, SearchConfig(forced_playouts=k), 200)
    assert (quiet.visits == search_all(positions, SearchConfig(), 200)[1].visits).all()
    assert (search.trees.roots["owed"][:8] == k).all()


def test_dirichlet_noise_has_its_concentration_whatever_the_number_of_moves() -> None:
    """A share of Dir(c / n, ..., c / n) has mean 1 / n and variance (1 / n)(1 - 1 / n) / (c + 1)."""
    positions = Positions.initial(RULES, 4000)
    config = SearchConfig(noise_fraction=1.0, noise_concentration=10.0)
    noise = search_all(positions, config, 1, seed=4)[1].priors[:, : positions.counts[0]].astype(float)
    mean = 1 / positions.counts[0]
    assert noise.mean(axis=0) == pytest.approx(mean, rel=0.05)
    assert noise.var(axis=0) == pytest.approx(mean * (1 - mean) / 11, rel=0.15)


def test_noise_differs_between_games_and_moves() -> None:
    """On a second search of the same object ("reused root") too."""
    positions, rng = Positions.initial(RULES, 3), np.random.default_rng(2)
    search = Search(RULES, HashEvaluator(), SearchConfig(), 3, 10)
    priors = np.concatenate([search.run(positions, 10, rng).priors[:, :7] for _ in range(2)])
    assert len(np.unique(priors.round(6), axis=0)) == 6
    assert len(np.unique(search.run(positions, 10).priors, axis=0)) == 1


# ---------------------------------------------------------------------------------------------------- gumbel


@pytest.mark.parametrize("considered", [1, 2, 3, 5, 8, 16, 31])
@pytest.mark.parametrize("budget", [1, 2, 7, 16, 50, 200])
def test_sequential_halving(considered: int, budget: int) -> None:
    """The schedule is a race: all of a round equally often, then the better half; at the end the sum is the budget."""
    schedule = [int(choice.considered_visits(considered, budget, simulation)) for simulation in range(budget)]
    assert schedule == [wanted for wanted, _ in zip(halving(considered, budget), range(budget), strict=False)]
    visits = [0] * considered
    for wanted in schedule:
        visits[visits.index(wanted)] += 1  # the first edge that has the wanted count is the best of them
    assert sum(visits) == budget
    assert visits == sorted(visits, reverse=True)
    if considered > 1 and budget >= considered * math.ceil(math.log2(considered)):
        levels = [sum(v >= level for v in visits) for level in range(1, max(visits) + 1)]
        share, racing = budget / math.ceil(math.log2(considered)), considered
        while racing > 2:  # level by level the field is 16, 16, ..., 8, ..., 4, ..., 2
            assert share - racing < levels.count(racing) * racing <= share
            levels = levels[levels.count(racing) :]
            racing = max(2, racing // 2)
        assert set(levels[:-1]) <= {2} and levels[-1] in (1, 2)


def settled(position: Positions) -> tuple[Positions, int]:
    """The first position with a choice, or the end, that forced moves lead to, and how many they are."""
    plies = 0
    while position.terminations[0] == 0 and position.counts[0] == 1:
        position.step(position.actions[:, 0])
        plies += 1
    return position, plies


class Bandit(HashEvaluator):
    """Root moves with known values: the network's value of the root is exactly the mean of its policy.

    The value of a move is the network's value of the position that it leads to, forced moves included.
    """

    def __init__(self, root: Positions) -> None:
        super().__init__()
        self.root = root.boards[0]
        actions = root.actions[0, : root.counts[0]]
        q = []
        for action in actions:
            child = root.copy()
            child.step(np.array([action]))
            end, plies = settled(child)
            assert end.terminations[0] == 0
            q.append(float(HashEvaluator().evaluate(end.boards, features(end))[1][0]) * (-1) ** (plies + 1))
        self.q = np.array(q)
        logits = super().evaluate(root.boards, features(root))[0][0, actions].astype(float)
        self.priors = np.exp(logits) / np.exp(logits).sum()
        self.mean = float(self.priors @ self.q)

    def evaluate(self, boards: np.ndarray, features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        logits, values, left = super().evaluate(boards, features)
        values[(boards == self.root).all(axis=1)] = self.mean
        return logits, values, left


def test_gumbel_improves_on_the_prior_with_few_simulations() -> None:
    """On bandits with known values: for sure once each move has been tried, in the mean over noise with two to four."""
    snapshots, _ = random_games()
    tried, gains = 0, []
    for game in range(40):
        root = snapshots[14].take(np.array([game]))
        count = int(root.counts[0])
        if not 4 <= count <= 16:
            continue
        tried += 1
        bandit = Bandit(root)
        config = SearchConfig(kind="gumbel")
        result = Search(RULES, bandit, config, 1, count).run(root, count)
        assert result.q[0, :count] == pytest.approx(bandit.q, abs=1e-6)
        assert (result.visits[0, :count] == 1).all()
        assert result.policy[0, :count] @ bandit.q >= bandit.mean

        copies = root.take(np.zeros(128, int))
        search = Search(RULES, bandit, config, 128, 4)
        for simulations in (2, 4):
            result = search.run(copies, simulations, np.random.default_rng(game))
            assert (result.visits.max(axis=1) <= 2).all()
            index = np.argmax(result.actions == result.choice[:, None], axis=1)
            means = bandit.q[index].mean(), (result.policy[:, :count] @ bandit.q).mean()
            gains.append(np.array(means) - bandit.mean)
    assert tried >= 20
    assert (np.mean(gains, axis=0) > 0.05).all()
    assert np.min(gains) > 0


def test_gumbel_noise_samples_the_prior() -> None:
    """With one simulation the chosen move is a sample of the network's policy."""
    root = random_games()[0][6].take(np.zeros(4000, int))
    result = Search(RULES, HashEvaluator(), SearchConfig(kind="gumbel", c_scale=0.0), 4000, 1).run(
        root, 1, np.random.default_rng(4)
    )
    count = int(root.counts[0])
    share = (result.actions[:, :count] == result.choice[:, None]).mean(axis=0)
    assert share == pytest.approx(result.priors[0, :count], abs=0.03)


# ------------------------------------------------------------------------------------------ batches and pools


@pytest.mark.parametrize("kind", ["puct", "gumbel"])
def test_virtual_loss(kind: str) -> None:
    """Eight leaves in flight differ, nothing is left in flight, and the visits add up as in a sequential search."""

    class Watching(HashEvaluator):
        def evaluate(self, boards: np.ndarray, features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            leaves = search._leaves
            pairs = list(zip(leaves.game[: len(boards)].tolist(), leaves.node[: len(boards)].tolist(), strict=True))
            assert len(set(pairs)) == len(pairs)
            widest.append(np.bincount(leaves.game[: len(boards)]).max())
            flying.append(int(search.trees.edges["in_flight"][:, : RULES.max_moves].sum()))
            return super().evaluate(boards, features)

    positions, flying, widest = everything(), [], []
    search = Search(RULES, Watching(), SearchConfig(kind=kind, leaves_per_tree=8), len(positions), 200)
    result = search.run(positions, 200)
    assert max(widest) == 8 and max(flying) > 0
    assert (search.trees.edges["in_flight"] == 0).all()
    unproven = result.proven == endgames.UNKNOWN
    assert (result.visits.sum(axis=1) == result.simulations).all()
    assert (result.simulations[unproven] == 200).all()
    trees = search.trees
    for game in range(len(positions)):
        for node in range(int(trees.roots["nodes_used"][game])):
            first, count = int(trees.nodes["first_edge"][game, node]), int(trees.nodes["num_edges"][game, node])
            if count and trees.nodes["proven"][game, node] == endgames.UNKNOWN:
                own = int(node == 0 or count > 1)  # forced nodes are not evaluated
                assert (
                    trees.nodes["visits"][game, node] == own + trees.edges["visits"][game, first : first + count].sum()
                )
    # far fewer calls of the network than simulations
    assert len(search.evaluator.batches) < 0.3 * 200  # type: ignore[attr-defined]


@pytest.mark.parametrize("leaves", [1, 8])
@pytest.mark.parametrize("kind", ["puct", "gumbel"])
def test_a_full_edge_pool_is_harmless(kind: str, leaves: int) -> None:
    """Nodes without room for their moves keep the network's value; the rest of the tree is intact."""
    positions = random_games()[0][8].take(np.arange(8))
    search = Search(RULES, HashEvaluator(), SearchConfig(kind=kind, leaves_per_tree=leaves), 8, 300)
    room = RULES.max_moves + 60
    search.trees = search.trees._replace(edges=search.trees.edges[:, :room].copy())
    result = search.run(positions, 300)
    trees = search.trees
    used = np.arange(trees.nodes["state"].shape[1]) < trees.roots["nodes_used"][:, None]
    assert (used & (trees.nodes["state"] == pools.FULL)).any(axis=1).all()
    assert (trees.roots["edges_used"] <= room).all() and (trees.roots["edges_used"] > room - RULES.max_moves).all()
    assert (result.visits.sum(axis=1) == 300).all() and (trees.edges["in_flight"] == 0).all()
    assert result.policy.sum(axis=1) == pytest.approx(1.0, abs=1e-5)
    for game in range(8):
        for node in np.flatnonzero(used[game] & (trees.nodes["state"][game] == pools.FULL)):
            assert trees.nodes["num_edges"][game, node] == 0
            assert trees.nodes["value"][game, node] == pytest.approx(
                float(trees.nodes["net_value"][game, node]) * trees.nodes["visits"][game, node]
            )


@pytest.mark.parametrize("kind", ["puct", "gumbel"])
def test_games_of_a_batch_are_independent(kind: str) -> None:
    positions, config = everything(), SearchConfig(kind=kind, leaves_per_tree=4)
    _, together = search_all(positions, config, 80)
    order = np.random.default_rng(1).permutation(len(positions))
    shuffled = search_all(positions.take(order), config, 80)[1]
    alone = search_all(positions.take(np.array([13])), config, 80)[1]
    for name in SearchResult.__dataclass_fields__:
        assert (getattr(together, name)[order] == getattr(shuffled, name)).all(), name
        assert (getattr(together, name)[13:14] == getattr(alone, name)).all(), name


def test_a_search_leaves_no_trace_in_the_next_one() -> None:
    positions = everything()
    search = Search(RULES, HashEvaluator(), SearchConfig(), len(positions), 80)
    first = search.run(positions, 80)
    search.run(positions.take(np.arange(len(positions))[::-1]), 60, np.random.default_rng(0))
    again = search.run(positions, 80)
    for name in SearchResult.__dataclass_fields__:
        assert (getattr(first, name) == getattr(again, name)).all(), name


@pytest.mark.parametrize("kind", ["puct", "gumbel"])
def test_time_that_is_not_used_up_changes_nothing(kind: str) -> None:
    positions = everything()
    search = Search(RULES, HashEvaluator(), SearchConfig(kind=kind), len(positions), 80)
    without, within = search.run(positions, 80), search.run(positions, 80, seconds=1e6)
    for name in SearchResult.__dataclass_fields__:
        assert (getattr(without, name) == getattr(within, name)).all(), name


@pytest.mark.parametrize("leaves", [1, 4])
@pytest.mark.parametrize("kind", ["puct", "gumbel"])
def test_a_search_that_runs_out_of_time_is_whole(kind: str, leaves: int) -> None:
    """The root and one round are always evaluated; nothing stays in flight, and the choice has been tried."""
    positions = random_games()[0][8].take(np.arange(8))
    search = Search(RULES, HashEvaluator(), SearchConfig(kind=kind, leaves_per_tree=leaves), 8, 300)
    result = search.run(positions, 300, seconds=0.0)
    assert len(search.evaluator.batches) == 2  # type: ignore[attr-defined]
    assert (search.trees.edges["in_flight"] == 0).all()
    assert (result.simulations >= 1).all() and (result.simulations <= leaves + 8).all()
    assert (result.visits.sum(axis=1) == result.simulations).all()
    chosen = result.actions == result.choice[:, None]
    assert (result.visits[chosen] == result.visits.max(axis=1)).all()


def test_a_settled_choice_ends_a_search_with_limited_time() -> None:
    """The most visited move must be further ahead than the simulations that are left, in all games."""
    positions = random_games()[0][8].take(np.flatnonzero(random_games()[0][8].counts > 1)[:2])
    search, result = search_all(positions, SearchConfig(), 100)
    leads = np.sort(result.visits, axis=1)
    leads = leads[:, -1] - leads[:, -2]
    assert (leads > 0).all()
    share = float(leads.min()) / 100
    assert search._settled(2, share - 0.005) and not search._settled(2, share + 0.005)
    assert search._settled(2, 0.0)


def test_a_refuted_leader_settles_nothing() -> None:
    positions = random_games()[0][8].take(np.flatnonzero(random_games()[0][8].counts > 2)[:1])
    search, result = search_all(positions, SearchConfig(), 100)
    order = np.argsort(result.visits[0])
    lead, rest = (int(result.visits[0, order[-k]] - result.visits[0, order[-k - 1]]) for k in (1, 2))
    left = min(lead, 100) / 100 - 0.005
    assert search._settled(1, left)
    edges = search.trees.edges[0]
    edges["proven"][int(search.trees.nodes["first_edge"][0, 0]) + order[-1]] = endgames.WIN
    assert search._settled(1, left) == (rest > left * 100)
    assert not search._settled(1, rest / 100 + 0.005)


def test_principal_variation_is_a_legal_line() -> None:
    positions = everything()
    search, result = search_all(positions, SearchConfig(), 200)
    for index in range(len(positions)):
        line = search.principal_variation(index)
        position = positions.take(np.array([index]))
        assert len(line) >= 1
        for action in line:
            position.step(np.array([action]))
        if result.proven[index] == endgames.UNKNOWN:
            assert line[0] == result.actions[index, np.argmax(result.visits[index])]


def test_what_cannot_be_searched_is_refused() -> None:
    search = Search(RULES, HashEvaluator(), SearchConfig(), 2, 10)
    finished = before_the_end(0, range(2))
    with pytest.raises(ValueError, match="finished game"):
        search.run(finished, 10)
    with pytest.raises(ValueError, match="room for 2 games, not 3"):
        search.run(Positions.initial(RULES, 3), 10)
    for simulations in (0, 11):
        with pytest.raises(ValueError, match="1 to 10 simulations"):
            search.run(Positions.initial(RULES, 1), simulations)
    for wrong in ({"kind": "uct"}, {"c_puct": -1.0}, {"considered": 1}, {"leaves_per_tree": 0}):
        with pytest.raises(ValueError, match=f"search.{next(iter(wrong))}"):
            SearchConfig(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["puct", "gumbel"])
def test_forced_moves_are_passed_through(kind: str) -> None:
    """The network is asked about positions with a choice only (and roots); the chain of forced moves costs nothing."""

    class Watching(HashEvaluator):
        def evaluate(self, boards: np.ndarray, features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            leaves = search._leaves
            pairs = zip(leaves.game[: len(boards)].tolist(), leaves.node[: len(boards)].tolist(), strict=True)
            asked.extend(int(search.trees.nodes["num_edges"][pair]) for pair in pairs if pair[1])
            return super().evaluate(boards, features)

    positions, asked = everything(), []
    search = Search(RULES, Watching(), SearchConfig(kind=kind), len(positions), 100)
    result = search.run(positions, 100)
    assert len(asked) > 1000 and min(asked) > 1
    trees = search.trees
    used = np.arange(trees.nodes["state"].shape[1]) < trees.roots["nodes_used"][:, None]
    forced = used & (trees.nodes["num_edges"] == 1)
    forced[:, 0] = False
    assert forced.sum() > 500 and (trees.nodes["state"][forced] == pools.READY).all()
    assert (result.visits.sum(axis=1) == result.simulations).all()


def test_forced_moves_leave_room_for_the_simulations() -> None:
    """A pool too small for all forced nodes: they are evaluated like others then, and no simulation is lost."""
    positions = everything()
    search = Search(RULES, HashEvaluator(), SearchConfig(), len(positions), 100)
    search.trees = search.trees._replace(nodes=search.trees.nodes[:, :105].copy())
    result = search.run(positions, 100)
    assert (search.trees.roots["nodes_used"] <= 105).all() and (search.trees.roots["nodes_used"] > 100).any()
    assert ((result.simulations == 100) | (result.proven != endgames.UNKNOWN)).all()
    assert (result.visits.sum(axis=1) == result.simulations).all() and (search.trees.edges["in_flight"] == 0).all()


@pytest.mark.parametrize(
    "answer",
    [
        (np.zeros((1, 1151), np.float32), np.zeros(1, np.float32)),
        (np.zeros((0, 1152), np.float32), np.zeros(1, np.float32)),
        (np.zeros((1, 1152), np.float64), np.zeros(1, np.float32)),
        (np.zeros((1, 1152), np.float32), np.zeros((1, 1), np.float32)),
        (np.zeros((1, 1152), np.float32), np.zeros(1, np.int64)),
    ],
)
def test_answers_of_another_shape_or_type_are_refused(answer: tuple[np.ndarray, np.ndarray]) -> None:
    class Wrong:
        def evaluate(self, boards: np.ndarray, features: np.ndarray) -> tuple[np.ndarray, ...]:
            return (*answer, np.zeros(1, np.float32))

    with pytest.raises(ValueError, match=r"The evaluator's (logits|values) must be float32\[1"):
        Search(get_rules("cbd"), Wrong(), SearchConfig(), 1, 4).run(Positions.initial("cbd"), 4)


def test_games_of_other_rules_are_refused() -> None:
    other = Positions.initial(RuleSet(name="big", title="10x10 board", size=10, men_rows=4))
    with pytest.raises(ValueError, match="for the rules 'cbd', not 'big'"):
        Search(get_rules("cbd"), HashEvaluator(), SearchConfig(), 1, 4).run(other, 4)
    with pytest.raises(ValueError, match="for the rules 'cbd', not 'big'"):
        AlphaBeta("cbd", Limits(depth=1)).search(other, np.zeros(1, np.uint64))


@pytest.mark.parametrize("seeds", [np.zeros(0, np.uint64), np.zeros(2, np.uint64), np.zeros(1), np.zeros(1, np.int64)])
def test_seeds_of_another_shape_or_type_are_refused(seeds: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"seeds must be uint64\[1\]"):
        AlphaBeta("cbd", Limits(depth=1)).search(Positions.initial("cbd"), seeds)

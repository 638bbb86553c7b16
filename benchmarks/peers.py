"""Runs libraries that damas-rl is compared with, in an environment of their own; called by the other benchmarks.

They are kept apart since one of them shares its module name with a library that the tests use, and since nothing of
damas-rl may depend on them:

    python -m venv peers && peers/bin/pip install -r benchmarks/peers.txt

Reads one task a line, answers with numbers: how many, and in how many seconds.

    perft       task "depth"            leaves, processor seconds (py-draughts, from the start)
    engine      task "FEN"              origin, destination and captured squares of its move; argument: ms a move
    checkers    task "seconds observe"  plies, processor seconds (OpenSpiel, random play)
    othello     task "seconds batch"    plies, seconds (pgx, random play on all cores)
    mctx        task "network seconds", "search seconds" or "bare seconds"; arguments: batch, simulations, operations
                evaluations, seconds; or simulations, plies, finished games, seconds
    alphazero   task "network seconds" or "search seconds"; arguments: simulations, operations
                as mctx (OpenSpiel's checkers, one core)

"operations" are the floating-point operations of the network that both sides search with.
"""

import functools
import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any

WIDTH = 256
"""Units of the residual network."""


def perft_task() -> Callable[[str], tuple[float, ...]]:
    """Leaves of py-draughts by its public interface; the last ply is the length of the move list."""
    from draughts import BrazilianBoard

    def count(board: Any, depth: int) -> int:
        moves = board.legal_moves
        if depth == 1:
            return len(moves)
        leaves = 0
        for move in moves:
            board.push(move)
            leaves += count(board, depth - 1)
            board.pop()
        return leaves

    def run(task: str) -> tuple[float, ...]:
        board, started = BrazilianBoard(), time.process_time()
        leaves = count(board, int(task))
        return leaves, time.process_time() - started

    return run


def engine_task(ms: str) -> Callable[[str], tuple[float, ...]]:
    """Moves of py-draughts' SimpleEngine in Brazilian draughts, without a limit of depth that it could reach.

    A position that follows one that it has answered, one ply later, belongs to the same game, so that it sees
    repetitions. Where a game goes on that its own draw laws have ended, it forgets what was before.
    """
    from draughts import BrazilianBoard, SimpleEngine

    engine = SimpleEngine(depth_limit=64, time_limit=int(ms) / 1000)
    games: dict[Any, Any] = {}

    def state(board: Any) -> tuple[Any, ...]:
        return board.turn, board.white_men, board.white_kings, board.black_men, board.black_kings

    def followed(fen: str) -> Any:
        asked = BrazilianBoard.from_fen(fen)
        if board := games.get(asked.turn):
            for move in board.legal_moves:
                board.push(move)
                if state(board) == state(asked) and not board.is_draw:
                    return board
                board.pop()
        return asked

    def run(fen: str) -> tuple[float, ...]:
        board = followed(fen)
        move = engine.get_best_move(board)
        games[board.turn] = board
        board.push(move)
        return tuple(1 + square for square in (move.square_list[0], move.square_list[-1], *move.captured_list))

    return run


def checkers_task() -> Callable[[str], tuple[float, ...]]:
    """Random legal plies of OpenSpiel's checkers, a new game after each end."""
    import pyspiel

    game = pyspiel.load_game("checkers")
    choose = random.Random(0).random

    def run(task: str) -> tuple[float, ...]:
        seconds, observe = task.split()
        plies, started, limit = 0, time.process_time(), float(seconds)
        state = game.new_initial_state()
        while time.process_time() - started < limit:
            for _ in range(1000):
                if state.is_terminal():
                    state = game.new_initial_state()
                if observe == "1":
                    state.observation_tensor()
                    state.legal_actions_mask()
                actions = state.legal_actions()
                state.apply_action(actions[int(choose() * len(actions))])
            plies += 1000
        return plies, time.process_time() - started

    return run


def weights(inputs: int, actions: int, operations: int) -> tuple[Any, ...]:
    """Random weights of a dense residual network that costs about so many operations: (enter, blocks, policy, value).

    It has layers of one width alone, which is the cheapest kind of network for its operations.
    """
    import numpy as np

    blocks = round((operations / 2 - WIDTH * (inputs + actions)) / (2 * WIDTH * WIDTH))
    draw = np.random.default_rng(0).standard_normal

    def layer(rows: int, columns: int) -> Any:
        return draw((rows, columns), dtype=np.float32) / np.float32(rows**0.5)

    inner = [(layer(WIDTH, WIDTH), layer(WIDTH, WIDTH) / 4) for _ in range(blocks)]
    return layer(inputs, WIDTH), inner, layer(WIDTH, actions), layer(WIDTH, 1)


def answer(array: Any, net: tuple[Any, ...], inputs: Any) -> tuple[Any, Any]:
    """(policy logits, value) of the network; ``array`` is the module, numpy or jax.numpy, that computes them."""
    enter, blocks, policy, value = net
    x = array.maximum(inputs @ enter, 0)
    for inner, outer in blocks:
        x = x + array.maximum(x @ inner, 0) @ outer
    return x @ policy, array.tanh(x @ value)[..., 0]


def othello_task() -> Callable[[str], tuple[float, ...]]:
    """Random legal plies of pgx's othello with auto-reset, 100 of each game in one compiled call."""
    import jax
    import jax.numpy as jnp
    import pgx
    from pgx.experimental.wrappers import auto_reset

    env = pgx.make("othello")
    step = jax.vmap(auto_reset(env.step, env.init))

    @jax.jit
    def play(state: Any, key: Any) -> tuple[Any, Any]:
        def ply(_: Any, carried: tuple[Any, Any]) -> tuple[Any, Any]:
            state, key = carried
            key, chosen, fresh = jax.random.split(key, 3)
            action = jax.random.categorical(chosen, jnp.where(state.legal_action_mask, 0.0, -jnp.inf))
            return step(state, action, jax.random.split(fresh, len(action))), key

        return jax.lax.fori_loop(0, 100, ply, (state, key))

    @functools.cache
    def started(batch: int) -> tuple[Any, Any]:
        keys = jax.random.split(jax.random.key(0), batch)
        return jax.block_until_ready(play(jax.jit(jax.vmap(env.init))(keys), jax.random.key(1)))

    def run(task: str) -> tuple[float, ...]:
        seconds, batch = task.split()
        carried, plies = started(int(batch)), 0
        begun = time.perf_counter()
        while time.perf_counter() - begun < float(seconds):
            carried = jax.block_until_ready(play(*carried))
            plies += 100 * int(batch)
        return plies, time.perf_counter() - begun

    return run


def mctx_task(batch: str, simulations: str, operations: str) -> Callable[[str], tuple[float, ...]]:
    """Gumbel search of mctx over a batch of games of pgx's othello on all cores.

    "bare" searches a model without rules, whose state never changes: what is left is the search and the network.
    """
    import jax
    import jax.numpy as jnp
    import mctx
    import pgx
    from pgx.experimental.wrappers import auto_reset

    size, env = int(batch), pgx.make("othello")
    net = jax.tree.map(jnp.asarray, weights(128, 65, int(operations)))
    step, restarting = jax.vmap(env.step), jax.vmap(auto_reset(env.step, env.init))

    def evaluate(net: Any, observation: Any) -> tuple[Any, Any]:
        return answer(jnp, net, observation.reshape(len(observation), -1).astype(jnp.float32))

    def follow(net: Any, _: Any, action: Any, state: Any) -> tuple[Any, Any]:
        """What the search finds behind an action."""
        mover = state.current_player
        state = step(state, action)
        logits, value = evaluate(net, state.observation)
        logits = jnp.where(state.legal_action_mask, logits, jnp.finfo(logits.dtype).min)
        reward = jnp.take_along_axis(state.rewards, mover[:, None], axis=1)[:, 0]
        done = state.terminated
        found = mctx.RecurrentFnOutput(
            reward=reward,
            discount=jnp.where(done, 0.0, -1.0),
            prior_logits=logits,
            value=jnp.where(done, 0.0, value),
        )
        return found, state

    def stay(net: Any, _: Any, action: Any, state: Any) -> tuple[Any, Any]:
        logits, value = evaluate(net, state.observation)
        zeros = jnp.zeros(size)
        return mctx.RecurrentFnOutput(reward=zeros, discount=zeros - 1, prior_logits=logits, value=value), state

    @functools.partial(jax.jit, static_argnames="model")
    def move(net: Any, state: Any, key: Any, model: Any) -> Any:
        """One searched ply of each game, and how many games it ended."""
        searched, fresh = jax.random.split(key)
        logits, value = evaluate(net, state.observation)
        root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state)
        found = mctx.gumbel_muzero_policy(
            net, searched, root, model, int(simulations), ~state.legal_action_mask, max_num_considered_actions=8
        )
        state = restarting(state, found.action, jax.random.split(fresh, size))
        return state, state.terminated.sum()

    @jax.jit
    def spread(key: Any) -> Any:
        """Games after 0 to 59 random plies."""

        def ply(number: Any, state: Any) -> Any:
            chosen = jax.random.fold_in(key, number)
            action = jax.random.categorical(chosen, jnp.where(state.legal_action_mask, 0.0, -jnp.inf))
            after, going_on = step(state, action), number < jnp.arange(size) % 60

            def choose(new: Any, old: Any) -> Any:
                return jnp.where(going_on.reshape(-1, *[1] * (new.ndim - 1)), new, old)

            return jax.tree.map(choose, after, state)

        return jax.lax.fori_loop(0, 60, ply, jax.vmap(env.init)(jax.random.split(key, size)))

    alone, games, keys = jax.jit(evaluate), spread(jax.random.key(0)), iter(range(1 << 62))

    def network(limit: float) -> tuple[float, ...]:
        jax.block_until_ready(alone(net, games.observation))
        calls, begun = 0, time.perf_counter()
        while time.perf_counter() - begun < limit:
            jax.block_until_ready(alone(net, games.observation))
            calls += 1
        return calls * size, time.perf_counter() - begun

    def search(limit: float, model: Any) -> tuple[float, ...]:
        state, _ = jax.block_until_ready(move(net, games, jax.random.key(next(keys)), model))
        moves, ended, begun = 0, 0, time.perf_counter()
        while time.perf_counter() - begun < limit:
            state, done = move(net, state, jax.random.key(next(keys)), model)
            moves, ended = moves + size, ended + int(done)
        return moves * int(simulations), moves, ended, time.perf_counter() - begun

    def run(task: str) -> tuple[float, ...]:
        kind, seconds = task.split()
        if kind == "network":
            return network(float(seconds))
        return search(float(seconds), {"search": follow, "bare": stay}[kind])

    return run


def alphazero_task(simulations: str, operations: str) -> Callable[[str], tuple[float, ...]]:
    """OpenSpiel's AlphaZero search in Python: whole games of checkers, until one ends after the time is over.

    The network is computed by numpy, which for a single position takes less time than a call of a compiled JAX
    function does. The search is set up as OpenSpiel's AlphaZero sets it up.
    """
    import numpy as np
    import pyspiel
    from open_spiel.python.algorithms import mcts
    from open_spiel.python.algorithms.alpha_zero.evaluator import AlphaZeroEvaluator

    game = pyspiel.load_game("checkers")
    net = weights(game.observation_tensor_size(), game.num_distinct_actions(), int(operations))

    class Model:
        def inference(self, observation: Any, mask: Any) -> tuple[float, Any]:
            logits, value = answer(np, net, observation.astype(np.float32))
            shares = np.where(mask, np.exp(logits - logits.max()), 0.0)
            return float(value), shares / shares.sum()

    model, chance = Model(), np.random.RandomState(os.getpid())
    bot = mcts.MCTSBot(
        game, 1.5, int(simulations), AlphaZeroEvaluator(game, model), solve=False, random_state=chance,
        child_selection_fn=mcts.SearchNode.puct_value, dirichlet_noise=(0.25, 1.0), dont_return_chance_node=True,
    )  # fmt: skip

    def network(limit: float) -> tuple[float, ...]:
        state = game.new_initial_state()
        observation, mask = np.asarray(state.observation_tensor()), np.asarray(state.legal_actions_mask())
        calls, begun = 0, time.perf_counter()
        while time.perf_counter() - begun < limit:
            for _ in range(100):
                model.inference(observation, mask)
            calls += 100
        return calls, time.perf_counter() - begun

    def search(limit: float) -> tuple[float, ...]:
        moves, games, begun = 0, 0, time.perf_counter()
        while time.perf_counter() - begun < limit:
            state = game.new_initial_state()
            while not state.is_terminal():
                root = bot.mcts_search(state)
                visits = np.array([child.explore_count for child in root.children], dtype=np.float64)
                chosen = chance.choice(len(visits), p=visits / visits.sum())
                state.apply_action(root.children[chosen].action)
                moves += 1
            games += 1
        return moves * int(simulations), moves, games, time.perf_counter() - begun

    def run(task: str) -> tuple[float, ...]:
        kind, seconds = task.split()
        return {"network": network, "search": search}[kind](float(seconds))

    return run


TASKS: dict[str, Callable[..., Callable[[str], tuple[float, ...]]]] = {
    "perft": perft_task,
    "engine": engine_task,
    "checkers": checkers_task,
    "othello": othello_task,
    "mctx": mctx_task,
    "alphazero": alphazero_task,
}


def main() -> None:
    run = TASKS[sys.argv[1]](*sys.argv[2:])
    for task in sys.stdin:
        print(*run(task), flush=True)


if __name__ == "__main__":
    main()

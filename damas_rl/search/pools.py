"""Search trees of many games in memory: a pool of node records and a pool of edge records for each game.

Node 0 is the root. Legal moves become edges as soon as a node is created, and the edges of a node lie side by side;
their priors follow when the network has answered. Values:

* ``value`` of a node sums values for the side to move **in** it, ``value`` of an edge those for the side that
  **chooses** it (the side to move in its parent).
* A proof (``proven``: ``UNKNOWN``, ``WIN``, ``LOSS`` or ``DRAW``) is for the side to move in the node; an edge carries
  the proof of its child.

Memory is made of records (structured arrays): what one step of a walk reads lies together.
"""

from typing import NamedTuple

import numpy as np

from damas_env.rules import MAX_COUNTERS, MAX_HISTORY, RuleSet

READY, PENDING, FULL, TABLED = 0, 1, 2, 3
"""State of a node: has priors; waits for the network; has no edges because the edge pool was full; waits for priors
only, since an endgame table gave the value."""

NODE = np.dtype(
    [
        ("value", np.float64),
        ("explored", np.float64),
        ("visits", np.int32),
        ("first_edge", np.int32),
        ("parent", np.int32),
        ("parent_edge", np.int32),
        ("num_edges", np.int16),
        ("proven", np.int8),
        ("state", np.int8),
        ("net_value", np.float32),
        ("boards", np.uint64, 4),
        ("key", np.uint64),
        ("counters", np.int16, MAX_COUNTERS),
        ("plies", np.int32),
        ("reversible", np.int16),
        ("repetitions", np.int8),
        ("laws", np.uint8),
    ],
    align=True,
)
"""A node.

Fields: ``visits``, completed simulations through the node, its own evaluation included (forced nodes have none);
``value``, their sum; ``explored``, sum of the priors of edges that have been visited; ``first_edge`` and
``num_edges``; ``parent`` (-1 at the root) and ``parent_edge``; ``proven``; ``state``; ``net_value``, the
network's answer or that of an endgame table; ``boards``, ``counters``, ``plies`` and ``repetitions`` as in
``Positions``; ``key``; ``reversible``, plies since the last capture or man move; ``laws``, the standing draw laws.
"""

EDGE = np.dtype(
    [
        ("value", np.float64),
        ("visits", np.int32),
        ("child", np.int32),
        ("prior", np.float32),
        ("logit", np.float32),
        ("in_flight", np.int16),
        ("action", np.int16),
        ("proven", np.int8),
        ("move", np.uint64),
    ],
    align=True,
)
"""An edge.

Fields: ``visits`` and ``value`` as in nodes; ``child``, -1 = none yet; ``proven``, proof of the child, for the side
to move there; ``prior``; ``logit``; ``in_flight``, simulations that wait for the network (virtual loss); ``move`` and
``action``, the move's code and index.
"""


class Trees(NamedTuple):
    """G trees of at most N nodes and E edges.

    Attributes:
        nodes: :data:`NODE` [G, N].
        edges: :data:`EDGE` [G, E].
        roots: records [G]; ``nodes_used`` and ``edges_used``; ``simulations`` started so far, and their ``budget``;
            ``history`` with ``history_len`` keys, the game before and at the root; ``owed``, the factor of the
            visits that tried moves are owed (``forced_playouts``; 0 = none); ``noise``, float32[M], Gumbel noise of
            the root edges (zeros without).
    """

    nodes: np.ndarray
    edges: np.ndarray
    roots: np.ndarray


class Leaves(NamedTuple):
    """Nodes that wait for the network, in the order in which they were found.

    Attributes:
        game, node: int32[L]. boards: uint64[L, 4]. counters: int16[L, 4]. repetitions: int8[L]. plies: int32[L].
    """

    game: np.ndarray
    node: np.ndarray
    boards: np.ndarray
    counters: np.ndarray
    repetitions: np.ndarray
    plies: np.ndarray


class Scales(NamedTuple):
    """Numbers of the search that kernels need (see ``SearchConfig``)."""

    c_puct: float
    fpu_reduction: float
    gumbel: bool
    considered: int
    c_visit: float
    c_scale: float


def new_trees(rules: RuleSet, games: int, simulations: int) -> Trees:
    """Empty pools; about 850 bytes for each simulation.

    There is room for a node that waits for the network in each simulation, and for two forced ones.
    """
    root = np.dtype(
        [
            *((word, np.int32) for word in ("nodes_used", "edges_used", "simulations", "budget", "history_len")),
            ("history", np.uint64, MAX_HISTORY),
            ("owed", np.float32),
            ("noise", np.float32, rules.max_moves),
        ],
        align=True,
    )
    return Trees(
        np.zeros((games, 2 + 3 * simulations), NODE),
        np.zeros((games, 14 * (2 + simulations) + rules.max_moves), EDGE),
        np.zeros(games, root),
    )


def new_leaves(size: int) -> Leaves:
    """Room for ``size`` leaves."""
    return Leaves(
        np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros((size, 4), np.uint64),
        np.zeros((size, MAX_COUNTERS), np.int16), np.zeros(size, np.int8), np.zeros(size, np.int32),
    )  # fmt: skip

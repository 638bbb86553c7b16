"""A slow, plain Monte-Carlo tree search with one Python object for each node and edge, to be compared with the kernels.

Written from the description of the search (docs/search.md). The rules come from `Positions`, a batch of one for each
node, so that counters and repetitions follow the real path; no code is shared with `damas_rl.search`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from damas_env.observation import features
from damas_env.position import Positions

WIN, DRAW, LOSS = 1.0, 0.0, -1.0
"""Proofs are exact values for the side to move in a node; None = not proven."""


@dataclass(eq=False)
class Edge:
    action: int
    logit: float
    prior: float
    visits: int = 0
    total: float = 0.0  # sum of values for the side that chooses the edge
    flying: int = 0  # simulations through the edge that wait for the network
    child: "Node | None" = None

    @property
    def proof(self) -> float | None:
        """For the side that chooses the edge."""
        return None if self.child is None or self.child.proof is None else -self.child.proof


@dataclass(eq=False)
class Node:
    game: Positions
    path: list[tuple["Node", Edge]]  # from the root
    edges: list[Edge] = field(default_factory=list)
    visits: int = 0
    total: float = 0.0
    net_value: float = 0.0
    proof: float | None = None
    waiting: bool = True  # for the network

    def completed(self, edge: Edge) -> float:
        """Value of an edge: exact if proven, else the mean, else estimated from the edges that have been visited."""
        if edge.proof is not None:
            return edge.proof
        seen = [e for e in self.edges if e.visits]
        if edge in seen or not seen:
            return edge.total / edge.visits if seen else self.net_value
        mean = sum(e.prior * e.total / e.visits for e in seen) / sum(e.prior for e in seen)
        visits = sum(e.visits for e in seen)
        return (self.net_value + visits * mean) / (1 + visits)


def halving(considered: int, budget: int) -> Iterator[int]:
    """Visit count that a root edge must have to be the next one, simulation by simulation."""
    rounds, racing, visits = max(1, math.ceil(math.log2(considered))), considered, 0
    while True:
        each = max(1, budget // (rounds * racing))
        for count in range(visits, visits + each):
            yield from [count] * racing
        visits, racing = visits + each, max(2, racing // 2) if considered > 1 else 1


class ReferenceSearch:
    """Searches one game; `root` is the tree, `policy` and `choice` what is made of it."""

    def __init__(self, config, evaluator, game: Positions, budget: int, noise=None, root_priors=None) -> None:
        self.forced = config.forced_playouts if root_priors is not None else 0.0
        self.config, self.evaluator, self.root, self.simulations = config, evaluator, Node(game, []), 0
        self.expand(self.root)
        for index, edge in enumerate(self.root.edges if root_priors is not None else []):
            edge.prior = float(root_priors[index])
        self.noise = dict(zip(self.root.edges, [0.0] * 999 if noise is None else noise.tolist(), strict=False))
        self.race = list(islice(halving(min(config.considered, len(self.root.edges)), budget), budget))
        while self.simulations < budget and self.root.proof is None:
            self.round(budget)

    def round(self, budget: int) -> None:
        """Collects leaves, each of which the others see as lost, then asks the network."""
        leaves: list[Node] = []
        while len(leaves) < self.config.leaves_per_tree and self.simulations < budget and self.root.proof is None:
            node = self.walk()
            if node in leaves:
                break
            self.simulations += 1
            if node.waiting:
                leaves.append(node)
                for _, edge in node.path:
                    edge.flying += 1
            else:
                self.back_up(node, node.proof)
        for leaf in leaves:
            for _, edge in leaf.path:
                edge.flying -= 1
            self.expand(leaf)

    def walk(self) -> Node:
        """From the root to a node that is proven or waits for the network; a single legal move is played at once."""
        node = self.root
        while not node.waiting and node.proof is None:
            race = node is self.root and self.config.kind == "gumbel"
            forced = len(node.edges) == 1
            starved = self.starved() if node is self.root and not race else []
            best = self.best_of_race if race else lambda n=node: max(n.edges, key=lambda e: self.puct(n, e))
            edge = node.edges[0] if forced else starved[0] if starved else best()
            if edge.child is None:
                game = node.game.copy()
                game.step(np.array([edge.action]))
                edge.child = Node(game, [*node.path, (node, edge)])
                if game.terminations[0]:
                    edge.child.waiting, edge.child.proof = False, LOSS if game.lost[0] else DRAW
                    self.prove(edge.child)
                elif game.counts[0] == 1:
                    edge.child.waiting, edge.child.edges = False, [Edge(int(game.actions[0, 0]), 0.0, 1.0)]
            node = edge.child
        return node

    def puct(self, node: Node, edge: Edge) -> float:
        if edge.proof == LOSS:
            return -math.inf
        tries = edge.visits + edge.flying
        explored = sum(e.prior for e in node.edges if e.visits)
        quality = node.total / node.visits - self.config.fpu_reduction * math.sqrt(explored)
        if tries:
            quality = (edge.total - edge.flying) / tries
        return quality + self.config.c_puct * math.sqrt(node.visits) * edge.prior / (1 + tries)

    def owed(self, edge: Edge) -> float:
        """Forced visits of a root edge."""
        return math.sqrt(self.forced * edge.prior * self.root.visits)

    def starved(self) -> list[Edge]:
        """Root edges that have been tried, and are owed more visits."""
        tries = {e: e.visits + e.flying for e in self.root.edges}
        return [e for e in tries if 0 < tries[e] < self.owed(e) and e.proof is None]

    def pruned(self, weights: dict[Edge, float]) -> dict[Edge, float]:
        """Visits less the forced ones: as few as keep PUCT below that of the most visited edge."""
        best = max(weights, key=lambda e: e.visits)
        if not best.visits:
            return weights

        def puct(edge: Edge, visits: float) -> float:
            prior = self.config.c_puct * math.sqrt(self.root.visits) * edge.prior
            return edge.total / edge.visits + prior / (1 + visits)

        kept = {}
        for edge, weight in weights.items():
            visits, least = weight, weight - math.floor(self.owed(edge)) if edge is not best else weight
            while visits and visits - 1 >= least and puct(edge, visits - 1) <= puct(best, best.visits):
                visits -= 1
            kept[edge] = visits if visits > 1 or edge is best else 0.0
        return kept

    def score(self, edge: Edge) -> float:
        """Logit + sigma(Q) of a root edge."""
        most = max(e.visits for e in self.root.edges)
        return edge.logit + (self.config.c_visit + most) * self.config.c_scale * self.root.completed(edge)

    def best_of_race(self) -> Edge:
        count = {e: e.visits + e.flying for e in self.root.edges}
        wanted = self.race[self.simulations]
        running = [e for e in count if count[e] == wanted] or [e for e in count if count[e] == min(count.values())]
        return max(running, key=lambda e: self.noise[e] + self.score(e))

    def prove(self, node: Node) -> None:
        for parent, _ in reversed(node.path):
            proofs = [edge.proof for edge in parent.edges]
            if parent.proof is not None or (WIN not in proofs and None in proofs):
                return
            parent.proof = max(proof for proof in proofs if proof is not None)

    def expand(self, node: Node) -> None:
        logits, values, _ = self.evaluator.evaluate(node.game.boards, features(node.game))
        node.net_value, node.waiting = float(values[0]), False
        actions = node.game.actions[0, : node.game.counts[0]].tolist()
        weights = np.exp((logits[0, actions].astype(float) - logits[0, actions].max()) / self.config.prior_temperature)
        priors = (weights / weights.sum()).astype(np.float32).tolist()
        node.edges = [Edge(a, float(logits[0, a]), p) for a, p in zip(actions, priors, strict=True)]
        self.back_up(node, node.net_value)

    def back_up(self, leaf: Node, value: float) -> None:
        leaf.visits, leaf.total = leaf.visits + 1, leaf.total + value
        for node, edge in reversed(leaf.path):
            value = -value
            edge.visits, edge.total = edge.visits + 1, edge.total + value
            node.visits, node.total = node.visits + 1, node.total + value

    def allowed(self) -> list[Edge]:
        """Root edges that the proofs leave in: those of the proven best, or all that do not lose for certain."""
        proof = self.root.proof
        return [e for e in self.root.edges if (e.proof != LOSS if proof is None else e.proof == proof)]

    def policy(self) -> list[float]:
        weights = {e: float(e.visits) for e in self.allowed()}
        if self.config.kind == "gumbel":
            best = max(map(self.score, weights))
            weights = {e: math.exp(self.score(e) - best) for e in weights}
        elif not any(weights.values()):
            weights = dict.fromkeys(weights, 1.0)
        elif self.forced and self.root.proof is None:
            weights = self.pruned(weights)
        return [weights.get(e, 0.0) / sum(weights.values()) for e in self.root.edges]

    def choice(self) -> int:
        gumbel = self.config.kind == "gumbel"
        return max(
            self.allowed(),
            key=lambda e: (e.visits, self.noise[e] + self.score(e) if gumbel else self.root.completed(e)),
        ).action

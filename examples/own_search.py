"""A search of one's own: PUCT that does not learn from moves which only noise made it try.

export DAMAS_PLUGINS=examples/own_search.py
python train.py search.kind=pruned
"""

import dataclasses

import numpy as np

from damas_rl.search.mcts import Search, SearchResult, register_search

LEAST_SHARE = 0.05
"""Moves with fewer visits than this share of the most visited one are left out of the training target."""


class PrunedSearch(Search):
    """PUCT with a training target of the moves that the search came back to."""

    def read(self, size: int) -> SearchResult:
        """See :meth:`damas_rl.search.mcts.Search.read`."""
        result = super().read(size)
        visits = np.where(result.policy > 0, result.visits, 0)  # moves that lose for certain are no target anyway
        enough = visits >= LEAST_SHARE * visits.max(axis=1, keepdims=True)
        kept = np.where(enough, result.policy, 0)
        return dataclasses.replace(result, policy=kept / kept.sum(axis=1, keepdims=True))


register_search("pruned", PrunedSearch, root="puct")

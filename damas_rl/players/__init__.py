"""Players: one interface over random moves, alpha-beta, tree search with a network, and a network's raw policy.

A player is named by a *spec*, ``kind`` or ``kind:key=value,key=value``:

| spec | plays |
| --- | --- |
| ``random`` | each legal move with equal probability |
| ``alphabeta:depth=6`` | alpha-beta; ``depth=``, ``nodes=``, ``ms=`` or several of them |
| ``alphabeta:ms=100,eval=cbd`` | alpha-beta with a learned evaluation |
| ``mcts:net=NAME,sims=200`` | tree search with a network; ``sims=``, ``ms=`` or both |
| ``policy:net=NAME`` | the move that a network likes best, without search |
| ``hub:PATH,ms=500`` | another program that speaks the Hub protocol (docs/protocols.md) |

``net=`` takes a checkpoint, a run directory or the name of a network that ships with the package. A network plays the
rules that it was trained for; with ``transfer=true`` it plays others on a board of its size too, as well as it can: it
knows neither their moves nor what their draw counters mean.

``mcts`` takes the constants of ``search.`` too, such as ``c_puct=1`` or ``kind=gumbel`` (docs/search.md).

``tables=4`` gives ``mcts`` and ``alphabeta`` the exact endgames of up to so many pieces. Those of up to four are built
when they are first needed, which takes seconds; larger ones by ``damas tablebase build``.

``hub:PATH`` starts that program. ``ms=``, ``depth=`` and ``nodes=`` limit its searches (1000 ms without them),
``args=`` are its arguments, as for a shell, ``variant=`` is its name for the game where it is not the usual one.

``eval=`` takes a file of ``scripts/tune_evaluation.py`` or the name of an evaluation that ships with the package;
without it, alpha-beta judges by a few rules made by hand.

Kinds of your own are found if ``DAMAS_PLUGINS`` names their modules (docs/extending.md).
"""

from damas_rl.players.base import Choice, Player, PlayerError
from damas_rl.players.kinds import MOST_SIMULATIONS, PLAYING, AlphaBetaPlayer, MctsPlayer, PolicyPlayer, RandomPlayer
from damas_rl.players.specs import (
    Make,
    anchored_spec,
    make_player,
    network_of,
    read_spec,
    register_player,
    strong_spec,
    whole_option,
)

__all__ = [
    "MOST_SIMULATIONS",
    "PLAYING",
    "AlphaBetaPlayer",
    "Choice",
    "Make",
    "MctsPlayer",
    "Player",
    "PlayerError",
    "PolicyPlayer",
    "RandomPlayer",
    "anchored_spec",
    "make_player",
    "network_of",
    "read_spec",
    "register_player",
    "strong_spec",
    "whole_option",
]

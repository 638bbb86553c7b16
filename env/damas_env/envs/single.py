"""One game as a Gymnasium environment: both sides in turn, or one side against a player that answers."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from damas_env import notation, render
from damas_env.envs.arguments import check_choice, check_options, check_seed
from damas_env.envs.opponents import Opponent, make_opponent
from damas_env.errors import IllegalActionError, OpponentError, shown
from damas_env.observation import opposite_view, planes, planes_shape
from damas_env.position import COLORS, Positions
from damas_env.presets import DEFAULT_RULES
from damas_env.rules import RuleSet, get_rules
from damas_env.termination import Termination

RENDER_MODES = ("ansi", "rgb_array")
_AGENT_COLORS = {"white": 0, "black": 1, "random": None}


class LegalDiscrete(spaces.Discrete):
    """``Discrete(n)`` that knows which actions are legal now, so that a bare ``sample()`` is playable.

    Membership, equality and sampling with a mask are those of ``Discrete``. Before the first position and
    after the end of a game nothing is legal, and all ``n`` actions are drawn from.

    Attributes:
        legal: int16[K], the legal actions of the current position; set by the environment.
    """

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.legal: NDArray[np.int16] = np.empty(0, dtype=np.int16)

    def sample(self, mask: Any = None, probability: Any = None) -> np.int64:
        """One random action: of those that ``mask`` (int8[n]) allows, or else of the legal ones."""
        if mask is None and probability is None and self.legal.size:
            return np.int64(self.np_random.choice(self.legal))
        return super().sample(mask, probability)


class DamasEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """One game of draughts, ``gymnasium.make("damas_env/Damas-v0")``.

    * **Observation**: float32[10, S, S] in [0, 1], :func:`damas_env.observation.planes` of the side that the
      agent plays now.
    * **Action**: index in ``Discrete(N)`` in the view of the side to move, a whole capture at a time.
      ``info["action_mask"]`` (int8[N]) and :meth:`action_masks` (bool[N]) tell which are legal; all are 0
      when the game has ended. ``action_space.sample()`` draws a legal action of the current position.
    * **Without opponent** the sides alternate and a step is one ply. The reward belongs to the side that has
      just moved: +1 if that ply won, else 0. It is never -1, because nobody loses by their own move: who
      cannot move has lost, and that is seen after the other side's ply. The observation after the ply belongs
      to the other side.
    * **With an opponent** a step is the agent's ply and the reply. The reward is the agent's: +1 won, -1
      lost, 0 drawn or going on. Observations are the agent's view, the last one too.
    * **End**: ``terminated`` for a win, loss or draw; ``truncated`` where the ply cap of the rule set stops a
      game without deciding it. ``info["outcome"]`` then says ``{"termination": str, "winner":
      "W"/"B"/None}``.
    * ``info`` always holds ``"action_mask"``, ``"to_move"`` ("W"/"B") and ``"ply"``.

    Args:
        rules: name of a rule set, or a :class:`~damas_env.rules.RuleSet`.
        opponent: None, a player spec ("random", "alphabeta:depth=2", ...), or an object with
            ``choose(positions)``.
        agent_color: "white", "black" or "random" (the default, drawn anew for each game); needs an opponent.
        illegal_action: "raise" answers an illegal action with ``IllegalActionError`` and changes nothing;
            "lose" ends the game with reward -1 and ``info["illegal_action"] = True``, for learners that
            cannot mask. Checkers that step with an action drawn before ``reset`` (``check_env`` against an
            opponent) need "lose".
        render_mode: None, "ansi" or "rgb_array"; :meth:`svg` works in every mode.

    Raises:
        ValueError: an argument has an unknown value or is of another type.
    """

    metadata: dict[str, Any] = {"render_modes": [*RENDER_MODES], "render_fps": 2}  # noqa: RUF012

    def __init__(
        self,
        rules: str | RuleSet = DEFAULT_RULES,
        opponent: str | Opponent | None = None,
        agent_color: str | None = None,
        illegal_action: str = "raise",
        render_mode: str | None = None,
    ) -> None:
        self.rules = get_rules(rules)
        check_choice("agent_color", agent_color, (None, *_AGENT_COLORS))
        check_choice("illegal_action", illegal_action, ("raise", "lose"))
        check_choice("render_mode", render_mode, (None, *RENDER_MODES))
        if opponent is None and agent_color is not None:
            raise ValueError(f"agent_color={agent_color!r} needs an opponent; without one leave it out.")
        if not (opponent is None or isinstance(opponent, str) or _answers(opponent)):
            raise ValueError(
                f"opponent={shown(opponent)} cannot play; use None, a player spec such as 'random', or an object "
                "with choose(positions)."
            )
        self.render_mode = render_mode
        self.illegal_action = illegal_action
        self.agent_color = agent_color or "random"
        self._opponent_spec = opponent
        self._opponent: Opponent | None
        if isinstance(opponent, str):
            self._opponent = self._make_opponent(opponent)
        else:
            self._opponent = opponent
        self.observation_space = spaces.Box(0.0, 1.0, planes_shape(self.rules), np.float32)
        self.action_space: LegalDiscrete = LegalDiscrete(self.rules.num_actions)
        self.positions = Positions.initial(self.rules, 1)
        self._agent: int | None = None
        self._over = True  # until the first reset

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Starts a game; an opponent that is to move first has moved.

        Args:
            seed: seeds the agent's colour and the opponent.
            options: ``{"fen": str}`` starts from a position; no other key is known.

        Raises:
            ValueError: impossible seed, unknown option, malformed FEN, or a position in which the agent has nothing
                to decide. The game before goes on then.
            OpponentError: the opponent is to move first and answers with no legal action. The same.
        """
        positions = start_position(self.rules, options)
        super().reset(seed=check_seed(seed))
        if isinstance(self._opponent_spec, str) and seed is not None:
            self._opponent = self._make_opponent(self._opponent_spec)
        agent = None
        if self._opponent is not None:
            fixed = _AGENT_COLORS[self.agent_color]
            agent = int(self.np_random.integers(2)) if fixed is None else fixed
            if positions.colors[0] != agent:
                _reply(self._opponent, positions)
                if positions.terminations[0]:
                    raise ValueError("The opponent's first move would end the game; start from another FEN.")
        self.positions, self._agent, self._over = positions, agent, False
        return self._observe(), self._info()

    def step(self, action: int | np.integer) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Plays one ply, and the opponent's reply if there is an opponent.

        Returns:
            Observation, reward, terminated, truncated, info; see the class.

        Raises:
            IllegalActionError: the action is not legal, and ``illegal_action`` is "raise". Nothing has
                changed.
            OpponentError: the opponent answers with no legal action. Nothing has changed: the agent's ply has
                not been played either.
            ResetNeeded: the game is over.
        """
        if self._over:
            raise ResetNeeded("The game is over (or was never started); call reset() before step().")
        mover = int(self.positions.colors[0])
        # An opponent may fail, so both plies are played beside the game and become part of it together.
        positions = self.positions if self._opponent is None else self.positions.copy()
        try:
            positions.step(np.asarray([action]))
        except IllegalActionError:
            if self.illegal_action == "raise":
                raise
            return self._lose_by_illegal_action()
        if self._opponent is not None and not positions.terminations[0]:
            _reply(self._opponent, positions)
        self.positions = positions
        termination = int(self.positions.terminations[0])
        self._over = termination != Termination.NONE
        winner = int(self.positions.winners()[0])
        reward = 0.0 if winner < 0 else 1.0 if winner == mover else -1.0
        truncated = termination == Termination.PLY_CAP
        return self._observe(), reward, self._over and not truncated, truncated, self._info()

    def action_masks(self) -> NDArray[np.bool_]:
        """bool[N]: which actions are legal now (for ``sb3_contrib``); none when the game has ended."""
        mask: NDArray[np.bool_] = self.positions.masks()[0]
        if self._over:
            mask[:] = False
        return mask

    def render(self) -> Any:
        """The board as ``render_mode`` says: text ("ansi"), or uint8[H, W, 3] ("rgb_array")."""
        return render_positions(self.positions, self.render_mode)

    def svg(self) -> str:
        """The board as an SVG document, White below."""
        return render.svg(self.positions)

    def _make_opponent(self, spec: str) -> Opponent:
        return make_opponent(spec, self.rules, int(self.np_random.integers(2**31)))

    def _lose_by_illegal_action(self) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        self._over = True
        info = self._info() | {"illegal_action": True}
        winner = COLORS[1 - int(self.positions.colors[0])]
        info["outcome"] = {"termination": "ILLEGAL_ACTION", "winner": winner}
        return self._observe(), -1.0, True, False, info

    def _observe(self) -> NDArray[np.float32]:
        observation = planes(self.positions)
        if self._agent is not None and self.positions.colors[0] != self._agent:
            observation = opposite_view(observation)
        return observation[0]

    def _info(self) -> dict[str, Any]:
        mask = self.action_masks()
        self.action_space.legal = np.flatnonzero(mask).astype(np.int16)
        info: dict[str, Any] = {
            "action_mask": mask.astype(np.int8),
            "to_move": COLORS[int(self.positions.colors[0])],
            "ply": int(self.positions.plies[0]),
        }
        if outcome := self.positions.outcome():
            info["outcome"] = outcome.as_dict()
        return info


def _answers(opponent: object) -> bool:
    """Whether an object (not a class of such) has a method ``choose``."""
    return callable(getattr(opponent, "choose", None)) and not isinstance(opponent, type)


def _reply(opponent: Opponent, positions: Positions) -> None:
    """Plays the answer of ``opponent`` in ``positions``, a batch of one; OpponentError if it is no legal action."""
    reply = opponent.choose(positions.copy())  # an opponent that tries moves on what it is given harms nothing
    try:
        positions.step(np.asarray(getattr(reply, "actions", None)))
    except IllegalActionError as error:
        raise OpponentError(
            f"The opponent answered {shown(reply)}, whose 'actions' must be one legal action for each game: {error}"
        ) from error


def start_position(rules: RuleSet, options: dict[str, Any] | None) -> Positions:
    """The one game that ``reset(options=...)`` asks for.

    Raises:
        ValueError: an option is unknown, the FEN is malformed, or the game would be over at once.
    """
    given = check_options(options)
    for key in given:
        if key != "fen":
            raise ValueError(f"Unknown reset option {shown(key)}; the only one is 'fen'.")
    if not given:
        return Positions.initial(rules, 1)
    fen = given["fen"]
    if not isinstance(fen, str):
        raise ValueError(f"Reset option 'fen' must be a text, not {shown(fen)}.")
    boards, color = notation.parse_fen(fen, rules)
    positions = Positions.from_boards(rules, boards[None], np.array([color], dtype=np.int8))
    if positions.terminations[0]:
        raise ValueError(f"The game is already over in {fen!r}; start where a move is legal.")
    return positions


def render_positions(positions: Positions, render_mode: str | None) -> Any:
    """Draws a batch of one as an environment's ``render_mode`` says.

    Raises:
        ValueError: the environment was made without a ``render_mode``.
    """
    if render_mode is None:
        raise ValueError("render() needs an environment made with render_mode='ansi' or 'rgb_array'.")
    return render.text(positions) if render_mode == "ansi" else render.rgb_array(positions)

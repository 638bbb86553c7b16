"""Two agents, "white" and "black", as a PettingZoo AEC environment (needs the extra ``pettingzoo``)."""

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from damas_env.envs.arguments import check_choice, check_options, check_seed
from damas_env.envs.single import RENDER_MODES, render_positions, start_position
from damas_env.observation import opposite_view, planes, planes_shape
from damas_env.position import COLORS
from damas_env.presets import DEFAULT_RULES
from damas_env.rules import RuleSet, get_rules
from damas_env.termination import Termination


def env(rules: str | RuleSet = DEFAULT_RULES, render_mode: str | None = None) -> AECEnv:
    """A :class:`DamasAECEnv` that insists on ``reset`` before use, as PettingZoo expects from ``env()``."""
    return wrappers.OrderEnforcingWrapper(DamasAECEnv(rules, render_mode))


class DamasAECEnv(AECEnv):
    """One game for two agents.

    * **Observation** of either agent at any time: ``{"observation": float32[10, S, S], "action_mask":
      int8[N]}``, the planes of :func:`damas_env.observation.planes` in that agent's own view. The mask is all
      0 for the agent that is not to move, and when the game has ended.
    * **Action**: index in ``Discrete(N)`` in the agent's own view; an illegal one raises
      ``IllegalActionError``.
    * **Rewards**: +1 and -1 when a game is won, else 0. A ply cap truncates; other ends terminate.

    Args:
        rules: name of a rule set, or a :class:`~damas_env.rules.RuleSet`.
        render_mode: None, "ansi" or "rgb_array".
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "name": "damas_v0",
        "render_modes": [*RENDER_MODES],
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(self, rules: str | RuleSet = DEFAULT_RULES, render_mode: str | None = None) -> None:
        super().__init__()
        self.rules = get_rules(rules)
        check_choice("render_mode", render_mode, (None, *RENDER_MODES))
        self.render_mode = render_mode
        self.possible_agents = ["white", "black"]
        box = spaces.Box(0.0, 1.0, planes_shape(self.rules), np.float32)
        actions = self.rules.num_actions
        mask = spaces.Box(0, 1, (actions,), np.int8)
        self.observation_spaces = {
            agent: spaces.Dict({"observation": box, "action_mask": mask}) for agent in self.possible_agents
        }
        self.action_spaces = {agent: spaces.Discrete(actions) for agent in self.possible_agents}

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of that agent's observations, always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of that agent's actions, always the same object."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Starts a game.

        Args:
            seed: accepted for the API; a game has no randomness.
            options: ``{"fen": str}`` starts from a position. Other keys are ignored, as PettingZoo's API
                asks.

        Raises:
            ValueError: impossible seed, malformed FEN, or a game that is over. The game before goes on then.
        """
        check_seed(seed)
        fen = check_options(options).get("fen")
        self.positions = start_position(self.rules, None if fen is None else {"fen": fen})
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self._to_move()

    def step(self, action: int | None) -> None:
        """Plays one ply of the selected agent; None removes an agent whose game has ended.

        Raises:
            IllegalActionError: the action is not legal. Nothing has changed.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self.positions.step(np.asarray([action]))
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        if outcome := self.positions.outcome():
            truncated = outcome.termination == Termination.PLY_CAP
            for name, color in zip(self.possible_agents, COLORS, strict=True):
                self.rewards[name] = 0.0 if outcome.winner is None else 1.0 if outcome.winner == color else -1.0
                self.terminations[name], self.truncations[name] = not truncated, truncated
                self.infos[name] = {"outcome": outcome.as_dict()}
        self.agent_selection = self._to_move()
        self._accumulate_rewards()

    def observe(self, agent: str) -> dict[str, NDArray[Any]]:
        """What ``agent`` sees now; see the class. ValueError for anybody but "white" and "black"."""
        check_choice("agent", agent, self.possible_agents)
        observation = planes(self.positions)
        mask = np.zeros(self.rules.num_actions, dtype=np.int8)
        if agent != self._to_move():
            observation = opposite_view(observation)
        elif not self.positions.terminations[0]:
            mask[:] = self.positions.masks()[0]
        return {"observation": observation[0], "action_mask": mask}

    def render(self) -> Any:
        """The board as ``render_mode`` says: text ("ansi"), or uint8[H, W, 3] ("rgb_array")."""
        return render_positions(self.positions, self.render_mode)

    def close(self) -> None:
        """Nothing to release; PettingZoo asks for it beside ``render``."""

    def _to_move(self) -> str:
        return self.possible_agents[int(self.positions.colors[0])]

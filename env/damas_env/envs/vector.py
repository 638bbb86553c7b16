"""Thousands of games as one Gymnasium vector environment: a step is a few kernel calls for all of them."""

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from damas_env.board import GEOMETRY
from damas_env.envs.arguments import check_choice, check_flag, check_options, check_seed, check_whole
from damas_env.errors import shown
from damas_env.observation import NUM_FEATURES, features, planes, planes_shape
from damas_env.position import Positions
from damas_env.presets import DEFAULT_RULES
from damas_env.rules import RuleSet, get_rules
from damas_env.termination import Termination

Observation = NDArray[np.float32] | dict[str, NDArray[Any]]


class DamasVectorEnv(VectorEnv[Observation, ArrayLike, NDArray[Any]]):
    """Many games in which the sides alternate, ``gymnasium.make_vec("damas_env/Damas-v0", num_envs=...)``.

    * A step plays one ply in every game. Rewards (float32[n]) belong to the side that has just moved: 1 where
      that ply won, else 0 (see :class:`~damas_env.envs.single.DamasEnv`).
    * **Autoreset** is ``SAME_STEP``: a game that ends is put back to the initial position within the same
      ``step``. Its observation, mask and ``positions`` are those of the new game; the finished one is
      reported in ``info["final_obs"]`` (object[n], None where no game ended, in the view of the side to move)
      and ``info["final_info"]`` (int arrays [n] ``"termination"``, ``"winner"`` (0 White, 1 Black, -1 none),
      ``"ply"``), with the games concerned in the bool arrays ``"_final_obs"`` and ``"_final_info"``.
      These keys are there only in steps in which a game ended. Final data never shares memory with buffers.
    * ``info["action_mask"]`` (int8[n, N]) and :meth:`action_masks` (bool[n, N]) hold the legal actions.
      ``action_space.sample()`` knows nothing of them: draw random play with :meth:`sample_legal`.
    * An illegal action raises ``IllegalActionError``, which names the game, and nothing changes.

    Args:
        num_envs: number of games, from 1 to 65,536 and beyond; memory is the limit.
        rules: name of a rule set, or a :class:`~damas_env.rules.RuleSet`.
        observation: "planes" (float32[n, 10, S, S]), "boards" (``{"boards": uint64[n, 4], "features":
            float32[n, 6]}``, the compact form that networks here unpack on their device) or "none"
            (float32[n, 0]).
        masks: whether ``info`` holds ``"action_mask"``; False saves N bytes for each game and step.
        copy: True returns new arrays from each call; False returns the environment's own buffers
            (observations and mask), which the next call overwrites.

    Raises:
        ValueError: an argument has an unknown value or is of another type.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        rules: str | RuleSet = DEFAULT_RULES,
        observation: str = "planes",
        masks: bool = True,
        copy: bool = True,
    ) -> None:
        num_envs = check_whole("num_envs", num_envs, 1)
        check_choice("observation", observation, ("planes", "boards", "none"))
        check_flag("masks", masks)
        check_flag("copy", copy)
        self.num_envs = num_envs
        self.rules = get_rules(rules)
        self.observation = observation
        self.masks = masks
        self.copy = copy
        self.positions = Positions.initial(self.rules, num_envs)
        self.single_observation_space = _observation_space(observation, self.rules)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.single_action_space = spaces.Discrete(self.rules.num_actions)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._buffers: dict[str, NDArray[Any]] = {}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Puts every game to the initial position.

        Args:
            seed: of :meth:`sample_legal`; the games themselves have no randomness.
            options: none are known.

        Raises:
            ValueError: impossible seed or an option. The games go on then.
        """
        for key in check_options(options):
            raise ValueError(f"Unknown reset option {shown(key)}; DamasVectorEnv has none.")
        super().reset(seed=check_seed(seed))
        self.positions.reset(np.ones(self.num_envs, dtype=np.bool_))
        return self._observe(), self._info()

    def step(
        self, actions: ArrayLike
    ) -> tuple[Observation, NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Plays one ply in every game and restarts the games that end with it.

        Args:
            actions: integers [n], one legal action a game.

        Returns:
            Observations, rewards float32[n], terminations bool[n], truncations bool[n], info; see the class.

        Raises:
            IllegalActionError: an action is not legal. Nothing has changed.
        """
        positions = self.positions
        movers = positions.colors.copy()
        positions.step(np.asarray(actions))
        ended = positions.terminations != Termination.NONE
        truncations = positions.terminations == Termination.PLY_CAP
        rewards = (positions.winners() == movers).astype(np.float32)
        final = {}
        if ended.any():
            final = self._final(ended)
            positions.reset(ended)
        return self._observe(), rewards, ended & ~truncations, truncations, self._info() | final

    def sample_legal(self, rng: np.random.Generator | None = None) -> NDArray[np.int16]:
        """One legal action in each game, int16[n], uniformly at random; ``rng`` defaults to ``np_random``."""
        return self.positions.sample_legal(self.np_random if rng is None else rng)

    def action_masks(self) -> NDArray[np.bool_]:
        """bool[n, N]: which actions are legal now; always a new array."""
        return self.positions.masks()

    def _array(self, name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """An array to fill: a new one, or the buffer of that name if the environment does not copy."""
        if self.copy:
            return np.empty(shape, dtype=dtype)
        if name not in self._buffers:
            self._buffers[name] = np.empty(shape, dtype=dtype)
        return self._buffers[name]

    def _observe(self) -> Observation:
        shape = (self.num_envs, *planes_shape(self.rules))
        if self.observation == "planes":
            return planes(self.positions, out=self._array("planes", shape, np.float32))
        if self.observation == "boards":
            boards = self._array("boards", (self.num_envs, 4), np.uint64)
            boards[:] = self.positions.boards
            scalars = self._array("features", (self.num_envs, NUM_FEATURES), np.float32)
            return {"boards": boards, "features": features(self.positions, out=scalars)}
        return np.empty((self.num_envs, 0), dtype=np.float32)

    def _info(self) -> dict[str, Any]:
        if not self.masks:
            return {}
        mask = self._array("mask", (self.num_envs, self.rules.num_actions), np.bool_)
        self.positions.masks(out=mask)
        return {"action_mask": mask.view(np.int8), "_action_mask": np.ones(self.num_envs, dtype=np.bool_)}

    def _final(self, ended: NDArray[np.bool_]) -> dict[str, Any]:
        """The report of the games that have just ended, laid out as by ``gymnasium.vector.SyncVectorEnv``."""
        games = np.flatnonzero(ended)
        positions = self.positions.take(games)
        winners = positions.winners()
        report = {"termination": positions.terminations, "winner": winners, "ply": positions.plies}
        final_info: dict[str, NDArray[Any]] = {}
        for key, values in report.items():
            final_info[key] = np.zeros(self.num_envs, dtype=values.dtype)
            final_info[key][games] = values
            final_info[f"_{key}"] = ended.copy()
        info = {"final_info": final_info, "_final_info": ended.copy()}
        if self.observation == "none":
            return info
        rows: Any = planes(positions)
        if self.observation == "boards":
            scalars = features(positions)
            rows = ({"boards": b, "features": f} for b, f in zip(positions.boards, scalars, strict=True))
        final_obs = np.full(self.num_envs, None, dtype=object)
        final_obs[games] = np.fromiter(rows, dtype=object, count=len(games))
        return info | {"final_obs": final_obs, "_final_obs": ended.copy()}


def _observation_space(observation: str, rules: RuleSet) -> spaces.Space[Any]:
    if observation == "planes":
        return spaces.Box(0.0, 1.0, planes_shape(rules), np.float32)
    if observation == "boards":
        highest = np.uint64(GEOMETRY[rules.size].board)
        return spaces.Dict(
            {
                "boards": spaces.Box(np.uint64(0), highest, (4,), np.uint64),
                "features": spaces.Box(0.0, 1.0, (NUM_FEATURES,), np.float32),
            }
        )
    return spaces.Box(0.0, 1.0, (0,), np.float32)

"""sb3-contrib's MaskablePPO trains on the environment and never plays an illegal move."""

import gymnasium
import numpy as np
import pytest

pytest.importorskip("sb3_contrib")
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks

import damas_env  # noqa: F401  (registers the environment)


class Watch(gymnasium.Wrapper):
    """Counts plies, games and illegal actions, which the environment itself would answer with an error."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.steps = self.games = self.illegal = 0

    def step(self, action):
        self.steps += 1
        self.illegal += not self.get_wrapper_attr("action_masks")()[int(action)]
        result = self.env.step(action)
        self.games += result[2] or result[3]
        return result


@pytest.mark.parametrize("opponent", [None, "random"])
def test_maskable_ppo_trains_and_predicts_legal_moves(opponent):
    env = Watch(gymnasium.make("damas_env/Damas-v0", opponent=opponent))
    model = MaskablePPO("MlpPolicy", env, n_steps=512, batch_size=128, n_epochs=2, seed=0, device="cpu")
    before = [parameter.detach().clone() for parameter in model.policy.parameters()]
    model.learn(2048)
    assert env.steps >= 2048 and env.games > 10 and env.illegal == 0
    assert any((old != new).any() for old, new in zip(before, model.policy.parameters(), strict=True))
    assert all(bool(np.isfinite(parameter.detach().numpy()).all()) for parameter in model.policy.parameters())

    observation, info = env.reset(seed=1)
    played = 0
    for deterministic in (True, False):
        terminated = truncated = False
        while not (terminated or truncated):
            action, _ = model.predict(observation, action_masks=get_action_masks(env), deterministic=deterministic)
            assert info["action_mask"][int(action)] == 1
            observation, _, terminated, truncated, info = env.step(action)
            played += 1
        observation, info = env.reset()
    assert played > 20 and env.illegal == 0

"""Trains Tianshou's DQN against a random player and reports its score.

    pip install -e '.[tianshou]'
    python examples/tianshou_dqn.py --steps 30000

Tianshou leaves out actions whose entry in ``observation["mask"]`` is False; a wrapper puts it there.
"""

import argparse
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, CollectStats, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

import damas_env  # noqa: F401  (registers the environment)


class MaskInObservation(gymnasium.Wrapper):
    """Observations with the mask of legal actions beside the planes."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        mask = spaces.MultiBinary(int(env.action_space.n))
        self.observation_space = spaces.Dict({"obs": env.observation_space, "mask": mask})

    def reset(self, **options: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """See :meth:`gymnasium.Env.reset`."""
        planes, info = self.env.reset(**options)
        return self._observation(planes, info), {}

    def step(self, action: Any) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        """See :meth:`gymnasium.Env.step`."""
        planes, reward, terminated, truncated, info = self.env.step(action)
        return self._observation(planes, info), reward, terminated, truncated, {}

    @staticmethod
    def _observation(planes: np.ndarray, info: dict[str, Any]) -> dict[str, np.ndarray]:
        return {"obs": planes, "mask": info["action_mask"].astype(np.bool_)}


def make_envs(opponent: str, count: int) -> DummyVectorEnv:
    """Several environments in this process."""
    return DummyVectorEnv(
        [lambda: MaskInObservation(gymnasium.make("damas_env/Damas-v0", opponent=opponent)) for _ in range(count)]
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="Tianshou's DQN against a fixed opponent.")
    parser.add_argument("--steps", type=int, default=30_000, help="environment steps of training")
    parser.add_argument("--opponent", default="random", help="player spec of the opponent, say alphabeta:depth=1")
    parser.add_argument("--games", type=int, default=200, help="games of the final match")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    np.random.seed(arguments.seed)  # noqa: NPY002  (Tianshou draws from it)
    torch.manual_seed(arguments.seed)
    training, testing = make_envs(arguments.opponent, 10), make_envs(arguments.opponent, 10)
    training.seed(arguments.seed)
    testing.seed(1_000_000 + arguments.seed)
    space = training.action_space[0]
    policy = DiscreteQLearningPolicy(
        model=Net(state_shape=(10, 8, 8), action_shape=space.n, hidden_sizes=(128, 128)),
        action_space=space,
        eps_training=0.1,
    )
    algorithm = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=0.99, target_update_freq=500)
    buffer = VectorReplayBuffer(20_000, buffer_num=10)
    collector = Collector[CollectStats](policy, training, buffer, exploration_noise=True)
    collector.reset()
    collector.collect(n_step=min(1000, arguments.steps))
    algorithm.run_training(
        OffPolicyTrainerParams(
            training_collector=collector,
            max_epochs=1,
            epoch_num_steps=arguments.steps,
            collection_step_num_env_steps=100,
            update_step_num_gradient_steps_per_sample=0.1,
            batch_size=128,
            test_step_num_episodes=0,
            verbose=False,
        )
    )
    tester = Collector[CollectStats](policy, testing)
    tester.reset()
    rewards = tester.collect(n_episode=arguments.games).returns
    wins, draws, losses = (int((rewards == result).sum()) for result in (1, 0, -1))
    score = (wins + draws / 2) / arguments.games
    print(f"against {arguments.opponent}: {wins} won, {draws} drawn, {losses} lost, score {score:.0%}")


if __name__ == "__main__":
    main()

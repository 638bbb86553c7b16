"""Trains TorchRL's PPO against a random player and reports its score.

    pip install -e '.[torchrl]'
    python examples/torchrl_ppo.py --steps 30000

The mask of legal actions comes out of ``info`` and goes into the distribution that actions are drawn from.
"""

import argparse

import gymnasium
import torch
from tensordict.nn import TensorDictModule
from torch import Tensor, nn
from torchrl.collectors import Collector
from torchrl.data import Unbounded
from torchrl.envs import GymWrapper, default_info_dict_reader
from torchrl.envs.utils import ExplorationType, set_exploration_type
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import damas_env  # noqa: F401  (registers the environment)


def make_env(opponent: str) -> GymWrapper:
    """The environment with ``action_mask`` beside the observation."""
    env = gymnasium.make("damas_env/Damas-v0", opponent=opponent)
    wrapped = GymWrapper(env, categorical_action_encoding=True)
    mask = Unbounded(shape=(int(env.action_space.n),), dtype=torch.int8)
    wrapped.set_info_dict_reader(default_info_dict_reader(["action_mask"], spec={"action_mask": mask}))
    return wrapped


def dense(outputs: int) -> nn.Sequential:
    """Planes [..., 10, 8, 8] -> [..., outputs]."""
    return nn.Sequential(
        nn.Flatten(-3), nn.Linear(640, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, outputs)
    )


class Policy(nn.Module):
    """Logits of all actions, and which of them are legal."""

    def __init__(self, actions: int) -> None:
        super().__init__()
        self.logits = dense(actions)

    def forward(self, planes: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Planes [..., 10, 8, 8] and int8[..., N] -> logits [..., N] and bool[..., N]."""
        return self.logits(planes), mask.bool()


def play(actor: ProbabilisticActor, opponent: str, games: int, seed: int) -> tuple[int, int, int]:
    """Wins, draws and losses of ``actor`` in ``games`` games with colours drawn at random."""
    env = make_env(opponent)
    env.set_seed(seed)
    results = {1.0: 0, 0.0: 0, -1.0: 0}
    with torch.no_grad(), set_exploration_type(ExplorationType.MODE):
        for _ in range(games):
            rewards = env.rollout(1000, actor)["next", "reward"]
            results[float(rewards[-1])] += 1
    return results[1.0], results[0.0], results[-1.0]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="TorchRL's PPO against a fixed opponent.")
    parser.add_argument("--steps", type=int, default=30_000, help="environment steps of training")
    parser.add_argument("--batch", type=int, default=1000, help="steps between two updates")
    parser.add_argument("--opponent", default="random", help="player spec of the opponent, say alphabeta:depth=1")
    parser.add_argument("--games", type=int, default=200, help="games of the final match")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    env = make_env(arguments.opponent)
    env.set_seed(arguments.seed)
    module = TensorDictModule(
        Policy(env.action_spec.space.n), in_keys=["observation", "action_mask"], out_keys=["logits", "mask"]
    )
    actor = ProbabilisticActor(
        module, in_keys=["logits", "mask"], distribution_class=MaskedCategorical, return_log_prob=True
    )
    critic = ValueOperator(dense(1), in_keys=["observation"])
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic)
    loss = ClipPPOLoss(actor, critic, entropy_coeff=0.01)
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)
    collector = Collector(env, actor, frames_per_batch=arguments.batch, total_frames=arguments.steps)
    for batch in collector:
        for _ in range(4):
            advantage(batch)
            rows = batch.reshape(-1)
            for part in rows[torch.randperm(len(rows))].split(250):
                losses = loss(part)
                optimizer.zero_grad()
                (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
                nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                optimizer.step()
    collector.shutdown()
    wins, draws, losses = play(actor, arguments.opponent, arguments.games, seed=1_000_000 + arguments.seed)
    score = (wins + draws / 2) / arguments.games
    print(f"against {arguments.opponent}: {wins} won, {draws} drawn, {losses} lost, score {score:.0%}")


if __name__ == "__main__":
    main()

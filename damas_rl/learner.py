"""Learning: losses over replayed positions, optimiser, learning-rate schedule, averaged weights."""

import copy
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from damas_env.position import THREADS
from damas_rl import saved
from damas_rl.networks import PolicyValueNet, choose_device
from damas_rl.networks.base import MOVES_LEFT_SCALE
from damas_rl.networks.evaluator import choose_dtype, use_threads
from damas_rl.replay import ReplayBuffer, TrainingBatch
from damas_rl.strict import check_ranges
from damas_rl.team import Arrays, Member, Team

PADDING = -1e9
"""Logit of padding: its probability is exactly 0, and unlike with minus infinity nothing becomes NaN."""

PHASES = ("opening", "middle", "ending")
"""Phases of a game: pieces on more than half of the squares, on more than a quarter, on fewer."""


class TrainingError(FloatingPointError):
    """Learning met a number that is not finite; the message names the step and the cause."""


@dataclass(frozen=True)
class LearnerConfig:
    """How the network learns.

    Attributes:
        batch_size: positions of one step.
        learning_rate: its peak.
        warmup_steps: steps over which the learning rate rises to its peak.
        cooldown: share of the run's budget, at its end, over which the learning rate falls to 0 in a straight line
            (Hägele et al., "Scaling laws and compute-optimal training beyond fixed training durations", 2024).
        weight_decay: decay of the weight matrices (AdamW); biases and norms do not decay.
        max_gradient_norm: longer gradients are shortened to this.
        average: share of the averaged weights that is kept at each step (fewer in the first steps).
        q_mix: share of the search's value in the value target; the rest is the game's result.
        value_weight: weight of the value loss beside the policy loss.
        moves_left_weight: weight of the moves-left loss beside the policy loss.
        precision: ``auto``, ``float32`` or ``bfloat16`` (mixed: weights and losses stay float32).
        processes: that learn together, each from a part of every batch; on GPUs each has one of its own.
    """

    batch_size: int = 512
    learning_rate: float = 2e-3
    warmup_steps: int = 100
    cooldown: float = 0.0
    weight_decay: float = 0.02
    max_gradient_norm: float = 1.0
    average: float = 0.99
    q_mix: float = 0.3
    value_weight: float = 1.0
    moves_left_weight: float = 0.05
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    processes: int = 1

    def __post_init__(self) -> None:
        check_ranges(
            "learner",
            self,
            batch_size=(1, 1 << 20),
            learning_rate=(1e-9, 10.0),
            warmup_steps=(0, 1 << 40),
            cooldown=(0.0, 1.0),
            weight_decay=(0.0, 10.0),
            max_gradient_norm=(1e-6, 1e6),
            average=(0.0, 0.999999),
            q_mix=(0.0, 1.0),
            value_weight=(0.0, 1000.0),
            moves_left_weight=(0.0, 1000.0),
            processes=(1, 1024),
        )
        if self.precision not in ("auto", "float32", "bfloat16"):
            raise ValueError(f"learner.precision={self.precision!r}: choose auto, float32 or bfloat16.")
        if self.batch_size % self.processes:
            raise ValueError(
                f"learner.batch_size={self.batch_size} must be a multiple of learner.processes={self.processes}."
            )


def legal_log_probabilities(logits: Tensor, actions: Tensor, legal: Tensor) -> Tensor:
    """Log probabilities of the legal actions among themselves; no other logit plays a part.

    Args:
        logits: [B, N] of all actions.
        actions: int64[B, W], legal actions and padding.
        legal: bool[B, W], False for padding.

    Returns:
        float32[B, W]; hugely negative for padding.
    """
    return functional.log_softmax(logits.gather(1, actions).float().masked_fill(~legal, PADDING), dim=1)


def outcome_target(z: Tensor, q: Tensor, q_mix: float) -> Tensor:
    """What the outcome head shall say.

    A search value q becomes the chances of two fair halves of a game, each won with probability (1 + q) / 2: win
    both, one each (draw), lose both. Their mean is q, and unlike ``draw = 1 - |q|`` a q near 0 does not claim
    that a draw is certain.

    Args:
        z: int64[B], results 1, 0, -1 for the side to move.
        q: float32[B], search values of the side to move.
        q_mix: share of q.

    Returns:
        float32[B, 3]: (win, draw, loss).
    """
    half = (1.0 + q.clamp(-1.0, 1.0)) / 2.0
    searched = torch.stack((half * half, 2.0 * half * (1.0 - half), (1.0 - half) * (1.0 - half)), dim=1)
    played = functional.one_hot(1 - z, 3).to(q.dtype)
    return torch.lerp(played, searched, q_mix)


def choose_learning_device(device: str, processes: int) -> torch.device:
    """The device of the first process that learns, as :func:`~damas_rl.networks.choose_device` has it.

    Raises:
        ValueError: unknown name, no usable GPU, or not one for each process.
    """
    chosen = choose_device(device)
    if chosen.type == "cuda" and processes > torch.cuda.device_count():
        raise ValueError(
            f"learner.processes={processes} needs as many GPUs, and torch finds {torch.cuda.device_count()}; "
            "choose fewer, or device=cpu."
        )
    return chosen


class Learner:
    """Trains a network on replayed positions.

    Attributes:
        net: the network that learns.
        averaged: exponential moving average of its weights, for self-play and play.
        steps: optimiser steps so far.
        done: share of the run's budget that is used up, which whoever has a budget sets before each training.
    """

    def __init__(self, net: PolicyValueNet, config: LearnerConfig, device: str = "auto", threads: int = 0) -> None:
        """Takes over ``net`` and moves it to ``device``.

        Args:
            net: the network.
            config: see :class:`LearnerConfig`.
            device: ``auto``, ``cpu`` or ``cuda``.
            threads: CPU threads of one operation; 0 = one for each core, which processes that learn together share.
                Results are equal bit for bit only for equal numbers of threads and processes.

        Raises:
            ValueError: there is no usable GPU, or not one for each process.
        """
        self.config, self.device = config, choose_learning_device(device, config.processes)
        self._threads = threads or max(1, THREADS // config.processes)
        self._dtype = choose_dtype(config.precision, self.device)
        self.net = net.to(self.device).train()
        self._team: Team | None = None
        self._member: Member | None = None
        self.averaged = copy.deepcopy(self.net).requires_grad_(False).eval()
        self.steps, self.done = 0, 0.0
        matrices = [layer.weight for layer in net.modules() if isinstance(layer, nn.Linear)]
        decaying = {id(weight) for weight in matrices}
        others = [weight for weight in net.parameters() if id(weight) not in decaying]
        groups = [{"params": matrices, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}]
        self._optimizer = torch.optim.AdamW(groups, lr=config.learning_rate, fused=True)

    def train(
        self,
        buffer: ReplayBuffer,
        rng: np.random.Generator,
        steps: int,
        progress: Callable[[int], None] | None = None,
    ) -> dict[str, float]:
        """Takes ``steps`` optimiser steps on batches drawn from ``buffer``.

        Args:
            buffer: source of positions.
            rng: draws the batches; nothing else here is random.
            steps: how many.
            progress: called after each step with the steps taken in this call.

        Returns:
            means over these steps: ``loss``, ``policy_loss``, ``value_loss``, ``moves_left_loss``,
            ``policy_entropy`` (of the network), ``target_entropy`` (no policy loss can be lower),
            ``policy_accuracy`` (likeliest move = the target's; over positions that have one, if there are any),
            ``value_accuracy`` (likeliest result = the game's), ``moves_left_error`` (plies),
            ``value_loss/<phase>`` for the phases that occurred, ``gradient_norm``,
            ``learning_rate`` (the last one), ``samples_per_second``. Empty if ``steps`` is 0.

        Raises:
            TrainingError: a loss or gradient is not finite; the weights are those before that step.
            ChildProcessError: a process that learns with this one is gone.
        """
        if steps <= 0:
            return {}
        if self.config.processes > 1 and self._team is None:
            self._team = Team(self.net, self.config, buffer.rules, self._threads, self.state_dict())
            self._member = self._team.member
        try:
            return self._train(buffer, rng, steps, progress)
        except RuntimeError:  # torch has no common type for what a lost connection may look like
            if self._team is not None:
                self._team.check()
            raise

    def _train(
        self, buffer: ReplayBuffer, rng: np.random.Generator, steps: int, progress: Callable[[int], None] | None
    ) -> dict[str, float]:
        use_threads(self._threads)
        started = time.perf_counter()
        sums: dict[str, Tensor] = {}
        batch = self._draw(buffer, rng)
        for step in range(steps):
            losses, figures = self._differentiate(batch)
            if step + 1 < steps:
                batch = self._draw(buffer, rng)  # a GPU is still busy with the gradients
            figures["gradient_norm"] = self._update(losses)
            for name, value in figures.items():
                sums[name] = sums[name] + value if name in sums else value
            if progress is not None:
                progress(step + 1)
        metrics = self._means({name: float(value) for name, value in sums.items()}, steps)
        metrics["learning_rate"] = self.learning_rate(self.steps - 1)
        metrics["samples_per_second"] = steps * self.config.batch_size / (time.perf_counter() - started)
        return metrics

    def follow(self, part: Arrays, done: float, member: Member) -> None:
        """Takes one step as a follower of another learner, on its part of a batch."""
        self._member, self.done = member, done
        use_threads(self._threads)
        self._update(self._differentiate(self._on_device(part))[0])

    def close(self) -> None:
        """Ends the processes that learn with this one; whoever trains again starts them anew."""
        if self._team is not None:
            self._team.close()
            self._team = self._member = None

    def learning_rate(self, step: int) -> float:
        """Learning rate of the optimiser step number ``step`` (the first is 0), as far as the run has come now."""
        config = self.config
        rate = config.learning_rate * min(1.0, (step + 1) / (config.warmup_steps + 1))
        if config.cooldown:
            rate *= min(1.0, (1.0 - self.done) / config.cooldown)
        return rate

    def state_dict(self) -> dict[str, Any]:
        """A copy of all that learning needs to go on bit for bit: both sets of weights, optimiser, step."""
        state = {
            "net": self.net.state_dict(),
            "averaged": self.averaged.state_dict(),
            "optimizer": {"state": self._optimizer.state_dict()["state"]},  # the rest is configuration
            "steps": self.steps,
        }
        return copy.deepcopy(state)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores :meth:`state_dict`; weight decay and learning rate are those of this learner's own configuration.

        Raises:
            SavedError: the state belongs to another network, or to none; nothing has changed then.
        """
        self.check_state_dict(state)
        self.close()  # others would go on from another state
        self.net.load_state_dict(state["net"])
        self.averaged.load_state_dict(state["averaged"])
        own = self._optimizer.state_dict()["param_groups"]
        self._optimizer.load_state_dict({"state": copy.deepcopy(state["optimizer"]["state"]), "param_groups": own})
        self.steps = state["steps"]

    def check_state_dict(self, state: Mapping[str, Any]) -> None:
        """Refuses what :meth:`load_state_dict` would refuse, and changes nothing."""
        for name, net in (("net", self.net), ("averaged", self.averaged)):
            saved.check_weights(saved.part(state, name, "the learner"), name, net.state_dict())
        steps = saved.whole(state, "steps")
        moments = saved.part(saved.part(state, "optimizer", "the learner"), "state", "the optimiser")
        # The optimiser numbers the parameters in the order of its groups, and knows nothing of them before it begins.
        parameters = [weights for group in self._optimizer.param_groups for weights in group["params"]]
        wanted = set(range(len(parameters))) if steps else set()
        if not isinstance(moments, Mapping) or set(moments) != wanted:
            raise saved.SavedError(f"The optimiser does not hold what {steps} steps with this network would leave.")
        for number in wanted:
            for name in ("step", "exp_avg", "exp_avg_sq"):
                moment = saved.part(moments[number], name, f"the optimiser's state of weights {number}")
                like = torch.tensor(0.0) if name == "step" else parameters[number]
                saved.check_tensor(moment, name, like)
                if name != "exp_avg" and (moment < 0).any():
                    raise saved.SavedError(f"The optimiser's {name} of weights {number} is below 0.")

    def losses(self, batch: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Weighted mean losses of a batch.

        Args:
            batch: the fields of a :class:`~damas_rl.replay.TrainingBatch` as tensors on the device.

        Returns:
            scalar losses ``policy``, ``value``, ``moves_left`` with gradients; figures for :meth:`train` without.
        """
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self._dtype == torch.bfloat16):
            logits, outcome, plies_left = self._model(batch["boards"], batch["features"])
        weight = batch["weight"] / self._mean(batch["weight"].sum())
        log_policy = legal_log_probabilities(logits, batch["actions"], batch["legal"])
        log_outcome = functional.log_softmax(outcome.float(), dim=1)
        policy = -(batch["policy"] * log_policy).sum(dim=1)
        value = -(outcome_target(batch["z"], batch["q"], self.config.q_mix) * log_outcome).sum(dim=1)
        plies_left = plies_left.float()
        moves_left = functional.smooth_l1_loss(
            plies_left / MOVES_LEFT_SCALE, batch["plies_left"] / MOVES_LEFT_SCALE, reduction="none"
        )
        rows = {"policy": policy, "value": value, "moves_left": moves_left}
        losses = {name: (weight * loss).sum() for name, loss in rows.items()}
        with torch.no_grad():
            figures = self._figures(batch, log_policy, log_outcome, value)
            figures["moves_left_error"] = (plies_left - batch["plies_left"]).abs().mean()
        return losses, figures

    def _figures(
        self, batch: Mapping[str, Tensor], log_policy: Tensor, log_outcome: Tensor, value: Tensor
    ) -> dict[str, Tensor]:
        """What else is worth watching; ``sum/`` and ``count/`` of what only some of the positions have."""
        target = batch["policy"]
        with_target = target.sum(dim=1) > 0
        hit = (log_policy.argmax(dim=1) == target.argmax(dim=1)) & with_target
        figures = {
            "policy_entropy": -(log_policy.exp() * log_policy).sum(dim=1).mean(),
            "target_entropy": -torch.xlogy(target, target).sum(dim=1).mean(),
            "sum/policy_accuracy": hit.sum(),
            "count/policy_accuracy": with_target.sum(),
            "value_accuracy": (log_outcome.argmax(dim=1) == 1 - batch["z"]).float().mean(),
        }
        pieces, squares = batch["pieces"], self.net.num_squares
        later = (2 * pieces <= squares).long() + (4 * pieces <= squares).long()
        for index, phase in enumerate(PHASES):
            figures[f"sum/value_loss/{phase}"] = value.masked_fill(later != index, 0.0).sum()
            figures[f"count/value_loss/{phase}"] = (later == index).sum()
        return figures

    @property
    def _model(self) -> nn.Module:
        return self.net if self._member is None else self._member.model

    def _mean(self, values: Tensor) -> Tensor:
        """The mean over all processes that learn together."""
        return values if self._member is None else self._member.mean(values)

    def _differentiate(self, batch: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Losses and figures of a batch; the gradients of the weighted sum of the losses are in the network."""
        losses, figures = self.losses(batch)
        total = losses["policy"]
        total = total + self.config.value_weight * losses["value"]
        total = total + self.config.moves_left_weight * losses["moves_left"]
        self._optimizer.zero_grad(set_to_none=True)
        total.backward()
        detached = {name: loss.detach() for name, loss in losses.items()}
        figures |= {"loss": total.detach()} | {f"{name}_loss": loss for name, loss in detached.items()}
        if self._member is not None:
            means = self._mean(torch.stack([value.float() for value in figures.values()])).unbind()
            figures = dict(zip(figures, means, strict=True))
            detached = {name: figures[f"{name}_loss"] for name in detached}  # so that all refuse the same
        return detached, figures

    def _update(self, losses: Mapping[str, Tensor]) -> Tensor:
        """One optimiser step and one step of the average; returns the gradient's norm before it was shortened."""
        config = self.config
        norm = nn.utils.clip_grad_norm_(self.net.parameters(), config.max_gradient_norm)
        if not math.isfinite(norm + sum(losses.values())):
            self._refuse(losses)
        for group in self._optimizer.param_groups:
            group["lr"] = self.learning_rate(self.steps)
        self._optimizer.step()
        self.steps += 1
        kept = min(config.average, self.steps / (self.steps + 10.0))
        with torch.no_grad():
            torch._foreach_lerp_(list(self.averaged.parameters()), list(self.net.parameters()), 1.0 - kept)
        return norm

    def _refuse(self, losses: Mapping[str, Tensor]) -> None:
        step = self.steps + 1
        for name, weights in self.net.named_parameters():
            if not weights.isfinite().all():
                raise TrainingError(f"Learning stopped at step {step}: the weights {name!r} are not finite.")
        for name, loss in losses.items():
            if not loss.isfinite():
                raise TrainingError(f"Learning stopped at step {step}: the {name} loss is not finite.")
        for name, weights in self.net.named_parameters():
            if weights.grad is not None and not weights.grad.isfinite().all():
                raise TrainingError(
                    f"Learning stopped at step {step}: the gradient of {name!r} is not finite; "
                    "a smaller learner.learning_rate may help."
                )
        raise TrainingError(f"Learning stopped at step {step}: the length of the gradient overflows.")

    def _means(self, sums: dict[str, float], steps: int) -> dict[str, float]:
        means = {name: total / steps for name, total in sums.items() if not name.startswith(("sum/", "count/"))}
        for name, count in sums.items():
            if name.startswith("count/") and count:
                name = name.removeprefix("count/")
                means[name] = sums[f"sum/{name}"] / count
        return means

    def _draw(self, buffer: ReplayBuffer, rng: np.random.Generator) -> dict[str, Tensor]:
        batch: TrainingBatch = buffer.batch(buffer.sample(rng, self.config.batch_size))
        arrays = batch._asdict()
        return self._on_device(self._team.share(arrays, self.done) if self._team is not None else arrays)

    def _on_device(self, arrays: Arrays) -> dict[str, Tensor]:
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        if self.device.type == "cuda":
            return {name: array.pin_memory().to(self.device, non_blocking=True) for name, array in tensors.items()}
        return tensors

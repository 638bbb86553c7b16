"""Learning: losses over legal moves, targets, overfitting, averaged weights, reproducibility, resuming, refusals."""

import copy
import dataclasses

import numpy as np
import pytest
import torch

from damas_env.position import Positions
from damas_env.rules import get_rules
from damas_rl.learner import Learner, LearnerConfig, TrainingError, legal_log_probabilities, outcome_target
from damas_rl.networks import Evaluator, NetworkConfig, build_network
from damas_rl.records import Records
from damas_rl.replay import ReplayBuffer, ReplayConfig
from damas_rl.saved import SavedError
from learning_cases import BIG, random_positions, random_records

CBD = get_rules("cbd")
NETWORKS = {
    "resmlp": NetworkConfig("resmlp", width=64, blocks=1, local=16, local_blocks=0, pair=8),
    "resconv": NetworkConfig("resconv", width=16, blocks=2, pair=8),
    "transformer": NetworkConfig("transformer", width=32, blocks=2, pair=8),
}
EXACT = LearnerConfig(batch_size=64, warmup_steps=10, precision="float32", average=0.9, q_mix=0.0, weight_decay=0.0)


def buffer_of(records, rules=CBD):
    buffer = ReplayBuffer(rules, ReplayConfig(capacity=1000, window=1000))
    buffer.add(records)
    return buffer


def learner_of(kind="resmlp", config=EXACT, rules=CBD, seed=0):
    torch.manual_seed(seed)
    return Learner(build_network(NETWORKS[kind], rules), config, "cpu", threads=1)


def with_changes(**changes):
    return dataclasses.replace(EXACT, **changes)


def tensors(buffer, rows):
    return {name: torch.from_numpy(array) for name, array in buffer.batch(rows)._asdict().items()}


def count_pieces(boards):
    """int[n, 4]: pieces of each bitboard."""
    return np.array([[int(word).bit_count() for word in row] for row in boards])


def rng(seed=0):
    return np.random.default_rng(seed)


def same_weights(one, other):
    return all(
        torch.equal(a, b)
        for mine, theirs in ((one.net, other.net), (one.averaged, other.averaged))
        for a, b in zip(mine.parameters(), theirs.parameters(), strict=True)
    )


@pytest.mark.parametrize(("kind", "rounds"), [("resmlp", 3), ("resconv", 4), ("transformer", 3)])
def test_tiny_network_overfits_256_records(kind, rounds):
    records = random_records(CBD, 256)
    buffer, learner = buffer_of(records), learner_of(kind, with_changes(batch_size=128, learning_rate=4e-3))
    first = learner.train(buffer, rng(), 1)
    for seed in range(rounds):
        metrics = learner.train(buffer, rng(seed), 100)
    assert first["policy_loss"] - first["target_entropy"] > 0.3
    assert 0 <= metrics["policy_loss"] - metrics["target_entropy"] < 0.05
    assert metrics["policy_accuracy"] > 0.85
    assert metrics["value_accuracy"] > 0.99
    assert metrics["moves_left_error"] < 6
    # The averaged weights, as players see them, have learnt the same: the result of every record, with its sign.
    value = Evaluator(learner.averaged, "cpu").evaluate(records.boards, records.features)[1]
    assert np.abs(value - records.z).max() < 0.5


def test_gradient_of_illegal_logits_is_exactly_zero():
    records = random_records(CBD, 64)
    batch = tensors(buffer_of(records), np.arange(64))
    masks = torch.from_numpy(Positions.from_boards(CBD, records.boards, np.zeros(64, np.int8)).masks())
    logits = torch.randn(64, CBD.num_actions) * 5
    logits[:, ::7] = 80.0  # an illegal move that the network likes is no reason to learn either
    logits.requires_grad_(True)
    log_policy = legal_log_probabilities(logits, batch["actions"], batch["legal"])
    (-(batch["policy"] * log_policy).sum()).backward()
    assert (logits.grad[~masks] == 0).all()
    several = masks.sum(dim=1) > 1
    assert (logits.grad[masks & several[:, None]] != 0).float().mean() > 0.9
    torch.testing.assert_close(log_policy.exp().sum(dim=1), torch.ones(64))


def test_policy_loss_is_the_cross_entropy_over_the_mask_that_search_uses():
    records, learner = random_records(CBD, 32), learner_of()
    batch = tensors(buffer_of(records), np.arange(32))
    losses, figures = learner.losses(batch)
    logits = learner.net(batch["boards"], batch["features"])[0].detach().double().numpy()
    masks = Positions.from_boards(CBD, records.boards, np.zeros(32, np.int8)).masks()
    cross_entropy, entropy = 0.0, 0.0
    for row in range(32):
        chances = np.where(masks[row], np.exp(logits[row]), 0.0)
        chances /= chances.sum()
        entropy -= (chances[masks[row]] * np.log(chances[masks[row]])).sum() / 32
        for action, share in zip(records.actions[row], records.policy[row], strict=True):
            cross_entropy -= share * np.log(chances[action]) / 32 if action >= 0 else 0.0
    assert float(losses["policy"].detach()) == pytest.approx(cross_entropy, rel=1e-5)
    assert float(figures["policy_entropy"]) == pytest.approx(entropy, rel=1e-5)


def test_one_legal_move_has_no_policy_loss_and_no_gradient():
    records = random_records(CBD, 900)
    single = np.flatnonzero((records.actions >= 0).sum(axis=1) == 1)
    assert len(single) > 20
    buffer, learner = buffer_of(Records(*(column[single] for column in records))), learner_of()
    losses, _ = learner.losses(tensors(buffer, np.arange(len(single))))
    assert float(losses["policy"].detach()) == 0.0
    losses["policy"].backward()
    assert all(weights.grad is None or (weights.grad == 0).all() for weights in learner.net.parameters())


def test_records_without_a_policy_target_teach_the_value_only():
    records = random_records(CBD, 32)
    records.actions[:], records.policy[:] = -1, 0.0
    learner = learner_of()
    losses, _ = learner.losses(tensors(buffer_of(records), np.arange(32)))
    assert float(losses["policy"].detach()) == 0.0
    assert float(losses["value"].detach()) > 0.0
    assert "policy_accuracy" not in learner.train(buffer_of(records), rng(), 1)


def test_outcome_target_mixes_result_and_search_and_keeps_their_mean():
    z, q = torch.tensor([1, 0, -1, 1]), torch.tensor([0.5, -0.2, -1.0, -0.6])
    for q_mix in (0.0, 0.25, 1.0):
        target = outcome_target(z, q, q_mix)
        assert (target >= 0).all()
        torch.testing.assert_close(target.sum(dim=1), torch.ones(4))
        torch.testing.assert_close(target[:, 0] - target[:, 2], (1 - q_mix) * z + q_mix * q)
    assert outcome_target(z, q, 0.0).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    torch.testing.assert_close(outcome_target(z[:1], torch.tensor([1.5]), 1.0), torch.tensor([[1.0, 0.0, 0.0]]))


def test_value_belongs_to_the_side_to_move():
    """Learnt from "more pieces win": a board and its twin with the sides swapped have values of opposite sign."""
    records = random_records(CBD, 900)
    pieces = count_pieces(records.boards)
    balance = pieces[:, 0] + pieces[:, 1] - pieces[:, 2] - pieces[:, 3]
    records.z[:] = np.sign(balance)
    learner = learner_of(config=with_changes(batch_size=256, learning_rate=4e-3))
    metrics = learner.train(buffer_of(records), rng(), 60)
    assert metrics["value_loss"] < 0.8
    positions = random_positions(CBD, 600, seed=9)
    pieces = count_pieces(positions.boards)
    ahead = positions.boards[pieces[:, 0] + pieces[:, 1] > pieces[:, 2] + pieces[:, 3] + 1]
    assert len(ahead) > 50
    evaluator, scalars = Evaluator(learner.averaged, "cpu"), np.zeros((len(ahead), 6), np.float32)
    assert evaluator.evaluate(ahead, scalars)[1].mean() > 0.5
    turned = np.array([[int(f"{int(word):036b}"[::-1], 2) for word in row] for row in ahead], dtype=np.uint64)
    assert evaluator.evaluate(turned[:, [2, 3, 0, 1]], scalars)[1].mean() < -0.5


def test_weights_of_records_count():
    records = random_records(CBD, 2)
    learner = learner_of()

    def losses(rows):
        found = learner.losses(tensors(buffer_of(records), np.array(rows)))[0]
        return {name: float(loss.detach()) for name, loss in found.items()}

    first, second = losses([0]), losses([1])
    records.weight[:] = (3.0, 1.0)
    both = losses([0, 1])
    assert set(both) == {"policy", "value", "moves_left"}
    for name in both:
        assert both[name] == pytest.approx(0.75 * first[name] + 0.25 * second[name], rel=1e-5), name
        assert first[name] != pytest.approx(second[name], rel=1e-3), name


def test_moves_left_loss_is_that_of_huber_in_units_of_twenty_plies():
    records = random_records(CBD, 2)
    learner = learner_of()
    row = tensors(buffer_of(records), np.array([0]))
    predicted = float(learner.net(row["boards"], row["features"])[2][0].detach())
    for distance, wanted in ((10, 0.5 * 0.5**2), (60, 3.0 - 0.5)):
        batch = tensors(buffer_of(records), np.array([0]))
        batch["plies_left"] = torch.tensor([predicted + distance])
        assert float(learner.losses(batch)[0]["moves_left"].detach()) == pytest.approx(wanted, rel=1e-3)


def test_averaged_weights_follow_their_formula():
    learner, buffer = learner_of(config=with_changes(average=0.5)), buffer_of(random_records(CBD, 64))
    expected = [weights.detach().clone() for weights in learner.net.parameters()]
    for step in range(1, 15):
        learner.train(buffer, rng(step), 1)
        kept = min(0.5, step / (step + 10))
        for average, weights in zip(expected, learner.net.parameters(), strict=True):
            average.mul_(kept).add_(weights.detach() * (1 - kept))
    for average, weights in zip(expected, learner.averaged.parameters(), strict=True):
        torch.testing.assert_close(weights, average, rtol=1e-5, atol=1e-7)
        assert not weights.requires_grad


def test_weight_decay_is_decoupled_and_spares_biases_and_norms():
    """With gradients of length ~0 only the decay moves weights."""
    config = with_changes(learning_rate=1e-2, warmup_steps=0, weight_decay=0.5, value_weight=0.0, moves_left_weight=0.0)
    records = random_records(CBD, 64)
    records.actions[:], records.policy[:] = -1, 0.0  # no policy target, so no gradient at all
    learner = learner_of(config=config)
    before = {name: weights.detach().clone() for name, weights in learner.net.named_parameters()}
    learner.train(buffer_of(records), rng(), 1)
    for name, weights in learner.net.named_parameters():
        matrix = name.endswith("weight") and weights.dim() == 2
        torch.testing.assert_close(weights.detach(), before[name] * (1 - 1e-2 * 0.5 if matrix else 1.0))
    assert {name for name in before if before[name].dim() == 2} - {"stem.bias"} == {
        name for name, weights in learner.net.named_parameters() if name.endswith("weight") and weights.dim() == 2
    }


def test_learning_rate_rises_then_falls():
    learner = learner_of(config=with_changes(learning_rate=1.0, warmup_steps=9, cooldown=0.2))
    assert [learner.learning_rate(step) for step in range(12)] == pytest.approx(
        [0.1 * (step + 1) for step in range(10)] + [1.0, 1.0]
    )
    rates = []
    for done in (0.0, 0.5, 0.8, 0.85, 0.9, 0.99, 1.0):
        learner.done = done
        rates.append(learner.learning_rate(10**6))
    assert rates == pytest.approx([1.0, 1.0, 1.0, 0.75, 0.5, 0.05, 0.0], abs=1e-9)
    constant = learner_of(config=with_changes(learning_rate=1.0, warmup_steps=0))
    constant.done = 1.0
    assert [constant.learning_rate(step) for step in (0, 10**6)] == [1.0, 1.0]
    learner.done = 0.9
    assert learner.train(buffer_of(random_records(CBD, 64)), rng(), 3)["learning_rate"] == pytest.approx(0.15)


def test_steps_are_as_long_as_the_learning_rate():
    """Adam's first step moves a weight by the learning rate, whatever its gradient."""
    learner = learner_of(config=with_changes(learning_rate=0.01, warmup_steps=9))
    before = [weights.detach().clone() for weights in learner.net.parameters()]
    learner.train(buffer_of(random_records(CBD, 64)), rng(), 1)
    moved = [
        float((one - other.detach()).abs().max()) for one, other in zip(before, learner.net.parameters(), strict=True)
    ]
    assert max(moved) == pytest.approx(0.001, rel=1e-3)


def test_the_value_loss_is_that_of_the_mixed_target():
    learner = learner_of(config=with_changes(q_mix=0.5))
    batch = tensors(buffer_of(random_records(CBD, 64)), np.arange(64))
    found = float(learner.losses(batch)[0]["value"].detach())
    with torch.no_grad():
        log = torch.log_softmax(learner.net(batch["boards"], batch["features"])[1], dim=1)
    half, none = (float(-(outcome_target(batch["z"], batch["q"], mix) * log).sum(1).mean()) for mix in (0.5, 0.0))
    assert found == pytest.approx(half, rel=1e-5) and abs(half - none) > 1e-4


def test_phases_of_a_game():
    """On 32 squares: an opening has more than 16 pieces, a middle game more than 8."""
    learner = learner_of()
    batch = tensors(buffer_of(random_records(CBD, 5)), np.arange(5))
    batch["pieces"] = torch.tensor([24, 17, 16, 9, 8])
    figures = learner.losses(batch)[1]
    assert [int(figures[f"count/value_loss/{phase}"]) for phase in ("opening", "middle", "ending")] == [2, 2, 1]


def test_long_gradients_are_shortened():
    """Steps of plain gradients are compared through Adam's first moment, which is (1 - beta) * gradient."""
    learner = learner_of(config=with_changes(max_gradient_norm=0.01))
    metrics = learner.train(buffer_of(random_records(CBD, 64)), rng(), 1)
    moments = [state["exp_avg"] for state in learner.state_dict()["optimizer"]["state"].values()]
    length = torch.sqrt(sum((10 * moment).square().sum() for moment in moments))
    assert metrics["gradient_norm"] > 0.1
    assert float(length) == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("kind", list(NETWORKS))
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_equal_seeds_give_equal_weights_bit_for_bit(kind, precision):
    buffer = buffer_of(random_records(CBD, 128))
    learners = []
    for seed in (1, 1, 2):
        learners.append(learner_of(kind, with_changes(precision=precision)))
        learners[-1].train(buffer, rng(seed), 5)
    assert same_weights(learners[0], learners[1])
    assert not same_weights(learners[0], learners[2])


def test_resuming_equals_going_on_bit_for_bit():
    config = with_changes(warmup_steps=2, weight_decay=0.1)
    buffer = buffer_of(random_records(CBD, 128))
    whole, first = learner_of(config=config), learner_of(config=config)
    stream = rng(3)
    whole.train(buffer, stream, 5)
    whole.train(buffer, stream, 5)
    stream = rng(3)
    first.train(buffer, stream, 5)
    state = first.state_dict()
    saved = copy.deepcopy(state)
    first.train(buffer, rng(4), 2)  # must not reach into what was saved
    second = learner_of(config=config, seed=99)
    second.load_state_dict(state)
    second.train(buffer, stream, 5)
    assert second.steps == whole.steps == 10
    assert same_weights(whole, second)
    assert all(torch.equal(state["net"][name], saved["net"][name]) for name in saved["net"])
    third = learner_of(config=dataclasses.replace(config, weight_decay=0.3), seed=99)
    third.load_state_dict(state)
    assert third._optimizer.param_groups[0]["weight_decay"] == 0.3


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_gpu_learns_what_the_cpu_learns():
    buffer = buffer_of(random_records(CBD, 128))
    on_cpu, on_gpu = learner_of(), Learner(copy.deepcopy(learner_of().net), EXACT, "cuda")
    one, other = (learner.train(buffer, rng(), 10) for learner in (on_cpu, on_gpu))
    assert one["loss"] == pytest.approx(other["loss"], rel=1e-2)
    resumed = learner_of()
    resumed.load_state_dict(on_gpu.state_dict())
    assert resumed.steps == 10
    assert np.isfinite(resumed.train(buffer, rng(), 1)["loss"])


def test_state_of_another_network_is_refused():
    with pytest.raises(SavedError, match="belong to another network"):
        learner_of("resmlp").load_state_dict(learner_of("resconv").state_dict())


def test_metrics_progress_and_phases():
    records = random_records(CBD, 400)
    pieces = count_pieces(records.boards).sum(axis=1)
    records = Records(*(column[pieces > 8] for column in records))
    assert pieces.max() > 16
    learner, seen = learner_of(), []
    metrics = learner.train(buffer_of(records), rng(), 4, seen.append)
    assert seen == [1, 2, 3, 4]
    assert learner.steps == 4
    assert "value_loss/ending" not in metrics
    parts = [metrics["value_loss/opening"], metrics["value_loss/middle"]]
    assert min(parts) <= metrics["value_loss"] <= max(parts)
    assert metrics["loss"] == pytest.approx(
        metrics["policy_loss"] + metrics["value_loss"] + 0.05 * metrics["moves_left_loss"], rel=1e-5
    )
    assert 0 < metrics["policy_entropy"] < np.log(66)
    assert metrics["samples_per_second"] > 0
    assert all(np.isfinite(value) for value in metrics.values())
    assert learner.train(buffer_of(records), rng(), 0) == {}


def test_ten_by_ten_learns_too():
    learner = learner_of("resconv", rules=BIG)
    buffer = buffer_of(random_records(BIG, 32), BIG)
    first = learner.train(buffer, rng(), 2)["loss"]
    assert learner.train(buffer, rng(1), 40)["loss"] < first - 0.1


def test_numbers_that_are_not_finite_stop_with_step_and_cause():
    buffer = buffer_of(random_records(CBD, 64))
    learner = learner_of()
    learner.train(buffer, rng(), 3)
    before = [weights.detach().clone() for weights in learner.net.parameters()]
    broken = copy.deepcopy(buffer)
    broken._rows.features[:, 2] = np.inf
    with pytest.raises(TrainingError, match="step 4: the policy loss is not finite"):
        learner.train(broken, rng(), 1)
    assert learner.steps == 3
    assert all(torch.equal(one, other) for one, other in zip(before, learner.net.parameters(), strict=True))
    broken = copy.deepcopy(buffer)
    broken._rows.q[:] = np.nan
    mixed = learner_of(config=with_changes(q_mix=0.5))
    with pytest.raises(TrainingError, match="step 1: the value loss is not finite"):
        mixed.train(broken, rng(), 1)
    with torch.no_grad():
        learner.net.enter.bias[5] = torch.nan
    with pytest.raises(TrainingError, match=r"step 4: the weights 'enter\.bias' are not finite"):
        learner.train(buffer, rng(), 1)


@pytest.mark.parametrize(
    "change",
    [{"batch_size": 0}, {"learning_rate": 0.0}, {"average": 1.0}, {"q_mix": 1.5}, {"value_weight": -1.0}],
)
def test_impossible_settings_are_refused(change):
    with pytest.raises(ValueError, match=f"learner.{next(iter(change))}="):
        LearnerConfig(**change)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"learner\.cooldown=1\.5: choose a value from 0\.0 to 1\.0"):
        LearnerConfig(cooldown=1.5)
    with pytest.raises(ValueError, match="choose auto, float32 or bfloat16"):
        LearnerConfig(precision="float16")

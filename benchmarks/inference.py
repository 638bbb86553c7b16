"""Evaluations per second of networks, for each precision, number of threads and batch size.

    python benchmarks/inference.py [--networks resmlp:256x3 resconv:32x4] [--batches 1 64 256 1024] [--rules cbd]

Each thread calls the evaluator by itself, as self-play does, so the rates of all threads are added up. The time is
that which the threads spent computing (CPU) or that on the clock (GPU): other programs on the machine hardly count.
GFLOP/s are those of the dense layers alone.
"""

import argparse
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

from damas_env.observation import features
from damas_env.position import THREADS, Positions
from damas_env.rules import RuleSet, get_rules
from damas_rl.networks import Evaluator, NetworkConfig, PolicyValueNet, build_network


def middle_games(rules: RuleSet, count: int) -> Positions:
    """Positions after 20 random plies of each game that has not ended before."""
    positions, rng = Positions.initial(rules, count), np.random.default_rng(1)
    for _ in range(20):
        positions.step(positions.sample_legal(rng))
    return positions


def rate(evaluator: Evaluator, positions: Positions, seconds: float) -> float:
    """Evaluations per second of the calling thread."""
    boards, scalars = positions.boards, features(positions)
    clock = time.thread_time if evaluator.device.type == "cpu" else time.perf_counter
    evaluator.evaluate(boards, scalars)
    calls, started = 0, clock()
    while clock() - started < seconds:
        evaluator.evaluate(boards, scalars)
        calls += 1
    return calls * len(positions) / (clock() - started)


def operations(net: PolicyValueNet) -> int:
    """Floating-point operations of the dense layers for one position."""
    total = 0

    def count(layer: torch.nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        nonlocal total
        total += 2 * output.numel() * inputs[0].shape[-1]

    handles = [layer.register_forward_hook(count) for layer in net.modules() if isinstance(layer, torch.nn.Linear)]
    with torch.no_grad():
        net(torch.zeros(1, 4, dtype=torch.int64), torch.zeros(1, 6))
    for handle in handles:
        handle.remove()
    return total


def parse(name: str) -> NetworkConfig:
    """``resmlp:256x3`` is a resmlp of width 256 with 3 blocks."""
    kind, _, shape = name.partition(":")
    width, _, blocks = shape.partition("x")
    return NetworkConfig(kind=kind, width=int(width), blocks=int(blocks))  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=["resmlp:128x2", "resmlp:256x3", "resconv:32x4"])
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 64, 256, 512, 1024])
    parser.add_argument("--precisions", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--threads", nargs="+", type=int, default=sorted({1, THREADS}))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rules", default="cbd")
    parser.add_argument("--seconds", type=float, default=0.5, help="of measurement for each figure")
    arguments = parser.parse_args()
    rules = get_rules(arguments.rules)
    batches = "".join(f"{f'batch {size}':>14}" for size in arguments.batches)
    print(f"{'network':<14}{'parameters':>12}{'MFLOP':>8}  {'precision':<10}{'threads':>8}{batches}   best GFLOP/s")
    for name in arguments.networks:
        net = build_network(parse(name), rules)
        parameters, cost = sum(weights.numel() for weights in net.parameters()), operations(net)
        for precision in arguments.precisions:
            evaluator = Evaluator(net, arguments.device, precision)
            for threads in arguments.threads:
                rates = []
                with ThreadPoolExecutor(threads) as pool:
                    for size in arguments.batches:
                        positions = middle_games(rules, size)
                        jobs = [pool.submit(rate, evaluator, positions, arguments.seconds) for _ in range(threads)]
                        rates.append(sum(job.result() for job in jobs))
                cells = "".join(f"{value:>14,.0f}" for value in rates)
                print(
                    f"{name:<14}{parameters:>12,}{cost / 1e6:>8.2f}  {precision:<10}{threads:>8}{cells}"
                    f"   {max(rates) * cost / 1e9:.0f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()

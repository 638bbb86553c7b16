"""Evaluations per second of networks: ways to compute them, batch sizes, and how far the answers differ.

    python benchmarks/inference.py [--networks resmlp:256x1 resconv:32x4] [--batches 1 64 256 1024] [--threads 2]

A network may also be a file, or the name of one that ships. "torch" is what damas-rl does with many positions, in
each precision (auto is marked), "kernel" what it does with few; "compiled" is torch.compile, "traced" is
torch.jit.trace and freeze. With the packages of benchmarks/inference.txt, ONNX Runtime and OpenVINO take part. One
call on each core at once, as in self-play. The time is that which all threads of the process spent computing, for
each core (CPU), or that on the clock (GPU): other programs on the machine hardly count. "differs" is the largest
difference of a value to that in float32.

There is no batch norm to fuse and no layout to choose: layers are norms of single vectors and matrix products over
them, with the channels last.
"""

import argparse
import io
import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from common import save

from damas_env.observation import features
from damas_env.position import THREADS, Positions
from damas_env.rules import RuleSet, get_rules
from damas_rl.checkpoint import load_network
from damas_rl.networks import (
    Evaluator,
    NetworkConfig,
    PolicyValueNet,
    build_network,
    choose_device,
    evaluator_of_few,
)

Evaluate = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, ...]]
"""(boards, features) to (policy logits, values, ...)."""


def middle_games(rules: RuleSet, count: int) -> Positions:
    """Positions after 20 random plies of each game that has not ended before."""
    positions, rng = Positions.initial(rules, count), np.random.default_rng(1)
    for _ in range(20):
        positions.step(positions.sample_legal(rng))
    return positions


def rate(evaluate: Evaluate, positions: Positions, seconds: float, threads: int, device: torch.device) -> float:
    """Evaluations per second of ``threads`` threads that call at once, threads of the library's own included."""
    boards, scalars = positions.boards, features(positions)

    def calls(until: float) -> int:
        done = 0
        while not done or time.perf_counter() < until:
            evaluate(boards, scalars)
            done += 1
        return done

    clock, cores = (time.process_time, threads) if device.type == "cpu" else (time.perf_counter, 1)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(calls, [0.0] * threads))  # to warm up
        started, until = clock(), time.perf_counter() + seconds
        done = sum(pool.map(calls, [until] * threads))
        return done * len(positions) * cores / (clock() - started)


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


def new_network(name: str, rules: RuleSet) -> PolicyValueNet:
    """With random numbers where new networks have zeros, so that answers can differ; or one that exists."""
    if ":" not in name:
        return load_network(name)[0]
    torch.manual_seed(0)
    net = build_network(parse(name), rules)
    with torch.no_grad():
        for weights in net.parameters():
            if not weights.any():
                weights.normal_(0.0, 0.05)
    return net


class _Unpacked(torch.nn.Module):
    """A network whose boards are one number for each square and kind of piece: ONNX shifts no signed integers."""

    def __init__(self, net: PolicyValueNet) -> None:
        super().__init__()
        self.net = net

    def forward(self, pieces: torch.Tensor, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        stem = self.net.stem
        stem.forward = lambda boards: stem.filters(stem.around(boards)) + stem.bias
        policy, outcome, _ = self.net(pieces, features)
        chances = outcome.softmax(dim=1)
        return policy, chances[:, 0] - chances[:, 2]


def exported(net: PolicyValueNet) -> tuple[bytes, Callable[[np.ndarray], np.ndarray]]:
    """The network as an ONNX file, and what unpacks its boards."""
    bits, file = net.stem.bits.numpy().astype(np.uint64), io.BytesIO()
    example = torch.zeros(2, net.num_squares, 4), torch.zeros(2, 6)
    batch = {0: torch.export.Dim("batch", min=1, max=1 << 20)}
    torch.onnx.export(
        _Unpacked(build_like(net)), example, file, dynamo=True, verbose=False, input_names=["pieces", "features"],
        dynamic_shapes=(batch, batch),
    )  # fmt: skip
    return file.getvalue(), lambda boards: ((boards[:, None, :] >> bits) & np.uint64(1)).astype(np.float32)


def build_like(net: PolicyValueNet) -> PolicyValueNet:
    """A frozen copy."""
    copy = build_network(net.config, get_rules("cbd"))
    copy.load_state_dict(net.state_dict())
    return copy.eval().requires_grad_(False)


def traced(net: PolicyValueNet) -> Evaluate:
    evaluator = Evaluator(net, "cpu", "float32")
    example = torch.zeros(2, 4, dtype=torch.int64), torch.zeros(2, 6)
    evaluator._net = torch.jit.freeze(torch.jit.trace(evaluator._net, example, check_trace=False))
    return evaluator.evaluate


def onnx_runtime(net: PolicyValueNet) -> Evaluate:
    import onnxruntime

    model, unpack = exported(net)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda boards, scalars: session.run(None, {"pieces": unpack(boards), "features": scalars})


def openvino(net: PolicyValueNet, precision: str) -> Evaluate:
    import threading

    import openvino as ov

    model, unpack = exported(net)
    settings = {"INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": THREADS, "NUM_STREAMS": THREADS}
    core, local = ov.Core(), threading.local()
    compiled = core.compile_model(core.read_model(model), "CPU", settings)

    def evaluate(boards: np.ndarray, scalars: np.ndarray) -> tuple[np.ndarray, ...]:
        if not hasattr(local, "request"):
            local.request = compiled.create_infer_request()
        found = local.request.infer([unpack(boards), scalars])
        return found[0], found[1]

    return evaluate


def ways(net: PolicyValueNet, device: str) -> Iterator[tuple[str, Evaluate]]:
    """(name, function) of each way that there is to compute ``net``."""
    automatic = Evaluator(net, device).dtype
    for compiled, precision in itertools.product((False, True), ("float32", "bfloat16")):
        evaluator = Evaluator(net, device, precision)  # type: ignore[arg-type]
        if compiled:
            evaluator._net = torch.compile(evaluator._net, dynamic=True)
        default = not compiled and evaluator.dtype == automatic
        name = f"{'compiled' if compiled else 'torch'}, {precision}{' (auto)' if default else ''}"
        yield name, evaluator.evaluate
    if choose_device(device).type == "cpu":
        yield "traced, float32", traced(net)
        if net.config.kind == "resmlp":
            yield "kernel, float32", evaluator_of_few(net).evaluate
        others: dict[str, Callable[[], Evaluate]] = {
            "ONNX Runtime, float32": lambda: onnx_runtime(net),
            "OpenVINO, float32": lambda: openvino(net, "f32"),
            "OpenVINO, bfloat16": lambda: openvino(net, "bf16"),
        }
        for name, make in others.items():
            try:
                evaluate = make()
            except ImportError as missing:
                print(f"| {name}: not measured, {missing} |")
            else:
                yield name, evaluate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=["resmlp:128x2", "resmlp:256x1", "resconv:32x4"])
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 64, 256, 1024])
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=0.5, help="of measurement for each figure")
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    rules, threads, device = get_rules("cbd"), arguments.threads, choose_device(arguments.device)
    batches, rows = " | ".join(f"batch {size:,}" for size in arguments.batches), []
    print(f"evaluations per second, {threads} threads, {device.type}")
    for name in arguments.networks:
        net = new_network(name, rules)
        parameters, cost = sum(weights.numel() for weights in net.parameters()), operations(net)
        print(f"\n| {name}: {parameters:,} parameters, {cost / 1e6:.2f} MFLOP | {batches} | best GFLOP/s | differs |")
        print(f"|{' --- |' * (len(arguments.batches) + 3)}")
        sample = middle_games(rules, 256)
        exact = Evaluator(net, "cpu", "float32").evaluate(sample.boards, features(sample))[1]
        for way, evaluate in ways(net, arguments.device):
            difference = float(np.abs(evaluate(sample.boards, features(sample))[1] - exact).max())
            rates = [
                rate(evaluate, middle_games(rules, size), arguments.seconds, threads, device)
                for size in arguments.batches
            ]
            cells = " | ".join(f"{value:,.0f}" for value in rates)
            print(f"| {way} | {cells} | {max(rates) * cost / 1e9:.0f} | {difference:.1e} |", flush=True)
            row = {"network": name, "parameters": parameters, "operations": cost, "way": way, "rates": rates}
            rows.append(row | {"difference": difference})
    save(arguments.json, {"batches": arguments.batches, "threads": threads, "rows": rows})


if __name__ == "__main__":
    main()

"""Checkpoints: what goes in comes out, and nothing but an unharmed file of ours is accepted."""

import dataclasses
import errno
import os
import pickle
import random
from pathlib import Path

import numpy as np
import pytest
import torch

import damas_env
from damas_env.presets import RULE_SETS
from damas_env.rules import get_rules
from damas_rl import checkpoint, files
from damas_rl.checkpoint import CheckpointError, load_network, load_newest, numbered, read_checkpoint, write_checkpoint
from damas_rl.networks import NetworkConfig, build_network

RULES = get_rules("cbd")
SHAPE = NetworkConfig(width=16, blocks=1, value_width=8)


def same(one, other):
    """Equality of nested content, bit for bit and type for type."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    return one == other


def small_network(seed=0):
    torch.manual_seed(seed)
    return build_network(SHAPE, RULES).eval()


def network_content(network):
    return {"kind": "network", **checkpoint.network_content(SHAPE, network.state_dict(), RULES)}


def test_content_comes_back_bit_for_bit(tmp_path):
    rng = np.random.default_rng(3)
    content = {
        "arrays": [
            rng.integers(0, 1 << 63, 7).astype(kind) for kind in ("u8", "i8", "i4", "i2", "i1", "u1", "f4", "f8")
        ],
        "bools": rng.random((2, 3)) < 0.5,
        "empty": np.zeros((0, 4), np.uint64),
        "scalar": np.array(3.5, np.float32),
        "strided": np.arange(12).reshape(3, 4)[:, ::2],
        "tensors": {"weights": torch.randn(3, 4), "half": torch.randn(2).bfloat16()},
        "plain": [1, 2.5, True, None, "text", (1, (2, 3)), -(1 << 200), {5: "five"}],
        "random": rng.bit_generator.state,
        "mersenne": np.random.RandomState(3).get_state(),
        "largest": np.array([2**64 - 1], np.uint64),
        "nan": np.array([np.nan, -np.inf, -0.0]),
    }
    write_checkpoint(tmp_path / "a.pt", content)
    found = read_checkpoint(tmp_path / "a.pt")
    assert found.pop("rules_version") == damas_env.RULES_VERSION
    assert found.pop("action_version") == damas_env.ACTION_VERSION
    assert same(found, {**content, "mersenne": tuple(content["mersenne"])})
    assert [path.name for path in tmp_path.iterdir()] == ["a.pt"]


def test_read_only_arrays_can_be_saved(tmp_path):
    fixed = np.arange(3)
    fixed.setflags(write=False)
    write_checkpoint(tmp_path / "a.pt", {"fixed": fixed})
    assert same(read_checkpoint(tmp_path / "a.pt")["fixed"], np.arange(3))


def test_every_truncation_is_noticed(tmp_path):
    path = tmp_path / "a.pt"
    write_checkpoint(path, {"array": np.arange(50)})
    data = path.read_bytes()
    for length in reversed(range(len(data))):
        os.truncate(path, length)
        with pytest.raises(CheckpointError, match=r"incomplete|not a checkpoint"):
            read_checkpoint(path)


def test_every_flipped_byte_is_noticed(tmp_path):
    path = tmp_path / "a.pt"
    write_checkpoint(path, {"array": np.arange(50)})
    data = path.read_bytes()
    for at in {*range(80), *random.Random(1).sample(range(len(data)), 100)}:
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(CheckpointError):
            read_checkpoint(path)


class Explosive:
    def __reduce__(self):
        return (pytest.fail, ("code of a checkpoint was run",))


def test_foreign_files_are_refused_and_not_run(tmp_path):
    path = tmp_path / "a.pt"
    torch.save({"weights": torch.zeros(3)}, path)
    with pytest.raises(CheckpointError, match="not a checkpoint of damas-rl"):
        read_checkpoint(path)
    path.write_bytes(pickle.dumps(Explosive()))
    with pytest.raises(CheckpointError, match="not a checkpoint of damas-rl"):
        read_checkpoint(path)
    for data in (b"", b"\x00" * 1000, '[Event "é"]\r\n'.encode()):
        path.write_bytes(data)
        with pytest.raises(CheckpointError):
            read_checkpoint(path)
    with pytest.raises(CheckpointError, match="no such file"):
        read_checkpoint(tmp_path / "nothing.pt")
    with pytest.raises(CheckpointError, match="is a directory"):
        read_checkpoint(tmp_path)


def test_a_checkpoint_with_objects_is_not_run(tmp_path, monkeypatch):
    path = tmp_path / "a.pt"
    monkeypatch.setattr(checkpoint, "_pack", lambda content: content)
    write_checkpoint(path, {"object": Explosive()})
    with pytest.raises(CheckpointError, match="not plain"):
        read_checkpoint(path)


@pytest.mark.parametrize("name", ["RULES_VERSION", "ACTION_VERSION"])
def test_other_versions_are_refused(tmp_path, monkeypatch, name):
    path = tmp_path / "a.pt"
    write_checkpoint(path, {})
    monkeypatch.setattr(damas_env, name, 99)
    with pytest.raises(CheckpointError, match=f"version 1 of the {name.split('_')[0].lower()} code.*version 99"):
        read_checkpoint(path)


def test_other_formats_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.pt"
    monkeypatch.setattr(checkpoint, "FORMAT", 7)
    write_checkpoint(path, {})
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match=r"format 7.*reads format 1"):
        read_checkpoint(path)


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.pt"
    write_checkpoint(path, {"value": 1})

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(CheckpointError, match="disk is full"):
        write_checkpoint(path, {"value": 2})
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.pt"]
    assert read_checkpoint(path)["value"] == 1


def test_numbered_checkpoints_keep_the_newest(tmp_path):
    for iteration in (1, 2, 9, 10, 11):
        checkpoint.save_numbered(tmp_path, iteration, {"iteration": iteration}, keep=3)
    (tmp_path / "ckpt-x.pt").touch()
    assert [path.name for path in numbered(tmp_path)] == ["ckpt-0000009.pt", "ckpt-0000010.pt", "ckpt-0000011.pt"]
    content, path, passed_over = load_newest(tmp_path)
    assert content["iteration"] == 11 and path.name == "ckpt-0000011.pt" and passed_over == {}


def test_damaged_checkpoints_are_passed_over(tmp_path):
    for iteration in (1, 2, 3):
        checkpoint.save_numbered(tmp_path, iteration, {"iteration": iteration}, keep=3)
    with open(tmp_path / "ckpt-0000003.pt", "r+b") as file:
        file.truncate(100)
    (tmp_path / "ckpt-0000002.pt").write_bytes(b"")
    content, path, passed_over = load_newest(tmp_path)
    assert content["iteration"] == 1 and path.name == "ckpt-0000001.pt"
    assert [path.name for path in passed_over] == ["ckpt-0000003.pt", "ckpt-0000002.pt"]
    assert all(str(path) in sentence for path, sentence in passed_over.items())
    (tmp_path / "ckpt-0000001.pt").write_bytes(b"junk")
    with pytest.raises(CheckpointError, match=r"No checkpoint in .* can be used"):
        load_newest(tmp_path)


def test_networks_load_from_file_run_and_name(tmp_path, monkeypatch):
    first, second, third = (small_network(seed) for seed in range(3))
    run = tmp_path / "run"
    (run / "checkpoints").mkdir(parents=True)
    (run / "networks").mkdir()
    checkpoint.save_numbered(run / "checkpoints", 5, network_content(first), keep=2)
    write_checkpoint(run / "networks" / "net-0000003.pt", network_content(second))
    shipped = tmp_path / "nets"
    shipped.mkdir()
    write_checkpoint(shipped / "champion.pt", network_content(third))
    monkeypatch.setattr(checkpoint, "NETS", shipped)

    def loads(source, expected):
        network, rules = load_network(source)
        assert rules is RULES and not network.training
        return same(dict(network.state_dict()), dict(expected.state_dict()))

    assert loads(run / "networks" / "net-0000003.pt", second)
    assert loads(run, first) and loads(run / "checkpoints", first)
    (run / "best").write_text("net-0000003.pt\n")
    assert loads(str(run), second)
    (run / "best").write_text("net-0000009.pt\n")
    assert loads(run, first)
    write_checkpoint(tmp_path / "outside.pt", network_content(third))
    for name in (
        "../../outside.pt",
        str(tmp_path / "outside.pt"),
        "",
        "net-.pt",
        "net-0000003.pt\nx",
        "\0",
        "net-3.PT",
    ):
        (run / "best").write_text(name)
        with pytest.raises(CheckpointError, match=r"best names no network of .*networks such as net-0000012.pt"):
            load_network(run)
    (run / "best").write_bytes(b"\xff\xfe" + "net-0000003.pt".encode("utf-16-le"))
    with pytest.raises(CheckpointError, match="best names no network"):
        load_network(run)
    (run / "best").unlink()
    assert loads("champion", third)
    with pytest.raises(CheckpointError, match=r"'champoin'.*champion"):
        load_network("champoin")
    with pytest.raises(CheckpointError, match="not a run directory"):
        load_network(tmp_path)


def test_networks_of_other_rules_or_shapes_are_refused(tmp_path):
    content = network_content(small_network())
    content["rules"] = {**content["rules"], "flying_kings": False, "title": "anything"}
    write_checkpoint(tmp_path / "rules.pt", content)
    with pytest.raises(CheckpointError, match=r"other rules than 'cbd'.*flying_kings"):
        load_network(tmp_path / "rules.pt")
    content = network_content(small_network())
    content["network"]["config"]["width"] = 24
    write_checkpoint(tmp_path / "shape.pt", content)
    with pytest.raises(CheckpointError, match="holds no network"):
        load_network(tmp_path / "shape.pt")
    write_checkpoint(tmp_path / "nothing.pt", {"kind": "network"})
    with pytest.raises(CheckpointError, match="holds no network"):
        load_network(tmp_path / "nothing.pt")


def test_a_small_file_cannot_ask_for_a_huge_network(tmp_path, monkeypatch):
    content = network_content(small_network())
    content["network"]["config"] |= {"width": 4096, "blocks": 100, "value_width": 4096}
    write_checkpoint(tmp_path / "huge.pt", content)
    built = []
    build = checkpoint.build_network

    def watched(config, rules):
        built.append(build(config, rules))
        return built[-1]

    monkeypatch.setattr(checkpoint, "build_network", watched)
    with pytest.raises(CheckpointError, match="holds no network"):
        load_network(tmp_path / "huge.pt")
    assert all(weights.is_meta for network in built for weights in network.parameters())


def test_what_is_no_file_is_refused_without_reading(tmp_path):
    os.mkfifo(tmp_path / "pipe")  # to open it would wait for ever
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(CheckpointError, match=f"{path} is not a file"):
            read_checkpoint(path)


@pytest.mark.parametrize("name", RULE_SETS)
def test_rules_survive(tmp_path, name):
    rules = get_rules(name)
    write_checkpoint(tmp_path / "a.pt", checkpoint.network_content(SHAPE, {}, rules))
    assert checkpoint.rules_from(read_checkpoint(tmp_path / "a.pt"), tmp_path) is rules
    own = dataclasses.replace(rules, name="my own", ply_cap=77)
    write_checkpoint(tmp_path / "b.pt", checkpoint.network_content(SHAPE, {}, own))
    assert checkpoint.rules_from(read_checkpoint(tmp_path / "b.pt"), tmp_path) == own


def saved(payload):
    """A file with a valid header around any payload."""
    header = checkpoint._HEADER.pack(
        checkpoint._MAGIC, checkpoint.FORMAT, len(payload), checkpoint.hashlib.sha256(payload).digest()
    )
    return header + payload


@pytest.mark.parametrize("content", [[1, 2], torch.zeros(3), {}, {"__array__": 5}, None])
def test_unexpected_content_behind_a_valid_header_is_refused(tmp_path, content):
    buffer = checkpoint.io.BytesIO()
    torch.save(content, buffer)
    for name, payload in (("whole", buffer.getvalue()), ("cut", buffer.getvalue()[:50]), ("empty", b"")):
        path = tmp_path / name
        path.write_bytes(saved(payload))
        with pytest.raises(CheckpointError, match=str(path)):
            read_checkpoint(path)


@pytest.mark.parametrize("change", [{"network": None}, {"network": {"config": None, "weights": {}}}, {"rules": [3]}])
def test_networks_of_unexpected_shape_are_refused(tmp_path, change):
    content = checkpoint.network_content(SHAPE, small_network().state_dict(), RULES)
    write_checkpoint(tmp_path / "net.pt", {"kind": "network", **content, **change})
    with pytest.raises(CheckpointError, match="holds no network"):
        load_network(str(tmp_path / "net.pt"))

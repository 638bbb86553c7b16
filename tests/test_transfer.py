"""Runs that start from another network's weights, under the same rules and under others."""

import json

import pytest
import torch

from damas_env.rules import get_rules
from damas_rl import checkpoint, launch
from damas_rl.checkpoint import CheckpointError, load_newest, network_content, write_checkpoint
from damas_rl.compose import load
from damas_rl.networks import NetworkConfig, build_network
from damas_rl.transfer import describe, read_source, take_over

TINY = load(["experiment=tiny"]).network


def saved_network(path, rules="cbd", config=TINY):
    """A file with a network all of whose weights differ from fresh ones."""
    torch.manual_seed(5)
    network = build_network(config, get_rules(rules))
    with torch.no_grad():
        for weights in network.parameters():
            weights.add_(torch.randn_like(weights) * 0.1)
    write_checkpoint(path, {"kind": "network", **network_content(config, network.state_dict(), get_rules(rules))})
    return network


@pytest.mark.parametrize("kind", ["resmlp", "resconv", "transformer"])
def test_boards_of_one_size_share_all_weights_others_the_shared_filters(tmp_path, kind):
    config = NetworkConfig(kind=kind, width=16, local=8, value_width=8)
    saved_network(tmp_path / "net.pt", config=config)
    source = read_source(str(tmp_path / "net.pt"), config)
    torch.manual_seed(0)
    russian = build_network(config, get_rules("russian"))
    assert take_over(source, russian) == []
    assert all(torch.equal(source.weights[name], tensor) for name, tensor in russian.state_dict().items())
    assert describe(source, []).endswith("(rules cbd): {0} of {0} tensors taken over.".format(len(source.weights)))
    torch.manual_seed(0)
    large = build_network(config, get_rules("international"))
    before = {name: tensor.clone() for name, tensor in large.state_dict().items()}
    fresh = take_over(source, large)
    assert "stem.bias" in fresh and "stem.filters.weight" not in fresh and "pairs.vectors.weight" not in fresh
    for name, tensor in large.state_dict().items():
        assert torch.equal(tensor, before[name] if name in fresh else source.weights[name]), name
    assert "stem.bias" in describe(source, fresh)


def test_another_shape_and_missing_files_are_refused_before_a_run_begins(tmp_path, capsys):
    saved_network(tmp_path / "net.pt")
    with pytest.raises(CheckpointError, match=r"network\.width=16"):
        read_source(str(tmp_path / "net.pt"), NetworkConfig())
    for words, expected in (
        ([f"init_from={tmp_path / 'net.pt'}", "network.width=24"], "network.width=16"),
        ([f"init_from={tmp_path / 'nothing.pt'}"], "nothing.pt"),
    ):
        assert launch.main(["experiment=tiny", *words, f"run_dir={tmp_path / 'run'}"]) == 2
        err = capsys.readouterr().err
        assert expected in err and err.count("\n") == 1
        assert not (tmp_path / "run").exists()


def test_a_run_starts_with_these_weights_says_so_and_goes_on_without_the_file(tmp_path, capsys):
    network = saved_network(tmp_path / "net.pt")
    run = tmp_path / "run"
    words = ["experiment=tiny", "iterations=1", "trainer.keep_checkpoints=9", f"init_from={tmp_path / 'net.pt'}"]
    assert launch.main([*words, f"run_dir={run}"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "(rules cbd)" in said and "tensors taken over" in said
    first = checkpoint.read_checkpoint(run / "checkpoints" / "ckpt-0000000.pt")
    for name, tensor in network.state_dict().items():
        assert torch.equal(first["network"]["weights"][name], tensor), name
        assert torch.equal(first["learner"]["net"][name], tensor), name
    assert json.loads((run / "meta.json").read_text())["init_from"]["fresh"] == []
    (tmp_path / "net.pt").unlink()
    assert launch.main([f"resume={run}", "init_from=small"]) == 2
    assert "init_from cannot be changed" in capsys.readouterr().err
    assert launch.main([f"resume={run}", "iterations=2"]) == 0
    assert load_newest(run / "checkpoints")[0]["counts"]["iteration"] == 2

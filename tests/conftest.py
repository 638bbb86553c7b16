"""Shared by all tests."""

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def one_torch_thread():
    """Small networks are fastest, and tests independent of the machine, on one thread."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True, scope="session")
def own_folders(tmp_path_factory):
    """Endgame tables and their caches are kept in a folder of the tests, not in the user's."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("XDG_DATA_HOME", "XDG_CACHE_HOME"):
            patch.setenv(variable, str(tmp_path_factory.mktemp(variable.lower())))
        yield

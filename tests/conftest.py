"""Shared by all tests."""

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def one_torch_thread():
    """Small networks are fastest, and tests independent of the machine, on one thread."""
    torch.set_num_threads(1)

"""Every notebook runs from top to bottom."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    kept = [bool(cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]
    assert any(kept), "a notebook is kept with its outputs"
    resources = {"metadata": {"path": str(tmp_path)}}  # it must not depend on where it is started
    NotebookClient(notebook, timeout=280, kernel_name="python3", resources=resources).execute()

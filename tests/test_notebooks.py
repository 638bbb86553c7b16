"""Every notebook runs from top to bottom, on small figures, and is kept with clean outputs."""

import json
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))

SMALL = {
    "training": 'WORDS = ["experiment=tiny", "iterations=2", "selfplay.tablebase=0", "trainer.endgame_share=0"]',
    "network": "SIMULATIONS, GAMES, ENDGAMES, PIECES = 16, 4, 20, 3",
    "comparison": """
SETTINGS = {"narrow": [], "wide": ["network.width=32"]}
COMMON = ["experiment=tiny", "iterations=1", "selfplay.tablebase=0", "trainer.endgame_share=0"]
GAMES, SIMULATIONS = 4, 2
""",
}
"""What is added to the cell of a notebook that is tagged "parameters", so that it takes seconds."""


def cells(path: Path) -> list[nbformat.NotebookNode]:
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def outputs(code: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    return [output for cell in code for output in cell.outputs]


def test_there_are_notebooks() -> None:
    assert {path.stem for path in NOTEBOOKS} == {"game", *SMALL}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    parameters = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", ())]
    assert len(parameters) == (path.stem in SMALL)
    for cell in parameters:
        cell.source += "\n" + SMALL[path.stem]
    resources = {"metadata": {"path": str(tmp_path)}}  # it must not depend on where it is started
    NotebookClient(notebook, timeout=280, kernel_name="python3", resources=resources).execute()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_kept_as_it_was_run(path: Path) -> None:
    code = cells(path)
    assert [cell.execution_count for cell in code] == [*range(1, len(code) + 1)]
    assert any(cell.outputs for cell in code)
    for output in outputs(code):
        assert output.output_type != "error" and output.get("name") != "stderr"
    assert path.stat().st_size < 200_000
    text = json.dumps([{**output, "data": {**output.get("data", {}), "image/png": ""}} for output in outputs(code)])
    assert not re.search(r"/(tmp|home|root|work|usr|var)\b", text)

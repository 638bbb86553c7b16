"""The documentation as a site: strict, with a reference, and without anything from another server."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for module in ("mkdocs", "material", "mkdocstrings_handlers.python"):
        pytest.importorskip(module)
    folder = tmp_path_factory.mktemp("site")
    # Links that lead nowhere, pages that are listed nowhere and docstrings that do not fit are warnings, hence errors.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_every_page_is_there_and_the_reference_has_the_docstrings(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs")).with_suffix(".html").is_file()
    text = (site / "reference" / "training.html").read_text(encoding="utf-8")
    assert "register_network" in text and "Adds a kind of network" in text
    # Fields that share a description have an entry each.
    text = (site / "reference" / "game.html").read_text(encoding="utf-8")
    assert 'title="damas_env.rules.RuleSet.men_capture_kings"' in text and "as they say" in text
    for page in site.rglob("*.html"):
        assert ":class:" not in page.read_text(encoding="utf-8"), page


def test_pages_load_nothing_from_another_server(site: Path) -> None:
    loaded = re.compile(r"<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)=[\"']?((?:https?:)?//[^\"' >]+)")
    imported = re.compile(r"(?:@import\s+|url\()[\"']?((?:https?:)?//[^\"')]+)")
    pages, sheets = list(site.rglob("*.html")), list(site.rglob("*.css"))
    assert pages and sheets
    for file in pages:
        assert not loaded.findall(file.read_text(encoding="utf-8")), file
    for file in sheets:
        assert not imported.findall(file.read_text(encoding="utf-8")), file

"""From a directory of runs to report.md, report.html, figures and tables; `clm-vs-mlm report`."""

from __future__ import annotations

import argparse
import base64
import gc
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from analysis.figures.style import figure_style, save_drawing
from analysis.records.labels import AXES
from analysis.records.read_results import read_results
from analysis.sections.compose import compose
from analysis.sections.document import Document
from analysis.statistics.thresholds import parse_threshold
from experiments.records import durable, run_directory

PARTS = ("figures", "tables", "report.md", "report.html")
NEW, OLD = ".new", ".old"
"""Endings of the hidden directories beside a report in which the next one is made, and the last one goes."""
TEMPLATES = Path(__file__).parent / "templates"


def write_report(
    grid_dir: Path,
    out: Path | None = None,
    thresholds: Sequence[tuple[str, float]] = (),
    axis: str = "tokens",
    log: bool = True,
) -> Path:
    """Write the report of a grid or a single run, finished or not, and return the path of report.html.

    thresholds: (quantity, value) pairs beside the automatic ones. axis: the budget of the summary, the
    overview and the convergence tables. log: whether curves are drawn on a log scale of budget. The report
    is made in a hidden directory and takes the place of `out` (default: `grid_dir`/report) when whole;
    what else lies there stays. Equal records give equal bytes. Raises ValueError when the directory holds no run,
    or when a threshold's quantity was never recorded.
    """
    grid_dir = Path(grid_dir)
    out = Path(out) if out is not None else grid_dir / "report"
    if axis not in AXES:
        raise ValueError(f"axis {axis!r} is not one of {', '.join(AXES)}")
    results = read_results(grid_dir)
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file; give a directory to write the report into")
    place = out.resolve()
    with durable.naming(out):
        place.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(_beside(place, ".lock")):
            _recover(place)
            try:
                _beside(place, NEW).mkdir()
                with figure_style():
                    _write(compose(results, thresholds, axis, log), _beside(place, NEW))
                _swap(place)
            finally:
                shutil.rmtree(_beside(place, NEW), ignore_errors=True)
    return out / "report.html"


def _beside(place: Path, ending: str) -> Path:
    return place.with_name(f".{place.name}{ending}")


def _swap(place: Path) -> None:
    """Put the new report in the place of the old one, as a whole; whatever else lay there moves over."""
    if place.exists():
        os.rename(place, _beside(place, OLD))
    os.rename(_beside(place, NEW), place)
    _recover(place)


def _recover(place: Path) -> None:
    """Finish what a killed process has begun, as whoever holds the lock may: no more than one report is left."""
    shutil.rmtree(_beside(place, NEW), ignore_errors=True)
    old = _beside(place, OLD)
    if not old.exists():
        return
    if not place.exists():  # killed between the two renames
        os.rename(old, place)
        return
    for entry in old.iterdir():
        if entry.name not in PARTS and not (place / entry.name).exists():
            os.rename(entry, place / entry.name)
    shutil.rmtree(old)


def _write(document: Document, directory: Path) -> None:
    figures, tables = directory / "figures", directory / "tables"
    figures.mkdir()
    tables.mkdir()
    for table in document.tables:
        table.write(tables)
    images = {}
    for drawing in document.drawings:
        png = save_drawing(drawing, figures)[0]
        images[drawing.name] = "data:image/png;base64," + base64.b64encode(png.read_bytes()).decode()
    for name in ("report.md", "report.html"):
        page = _templates().get_template(f"{name}.j2").render(document=document, images=images)
        (directory / name).write_text(page, encoding="utf-8")


def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=lambda name: name is not None and name.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["md"] = markdown
    return environment


def markdown(text: str) -> str:
    """Text that Markdown shows as it is, on one line: nothing in it becomes a tag, a link or a table cell."""
    text = " ".join(str(text).split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_|]|\](?=\())", r"\\\1", text)


def main(args: Sequence[str]) -> int:
    """The command line: 0 and the path of report.html, or 2 and one line on stderr."""
    parser = argparse.ArgumentParser(
        prog="clm-vs-mlm report",
        description="Write tables, figures and a report from the records of a grid or a run.",
    )
    parser.add_argument("directory", metavar="DIR", type=Path, help="directory of a grid (results/NAME) or of one run")
    parser.add_argument("--out", metavar="DIR", type=Path, help="where to write (default: DIR/report)")
    parser.add_argument(
        "--threshold",
        metavar="QUANTITY=VALUE",
        action="append",
        default=[],
        help="also report the budget to reach this, such as metric/accuracy=0.6; repeatable",
    )
    parser.add_argument("--x", choices=list(AXES), default="tokens", help="budget to summarise by (default: tokens)")
    parser.add_argument("--scale", choices=["log", "linear"], default="log", help="scale of budgets in curves")
    try:
        options = parser.parse_args(args)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    gc.disable()  # what a report makes it keeps to its end; to look for garbage takes a tenth of its time
    try:
        thresholds = [parse_threshold(text) for text in options.threshold]
        page = write_report(
            run_directory.grid_or_run(options.directory), options.out, thresholds, options.x, options.scale == "log"
        )
    except (ValueError, OSError) as error:
        print(f"clm-vs-mlm report: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    finally:
        gc.enable()
    print(page)
    return 0

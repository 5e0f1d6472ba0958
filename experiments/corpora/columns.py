"""One column of a file, as it is written there; of the other columns nothing is known.

A column holds text, or labels where that is said. Readers give every cell in order, None or "" where there is nothing;
of texts, `filled` leaves those out and counts them.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from experiments.corpora.open_files import Source, decoded, opened

Cell = str | None
Label = str | list[str] | None
"""A label, or a list of one for each word: text, numbers as they are written, true or false."""
SEPARATORS = {"csv": ",", "tsv": "\t"}
ROWS_AT_ONCE = 1000
_KINDS = {bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "an object"}
# The number of another column may have too many digits for an int.
_JSON = json.JSONDecoder(parse_int=float)
_JSON_OF_LABELS = json.JSONDecoder(parse_int=str, parse_float=str)


def filled(cells: Iterable[Cell], name: str, empty: MutableMapping[str, int]) -> Iterator[str]:
    """The cells that are not blank; when all are read, `empty[name]` is the number of the others."""
    count = 0
    for cell in cells:
        if cell and not cell.isspace():
            yield cell
        else:
            count += 1
    empty[name] = count


def column_of(
    source: Source,
    format: str,
    column: str | int,
    encoding: str = "utf-8",
    separator: str | None = None,
    header: bool = True,
    labels: bool = False,
) -> Iterator[Any]:
    """A column of a jsonl, csv, tsv or parquet file: cells of text, or labels."""
    if format == "parquet":
        return parquet(source, str(column), labels)
    if format == "jsonl":
        return json_lines(source, encoding, str(column), labels)
    return separated(source, encoding, column, separator or SEPARATORS[format], header, quotes=format == "csv")


def separated(
    source: Source, encoding: str, column: str | int, separator: str, header: bool, quotes: bool
) -> Iterator[Cell]:
    """A column of a csv or tsv file, by its name or, where there is no header, its number from 1.

    Raises:
        ValueError: when a row has more or fewer fields than the first, naming its last line.
    """
    csv.field_size_limit(sys.maxsize)  # a document is longer than the 131,072 characters of the default
    with decoded(source, encoding, newline="") as text:
        rows = csv.reader(
            text, delimiter=separator, quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE, strict=True
        )
        place, width = -1, 0
        try:
            for row in rows:
                if not row:
                    # A blank line; of a single column it is an empty cell.
                    if width == 1:
                        yield None
                    continue
                if not width:
                    place, width = _place(source, row, column, header), len(row)
                    if header:
                        continue
                if len(row) != width:
                    advice = (
                        f"quote texts that contain {separator!r}" if quotes else "if texts are quoted, name format csv"
                    )
                    raise ValueError(
                        f"{source.name} line {rows.line_num} has {_count(len(row))}, but its first row has {width}; "
                        f"{advice}"
                    )
                yield row[place]
        except csv.Error as error:
            raise ValueError(
                f"cannot read {source.name} line {rows.line_num}: {error}; correct it, or name its separator or format"
            ) from error


def _place(source: Source, row: Sequence[str], column: str | int, header: bool) -> int:
    """The place of the column in the rows of a file, of which this is the first."""
    if not header:
        number = int(column) if str(column).isdecimal() else 0
        if not 1 <= number <= len(row):
            raise ValueError(
                f"{source.name} is read without a header and has {_count(len(row), 'column')}; "
                f'name one by its number, from 1, not "{column}"'
            )
        return number - 1
    if row.count(str(column)) == 1:
        return row.index(str(column))
    if str(column) in row:
        raise ValueError(f'{source.name} has several columns "{column}"; give them different names')
    raise ValueError(
        f'{source.name} has no column "{column}"; its columns are {_listed(row)}. For a file without a header, '
        "set header to false and name the column by its number"
    )


def json_lines(source: Source, encoding: str, column: str, labels: bool = False) -> Iterator[Any]:
    """The values under a key of a file that has a JSON object on each line, or that is one list of them.

    Raises:
        ValueError: when a line is no object, has no such key, or holds something else than text (or labels) or null,
            naming it.
    """
    parse, value = (_JSON_OF_LABELS, _label) if labels else (_JSON, _text)
    with decoded(source, encoding) as text:
        begun = False
        for number, line in enumerate(text, 1):
            if line.isspace():
                continue
            if not begun and line.lstrip().startswith("["):
                records = _parsed(parse, line + text.read(), source.name)
                for item, record in enumerate(records, 1):
                    place = f"{source.name} item {item}"
                    yield value(_value(record, column, place), column, place)
                return
            begun = True
            place = f"{source.name} line {number}"
            yield value(_value(_parsed(parse, line, place), column, place), column, place)


def _parsed(decoder: json.JSONDecoder, text: str, place: str) -> Any:
    try:
        return decoder.decode(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place} is not valid JSON ({error}); correct it") from error


def _value(record: Any, column: str, place: str) -> Any:
    if not isinstance(record, dict):
        raise ValueError(f"{place} is not a JSON object but {_kind(record)}")
    if column not in record:
        raise ValueError(f'{place} has no "{column}"; its keys are {_listed(list(record))}')
    return record[column]


def _text(value: Any, column: str, place: str) -> Cell:
    if value is not None and not isinstance(value, str):
        raise ValueError(f'{place} has {_kind(value)} under "{column}", not text; quote it, or name another column')
    try:
        (value or "").encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{place} has an unpaired surrogate, which is no valid character; correct it") from error
    return value


def _label(value: Any, column: str, place: str) -> Label:
    if isinstance(value, list) and not any(one is None or isinstance(one, list | dict) for one in value):
        return [str(_label(one, column, place)) for one in value]
    return _text(json.dumps(value) if isinstance(value, bool) else value, column, place)


def parquet(source: Source, column: str, labels: bool = False) -> Iterator[Any]:
    """A column of a parquet file.

    Raises:
        ValueError: when there is no such column, or it does not hold text (or labels).
    """
    import pyarrow.parquet

    with opened(source) as file:
        table = pyarrow.parquet.ParquetFile(file)
        _check_column(table.schema_arrow, column, source.name, labels)
        for batch in table.iter_batches(ROWS_AT_ONCE, columns=[column]):
            yield from of_table(batch, column, source.name, labels)


def of_table(table: Any, column: str, name: str, labels: bool = False) -> list[Any]:
    """A column of an Arrow table or batch. Raises ValueError as `parquet` does."""
    _check_column(table.schema, column, name, labels)
    try:
        cells = table.column(column).to_pylist()
    except UnicodeDecodeError as error:
        raise ValueError(f'column "{column}" of {name} is not UTF-8 ({error}); convert it') from error
    if not labels:
        return cells
    names = dict(enumerate(_class_names(table.schema, column)))
    return [_named(cell, names) for cell in cells]


def _check_column(schema: Any, column: str, name: str, labels: bool) -> None:
    from pyarrow import types

    if schema.names.count(column) != 1:
        raise ValueError(f'{name} has no column "{column}"; its columns are {_listed(schema.names)}')
    kind = inner = schema.field(column).type
    if labels and (types.is_list(kind) or types.is_large_list(kind)):
        inner = kind.value_type
    inner = inner.value_type if types.is_dictionary(inner) else inner
    kinds = (types.is_string, types.is_large_string, types.is_string_view, types.is_null)
    kinds += (types.is_integer, types.is_boolean) if labels else ()
    if not any(is_kind(inner) for is_kind in kinds):
        what = "labels" if labels else "text"
        raise ValueError(f'column "{column}" of {name} holds {kind}, not {what}; name another column')


def _class_names(schema: Any, column: str) -> list[str]:
    """What the numbers of a column of class labels stand for, where `datasets` has put that into the metadata."""
    metadata = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
    feature = metadata.get("info", {}).get("features", {}).get(column, {})
    return feature.get("feature", feature).get("names", [])


def _named(cell: Any, names: Mapping[Any, str]) -> Label:
    if isinstance(cell, list):
        return [str(_named(one, names)) for one in cell]
    if cell is None or isinstance(cell, str):
        return cell
    return json.dumps(cell) if isinstance(cell, bool) else names.get(cell, str(cell))


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "text" if isinstance(value, str) else "null")


def _count(number: int, what: str = "field") -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _listed(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(name[:40] for name in names[:most]) + (", …" if len(names) > most else "")

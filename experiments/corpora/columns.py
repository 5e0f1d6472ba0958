"""The column of a file that holds the text, as it is written there; of the other columns nothing is known.

Readers give every cell in order, None or "" where there is no text; `filled` leaves those out and counts them.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from typing import Any

from experiments.corpora.open_files import Source, decoded, opened

Cell = str | None
ROWS_AT_ONCE = 1000
_KINDS = {bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "an object"}
# The number of another column may have too many digits for an int.
_JSON = json.JSONDecoder(parse_int=float)


def filled(cells: Iterable[Cell], name: str, empty: MutableMapping[str, int]) -> Iterator[str]:
    """The cells that are not blank; when all are read, `empty[name]` is the number of the others."""
    count = 0
    for cell in cells:
        if cell and not cell.isspace():
            yield cell
        else:
            count += 1
    empty[name] = count


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


def json_lines(source: Source, encoding: str, column: str) -> Iterator[Cell]:
    """The values under a key of a file that has a JSON object on each line, or that is one list of them.

    Raises:
        ValueError: when a line is no object, has no such key, or holds something else than text or null, naming it.
    """
    with decoded(source, encoding) as text:
        begun = False
        for number, line in enumerate(text, 1):
            if line.isspace():
                continue
            if not begun and line.lstrip().startswith("["):
                records = _parsed(line + text.read(), source.name)
                yield from (_value(record, column, f"{source.name} item {n}") for n, record in enumerate(records, 1))
                return
            begun = True
            place = f"{source.name} line {number}"
            yield _value(_parsed(line, place), column, place)


def _parsed(text: str, place: str) -> Any:
    try:
        return _JSON.decode(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place} is not valid JSON ({error}); correct it") from error


def _value(record: Any, column: str, place: str) -> Cell:
    if not isinstance(record, dict):
        raise ValueError(f"{place} is not a JSON object but {_kind(record)}")
    if column not in record:
        raise ValueError(f'{place} has no "{column}"; its keys are {_listed(list(record))}')
    value = record[column]
    if value is not None and not isinstance(value, str):
        raise ValueError(f'{place} has {_kind(value)} under "{column}", not text; quote it, or name another column')
    try:
        (value or "").encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{place} has an unpaired surrogate, which is no valid character; correct it") from error
    return value


def parquet(source: Source, column: str) -> Iterator[Cell]:
    """A column of a parquet file.

    Raises:
        ValueError: when there is no such column, or it does not hold text.
    """
    import pyarrow.parquet

    with opened(source) as file:
        table = pyarrow.parquet.ParquetFile(file)
        _check_column(table.schema_arrow, column, source.name)
        for batch in table.iter_batches(ROWS_AT_ONCE, columns=[column]):
            yield from of_table(batch, column, source.name)


def of_table(table: Any, column: str, name: str) -> list[Cell]:
    """A column of an Arrow table or batch. Raises ValueError as `parquet` does."""
    _check_column(table.schema, column, name)
    try:
        return table.column(column).to_pylist()
    except UnicodeDecodeError as error:
        raise ValueError(f'column "{column}" of {name} is not UTF-8 ({error}); convert it') from error


def _check_column(schema: Any, column: str, name: str) -> None:
    from pyarrow import types

    if schema.names.count(column) != 1:
        raise ValueError(f'{name} has no column "{column}"; its columns are {_listed(schema.names)}')
    kind = schema.field(column).type
    inner = kind.value_type if types.is_dictionary(kind) else kind
    kinds = (types.is_string, types.is_large_string, types.is_string_view, types.is_null)
    if not any(is_kind(inner) for is_kind in kinds):
        raise ValueError(f'column "{column}" of {name} holds {kind}, not text; name another column')


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "text" if isinstance(value, str) else "null")


def _count(number: int, what: str = "field") -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _listed(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(name[:40] for name in names[:most]) + (", …" if len(names) > most else "")

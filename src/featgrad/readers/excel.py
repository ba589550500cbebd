"""The first sheet of an Excel file, as the text of a CSV file."""

import csv
import io
from datetime import date, time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from featgrad.readers.invalid_rows import raise_unreadable


def sheet_as_csv(path: Path) -> bytes:
    if find_spec("openpyxl") is None:
        raise ImportError(
            f"Reading {path} needs openpyxl: pip install 'featgrad[excel]', or save it as CSV."
        )
    from openpyxl import load_workbook

    try:
        book = load_workbook(path, read_only=True, data_only=True)
        rows = book.worksheets[0].iter_rows(values_only=True)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows(map(_field, row) for row in rows if any(cell is not None for cell in row))
        book.close()
    # Damaged archives and XML raise many kinds of errors.
    except Exception as error:
        raise_unreadable(str(path), error)
    return text.getvalue().encode()


def _field(cell: Any) -> Any:
    return cell.isoformat() if isinstance(cell, date | time) else cell

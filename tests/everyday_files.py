"""Files as people have them: what each holds, and what the commands make of it.

``python tests/everyday_files.py FOLDER`` writes them all into a folder.
"""

import bz2
import gzip
import lzma
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

N_ROWS = 300


def sales() -> pd.DataFrame:
    """The price is made of b, of d and a little of a."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.standard_normal((N_ROWS, 4)).round(3), columns=list("abcd"))
    return rows.assign(price=(3 * rows["b"] + 2 * rows["d"] + 0.3 * rows["a"]).round(3))


@dataclass(frozen=True)
class File:
    """A file, how to read it, and either the features that must be chosen or an error."""

    name: str
    content: bytes | Callable[[Path], None]
    arguments: tuple[str, ...] = ("--target", "price")
    chosen: frozenset[str] = frozenset({"b", "d"})
    error: str | None = None  # part of the one line
    notes: tuple[str, ...] = ()  # parts of what is said on the way
    info: dict[str, str] = field(default_factory=dict)  # what `info` says of a variable

    def write(self, folder: Path) -> Path:
        path = folder / self.name
        if isinstance(self.content, bytes):
            path.write_bytes(self.content)
        else:
            self.content(path)
        return path


def text(rows: pd.DataFrame | None = None, **options) -> str:
    return (sales() if rows is None else rows).to_csv(index=False, lineterminator="\n", **options)


def csv(rows: pd.DataFrame | None = None, **options) -> bytes:
    return text(rows, **options).encode()


def with_word(word: str, **options) -> bytes:
    """A word for a missing value in every tenth row of b."""
    rows = sales()
    rows["b"] = rows["b"].astype(object)
    rows.loc[::10, "b"] = word
    return csv(rows, **options)


def with_column(values, name: str = "more", **options) -> bytes:
    return csv(sales().assign(**{name: values}), **options)


def money(value: float) -> str:
    return f"{'-' if value < 0 else ''}${abs(1000 * value):,.2f}"


def german(value: float) -> str:
    return f"{value:,.3f}".replace(",", " ").replace(".", ",").replace(" ", ".")


def as_svmlight(rows: pd.DataFrame) -> bytes:
    lines = (
        f"{price} " + " ".join(f"{i + 1}:{value}" for i, value in enumerate(values))
        for *values, price in rows.to_numpy()
    )
    return "\n".join(lines).encode()


def parquet(path: Path) -> None:
    pa.parquet.write_table(pa.Table.from_pandas(sales(), preserve_index=False), path)


def parquet_folder(path: Path) -> None:
    path.mkdir()
    for i in range(3):
        table = pa.Table.from_pandas(sales()[100 * i : 100 * i + 100], preserve_index=False)
        pa.parquet.write_table(table, path / f"part{i}.parquet")


def hive_folder(path: Path) -> None:
    towns = np.where(np.arange(N_ROWS) % 3, "Ulm", "Bonn")
    table = pa.Table.from_pandas(sales().assign(town=towns), preserve_index=False)
    pa.parquet.write_to_dataset(table, path, partition_cols=["town"])


def feather(path: Path) -> None:
    pa.feather.write_feather(pa.Table.from_pandas(sales(), preserve_index=False), path)


def excel(path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    rows = sales().assign(when=pd.date_range("2020-01-01", periods=N_ROWS).to_pydatetime())
    book.active.append(list(rows.columns))
    for row in rows.itertuples(index=False):
        book.active.append([v.to_pydatetime() if isinstance(v, pd.Timestamp) else v for v in row])
    book.save(path)


def timed(path: Path) -> None:
    """Dates and times with their own types."""
    when = pd.date_range("2020-01-01", periods=N_ROWS, freq="h", tz="Europe/Berlin")
    rows = sales().assign(when=when, took=pd.to_timedelta(np.arange(N_ROWS) % 17, unit="min"))
    pa.parquet.write_table(pa.Table.from_pandas(rows, preserve_index=False), path)


ROWS = sales()
DAYS = pd.date_range("2020-01-01", periods=N_ROWS)
COLOURS = np.random.default_rng(1).choice(["red", "green", "blue"], N_ROWS)
ISO = DAYS.strftime("%Y-%m-%d")
EURO_FIELDS = {"sep": ";", "decimal": ","}
PRICE = ("--target", "price")
NO_HEADER = csv(header=False)
POSITIONAL = {"arguments": ("--target", "column5"), "chosen": frozenset({"column2", "column4"})}
CLASSES = np.where(ROWS["price"] > 0, "+", "-")
LABELS = {"chosen": frozenset({"b", "d"})}

GOOD = [
    File("plain.csv", csv()),
    File("semicolon.csv", csv(sep=";"), notes=("separated by semicolon",)),
    File("tab.csv", csv(sep="\t")),
    File("tab.tsv", csv(sep="\t")),
    File("bar.csv", csv(sep="|"), notes=("separated by bar",)),
    File("bar.txt", csv(sep="|")),
    File("no_suffix", csv(sep=";")),
    File("told.csv", csv(sep=":"), ("--target", "price", "--sep", ":")),
    File("decimal_comma.csv", csv(**EURO_FIELDS), notes=("decimal comma",)),
    File("decimal_comma.tsv", csv(sep="\t", decimal=","), notes=("decimal comma",)),
    File("quoted_decimal_comma.csv", csv(decimal=",", quoting=1), notes=("decimal comma",)),
    File("told_decimal.csv", csv(**EURO_FIELDS), (*PRICE, "--decimal", ",", "--sep", ";")),
    File(
        "german_thousands.csv",
        csv(1000 * ROWS, sep=";", float_format=german),
        notes=("decimal comma",),
    ),
    File("bom.csv", b"\xef\xbb\xbf" + csv()),
    File("bom_semicolon.csv", b"\xef\xbb\xbf" + csv(**EURO_FIELDS)),
    File("utf16.csv", text().encode("utf-16"), notes=("encoding utf-16",)),
    File("utf16_tab.txt", text(sep="\t").encode("utf-16"), notes=("encoding utf-16",)),
    File("utf16_no_mark.csv", text().encode("utf-16-le"), notes=("encoding utf-16-le",)),
    File("utf16_big.csv", b"\xfe\xff" + text().encode("utf-16-be")),
    File(
        "latin.csv",
        text(ROWS.rename(columns={"b": "größe"})).encode("cp1252"),
        chosen=frozenset({"größe", "d"}),
        notes=("encoding cp1252",),
    ),
    File(
        "told_latin.csv",
        text(ROWS.rename(columns={"b": "größe"})).encode("latin-1"),
        (*PRICE, "--encoding", "latin-1"),
        frozenset({"größe", "d"}),
    ),
    File("utf8.csv", csv(ROWS.rename(columns={"b": "größe"})), chosen=frozenset({"größe", "d"})),
    File("windows.csv", csv().replace(b"\n", b"\r\n")),
    File("old_mac.csv", csv().replace(b"\n", b"\r")),
    File("no_last_newline.csv", csv().rstrip()),
    File("blank_lines.csv", csv().replace(b"\n", b"\n\n") + b"\n\n"),
    File("no_header.csv", NO_HEADER, notes=("columns are named column1 to column5",), **POSITIONAL),
    File("no_header_semicolon.csv", csv(header=False, **EURO_FIELDS), **POSITIONAL),
    File(
        "told_no_header.csv",
        NO_HEADER,
        ("--target", "column5", "--no-header"),
        POSITIONAL["chosen"],
    ),
    File(
        "numbers_as_names.csv", csv(header=list("01234")), ("--target", "4"), frozenset({"1", "3"})
    ),
    File(
        "years_as_names.csv",
        csv(header=["name", "2019", "2020", "2021", "price"]),
        chosen=frozenset({"2019", "2021"}),
    ),
    File("excel_hint.csv", b"sep=;\n" + csv(sep=";")),
    File("excel_hint_tab.csv", b"sep=\t\r\n" + csv(sep="\t")),
    File("told_tab.txt", csv(sep="\t"), (*PRICE, "--sep", "\\t")),
    File("quoted.csv", csv(quoting=1)),
    File("spaces.csv", csv().replace(b",", b" , ")),
    File(
        "comma_in_name.csv",
        csv(ROWS.rename(columns={"b": "b, new"})),
        chosen=frozenset({"b, new", "d"}),
    ),
    File("newline_in_text.csv", with_column(np.where(ROWS["a"] > 0, "one\ntwo", "three"))),
    *(
        File(f"missing_{i}.csv", with_word(word))
        for i, word in enumerate(
            ["", "NA", "N/A", "n/a", "null", "NULL", "None", "?", "-", ".", "#N/A", "nan", "NaN"]
        )
    ),
    File("missing_told.csv", with_word("-999"), (*PRICE, "--na", "-999")),
    File("missing_told_word.csv", with_word("keine Angabe"), (*PRICE, "--na", "keine Angabe")),
    File(
        "missing_decimal_comma.csv",
        with_word("NA").replace(b",", b";").replace(b".", b","),
        notes=("decimal comma",),
    ),
    File("booleans.csv", with_column(ROWS["a"] > 0), info={"more": "boolean"}),
    File("yes_no.csv", with_column(np.where(ROWS["a"] > 0, "yes", "no")), info={"more": "boolean"}),
    File("boolean_target.csv", csv(ROWS.assign(price=ROWS["price"] > 0)), **LABELS),
    File(
        "yes_no_target.csv", csv(ROWS.assign(price=np.where(ROWS["price"] > 0, "Y", "N"))), **LABELS
    ),
    File("plus_minus_target.csv", csv(ROWS.assign(price=CLASSES)), **LABELS),
    File("dates.csv", with_column(ISO), notes=("in days: more",), info={"more": "date"}),
    File("date_times.csv", with_column(DAYS.strftime("%Y-%m-%d %H:%M:%S")), notes=("in days",)),
    File("zones.csv", with_column(DAYS.strftime("%Y-%m-%dT%H:%M:%S+02:00")), notes=("in days",)),
    File(
        "times.csv",
        with_column([f"{i % 24:02}:{i % 60:02}" for i in range(N_ROWS)]),
        notes=("in days",),
    ),
    File(
        "local_dates.csv",
        with_column(DAYS.strftime("%d.%m.%Y")),
        notes=("in days: more", "more: dates, day first"),
        info={"more": "date"},
    ),
    File(
        "mixed_texts.csv",
        with_column(np.where(np.arange(N_ROWS) % 3, "1", "x")),
        notes=("more: text, as 100 of 300 values, 'x' say, are no number",),
        info={"more": "text"},
    ),
    File("money.csv", csv(ROWS.assign(b=ROWS["b"].map(money)))),
    File(
        "euros.csv",
        csv(ROWS.assign(b=ROWS["b"].map(lambda v: f"{german(1000 * v)} €")), **EURO_FIELDS),
    ),
    File("thousands.csv", csv(ROWS.assign(b=(1e6 * ROWS["b"]).map("{:,.0f}".format)))),
    File(
        "percent.csv", csv(ROWS.assign(b=ROWS["b"].map("{:.1%}".format))), notes=("fractions: b",)
    ),
    File(
        "percent_decimal_comma.csv",
        csv(ROWS.assign(b=ROWS["b"].map(lambda v: f"{v:.1%}".replace(".", ","))), **EURO_FIELDS),
        notes=("decimal comma", "fractions: b"),
    ),
    File(
        "brackets.csv", csv(ROWS.assign(b=ROWS["b"].map(lambda v: f"({-v})" if v < 0 else f"{v}")))
    ),
    File(
        "row_numbers.csv",
        ROWS.to_csv().encode(),
        notes=("left out as identifiers: index",),
        info={"index": "it numbers the rows"},
    ),
    File(
        "ids.csv",
        with_column(np.random.default_rng(2).permutation(9999)[:N_ROWS], "customer_id"),
        notes=("customer_id",),
        info={"customer_id": "a different number in each row"},
    ),
    File(
        "names.csv",
        with_column([f"name {i}" for i in range(N_ROWS)]),
        notes=("more (300",),
        info={"more": "identifier"},
    ),
    File("colours.csv", with_column(COLOURS), info={"more": "text"}),
    File("constant.csv", with_column(1), info={"more": "constant"}),
    File("empty_column.csv", with_column(""), info={"more": "empty"}),
    File("empty_last_columns.csv", b"\n".join(line + b",," for line in csv().splitlines())),
    File("plain.csv.gz", gzip.compress(csv())),
    File("plain.csv.bz2", bz2.compress(csv(sep=";"))),
    File("plain.csv.xz", lzma.compress(csv())),
    File("lines.jsonl", sales().to_json(orient="records", lines=True).encode()),
    File("lines.ndjson", sales().assign(when=ISO).to_json(orient="records", lines=True).encode()),
    File(
        "nested_excluded.jsonl",
        sales().assign(more=[{"a": [1]}] * N_ROWS).to_json(orient="records", lines=True).encode(),
        (*PRICE, "--exclude", "more"),
    ),
    File(
        "late_key.jsonl",
        sales()
        .assign(more=[None] * (N_ROWS - 1) + [0.5])
        .to_json(orient="records", lines=True)
        .replace(',"more":null', "")
        .encode(),
    ),
    File("plain.parquet", parquet),
    File("timed.parquet", timed, notes=("in days: when", "took")),
    File("folder", parquet_folder),
    File("hive", hive_folder, info={"town": "text"}),
    File("plain.feather", feather),
    File("plain.svm", as_svmlight(ROWS), (), frozenset({"x1", "x3"})),
]

ONE_COLUMN = "only one column was found"
BAD = [
    File("empty.csv", b"", error="it is empty"),
    File("header_only.csv", b"a,b,price\n", error="has no (valid )?rows"),
    File("one_column.csv", csv(ROWS[["price"]]), error=ONE_COLUMN),
    File("short_row.csv", csv() + b"1,2\n", error="line 302: it has 2 fields where 5 belong"),
    File(
        "long_row.csv", csv() + b"1,2,3,4,5,6\n", error="line 302: it has 6 fields where 5 belong"
    ),
    File("no_target.csv", csv(ROWS.assign(price="")), error="has no row with a target"),
    File("infinite.csv", csv() + b"1,inf,3,4,5\n", error="line 302: a value is infinite"),
    File("open_quote.csv", csv() + b'1,"2,3,4,5\n', error="line 302: a quoted field is not closed"),
    File("constant_target.csv", csv(ROWS.assign(price=1)), error="only one value"),
    File("constant_text_target.csv", csv(ROWS.assign(price="x")), error="only one value"),
    File("other_target.csv", csv(), ("--target", "prise"), error="the nearest is 'price'"),
    File("no_target_named.csv", csv(), (), error="--target is missing: name a column"),
    File("cut.csv.gz", gzip.compress(csv())[:-40], error="cannot be read"),
    File(
        "cut.parquet",
        lambda path: (parquet(path), path.write_bytes(path.read_bytes()[:-40])),
        error="cannot be read",
    ),
    File("wrong_name.parquet", csv(), error="cannot be read"),
    File("old_excel.xls", b"\xd0\xcf\x11\xe0" + bytes(100), error="old Excel file.*save it as CSV"),
    File("array.json", sales().to_json(orient="records").encode(), error="is JSON, .*JSON lines"),
    File("broken.jsonl", b'{"a": 1}\n{"a": \n', error="cannot be read"),
    File("nested.jsonl", b'{"a": {"b": 1}, "price": 2}\n' * 9, error="'a' holds Struct"),
    File(
        "picture.png",
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
        error="(unknown|not text): pass --format",
    ),
    File("picture.csv", b"\x89PNG\r\n\x1a\n" + bytes(100), error="not text|cannot be read"),
    File("stata.dta", bytes(100), error="a Stata file"),
    File(
        "wrong_encoding.csv",
        "größe,price\n1,2\n".encode("cp1252"),
        (*PRICE, "--encoding", "utf-8"),
        error="not UTF-8",
    ),
    File("unknown_encoding.csv", csv(), (*PRICE, "--encoding", "utf-99"), error="is unknown"),
    File(
        "large_index.svm", b"1 1:1\n0 999999999:1\n", (), error="larger than the number of features"
    ),
]


def sheets(**rows: list[list]) -> Callable[[Path], None]:
    """A workbook of these sheets."""

    def write(path: Path) -> None:
        from openpyxl import Workbook

        book = Workbook()
        book.remove(book.active)
        for title, content in rows.items():
            sheet = book.create_sheet(title)
            for row in content:
                sheet.append(row)
        book.save(path)

    return write


def cells(rows: pd.DataFrame | None = None) -> list[list]:
    rows = ROWS if rows is None else rows
    return [list(rows.columns), *rows.to_numpy(object).tolist()]


def lines_of(rows: pd.DataFrame | None = None, **options) -> list[bytes]:
    return csv(rows, **options).splitlines(keepends=True)


def with_b(write: Callable[[float], str], **options) -> bytes:
    """The column b, which matters most, written in another way."""
    return csv(ROWS.assign(b=ROWS["b"].map(write)), **options)


def some_b(word: str, every: int = 60, **options) -> bytes:
    """A word in some rows of b."""
    return csv(
        ROWS.assign(b=ROWS["b"].astype(object).mask(ROWS.index % every == 7, word)), **options
    )


def days_of_b(form: str) -> bytes:
    days = pd.Timestamp("2021-07-19") + pd.to_timedelta((200 * ROWS["b"]).round(), unit="D")
    return csv(ROWS.assign(b=days.dt.strftime(form)))


def fixed_width() -> bytes:
    return (ROWS.to_string(index=False) + "\n").encode()


def levels_of_b(*names: str) -> pd.DataFrame:
    """As many words for b, from low to high, as are given."""
    return ROWS.assign(b=np.asarray(names)[pd.qcut(ROWS["b"], len(names), labels=False)])


SUMS = ROWS.sum().round(3)
NAMED = ROWS.assign(shop=[f"shop {i}" for i in range(N_ROWS)])[["shop", *"abcd", "price"]]
GENES = ROWS.T.set_axis([f"S{i}" for i in range(N_ROWS)], axis="columns").rename_axis("gene")
NAMED_GENES = GENES.reset_index()
WORDS = " ".join(["a long remark, which says little"] * 20)
CHOICE = np.where(ROWS["price"] > 0, "yes ", " no")
README = [["Sales of all shops"], [None], ["See the other sheet"]]
LINES = lines_of()
# What people send: `info` describes each, `select` is right or says what to do.
DIRTY = [
    # Above, below and between the rows.
    File("title.csv", b"Sales of 2024\n\n" + csv(), notes=("above the header: line 1",)),
    File(
        "title_lines.csv",
        b"Sales of 2024;;;;\r\nprinted 01.02.2025;;;;\r\n;;;;\r\n" + csv(**EURO_FIELDS),
        notes=("above the header: lines 1 to 3", "decimal comma"),
    ),
    File("comments.csv", b"# sales, by shop\n# in thousands\n" + csv(), notes=("lines 1 to 2",)),
    File("told_title.csv", b"1,2\n3,4\n" + csv(), (*PRICE, "--skip-rows", "2")),
    File("bom_title.csv", b"\xef\xbb\xbfSales\r\n" + csv(**EURO_FIELDS), notes=("line 1",)),
    File("latin_title.csv", "Verkäufe in €\n".encode("cp1252") + csv(), notes=("cp1252", "line 1")),
    File(
        "units.csv",
        b"".join([LINES[0], b"m,kg,m2,EUR,EUR\n", *LINES[1:]]),
        notes=("units of the columns: line 2",),
    ),
    File(
        "totals.csv",
        csv(NAMED) + f"Total,{','.join(map(str, SUMS))}\n".encode(),
        notes=("1 row of totals",),
    ),
    File(
        "summe.csv",
        csv(NAMED, sep=";") + f"\nSumme:;{';'.join(map(str, SUMS))}\nStand: 2024\n".encode(),
        notes=("1 row of totals", "1 footnote"),
    ),
    File(
        "totals_no_label.csv",
        csv() + f"{','.join(map(str, SUMS))}\n".encode(),
        notes=("1 row of totals",),
    ),
    File(
        "footnotes.csv",
        csv() + b"\n* preliminary\nSource: own records, 2024\n",
        notes=("2 footnotes",),
    ),
    File("repeated_header.csv", b"".join([*LINES[:90], LINES[0], *LINES[90:]]) + LINES[0]),
    File("empty_rows.csv", b"".join([*LINES[:90], b",,,,\n", *LINES[90:]]) + b",,,,\n" * 9),
    File("cut_line.csv", csv()[:-12], (*PRICE, "--on-bad-rows", "skip")),
    # Separators and names.
    File("spaces_between.txt", csv(sep=" "), notes=("separated by blanks",)),
    File("fixed_width.txt", fixed_width(), notes=("separated by blanks",)),
    File("r_table.txt", b" ".join([b"a b c d price\n", csv(sep=" ", header=False)])),
    File("trailing_commas.csv", b"".join([LINES[0], *(x[:-1] + b",\n" for x in LINES[1:])])),
    File("trailing_header.csv", b"".join([LINES[0][:-1] + b",,\n", *LINES[1:]])),
    File(
        "same_names.csv",
        csv(header=["a", "a", "c", "d", "price"]),
        chosen=frozenset({"a.1", "d"}),
        notes=("names that come again are numbered: a.1",),
    ),
    File("cases.csv", csv(ROWS.rename(columns={"d": "Price"})), chosen=frozenset({"b", "Price"})),
    File("blank_names.csv", csv().replace(b"a,b,c,d,price", b' a ,"b ", c,d ,price ')),
    File(
        "gaps_in_index.csv",
        csv(ROWS.set_axis(7 * ROWS.index + 3).reset_index().rename(columns={"index": ""})),
        notes=("left out as identifiers: index (its name",),
    ),
    File(
        "row_names.csv",
        b"".join([LINES[0], *(f"row{i},".encode() + x for i, x in enumerate(LINES[1:]))]),
        notes=("left out as identifiers: index",),
    ),
    File("target_first.csv", csv(ROWS[["price", *"abcd"]])),
    File(
        "one_field_more.csv",
        b"a,b,c,d,price\n" + csv(header=False).replace(b"\n", b",9\n"),
        error="line 1: its header has 5 fields where most lines have 6.*--skip-rows",
    ),
    # Genes in rows.
    File("genes.csv", csv(NAMED_GENES), error="--target 'price' is a row of .*: pass --transpose"),
    File("told_genes.csv", csv(NAMED_GENES), (*PRICE, "--transpose")),
    File("told_genes.tsv", b"GEO\n" + csv(NAMED_GENES, sep="\t"), (*PRICE, "--transpose")),
    # Values.
    File("one_word.csv", some_b("unknown", 300), info={"b": "'unknown' (1) count as missing"}),
    File("few_words.csv", some_b("not measured")),
    File("excel_errors.csv", some_b("#DIV/0!").replace(b"#DIV/0!", b"#REF!", 2)),
    File("reasons.csv", some_b("N/A (broken)", 10)),
    File("below_limit.csv", with_b(lambda v: "<-1.5" if v < -1.5 else f"{v}")),
    File("us_dates.csv", days_of_b("%m/%d/%Y"), info={"b": "date; dates, month first"}),
    File("european_dates.csv", days_of_b("%d.%m.%Y"), info={"b": "date; dates, day first"}),
    File("month_names.csv", days_of_b("%d %b %Y")),
    File(
        "square_metres.csv",
        with_b(lambda v: f"{100 + 30 * v:.1f} m2"),
        info={"b": "number; numbers in m2"},
    ),
    File("currency.csv", with_b(lambda v: f"EUR {german(1000 * v + 5000)}", **EURO_FIELDS)),
    File("swiss_thousands.csv", with_b(lambda v: f"{1e6 * v:,.0f}".replace(",", "'"))),
    File("spaced_thousands.csv", with_b(lambda v: f"{1e6 * v:,.0f}".replace(",", "\u202f"))),
    File("minus_signs.csv", with_b(lambda v: f"{v}".replace("-", "\u2212"))),
    File("apostrophes.csv", with_b(lambda v: f"'{v}")),
    File("powers.csv", with_b(lambda v: f"{v:.4e}".upper())),
    File("some_percent.csv", with_b(lambda v: "" if v > 2 else f"{v:.1%}")),
    File("yes_no_blank.csv", with_b(lambda v: "" if -0.2 < v < 0.2 else "yes" if v > 0 else "no")),
    File("true_false_blank.csv", with_b(lambda v: "" if v > 2 else "TRUE" if v > 0 else "FALSE")),
    File("words_for_b.csv", csv(levels_of_b("low", "mid", "high", "very high"))),
    File(
        "mixed_case.csv",
        csv(levels_of_b("Low", "low ", "LOW", "High", " high", "HIGH")),
        info={"b": "6 values differ by case or blanks only"},
    ),
    File(
        "missing_targets.csv",
        csv(ROWS.assign(price=ROWS["price"].mask(ROWS.index % 9 == 4))),
        notes=("left out: 33 rows without a target",),
    ),
    File("late_word.csv", csv() + b"1,two,3,4,5\n", notes=("b: 'two' (1) count as missing",)),
    File("blanks_in_labels.csv", csv(ROWS.assign(price=CHOICE))),
    File(
        "remarks.csv",
        with_column([f"{WORDS} {i % 290}" for i in range(N_ROWS)]),
        info={"more": "like an identifier"},
    ),
    File("padded_ids.csv", with_column([f"{i:07}" for i in range(N_ROWS)], "client")),
    File(
        "constants.csv",
        csv(ROWS.assign(e=1, f="x", g="")),
        info={"e": "constant", "f": "constant", "g": "empty"},
    ),
]
# Written where openpyxl is installed.
EXCEL = [
    File("sheet.xlsx", excel, notes=("in days: when",)),
    File("title.xlsx", sheets(Sales=[["Sales"], [None], *cells()]), notes=("above the header",)),
    File("corner.xlsx", sheets(Sales=[[], [], *([None, None, *row] for row in cells())])),
    File(
        "first_of_two.xlsx",
        sheets(Sales=cells(), Remarks=README),
        notes=("read from sheet='Sales', of 'Sales', 'Remarks'",),
    ),
    File(
        "second_sheet.xlsx",
        sheets(Readme=README, Sales=cells()),
        error="--sheet 'Readme', of 'Readme', 'Sales'",
    ),
    File("told_sheet.xlsx", sheets(Readme=README, Sales=cells()), (*PRICE, "--sheet", "Sales")),
    File("told_number.xlsx", sheets(Readme=README, Sales=cells()), (*PRICE, "--sheet", "2")),
    File("texts.xlsx", sheets(Sales=[[*map(str, row)] for row in cells()])),
    File(
        "serial_dates.xlsx",
        sheets(Sales=cells(ROWS.assign(b=(44000 + 200 * ROWS["b"]).round()))),
    ),
    File(
        "merged_header.xlsx",
        sheets(Sales=[["Inputs", None, None, None, "Result"], *cells()]),
        notes=("above the header: line 1",),
    ),
    File(
        "totals.xlsx",
        sheets(Sales=[*cells(NAMED), ["Total", *SUMS]]),
        notes=("1 row of totals",),
    ),
    File("formula_errors.xlsx", sheets(Sales=cells(ROWS.assign(
        b=ROWS["b"].astype(object).mask(ROWS.index % 60 == 7, "#DIV/0!"))))),
]  # fmt: skip
FILES = {file.name: file for file in [*GOOD, *BAD, *DIRTY]}

if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(exist_ok=True)
    for each in FILES.values():
        print(each.write(target))

"""Columns as expressions over the given ones: built on any rows, and written as text."""

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from featgrad._support.array_api import namespace, placed_like, to_numpy


@dataclass(frozen=True)
class Given:
    """A column of X."""

    index: int

    def build(self, X: Any) -> Any:
        column = X[:, [self.index]].toarray().ravel() if sparse.issparse(X) else X[:, self.index]
        return namespace(column).astype(column, namespace(column).float64)

    def text(self, names: Sequence[str]) -> str:
        return names[self.index]

    def given(self) -> set[int]:
        return {self.index}


@dataclass(frozen=True)
class Curved:
    """A curve of another column, see `featgrad.construct.curves`."""

    curve: Any
    part: "Expression"
    number: float

    @property
    def kind(self) -> str:
        return str(self.curve.name)

    def build(self, X: Any) -> Any:
        x = self.part.build(X)
        return placed_like(x, self.curve.apply(to_numpy(x), self.number))

    def text(self, names: Sequence[str]) -> str:
        return str(self.curve.text(self.part.text(names), self.number))

    def given(self) -> set[int]:
        return self.part.given()

    def made_of(self, known: Container["Expression"]) -> "tuple[Expression, ...]":
        """Known expressions that it was constructed of."""
        return (self.part,)


@dataclass(frozen=True)
class Product:
    """A product of columns, each less its origin, between limits.

    Two parts that are both larger than ever before would make a value that no row supports.
    """

    parts: "tuple[Expression, Expression]"
    origins: tuple[float, float]
    limits: tuple[float, float] = (-math.inf, math.inf)
    kind = "product"

    def build(self, X: Any) -> Any:
        first, second = (part.build(X) for part in self.parts)
        product = (first - self.origins[0]) * (second - self.origins[1])
        return namespace(product).clip(product, *self.limits)

    def text(self, names: Sequence[str]) -> str:
        texts = []
        for part, origin in zip(self.parts, self.origins, strict=True):
            text = minus(part.text(names), origin)
            texts.append(f"({text})" if origin or isinstance(part, Product) else text)
        first, second = texts
        if first.startswith("1 / "):
            return f"{second} / {first[4:]}"
        return f"{first}^2" if first == second else f"{first} * {second}"

    def given(self) -> set[int]:
        return self.parts[0].given() | self.parts[1].given()

    def made_of(self, known: Container["Expression"]) -> "tuple[Expression, ...]":
        """The same of a product, of which one part may be curved for it."""
        return tuple(
            part.part if isinstance(part, Curved) and part not in known else part
            for part in self.parts
        )


Constructed = Curved | Product


def limited(column: Constructed, values: Any) -> Constructed:
    """The column, of which a product stays between the least and the largest of some values."""
    if not isinstance(column, Product):
        return column
    values = to_numpy(values)
    return replace(column, limits=(float(np.nanmin(values)), float(np.nanmax(values))))


Expression = Given | Constructed


def minus(text: str, number: float) -> str:
    """The text of a difference."""
    return text if number == 0 else f"{text} {'-' if number > 0 else '+'} {abs(number):.12g}"


def rounded(values: Any, scales: Any) -> Any:
    """To a hundredth of scales at most, so that text has all of a number."""
    power = 10.0 ** (2 - np.floor(np.log10(np.where(scales > 0, scales, 1.0))))
    return np.where(scales > 0, np.round(values * power) / power, values)


def in_columns(columns: Sequence[Any]) -> Any:
    return namespace(columns[0]).stack(columns, axis=1)


def built(X: Any, columns: Sequence[Expression]) -> Any:
    """Columns that are built of those of X; sparse where it is, and in its library."""
    values = [column.build(X) for column in columns]
    if not values:
        return X[:, :0]
    if not sparse.issparse(X):
        return namespace(X).astype(in_columns(values), X.dtype)
    return sparse.hstack([sparse.csc_array(column[:, None]) for column in values], format="csr")


def with_columns(X: Any, columns: Sequence[Expression]) -> Any:
    """Columns that are built of those of X, next to these."""
    if not columns:
        return X
    parts = [X, built(X, columns)]
    if sparse.issparse(X):
        return sparse.hstack(parts, format="csr")
    return namespace(X).concat(parts, axis=1)

"""Columns as expressions over the given ones: built on any rows, and written as text."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from featgrad._support import Floats
from featgrad.construct.prices import Parts, Residuals


class Operation(ABC):
    """A way to construct columns: prices all it could construct at once, and builds one on demand.

    Operations of the same parameters are equal, so that what they construct can be compared.
    """

    name: ClassVar[str]
    # Whether its text has an operator between its parts, hence needs brackets inside another one.
    is_infix: ClassVar[bool] = False

    @abstractmethod
    def count(self, parts: Parts) -> int:
        """How many columns it could construct."""

    @abstractmethod
    def best(self, parts: Parts, residuals: Residuals, kept: int) -> "list[Constructed]":
        """About those of the highest prices, without building the others."""

    @abstractmethod
    def build(self, parts: Sequence[Floats], numbers: Sequence[float]) -> Floats:
        """A column."""

    @abstractmethod
    def text(self, parts: Sequence[str], numbers: Sequence[float]) -> str:
        """What a column is called."""


@dataclass(frozen=True)
class Given:
    """A column of X."""

    index: int

    def build(self, X: Any) -> Floats:
        column = X[:, [self.index]].toarray() if sparse.issparse(X) else X[:, self.index]
        return np.asarray(column, np.float64).ravel()

    def text(self, names: Sequence[str]) -> str:
        return names[self.index]

    def given(self) -> list[int]:
        return [self.index]


@dataclass(frozen=True)
class Constructed:
    """A column that an operation makes of others, with the numbers that it has learned."""

    operation: Operation
    parts: "tuple[Expression, ...]"
    numbers: tuple[float, ...] = ()

    def build(self, X: Any) -> Floats:
        return self.operation.build([part.build(X) for part in self.parts], self.numbers)

    def text(self, names: Sequence[str]) -> str:
        """In the names of given columns."""
        texts = [
            f"({part.text(names)})"
            if isinstance(part, Constructed) and part.operation.is_infix
            else part.text(names)
            for part in self.parts
        ]
        return self.operation.text(texts, self.numbers)

    def given(self) -> list[int]:
        """Columns of X that it is made of."""
        return sorted({index for part in self.parts for index in part.given()})


Expression = Given | Constructed


def minus(text: str, number: float) -> str:
    """The text of a difference."""
    return text if number == 0 else f"{text} {'-' if number > 0 else '+'} {abs(number):.12g}"


def with_columns(before: Any, X: Any, columns: "Sequence[Expression]") -> Any:
    """Columns of X, or built of them, next to others; sparse where X is."""
    built = [column.build(X) for column in columns]
    if not sparse.issparse(X):
        return np.column_stack([before, *built]) if built else before
    more = [sparse.csc_array(column[:, None]) for column in built]
    return sparse.hstack([before, *more], format="csr") if built else before

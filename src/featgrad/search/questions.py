"""Searches that ask for products and go on with the answers: one search after the other, or many.

An accelerator takes as long for one short product as for many at once. Searches therefore do not
take products themselves: they are generators that yield questions, whose kind has the answers.
"""

from collections.abc import Generator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
Run = Generator[Any, Any, T]


def answered(runs: Sequence[Run[T]]) -> list[T]:
    """What all runs end with; questions that they ask at the same time are answered together."""
    found: dict[int, T] = {}
    answers: dict[int, Any] = dict.fromkeys(range(len(runs)))
    while answers:
        asked: dict[Any, dict[int, Any]] = {}
        for i, answer in answers.items():
            try:
                question = runs[i].send(answer)
                asked.setdefault(type(question), {})[i] = question
            except StopIteration as end:
                found[i] = end.value
        answers = {}
        for kind, alike in asked.items():
            answers |= zip(alike, kind.answers(list(alike.values())), strict=True)
    return [found[i] for i in range(len(runs))]

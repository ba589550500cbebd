"""What is chosen from known shapes stays the same unless a change of the search is meant.

After a change that is meant, write the file anew: ``python tests/test_golden.py``.
"""

import json
from pathlib import Path

import pytest

from golden_shapes import SHAPES

FILE = Path(__file__).with_name("golden_selections.json")
NOISE_FROM = {"many_features": 3}


def chosen(name: str) -> list[int]:
    """Columns with signal come first; what else fills up a large set is noise."""
    return SHAPES[name]().get_support(indices=True)[: NOISE_FROM.get(name)].tolist()


@pytest.mark.parametrize("name", SHAPES)
def test_selection_is_the_recorded_one(name: str):
    assert chosen(name) == json.loads(FILE.read_text())[name]


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: chosen(name) for name in SHAPES}, indent=1) + "\n")

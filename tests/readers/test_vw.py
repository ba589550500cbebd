import numpy as np
import pytest
from sklearn.utils import murmurhash3_32

from featgrad.readers import open_source
from source_rows import read


def feature(space: bytes, name: bytes, size: int) -> int:
    seed = murmurhash3_32(space, positive=True)
    return murmurhash3_32(name, seed=seed, positive=True) % size


def test_everything_a_line_may_hold(write):
    text = (
        b"1 |a x:2 y |b:3 x\r\n"
        b"-1 0.5 'tag |a y:-1e1 y:1\n"
        b"\n"
        b"0 2 0.1 tag| long_name_of_a_feature\n"
        b"2.5 | x:1 x:0.5\n"
    )
    rows = read(open_source(write("rows.vw", text), hash_dim=1000))
    expected = np.zeros((4, 1000))
    for row, space, name, value in [
        (0, b"a", b"x", 2),
        (0, b"a", b"y", 1),
        (0, b"b", b"x", 3),
        (1, b"a", b"y", -9),
        (2, b"", b"long_name_of_a_feature", 1),
        (3, b"", b"x", 1.5),
    ]:
        expected[row, feature(space, name, 1000)] += value
    np.testing.assert_array_equal(rows.X, expected)
    np.testing.assert_array_equal(rows.y, [1, -1, 0, 2.5])
    np.testing.assert_array_equal(rows.weight, [1, 0.5, 2, 1])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"|a x", "label"),
        (b"one |a x", "label"),
        (b"1 -2 |a x", "importance"),
        (b"1 2 3 4 |a x", "before the first bar"),
        (b"1 x y |a x", "before the first bar"),
        (b"1 |a x:1:2", "value is not a number"),
        (b"1 |a:z x", "value is not a number"),
        (b"1 |a x:inf", "infinite"),
        (b"1 |a x:nan", "missing"),
        (b"1 |a :3", "no name"),
        (b"1 |a \xff\xfe", "UTF-8"),
    ],
)
def test_a_bad_line_raises_or_is_skipped(write, line: bytes, reason: str):
    path = write("rows.vw", b"0 |a x\n" + line + b"\n1 |a x\n")
    with pytest.raises(ValueError, match=rf"rows\.vw, line 2: .*{reason}"):
        read(open_source(path))
    source = open_source(path, on_bad_rows="skip")
    np.testing.assert_array_equal(read(source).y, [0, 1])
    assert source.skipped == 1


def test_signs_halve_the_names(write):
    names = " ".join(f"n{k}" for k in range(1000)).encode()
    path = write("rows.vw", b"1 |a " + names + b"\n")
    rows = read(open_source(path, hash_dim=2**24, signed=True))
    assert set(np.unique(rows.X)) == {-1, 0, 1}
    assert abs(rows.X.sum()) < 150


def test_heaviest_names_of_a_feature(write):
    path = write("rows.vw", b"1 |a x y |b z\n1 |a x\n")
    source = open_source(path, hash_dim=1)
    assert source.tokens_of([0], most=1) == {0: ["a^x"]}
    assert sorted(source.tokens_of([0])[0]) == ["a^x", "a^y", "b^z"]

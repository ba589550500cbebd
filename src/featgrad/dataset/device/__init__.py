"""Rows in the memory of an accelerator, or sent there block by block; needs torch."""

from importlib.util import find_spec

if find_spec("torch") is None:
    raise ModuleNotFoundError(
        "an accelerator needs torch: pip install 'featgrad[gpu]', or leave device=None.",
        name="torch",
    )

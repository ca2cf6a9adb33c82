"""Pickles are read as plain data: a type of numbers cannot be turned into one of addresses."""

from __future__ import annotations

import bz2
import importlib.util
import io
import pickle
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nasbench.base.errors import UsageError
from nasbench.benchmarks.tabular import plain_pickle
from nasbench.benchmarks.tabular.nats_size import convert
from nasbench.benchmarks.tabular.plain_pickle import PLAIN, NotPlain

ADDRESS = (0x10).to_bytes(8, "little")
SCALAR = np.float64(0).__reduce__()[0]
PLAIN_STATE = (3, "<", None, None, None, -1, -1, 0)
STATES: dict[str, tuple[object, ...]] = {
    "a field of objects": (3, "<", None, ("arch2infos",), {"arch2infos": (np.dtype("O"), 0)}, 8, 1, 0),
    "an array of objects": (3, "<", (np.dtype("O"), (1,)), None, None, 8, 1, 27),
    "flags of objects": (3, "|", None, ("a",), {"a": (np.dtype("f8"), 0)}, 8, 1, 63),
    "no byte order": (3, [], None, None, None, -1, -1, 0),
    "no state": (),
}


class Made:
    """Pickled as a call."""

    def __init__(self, *call: Any) -> None:
        self._call = call

    def __reduce__(self) -> tuple[Any, ...]:
        return self._call


def crafted(code: str, state: tuple[object, ...]) -> Made:
    """A number at an address that the pickle chooses."""
    return Made(SCALAR, (Made(np.dtype, (code, False, True), state), ADDRESS))


CRAFTED = {
    **{what: crafted("V8", state) for what, state in STATES.items()},
    **{f"{what}, as a number": crafted("f8", state) for what, state in STATES.items()},
    "objects": crafted("O8", PLAIN_STATE),
    "too few bytes": Made(SCALAR, (Made(np.dtype, ("f8", False, True), PLAIN_STATE), b"1234")),
    "an array": np.zeros(3),
}
IN_A_PROCESS = """
import sys
from nasbench.cli import main
sys.argv = ["nasbench", "import", "nats-bench-size", sys.argv[1]]
main.main()
"""


@pytest.mark.parametrize("what", CRAFTED)
def test_a_crafted_type_of_numbers_is_refused_by_both_readers(tmp_path: Path, what: str) -> None:
    with pytest.raises(NotPlain):
        plain_pickle.load(io.BytesIO(pickle.dumps(CRAFTED[what], protocol=4)))
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is missing")
    import torch

    torch.save(CRAFTED[what], tmp_path / "crafted.pth")
    with pytest.raises(NotPlain):
        torch.load(tmp_path / "crafted.pth", "cpu", plain_pickle, weights_only=False)


def test_a_crafted_file_gets_one_sentence_and_never_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "NATS-sss-v1_0-50262.pickle.pbz2"
    path.write_bytes(bz2.compress(pickle.dumps(crafted("V8", STATES["a field of objects"]), protocol=4)))
    done = subprocess.run([sys.executable, "-c", IN_A_PROCESS, path], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert "is no type of numbers" in done.stderr


def test_what_is_callable_in_a_pickle_cannot_be_changed_by_one() -> None:
    for name in PLAIN:
        module, _, attribute = name.rpartition(".")
        called = f"c{module}\n{attribute}\n".encode()
        attributes = b"(S'__doc__'\nS'x'\nd"
        for state in (attributes, b"N" + attributes + b"\x86"):
            with pytest.raises((NotPlain, AttributeError, TypeError)):
                plain_pickle.load(io.BytesIO(called + state + b"b."))


def doubled(levels: int) -> tuple[object, ...]:
    """A pair of twice the same pair, and so on: its hash takes a time of 2 to the number of levels."""
    pair: tuple[object, ...] = ()
    for _ in range(levels):
        pair = (pair, pair)
    return pair


SLOW_KEYS = {"nested": doubled(16), "wide": tuple(range(9)), "large": 1 << 60, "float": 0.5}


@pytest.mark.parametrize("protocol", [0, 2, 5])
@pytest.mark.parametrize("kind", SLOW_KEYS)
def test_a_key_whose_hash_takes_the_time_that_a_file_chooses_is_refused(kind: str, protocol: int) -> None:
    key = SLOW_KEYS[kind]
    values = ({key: 1}, {key: 1, 2: 3}, {key, "a"}, {key}, frozenset({key}), OrderedDict({key: 1}))
    for value in values[: 6 if protocol == 5 else 2]:
        with pytest.raises(NotPlain, match="as a key"):
            plain_pickle.load(io.BytesIO(pickle.dumps(value, protocol)))
    assert plain_pickle.load(io.BytesIO(pickle.dumps([key], protocol))) == [key]


def shared(levels: int) -> list[object]:
    """A list of twice the same list, and so on: few bytes of a pickle, and a text of 2 to the number of levels."""
    twice: list[object] = []
    for _ in range(levels):
        twice = [twice, twice]
    return twice


@pytest.mark.parametrize("code", [shared(60), {0: shared(60)}, 10**5_000, None], ids=["list", "dict", "int", "none"])
def test_no_text_is_made_of_what_is_no_type_of_numbers(code: object) -> None:
    with pytest.raises(NotPlain, match=f"^a {type(code).__name__} is no type of numbers"):
        plain_pickle.load(io.BytesIO(pickle.dumps(Made(np.dtype, (code,)), protocol=2)))


def test_a_file_of_nats_bench_whose_results_are_lists_is_refused_before_they_are_compared(tmp_path: Path) -> None:
    """Two such lists are equal only if 2 to the number of levels are."""
    record = {"90": {"all_results": [shared(60), shared(60)]}}
    content = {"meta_archs": ["8:8:8:8:8"], "arch2infos": {0: record}}
    path = tmp_path / "sizes.pickle.pbz2"
    path.write_bytes(bz2.compress(pickle.dumps(content, protocol=4)))
    with pytest.raises(UsageError, match=r"does not have the structure of .*: AttributeError"):
        convert(path, lambda _: None)


@pytest.mark.parametrize("name", [b"c__builtin__\nset\n", b"ccollections\nOrderedDict\n"])
def test_of_a_list_something_is_made_once(name: bytes) -> None:
    """400 bytes that name a list of a million numbers without an end never came to their own."""
    items = b"](" + (b"K\x01" * 3 if b"set" in name else b"K\x01K\x02\x86" * 3) + b"e"
    once = b"\x80\x02" + name + b"q\x01" + items + b"q\x02\x85R"
    plain_pickle.load(io.BytesIO(once + b"."))
    with pytest.raises(NotPlain, match="used several times"):
        plain_pickle.load(io.BytesIO(once + b"0h\x01h\x02\x85R."))
    with pytest.raises(NotPlain, match="made of a tuple"):
        plain_pickle.load(io.BytesIO(b"\x80\x02" + name + b"K\x01K\x02\x86\x85R."))


def test_what_lies_outside_a_pickle_is_refused() -> None:
    by_old_opcodes = (b"((K\x01K\x02li__builtin__\nset\n.", b"(c__builtin__\nset\n(K\x01K\x02lo.")
    for content in (b"Pname\n.", b"K\x01Q.", *by_old_opcodes):
        with pytest.raises(NotPlain):
            plain_pickle.load(io.BytesIO(content))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_numbers_and_containers_come_back(protocol: int) -> None:
    kinds = ("?", "i1", "u2", "<i4", ">i8", "<f2", ">f4", "f8")
    values = OrderedDict(
        (("set", {1, 2}), (("cifar10", 777), {}), ("list", [1.5, "a", None, (True,)])),
        **{k: np.dtype(k).type(1) for k in kinds},
    )
    values |= {"big": np.array([1.5], ">f8")[0], "negative": np.int64(-7)}
    again = plain_pickle.load(io.BytesIO(pickle.dumps(values, protocol)))
    assert again == values
    assert {name: type(value) for name, value in again.items()} == {name: type(v) for name, v in values.items()}


def test_pytorch_reads_the_same_numbers(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    values = {"float": np.float64(0.25), "int": np.int64(-7), "ordered": OrderedDict(a=1), "set": {1, 2}}
    torch.save(values, tmp_path / "plain.pth")
    assert torch.load(tmp_path / "plain.pth", "cpu", plain_pickle, weights_only=False) == values
    torch.save(torch.zeros(3), tmp_path / "tensor.pth")
    with pytest.raises(NotPlain):
        torch.load(tmp_path / "tensor.pth", "cpu", plain_pickle, weights_only=False)


def test_attributes_of_a_mapping_stand_for_none_of_its_own() -> None:
    """Their state can be any name, `keys` among them; those of others are refused."""
    made = OrderedDict(a=1)
    made.keys = 5  # type: ignore[method-assign,assignment]
    found = plain_pickle.load(io.BytesIO(pickle.dumps(made)))
    assert (list(found.keys()), vars(found)) == (["a"], {})
    with pytest.raises(plain_pickle.NotPlain, match="a set with attributes is not plain data"):
        plain_pickle.load(io.BytesIO(b"c__builtin__\nset\n)R}b."))

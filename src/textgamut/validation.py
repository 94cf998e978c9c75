"""Check the arguments of public functions: each raises a ``DataError`` that names the argument.

What is valid is returned in its plain form, a Python number, a list or an array of NumPy, so that results do
not depend on the type of an argument. Tensors of torch are recognised without importing it.
"""

from __future__ import annotations

import enum
import numbers
import operator
import os
import reprlib
import sys
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from textgamut.errors import DataError, printable

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")

LARGEST = 2**63 - 1
"""Largest number that fits into 64 bits, the bound of integers that are computed with in NumPy."""

LARGEST_SEED = 2**128 - 1
"""Largest seed. NumPy's generators accept more than 64 bits."""


def integer(name: str, value: object, least: int = 0, most: int = LARGEST) -> int:
    """Return an integer of Python or NumPy as Python's, which does not overflow; a boolean is none."""
    plain = _scalar(value)
    try:
        if isinstance(plain, bool):
            raise TypeError
        found = operator.index(plain)  # type: ignore[arg-type]
    except TypeError:
        raise DataError(f"{name}: must be an integer, found {described(value)}") from None
    if not least <= found <= most:
        bounds = f"at least {least:,}" + (", and fit into 64 bits" if found > most == LARGEST else "")
        if most < LARGEST:
            bounds = f"from {least:,} to {most:,}"
        raise DataError(f"{name} = {_shown(found)}: must be {bounds}")
    return found


def seed(name: str, value: object) -> int:
    """Return a seed of NumPy's generators."""
    return integer(name, value, 0, LARGEST_SEED)


def number(name: str, value: object) -> float:
    """Return a number of Python or NumPy, which may be NaN or infinite, as Python's; a boolean is none."""
    plain = _scalar(value)
    try:
        if isinstance(plain, bool) or not isinstance(plain, numbers.Real):
            raise TypeError
        return float(plain)
    except (TypeError, OverflowError):
        raise DataError(f"{name}: must be a number, found {described(value)}") from None


def flag(name: str, value: object) -> bool:
    """Return a boolean of Python or NumPy as Python's."""
    plain = value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value
    if not isinstance(plain, bool) or hasattr(value, "mask"):
        raise DataError(f"{name}: must be True or False, found {described(value)}")
    return plain


def path(name: str, value: object, expected: str = "the path of a file or folder") -> Path:
    """Return a path that is a string or a ``pathlib.Path``, and not empty."""
    plain = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(plain, str) or not plain or "\0" in plain:
        raise DataError(f"{name}: must be {expected}, found {described(value)}")
    try:
        os.fsencode(plain)
    except UnicodeEncodeError as error:
        raise DataError(f"{name}: {plain!a}: {error.object[error.start]!a} is not a character") from None
    return Path(plain)


def instance(name: str, value: object, kind: type[T], expected: str) -> T:
    """Return an object of a class of this package or of torch."""
    if not isinstance(value, kind):
        raise DataError(f"{name}: must be {expected}, found {described(value)}")
    return value


def mapping(name: str, value: object, expected: str) -> Mapping[Any, Any]:
    """Return a dictionary."""
    if not isinstance(value, Mapping):
        raise DataError(f"{name}: expected a dictionary, {expected}, found {described(value)}")
    return value


def listed(name: str, values: object, of: str) -> list[Any]:
    """Return a list of what an iterable yields; not of a string, a table, or what has no order."""
    if columns := _columns(values):
        raise DataError(
            f"{name}: expected a list of {of}, found {described(values)}: pass a column, {columns}"
        )
    unordered = isinstance(values, str | bytes | bytearray | memoryview | Mapping | set | frozenset)
    try:
        if unordered:
            raise TypeError
        iterator = iter(values)  # type: ignore[call-overload]
    except TypeError:
        raise DataError(f"{name}: expected a list of {of}, found {described(values)}") from None
    return list(iterator)


def _columns(values: object) -> str | None:
    """Return how to choose a column of a table, such as a DataFrame or a Dataset; None for anything else."""
    names = getattr(values, "column_names", None)  # of datasets and pyarrow
    splits = isinstance(names, Mapping)
    if isinstance(names, Mapping):
        names = next(iter(names.values()), [])
    if not isinstance(names, list):
        names = getattr(values, "columns", None)
    if names is None:
        return None
    known = [str(column) for column in names]
    chosen = "text" if "text" in known else next(iter(known), "text")
    split = f"[{next(iter(values))!r}]" if splits else ""  # type: ignore[call-overload]
    return f"such as {split}[{chosen!r}] (columns: {', '.join(known) or 'none'})"


def texts(name: str, values: object) -> list[str]:
    """Return texts as a list; rows are counted from 1 in messages."""
    found = listed(name, values, "texts")
    for row, text in enumerate(found, start=1):
        if not isinstance(text, str):
            raise DataError(f"{name}: row {row} is not a string but of type {type(text).__name__}")
        characters(f"{name}: row {row}", text)
        if type(text) is not str:  # NumPy's
            found[row - 1] = str(text)
    return found


def values(name: str, given: object, of: str) -> Sequence[Hashable]:
    """Return things that are compared with each other, such as tokens or prompts.

    Tensors, and scalars in them and in arrays, are replaced by the values that they contain: torch compares
    them by identity. Refused is what is not equal to itself, as NaN, or to nothing else, as ``object()``.
    """
    kind = getattr(getattr(given, "dtype", None), "kind", "i")  # torch's have none
    if getattr(given, "ndim", None) == 1 and hasattr(given, "tolist") and kind in "iufUS":
        try:
            found = given.tolist()
        except (RuntimeError, NotImplementedError):  # a sparse tensor, or one without numbers
            raise DataError(f"{name}: expected a list of {of}, found {described(given)}") from None
    else:
        found = given if isinstance(given, list | tuple) else listed(name, given, of)
    found = cast("Sequence[Hashable]", found)
    if set(map(type, found)) <= {str, int}:  # the usual case, quickly
        return found
    return [_value(f"{name}: element {row} of the {of}", value) for row, value in enumerate(found)]


def token_lists(name: str, given: object) -> list[Sequence[Hashable]]:
    """Return texts that are given as lists of tokens."""
    return [
        values(f"{name}: text {row}", tokens, "tokens")
        for row, tokens in enumerate(listed(name, given, "texts, each a list of tokens"))
    ]


def labels(name: str, given: object) -> list[str | None]:
    """Return labels as strings, and None for a missing one: None, NaN or pandas' NA."""
    import numpy as np

    found: list[str | None] = []
    for row, label in enumerate(listed(name, given, "labels"), start=1):
        if _missing(label):
            found.append(None)
            continue
        plain = _value(f"{name}: row {row}", label)
        found.append(str(label if isinstance(label, np.generic) else plain))
        characters(f"{name}: row {row}", found[-1])
    return found


def array(name: str, value: object, *axes: str, kinds: str = "biuf") -> NDArray[Any]:
    """Return numbers as an array with these axes, in float64 unless they are floats already.

    Args:
        name: Name of the argument.
        value: The numbers: an array, a tensor on any device, a table, nested lists. None and pandas' NA
            become NaN.
        axes: What each axis is, for messages.
        kinds: NumPy's kinds of dtype. Only with ``"b"`` booleans are returned as such.
    """
    import numpy as np

    what = "booleans" if kinds == "b" else "numbers"
    expected = f"must be an array ({', '.join(axes)}) of {what}"
    try:
        found = np.asarray(_dense(value), order="C")  # sums depend on the order in memory
        if found.dtype.kind == "O" and found.ndim == len(axes) and kinds != "b":
            found = np.array([_real(each) for each in found.flat], dtype=np.float64).reshape(found.shape)
    except (TypeError, ValueError, RuntimeError, RecursionError, OverflowError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{name}: {expected}: {printable(reason)}") from error
    if found.ndim != len(axes) or found.dtype.kind not in kinds:
        shown = described(found if found.ndim else value)
        raise DataError(f"{name}: {expected}, found {shown}")
    if kinds == "b" or found.dtype in (np.float16, np.float32, np.float64):
        return found
    return found.astype(np.float64)


def characters(what: str, text: str | None) -> None:
    """Check that a text can be written as UTF-8."""
    if text and not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise DataError(f"{what} has an unpaired surrogate, which is not a character") from None


def described(value: object) -> str:
    """Describe an argument in a message: by its value, its shape and dtype, or its type."""
    kind = type(value).__name__
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, str | bytes | int | float):
        return f"{_shown(value)} ({kind})"
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(shape, tuple) and dtype is not None:
        return f"{kind} {tuple(shape)} of {dtype}"
    return f"{kind} {tuple(shape)}" if isinstance(shape, tuple) else kind


def _shown(value: object) -> str:
    try:
        return printable(reprlib.repr(value))
    except ValueError:  # Python does not print an integer of thousands of digits
        return "a number of thousands of digits"


def _scalar(value: object) -> object:
    """Return the value of an array or a tensor without axes; anything but a number as it is."""
    kind = getattr(getattr(value, "dtype", None), "kind", "i")  # torch's have none
    scalar = getattr(value, "ndim", None) == 0 and hasattr(value, "item")
    if not scalar:
        # A tensor of one number has axes, but would be one for Python.
        return None if hasattr(value, "ndim") else value
    return value.item() if kind in "iuf" and not getattr(value, "mask", False) else None  # type: ignore[attr-defined]


def _value(name: str, value: Any) -> Hashable:
    if isinstance(value, tuple):
        return tuple(_value(name, each) for each in value)
    plain = value
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item") and not hasattr(value, "mask"):
        plain = value.item()
    try:
        hash(plain)
        own = getattr(type(plain), "__eq__", None)
        alone = own is object.__eq__ and not isinstance(plain, enum.Enum)
        if alone or getattr(plain, "ndim", None) or not bool(plain == plain):
            raise TypeError
    except (TypeError, ValueError):
        raise DataError(
            f"{name}: must be a string, a number or another value that can be compared, found "
            f"{described(value)}"
        ) from None
    return plain  # type: ignore[no-any-return]


def _missing(value: Any) -> bool:
    try:
        return value is None or not bool(value == value)
    except (TypeError, ValueError, RuntimeError):  # an array is refused later
        return type(value).__name__ == "NAType"


def _real(value: object) -> float:
    """Return an element of an array of objects as a number, NaN if it is missing."""
    if value is None or type(value).__name__ == "NAType":
        return float("nan")
    if isinstance(value, numbers.Real):
        return float(value)
    raise TypeError(f"{described(value)} is not a number")


def _dense(value: Any) -> Any:
    """Replace tensors by arrays, also in lists, and refuse arrays with masked entries."""
    import numpy as np

    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        known = value.dtype in (torch.float16, torch.float32, torch.float64)
        return (value.float() if value.is_floating_point() and not known else value).numpy(force=True)
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.is_masked(value):
            masked = int(np.ma.getmaskarray(value).sum())
            raise ValueError(f"remove or fill its masked entries ({masked})")
        return value.data
    if isinstance(value, list | tuple) and not set(map(type, value)) <= {int, float, bool}:
        return [_dense(each) for each in value]
    return value

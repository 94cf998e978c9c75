"""Call functions with what their parameters name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any


def call(function: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    """Call a function with the values that its parameters name; the other values are left out.

    Raises:
        TypeError: If a parameter without a default has no value.
    """
    named = signature(function).parameters
    return function(**{name: value for name, value in values.items() if name in named})

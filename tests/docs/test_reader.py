"""The reader notices what a page gets wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs.reader import Reader, absent

PAGE = """
```sh
echo precision 0.91
```

```text
precision 0.93
```

```python
number = 3
```

```python
print("three:", number)
```

```text
three: 3
```

```yaml
# mine.yaml
name: mine
```
"""


def test_a_page_that_is_right(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    Reader(tmp_path).follow(page)
    assert (tmp_path / "mine.yaml").read_text() == "# mine.yaml\nname: mine\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("precision 0.93", "recall 0.91", "not shown: 'recall 0.91'"),
        ("precision 0.93", "precision 0.98", "not shown: 'precision 0.98'"),
        ("three: 3", "four: 4", "not shown"),
        ("echo", "ech", "ech precision"),
    ],
)
def test_a_page_that_is_wrong(tmp_path: Path, old: str, new: str, message: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.replace(old, new))
    with pytest.raises(AssertionError, match=message):
        Reader(tmp_path).follow(page)


def test_commands_of_other_tests_are_left_out(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\nfalse # elsewhere\ntouch done\n```\n")
    Reader(tmp_path, ("false",)).follow(page)
    assert (tmp_path / "done").exists()


def test_lines_are_expected_in_their_order() -> None:
    shown = "a  1\nb\nc 2\n"
    assert absent("a 1\n...\nc 2\n", shown, exact=True) is None
    assert absent("c 2\na 1\n", shown, exact=True) == "a 1"
    assert absent("c 9\n", shown, exact=False) is None

"""``python -m textgamut``: the command line."""

import sys

from textgamut.cli.main import main

sys.exit(main())

"""``python -m damas_rl.cli``, the same as ``damas``."""

import sys

from damas_rl.cli.app import main

sys.exit(main())

#!/usr/bin/env python3
"""Trains a player from nothing but the rules: ``python train.py experiment=quick``; ``--help`` lists every key."""

import sys

from damas_rl.launch import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

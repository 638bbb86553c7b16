"""Talking to other draughts programs: the Hub protocol in both directions, and DXP."""

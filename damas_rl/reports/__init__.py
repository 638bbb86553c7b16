"""Pages about training runs: one run as a report, several in comparison. Pictures need matplotlib (extra ``plot``)."""

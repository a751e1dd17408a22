"""The shell around the decider: loads, decides, commits, and one service a noun."""

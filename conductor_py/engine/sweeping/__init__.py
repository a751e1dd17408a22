"""What is looked for again and again: due timers, and what is to be removed."""

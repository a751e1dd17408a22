"""The Spark task types: one module each, from the task's input to its output."""

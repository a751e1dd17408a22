"""The worker of the task types that the engine carries out itself."""

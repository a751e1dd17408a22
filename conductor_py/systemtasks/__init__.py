"""The system tasks that come with the engine, one file a task type, and how further ones are made.

Each is a ``ports.system_tasks.SystemTask``; the engine's system-task worker calls them.
"""

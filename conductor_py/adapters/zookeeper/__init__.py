"""Locks on executions in ZooKeeper."""

"""Schedules and backfills: what starts executions by the clock."""

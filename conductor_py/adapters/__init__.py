"""Adapters: each keeps the promises of one or more ports with one technology, one package a technology."""

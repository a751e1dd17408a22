"""Calls that the server makes for others: where they may go, and how long they may take in all.

HTTP tasks, KAFKA_PUBLISH and the webhook go through here. Nothing of a call is trusted: neither
the name that it gives, nor the answer of a resolver, nor a peer that accepts and says nothing.
"""

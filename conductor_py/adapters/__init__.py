"""Each adapter keeps the promises of one or more ports; one package a technology."""

"""What the attempts of a parent say to their child, in the order in which they say it.

An attempt that takes a child over has it retried, or says so; one that does not wait for it any
more has it terminated. To a child of another partition each goes as an effect of its own, so one
may come before the other. What a later word has overtaken is void.
"""

from __future__ import annotations

from dataclasses import replace

from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Event, Operation

WORD = "word"
"""The argument of an operation that says which word it is."""


def taking_over(seq: int) -> int:
    """Number what an attempt says when it is made: after all that was said before it."""
    return 2 * seq


def leaving(next_seq: int) -> int:
    """Number what is said before there is an attempt ``next_seq``."""
    return 2 * next_seq - 1


def is_overtaken(ws: Workspace, event: Event) -> bool:
    """Whether a later word of the parent has come before this one; if not, it is the latest. It is
    noted when it comes, not when it is carried out: it may have to wait behind a walk.
    """
    word = event.arguments.get(WORD) if isinstance(event, Operation) else None
    if not isinstance(event, Operation) or not isinstance(word, int):
        return False
    if word < ws.header.parents_word:
        ws.answers.append(Answer(operation=event.id))
        return True
    ws.header = replace(ws.header, parents_word=word)
    return False

"""A deterministic simulator: a whole deployment in one thread, in virtual time, with faults.

One seed decides everything: who runs next, how long each call takes, what goes wrong. What a seed
does it does again, on any machine, so that a failure can be replayed, and made smaller.
"""

from __future__ import annotations

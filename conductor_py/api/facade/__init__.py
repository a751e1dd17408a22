"""What the HTTP front needs of the engine: nothing else of it is known here.

The engine offers more; this is the part that has an endpoint, one Protocol a noun. Documents are
JSON objects in wire form. Every method may raise ``StoreUnavailable``.
"""

from conductor_py.api.facade.engine import EngineFacade
from conductor_py.api.facade.pages import FoundPage

__all__ = ["EngineFacade", "FoundPage"]

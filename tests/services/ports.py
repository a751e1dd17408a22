"""Ports for the servers of tests: asked of the system, and held as long as the test process lives.

A port that is found free, given back and listened on a moment later may be gone by then: to a test
beside this one, or to the connection of any client. So a socket stays bound to it here, and never
listens. The kernel gives a bound port to nobody: neither to who binds port 0 nor to who connects.

The socket was bound alone, and got SO_REUSEADDR only then. A server that sets that option, too, as
servers do to be restarted at once (Redis, PostgreSQL, JVMs, Go, granian and werkzeug among them),
listens on the port beside it, again and again; two servers still exclude each other, and who
connects while none listens is refused.

A node of a Redis Cluster gets a second port, for `cluster-port`: there is no range to keep to.
"""

import socket


def free_port() -> int:
    """A TCP port for a server of this process's tests, and for nobody else.

    The descriptor is never closed, and no program that is started from here inherits it: the
    system frees the port when this process ends.
    """
    held = socket.socket()
    held.bind(("", 0))
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    port = int(held.getsockname()[1])
    held.detach()
    return port

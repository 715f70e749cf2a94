"""A node of the mesh behind a TCP port on this machine, as a radio on the network is."""

from __future__ import annotations

import os
import socket

from gateway.radio.simulated.mesh import Mesh
from gateway.radio.simulated.node import Node
from gateway.radio.simulated.stream_radio import StreamRadio


class TcpRadio(StreamRadio):
    """Use as a context manager::

        with TcpRadio(mesh, node) as radio:
            TCPInterface("127.0.0.1", portNumber=radio.port)

    It has one client: a new one puts the old one out. A client that hangs up without its goodbye is not noticed
    (measured on 2.7.26): what the node says is lost until a new client comes.
    """

    def __init__(self, mesh: Mesh, node: Node, *, port: int = 0, speed: float = 1.0, chatter: bool = False) -> None:
        super().__init__(mesh, node, speed=speed, chatter=chatter)
        self.port = port
        """0 takes any free port; `open` sets it."""
        self.kicked = 0
        """Clients put out by a newer one so far."""
        self._listener: socket.socket | None = None

    def away(self) -> None:
        """The node leaves the network and loses its power: the client is cut off, new ones are refused."""
        with self._changed:
            self.node.power_off()
            self._pull_plug()
            self._poke()

    def back(self) -> None:
        """The node is on the network again, at the same port."""
        with self._changed:
            self._plug()
            self.node.power_on(announce=False)
            self._poke()

    def _plug(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._listener.setblocking(False)
        self.port = self._listener.getsockname()[1]
        self._fresh_stream()

    def _pull_plug(self) -> None:
        self._hung_up()
        if self._listener is not None:
            # Closing alone leaves the port open for as long as the radio's thread waits on it.
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None

    def _callers(self) -> list[int]:
        return [] if self._listener is None else [self._listener.fileno()]

    def _answer_caller(self) -> None:
        if self._listener is None:
            return
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return  # gone again
        self.kicked += self._wire >= 0
        self._hung_up()
        self.node.phone.disconnect()
        connection.setblocking(False)
        self._wire = connection.detach()
        self._fresh_stream()

    def _hung_up(self) -> None:
        if self._wire >= 0:
            os.close(self._wire)
            self._wire = -1

"""A node of the mesh behind a pseudo-terminal: any Meshtastic client can open it as a serial port."""

from __future__ import annotations

import contextlib
import os
import tty

from gateway.radio.simulated.mesh import Mesh
from gateway.radio.simulated.node import Node
from gateway.radio.simulated.stream_radio import StreamRadio


class PtyRadio(StreamRadio):
    """Use as a context manager::

        with PtyRadio(mesh, node, link="/tmp/radio") as radio:
            SerialInterface(radio.path)

    `link` is a symbolic link that is made to point to the terminal, since the terminal's own name changes with each
    `replug`. A client that just goes away cannot be noticed (as on a real serial cable): only its goodbye is.
    """

    def __init__(self, mesh: Mesh, node: Node, *, link: str = "", speed: float = 1.0, chatter: bool = False) -> None:
        super().__init__(mesh, node, speed=speed, chatter=chatter)
        self._link = link
        self._slave = -1
        self._slave_name = ""

    @property
    def path(self) -> str:
        """What a client opens."""
        return self._link or self._slave_name

    def unplug(self, *, power: bool = True) -> None:
        """The device file goes away; with `power` the board goes dark too."""
        with self._changed:
            if power:
                self.node.power_off()
            self._pull_plug()
            self._poke()

    def replug(self, link: str | None = None) -> None:
        """The device file comes back, under another `link` if given."""
        with self._changed:
            if link is not None:
                self._link = link
            self._plug()
            if not self.node.alive:
                self.node.power_on(announce=False)
            self._poke()

    def _plug(self) -> None:
        self._wire, self._slave = os.openpty()
        # Raw before anybody opens it, or frames are echoed back. Our own end of the slave stays open, or the settings
        # are lost when a client closes, and reading gives EIO.
        tty.setraw(self._slave)
        os.set_blocking(self._wire, False)
        self._slave_name = os.ttyname(self._slave)
        self._fresh_stream()
        try:
            self._make_link()
        except OSError:
            self._pull_plug()
            raise

    def _make_link(self) -> None:
        if not self._link:
            return
        if os.path.lexists(self._link) and not os.path.islink(self._link):
            raise FileExistsError(f"{self._link} is there and is no symbolic link")
        fresh = f"{self._link}.{os.getpid()}"
        os.symlink(self._slave_name, fresh)
        os.replace(fresh, self._link)

    def _pull_plug(self) -> None:
        if self._link:
            with contextlib.suppress(OSError):
                if os.readlink(self._link) == self._slave_name:
                    os.unlink(self._link)
        for descriptor in (self._slave, self._wire):
            if descriptor >= 0:
                os.close(descriptor)
        self._wire = self._slave = -1

"""A simulated mesh that behaves as the firmware was measured to (2.7.26), for the demo, for tests, and for users.

Nodes, links and handhelds live on a `Mesh`, whose time moves only when told. A node can be reached in two ways:
`in_process.SimulatedRadio` keeps the gateway's radio port in virtual time; `pty_radio.PtyRadio` (and
`tcp_radio.TcpRadio`) serve the real stream protocol in real time, so that any Meshtastic client can connect.
From a shell that is ``meshseek simulate --link PATH``.

>>> from gateway.radio.simulated.mesh import Mesh
>>> from gateway.radio.simulated.node import Node, introduce
>>> from gateway.radio.simulated.handheld import Handheld
>>> mesh = Mesh(seed=1)
>>> gateway, handheld = Node(mesh, 0xAA01), Handheld(mesh, 0xBB02, "T-Deck")
>>> introduce(gateway, handheld.node)
>>> message = handheld.say("tape backup nas2", to=gateway.number)
>>> mesh.run_for(10)
>>> message.tick
'delivered'

What it leaves out: real cryptography (keys are names), the capture effect, next-hop routing, positions, MQTT, remote
administration, and settings changed by a client. Air times are those of real chips; the measured firmware ran on a
simulated one, whose preamble is about 25 ms shorter on LongFast.
"""

"""How ports hold their peers back, in plain Python: what they say, and who waits for whom."""

from ctestbed.transport.packet.problem import Column, PacketSettings
from ctestbed.transport.packet.reference_state import Frame, Port


def give_credit(ports: dict[int, Port], rooms: Column, lossless: int) -> None:
    """Let each port send what its peer has room for; lossy classes need no credit."""
    for port in ports.values():
        for queue in port.queues:
            if lossless >> queue.klass & 1:
                queue.allowed = int(rooms[port.link])
                queue.buffer = int(rooms[port.link ^ 1])


def next_word(port: Port, settings: PacketSettings) -> Frame:
    """Return what the peer is to hear first: pauses of all classes, or credit of one."""
    if settings.flow_control == "cbfc":
        queue = port.queues[min(port.asks)]
        port.asks.remove(queue.klass)
        queue.said = queue.freed
        allowed = queue.freed + queue.buffer
        return Frame("credit", settings.control, number=allowed, klass=queue.klass)
    orders = {klass: port.queues[klass].off for klass in port.asks}
    port.asks.clear()
    return Frame("pause", settings.control, orders=orders)


def who_waits(ports: dict[int, Port], settings: PacketSettings) -> tuple[tuple[int, int], ...]:
    """Return links whose senders may not send, each with a link that their frames wait for."""
    most = settings.payload + settings.header
    found = {
        (frame.entered.port.link ^ 1, port.link)
        for port in ports.values()
        for queue in port.queues
        for frame in queue.frames
        if frame.entered is not None and frame.entered.is_full(most)
    }
    return tuple(sorted(found))

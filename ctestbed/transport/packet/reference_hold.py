"""How ports hold their peers back, in plain Python: what they say, and who waits for whom."""

from ctestbed.transport.packet.computed import MEGA, is_long, known_ahead
from ctestbed.transport.packet.kernels_layout import NEVER
from ctestbed.transport.packet.problem import (
    BIT_TIMES_OF_QUANTUM,
    Column,
    PacketNetwork,
    PacketSettings,
)
from ctestbed.transport.packet.reference_sight import note_first
from ctestbed.transport.packet.reference_state import Ahead, Frame, Port, Queue


def give_credit(ports: dict[int, Port], rooms: Column, lossless: int) -> None:
    """Let each port send what its peer has room for; lossy classes need no credit."""
    for port in ports.values():
        for queue in port.queues:
            if lossless >> queue.klass & 1:
                queue.allowed = int(rooms[port.link])
                queue.buffer = int(rooms[port.link ^ 1])


def look_ahead(ports: dict[int, Port], network: PacketNetwork, settings: PacketSettings) -> None:
    """Have the receivers of long links compute their pauses."""
    if settings.flow_control != "bifrost":
        return
    long = is_long(network, settings)
    period, first = known_ahead(network, settings)
    for port in ports.values():
        arriving = port.link ^ 1
        for queue in port.queues:
            if long[arriving] and settings.lossless >> queue.klass & 1:
                queue.ahead = Ahead(int(period[arriving]), int(first[arriving]))


def compute_pause(queue: Queue, settings: PacketSettings, now: int) -> bool:
    """Grant the next period to the peer, or rest; return True if it is to be told."""
    ahead = queue.ahead
    if ahead is None or ahead.next > now:
        return False
    came, ahead.came = ahead.came, 0
    flight = ahead.flight - came
    frame = settings.payload + settings.header
    grant = min(ahead.period, queue.xoff - queue.entered - flight)
    megabits = max(1, queue.port.rate // MEGA)
    pause = 0
    if grant < ahead.period:
        whole = max(0, grant // frame - 1)
        grant = (whole + 1) * frame if whole else 0
        sends = max(0, 2 * whole - 1) * frame * 4 * MEGA // megabits
        pause = max(0, settings.pause_period - sends)
    quantum = BIT_TIMES_OF_QUANTUM * MEGA // megabits
    pause = -(-pause // quantum) * quantum
    ahead.flight = min(ahead.first + ahead.period, flight + grant)
    if pause > 0 and ahead.pause == 0:
        queue.pauses += 1
        note_first(queue, None, now)
    ahead.pause = pause
    rests = pause == 0 and came == 0 and queue.entered == 0
    ahead.next = NEVER if rests else now + settings.pause_period
    return not rests


def next_word(port: Port, settings: PacketSettings) -> Frame:
    """Return what the peer is to hear first: pauses of all classes, or credit of one."""
    if settings.flow_control == "cbfc":
        queue = port.queues[min(port.asks)]
        port.asks.remove(queue.klass)
        queue.said = queue.freed
        allowed = queue.freed + queue.buffer
        return Frame("credit", settings.control, number=allowed, klass=queue.klass)
    if any(queue.ahead for queue in port.queues):
        queue = port.queues[min(port.asks)]
        port.asks.remove(queue.klass)
        lasts = queue.ahead.pause if queue.ahead else 0
        return Frame("pause", settings.control, lasts=lasts, orders={queue.klass: lasts > 0})
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

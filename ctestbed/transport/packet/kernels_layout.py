"""Where each quantity of the packet engine's state lies: columns of flat int64 arrays.

The state is a handful of arrays of rows, sized in cache lines, because the engine is bound by
memory and not by arithmetic. Kernels may not import constants from elsewhere (see `core.jit`), so
all of them are here; the plain engine and the packer read the same names.
"""

from typing import Final

NEVER: Final = 2**62
"""A time that does not come; also "no bound" of a threshold."""

# One record of a frame, in a queue or on a wire.
FRAME: Final = 4
F_TIME: Final = 0  # arrival at the far end of the wire, ps
F_FLOW: Final = 1  # flow << 32 | ASKED if an answer is due at once | sequence number
F_PLACE: Final = 2  # place in `hops` << 32 | ingress port << 8 | kind << 5 | class << 2 | flags;
# of an acknowledgement, in place of the ingress port, which other packets it is of
F_STAMP: Final = 3  # the sender's clock at the first byte, ps << 16 | bytes on the wire

EXPIRES: Final = -2
"""In `hops`, in place of the next port: the frame has made its last hop."""

ASKED: Final = 1 << 31
NUMBER: Final = ASKED - 1
MORE: Final = (1 << 24) - 1
RANGE: Final = 1 << 23  # with this, so many packets before it; else bit i: the packet 1 + i after
SPAN: Final = 24  # packets that the bits are of, and it

ECN: Final = 2
TRIMMED: Final = 1
DATA: Final = 0
ACK: Final = 1
NAK: Final = 2
CNP: Final = 3
PAUSE: Final = 4
CREDIT: Final = 6

# What comes to a port and when it wants to be looked at, one cache line: the wire that it receives
# from; and alarms as its transmitter falls free or a pause runs out, and for flows that begin,
# packets that are to be sent again, pauses that are to be said again.
DOOR: Final = 8
W_HEAD: Final = 0  # slot of the next frame to come; its time is NEVER until it is sent
A_WAKE: Final = 1
A_TIMER: Final = 2
A_SPAN: Final = 3  # how long a pause lasts at the port's rate, 0: until taken back
W_HARM: Final = 4  # when the wire first loses frames, NEVER if never
W_HARMS: Final = 5  # the first row of `harms` that may still matter to it
W_HARMS_END: Final = 6
W_CAME: Final = 7  # frames that came since W_HARM

# The watchdog of a class of a port, where there is one.
GUARD: Final = 8
B_AT: Final = 0  # when to see whether it barks, NEVER if not paused
B_ON: Final = 1  # 1 once it has barked, until its storm has been over for long enough
B_END: Final = 2  # when the pauses end that it ignores
B_DROPS: Final = 3
B_FIRST: Final = 4  # time of the first, NEVER if none

# From when on a port sends at another rate, because who receives takes no more.
SLOW: Final = 4
L_PORT: Final = 0
L_TIME: Final = 1  # NEVER once that is past
L_PACE: Final = 2  # as in P_PACE

# A time in which a wire loses frames.
HARM: Final = 3
H_FROM: Final = 0
H_UNTIL: Final = 1
H_SHARE: Final = 2  # chance of loss of 2**32; CUT: it carries nothing
CUT: Final = 2**32

# A port: one end of a cable; it sends on its own directed link and receives from its peer's. What
# every frame touches is in the first line.
PORT: Final = 16
P_PEER_NODE: Final = 0
P_PACE: Final = 1  # delay in ps << 20 | ps a byte; 0 where those are too large or no whole numbers;
# -rate where it sends at another than P_RATE for a time
P_FREE: Final = 2  # when the transmitter has sent its frame
P_OWED: Final = 3  # ingress queue << 16 | bytes that leave it when the frame does, or -1
P_COUNT: Final = 4  # control frames waiting
P_RING: Final = 5  # the flow whose turn it is, or -1
P_ASKS: Final = 6  # bit c: the peer is to be told the state of class c
P_END: Final = 7  # slot of its wire that the next frame goes to
P_PEER: Final = 8  # the other end of its cable
P_HEAD: Final = 9  # of the control frames
P_TAIL: Final = 10
P_RATE: Final = 11
P_START: Final = 12  # next of this port's flows that has not begun
P_STOP: Final = 13  # behind the last of them
P_LINK: Final = 14  # the directed link that it sends on
P_DELAY: Final = 15
PACE_SHIFT: Final = 20

# A class of a port: what waits to leave by it, and what came in by it and has not left the switch.
QUEUE: Final = 24
Q_HEAD: Final = 0
Q_TAIL: Final = 1
Q_COUNT: Final = 2
Q_BYTES: Final = 3
Q_UNTIL: Final = 4  # paused until then
Q_IN: Final = 5  # bytes that came in here and wait in the switch
Q_OVER: Final = 6  # bytes of them in headroom
Q_OFF: Final = 7  # 1 while the peer is told to pause
Q_XOFF: Final = 8  # bytes above which the peer must pause
Q_MAX: Final = 9  # most bytes that waited
Q_MAX_IN: Final = 10
Q_SENT: Final = 11  # bytes sent
Q_FRAMES: Final = 12  # frames sent
Q_PAUSED: Final = 13  # paused from then
Q_ROOM: Final = 14  # headroom: bytes that may come in beyond XOFF
Q_XON: Final = 15  # bytes from which the peer may send again
Q_ASK: Final = 16  # when the pause must be said again, NEVER if not
Q_LIMIT: Final = 17  # lossy: bytes that may wait here
Q_MAX_OVER: Final = 18
Q_DROPS: Final = 19
Q_PAUSES: Final = 20  # pauses told to the peer, refreshes apart
Q_PAUSE_TIME: Final = 21  # ps that this port was paused by its peer
Q_MARKS: Final = 22
Q_FIRST: Final = 23  # time of the first drop, NEVER if none
# Where credits stand in for pauses, columns that then have no other use for a lossless class.
Q_ALLOWED: Final = Q_XOFF  # bytes that this port may have sent, by its peer's last word
Q_FREED: Final = Q_XON  # bytes that came in here and have left the switch
Q_SAID: Final = Q_LIMIT  # and how many of them the peer was told of; Q_ROOM: bytes of the buffer

# A node.
NODE: Final = 8
N_FIRST: Final = 0  # its first port
N_PORTS: Final = 1
N_USED: Final = 2  # bytes of its shared buffer in use
N_SHARED: Final = 3  # bytes of that buffer
N_POOL: Final = 4  # bytes of shared headroom in use
N_POOL_SIZE: Final = 5

# A flow: what its sender writes, then what its receiver writes, a cache line each; then the rest.
FLOW: Final = 32
S_NEXT: Final = 0  # next sequence number to send
S_TOTAL: Final = 1  # packets of the flow
S_HOPS: Final = 2  # place of its first hop in `hops`
S_LAST: Final = 3  # payload of its last packet
S_CLASS: Final = 4
S_ACKED: Final = 5  # packets acknowledged: all below (go-back-N), or how many (selective)
S_AFTER: Final = 6  # next in the port's ring
S_BEFORE: Final = 7
R_EXPECT: Final = 8  # next sequence number in order
R_UNTOLD: Final = 8  # selective: of packets not acknowledged yet, the lowest << 32 | how many
R_SEEN: Final = 9  # one above the highest sequence number that came, or a gap reported
R_COUNT: Final = 10  # packets received, each once
S_EDGES: Final = 11  # the first row of `edges` that says who waits for it
R_UNACKED: Final = 12  # packets since the last acknowledgement
S_WHOLE: Final = 12  # with an erasure code: groups that its sender knows to be whole
R_DONE: Final = 13  # when the last of them came
R_CNP: Final = 14  # earliest time of the next congestion notice
S_PORT: Final = 15  # the port it leaves by
S_START: Final = 16
S_FINISH: Final = 17  # when its sender knew that all had come, -1 until then
S_STATE: Final = 18  # IDLE, READY (in the ring), HELD (by its window), DONE
S_DEADLINE: Final = 19  # retransmission, NEVER if none
S_RESENT: Final = 20  # packets sent again
S_PACED: Final = 21  # earliest time of its next packet
S_PATHS: Final = 22  # how many paths it has
S_STRIDE: Final = 23  # hops from one of its paths to the next
S_WINDOW: Final = 24  # packets that may be in flight
S_BITS: Final = 25  # selective repeat: where its packets begin in `marks`
S_REPAIR: Final = 26  # packets that are to be sent again
S_SCAN: Final = 27  # none of them is below
S_SENT_AT: Final = 28  # when its last packet began (flowlets)
S_TURNS: Final = 29  # how often it took a path
S_PATH: Final = 30  # the one it has
S_WAIT: Final = 31  # its row of `waiting`, if it waits for others

# Who waits for a flow, sorted by that; in the last column, at a place of the waiting flow's own,
# when it heard of those that are done, in order of time. Behind all others a row of no flow.
EDGE: Final = 4
E_OF: Final = 0
E_FOLLOWER: Final = 1
E_RECEIPT: Final = 2  # 1: it is done when its receiver has it, 0: when its sender knows so
E_HEARD: Final = 3

# What a flow that waits knows.
WAIT: Final = 4
V_FIRST: Final = 0  # its first place in E_HEARD
V_FIRED: Final = 1  # how many it has heard of
V_NEEDS: Final = 2  # after how many it begins,
V_DELAY: Final = 3  # and how long after, ps

# What is known of a packet, one byte each (selective repeat).
HAVE: Final = 1  # its receiver has it
KNOWN: Final = 2  # and its sender knows
LACKS: Final = 4  # it is to be sent again
UNTOLD: Final = 8  # its receiver has it and keeps that back for now

# A flow's rate control: floats, whose arithmetic both engines do in the same order. What all laws
# have, DCQCN's, then what those have that set a window, then each of them.
CONTROL: Final = 24
K_RATE: Final = 0  # bit/s
K_TARGET: Final = 1
K_ALPHA: Final = 2
K_ALPHA_AT: Final = 3  # when alpha decays next, ps
K_RISE_AT: Final = 4  # when the timer raises the rate next
K_TIMES: Final = 5  # rises by the timer since the last cut
K_ROUNDS: Final = 6  # rises by the byte counter
K_BYTES: Final = 7  # bytes towards the next of those
K_LINE: Final = 8  # the rate of its port

K_WINDOW: Final = 1  # bytes that may be in flight
K_MOST: Final = 2  # and at most
K_BASE: Final = 3  # round trip of the empty path, ps

C_PULLED: Final = 4  # packets that the receiver has pulled; K_WINDOW, K_MOST count packets too

H_REFERENCE: Final = 4  # the window that the next round trip's steps start from
H_STEP: Final = 5  # additive increase, bytes
H_HEARD: Final = 6  # 1 once an answer came
H_STAGE: Final = 7  # additive steps in a row
H_UPDATE: Final = 9  # the number from which answers end a round trip
H_USE: Final = 10  # smoothed use of the fullest port
# Behind the row: what the last answer said of each switch port on the path.
HOP: Final = 4
HOP_RATE: Final = 0  # bit/s
HOP_WAITS: Final = 1  # bytes that waited as the frame left
HOP_SENT: Final = 2  # bytes sent until then
HOP_TIME: Final = 3  # ps

W_REST: Final = 4  # target delay without the scaling by the window
W_TOOK: Final = 5  # the last round trip
W_CUT: Final = 6  # when the window was last cut
W_LATE: Final = 7  # timeouts in a row

U_AVERAGE: Final = 4  # delay
U_PENDING: Final = 5  # increase that was not made yet, bytes squared
U_RECEIVED: Final = 6  # bytes acknowledged since the last
U_ACHIEVED: Final = 7  # and since a round trip began
U_ADAPT_AT: Final = 9  # when that ends
U_TO_IGNORE: Final = 10  # bytes that were in flight at a quick adapt
U_IGNORED: Final = 11
U_ADJUSTED: Final = 12  # when the window last rose in any case
U_CUT: Final = 13
U_QUICK: Final = 14  # bytes acknowledged in a row without delay
U_ADAPTING: Final = 15  # 1: something was lost
U_FAST: Final = 16  # 1: rises fast

# Computed pauses: what the receiver of a long link knows of a class.
AHEAD: Final = 8
G_LONG: Final = 0  # 1: its pauses are computed
G_NEXT: Final = 1  # when the next is due, NEVER at rest
G_FLIGHT: Final = 2  # bytes that may still come
G_CAME: Final = 3  # bytes that came since the last pause was computed
G_PAUSE: Final = 4  # how long that is, ps
G_PERIOD: Final = 5  # bytes that a period brings at most
G_FIRST: Final = 6  # bytes that may come before a first word takes effect

# What few classes of ports come to: being held back, as a row for each.
HOLD: Final = 4
J_FIRST: Final = 0  # when this port first told its peer to pause, NEVER if never,
J_CAUSE: Final = 1  # and the class of a port of its node for which that was, or -1
J_SINCE: Final = 2  # since when this port stands still for want of credit, NEVER if it does not
J_STALL: Final = 3  # and for how long it did so before, ps

# Looks at all ports: when the next is due, how long after the last, and how many are kept.
WATCH: Final = 3
Z_AT: Final = 0  # NEVER if nobody looks
Z_STEP: Final = 1
Z_KEPT: Final = 2

# What is seen of the whole at one of them.
LOOK: Final = 3
L_WAITING: Final = 0  # bytes that wait to leave by any port
L_HELD: Final = 1  # ports that are held back
L_GOOD: Final = 2  # bytes of payload that had come

# Receiver credits: a row of a port, or of a flow.
PULL: Final = 8
Y_RING: Final = 0  # of a port: the row of the flow whose turn it is, or -1
Y_NEXT: Final = 1  # and when the next credit is due
Y_AFTER: Final = 0
Y_BEFORE: Final = 1
Y_PULLED: Final = 2  # packets pulled
Y_WANTED: Final = 3  # packets to be pulled
Y_PATH: Final = 4  # the way back, as in F_PLACE
Y_STANDS: Final = 5  # 1 while it has turns

# What a frame carries beside its record where HPCC is on: how many switches it left, then of each
# the bytes that waited and had been sent there, and when.
TELLING: Final = 3

# Parameters of rate control.
D_G: Final = 0
D_RAI: Final = 1
D_HAI: Final = 2
D_ALPHA_PERIOD: Final = 3
D_RISE_PERIOD: Final = 4
D_RISE_BYTES: Final = 5
D_FAST: Final = 6
D_LEAST: Final = 7
D_NOTICE_PERIOD: Final = 8

D_USE: Final = 0
D_STAGES: Final = 1

D_INCREASE: Final = 0
D_DECREASE: Final = 1
D_MOST_DECREASE: Final = 2
D_SCALING: Final = 3
D_SCALING_FROM: Final = 4
D_SCALING_TO: Final = 5
D_SMALLEST: Final = 6
D_TIMEOUTS: Final = 7

N_TARGET: Final = 0  # ps
N_LONGEST: Final = 1
N_SCALE: Final = 2
N_DECREASE: Final = 3
N_MOST_DECREASE: Final = 4
N_AVERAGING: Final = 5
N_ADAPT_ABOVE: Final = 6
N_ADAPT_BELOW: Final = 7
N_PROPORTIONAL: Final = 8
N_FAIR: Final = 9
N_ALWAYS: Final = 10
N_FAST: Final = 11
N_FAST_BELOW: Final = 12
N_ADJUST: Final = 13
N_ROUND_TRIP: Final = 14
PARAMETERS: Final = 32

LEAST_USE: Final = 2.0**-20
"""HPCC: a path that is used less is taken for that, so that no window is infinite. Ours."""

IDLE: Final = 0
READY: Final = 1
HELD: Final = 2
DONE: Final = 3

# The run as a whole.
X_FREE: Final = 0  # first free chunk of the frame store
X_LEFT: Final = 1  # how many are free
X_NOW: Final = 2  # start of the window that is computed
X_DATA_HOPS: Final = 3
X_CONTROL_HOPS: Final = 4
X_OPEN: Final = 5  # flows not finished
X_LOST: Final = 6  # frames dropped
X_LOST_TIME: Final = 7
X_LOST_PORT: Final = 8
X_EVENTS: Final = 9
X_NODE: Final = 10  # where to go on after a halt inside a window
X_UNTIL: Final = 11  # end of that window
X_NAKS: Final = 12
X_RESENT: Final = 13
X_RESERVE: Final = 14  # chunks that one node may need in one window
X_TRIMMED: Final = 15
X_LAST: Final = 16  # time of the last arrival
X_PERISHED: Final = 18  # frames lost on dead wires
X_ERRED: Final = 19  # frames lost by chance
X_DONE: Final = 20  # 1 + 2 * a flow that has just been done + 1 if received, 0 if none
X_STARTED: Final = 21  # 1 if an event set alarms of other ports of its node in this window
X_WATCHED: Final = 22  # frames dropped by watchdogs
X_EXPIRED: Final = 23  # frames dropped after their last hop
X_GOOD: Final = 24  # bytes of payload that came, each once
X_FAULT: Final = 17  # 1 once the room for one window was too small: begin again with more
COUNTERS: Final = 32

# Settings.
C_CLASSES: Final = 0
C_PAYLOAD: Final = 1
C_HEADER: Final = 2
C_CONTROL: Final = 3  # bytes of a control frame
C_WINDOW: Final = 4  # ps of lookahead
C_LOSSLESS: Final = 5  # bit c: class c is lossless
C_RESPONSE: Final = 7  # ps from a pause's arrival to its effect
C_ALPHA: Final = 8  # dynamic threshold: numerator, 0 if static
C_ALPHA_OF: Final = 9  # and denominator
C_RETRY: Final = 10  # ps to a retransmission by time, NEVER if none
C_ACK_EVERY: Final = 11
C_RELIABILITY: Final = 12  # 0 go-back-N, 1 selective repeat
C_SPRAY: Final = 13  # 1: packets of a flow take its paths in turn, 2: draw one each
C_KMIN: Final = 14
C_KMAX: Final = 15
C_PMAX: Final = 16  # of 2**32
C_SEED: Final = 17
C_TRIM: Final = 18
C_CC: Final = 19
C_INORDER: Final = 20  # 1: a gap in sequence numbers means loss
C_FLOWLET: Final = 23  # ps without a packet after which a flow takes another path, 0: never
C_MOST: Final = 22  # packets that a flow may have in flight, whatever its law says
C_HYSTERESIS: Final = 21  # bytes below a threshold from which a peer may send again
C_CREDIT: Final = 24  # 1: credits instead of pauses
C_DATA: Final = 28  # erasure code: data packets of a group, 0: there is none
C_PARITY: Final = 29
C_PERIOD: Final = 27  # ps between computed pauses, 0: there are none
C_ADAPTIVE: Final = 26  # 1: each switch chooses a packet's next hop
C_EAGER: Final = 25  # 1: somebody waits for every byte that leaves a switch
C_WATCHDOG: Final = 32  # ps of pause without a break after which a watchdog barks, 0: none
C_RESTORE: Final = 33  # ps without a pause after which it rests
C_IGNORES: Final = 34  # 1: it ignores pauses instead of dropping frames
SETTINGS: Final = 40

NO_CONTROL: Final = 0
DCQCN: Final = 1
# Those that set windows.
HPCC: Final = 2
SWIFT: Final = 3
NSCC: Final = 4
RCC: Final = 5

RUNNING: Final = 0
ENDED: Final = 1
STUCK: Final = 2
FULL: Final = 3
FAULT: Final = 4


def warm() -> None:
    """Nothing here is compiled."""

"""Key slots: the table that only the platform's trusted part may write.

Platforms name a slot ASID, KeyID, VMID or MECID; slot 0 is the host's and has no key.
"""

from ctestbed.core.errors import InputError
from ctestbed.tee.controller.replies import NO_SLOT


class KeySlots:
    """`count` slots from 1 on, all for keys of `key_size` bytes. Keys never show in a repr.

    With `shared`, one key serves all slots, as where a whole world has one.
    """

    def __init__(
        self, count: int, key_size: int, name: str = "ASID", *, shared: bool = False
    ) -> None:
        """Make empty slots."""
        self.count = count
        self.key_size = key_size
        self.name = name
        self.shared = shared
        self._keys: dict[int, bytes] = {}

    @property
    def taken(self) -> list[int]:
        """The slots that have a key."""
        return sorted(self._keys)

    def install(self, slot: int, key: bytes) -> None:
        """Put a key into an empty slot.

        Raises:
            InputError: the slot is taken or does not exist, or the key has another length.
        """
        if not NO_SLOT < slot <= self.count or slot in self._keys:
            raise InputError(
                "CTB-M002", f"key slot {self.name} {slot} is taken or not one of 1-{self.count}"
            )
        if len(key) != self.key_size:
            raise InputError("CTB-M002", f"a memory key has {self.key_size} bytes, not {len(key)}")
        self._keys[slot] = next(iter(self._keys.values()), key) if self.shared else key

    def erase(self, slot: int) -> None:
        """Forget the key of a slot; what it encrypted is lost."""
        self._keys.pop(slot, None)

    def key(self, slot: int) -> bytes:
        """Return the key of a slot.

        Raises:
            InputError: the slot is empty.
        """
        try:
            return self._keys[slot]
        except KeyError:
            raise InputError("CTB-M002", f"key slot {self.name} {slot} holds no key") from None

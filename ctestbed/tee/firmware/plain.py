"""A plain host: it loads the image itself, and nothing is measured, encrypted or checked."""

from typing_extensions import override

from ctestbed.crypto.sm3 import sm3
from ctestbed.tee.controller.guest import GuestMemory
from ctestbed.tee.controller.replies import HOST, NO_SLOT, PAGE_SIZE
from ctestbed.tee.firmware.base import Guest, Plan, Platform, require_image
from ctestbed.tee.firmware.vmsa import vmsa_page
from ctestbed.tee.vcpu import VCPU, AreaKind


class PlainHost(Platform):
    """No trusted part at all."""

    @override
    def launch(self, plan: Plan) -> Guest:
        require_image(plan, "ENOMEM", "loading the image")
        self.controller.write(HOST, plan.base, plan.image)
        guest = self._guest(plan)
        for cpu in guest.vcpus:
            self.controller.dram.write(cpu.area, vmsa_page(features=0))
        guest.measurement = sm3(bytes(plan.image))
        return guest

    @override
    def resume(self, plan: Plan, key: bytes, measurement: bytes) -> Guest:
        guest = self._guest(plan)
        guest.measurement = measurement
        return guest

    @override
    def destroy(self, guest: Guest) -> None:
        return

    @override
    def debug_read(self, guest: Guest, address: int, length: int) -> bytes:
        return self.controller.read(HOST, guest.memory.place(address), length).data

    def _guest(self, plan: Plan) -> Guest:
        memory = GuestMemory(self.controller, NO_SLOT, plan.base, plan.memory)
        cpus = [
            VCPU(
                index,
                self.controller,
                NO_SLOT,
                plan.base + plan.memory + index * PAGE_SIZE,
                AreaKind.CLEAR,
            )
            for index in range(plan.vcpus)
        ]
        return Guest(plan.name, NO_SLOT, plan.policy, b"", memory, cpus)

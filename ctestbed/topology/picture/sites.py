"""The scene of several sites: places, and the trunks between them."""

from ctestbed.topology.picture.model import (
    BundleData,
    ProtectedData,
    SceneData,
    block,
    bundle,
    quantity,
)
from ctestbed.topology.shapes import Plan


def sites_scene(plan: Plan, site: str | None, plane: int | None) -> SceneData:
    """Return the sites, or one with those that its trunks reach; cables of all planes, or one."""
    reached = {
        end
        for trunk in plan.trunks
        for end in (trunk.site_a, trunk.site_b)
        if site in {None, plan.sites[trunk.site_a].name, plan.sites[trunk.site_b].name}
    }
    shown = [
        position
        for position, each in enumerate(plan.sites)
        if site in {None, each.name} or position in reached
    ]
    return {
        "id": "sites",
        "level": "sites",
        "view": "sites",
        "title": "Sites and trunks",
        "sites": [],
        "planes": None if plane is None else [plane],
        "alike": 1,
        "blocks": [
            block(f"site-{position}", "accelerator", each.name, each.accelerators, 0)
            for position, each in enumerate(plan.sites)
            if position in shown
        ],
        "bundles": [
            _trunk(plan, number, 1 if plane is not None else plan.planes)
            for number, trunk in enumerate(plan.trunks)
            if trunk.site_a in shown
            and trunk.site_b in shown
            and site in {None, plan.sites[trunk.site_a].name, plan.sites[trunk.site_b].name}
        ],
        "note": "",
    }


def _trunk(plan: Plan, number: int, planes: int) -> BundleData:
    trunk = plan.trunks[number]
    made = bundle(
        (f"site-{trunk.site_a}", f"site-{trunk.site_b}"),
        "trunk",
        trunk.tops * trunk.links * planes,
        trunk.figures,
        each=trunk.links,
    )
    standby = trunk.protection
    route: ProtectedData = {
        "length": quantity(trunk.figures.length),
        "delay": quantity(trunk.figures.delay),
        "amplifiers": trunk.amplifiers,
        "standby_length": None if standby is None else quantity(standby.length),
        "standby_delay": None if standby is None else quantity(standby.delay),
    }
    made["trunk"] = route
    return made

"""The scene of a supernode: its switches, and who is on them."""

from typing import Final

from ctestbed.topology.capacity import format_narrowing, site_layers
from ctestbed.topology.picture.model import SceneData, block, bundle, named, runs
from ctestbed.topology.shapes import Plan, SupernodePlan

COLUMNS: Final = 5


def supernode_scene(plan: Plan, position: int, sites: list[str]) -> SceneData | None:
    """Return one supernode of a site host by host; None without supernodes.

    Where its network is not laid out, its members stand there with nothing between them.
    """
    domain = plan.sites[position].supernode
    if domain is None:
        return None
    narrowing = {layer.name: format_narrowing(layer) for layer in site_layers(plan, position)}
    scene: SceneData = {
        "id": f"supernode-s{position}",
        "level": "supernode",
        "view": "tiers",
        "title": f"Supernode of {domain.accelerators:,} accelerators",
        "sites": sites,
        "planes": None,
        "alike": domain.count,
        "blocks": [],
        "bundles": [],
        "note": _note(domain),
    }
    top, count = ("upper", domain.switches * domain.uppers) if domain.uppers else ("own", 0)
    count = count or domain.switches
    if count:
        scene["blocks"].append(block("top", "scale-up switch", "", count, 2))
    for run in runs(domain.hosts, COLUMNS):
        _host_column(scene, domain, run, narrowing, two_tiers=top == "upper")
    return scene


def _note(domain: SupernodePlan) -> str:
    if not domain.switches:
        return "How its members are joined is not described."
    if domain.uppers:
        return (
            f"Switch i of every host is in sub-plane i of {domain.switches:,}, "
            f"below that sub-plane's {domain.uppers:,} upper switches."
        )
    return "Every member has a bundle to each switch."


def _host_column(
    scene: SceneData,
    domain: SupernodePlan,
    run: range,
    narrowing: dict[str, str],
    *,
    two_tiers: bool,
) -> None:
    count = len(run)
    name, last = named("host-", run, domain.hosts)
    scene["blocks"].append(block(name, "host", name, count, 1, last=last))
    above = "top"
    if two_tiers:
        above = f"{name}.switches"
        switches = count * domain.switches
        scene["blocks"].append(block(above, "scale-up switch", "", switches, 1, inside=name))
        scene["bundles"].append(
            bundle(
                (above, "top"),
                "scale-up, upper",
                switches * domain.uppers,
                domain.upper_cable,
                narrowing=narrowing.get("scale-up, upper"),
                each=1,
            )
        )
    members = [
        (
            "accelerator",
            "accelerators",
            domain.accelerators // domain.hosts,
            "accelerator - scale-up",
            domain.cable,
        )
    ]
    if domain.cpu_cabled:
        members.append(("CPU", "processors", domain.cpus, "CPU - scale-up", domain.cpu_cable))
    for kind, words, each, layer, cable in members:
        total = each * count
        record = block(f"{name}.{words}", kind, "", total, 0, inside=name)
        scene["blocks"].append(record)
        ends = (record["id"], above)
        cables = total * domain.switches
        ratio = narrowing.get(layer)
        if cables:
            scene["bundles"].append(bundle(ends, layer, cables, cable, narrowing=ratio, each=1))

"""What planes share although they share no switch and no cable: the fibre routes between sites."""

from collections import Counter
from collections.abc import Iterator

from ctestbed.core.names import numbered
from ctestbed.core.result import Finding
from ctestbed.topology.load import LoadedTestbed
from ctestbed.topology.shapes import Plan


def sharing_notes(loaded: LoadedTestbed, plan: Plan) -> Iterator[Finding]:
    """Yield what stands in the way of planes that fail, and carry, independently."""
    pairs = Counter(frozenset((trunk.site_a, trunk.site_b)) for trunk in plan.trunks)
    for index, trunk in enumerate(plan.trunks):
        if plan.planes == 1 or pairs[frozenset((trunk.site_a, trunk.site_b))] > 1:
            continue
        between = " and ".join(loaded.testbed.trunks[index].between)
        what = "fibre route: one cut stops them all"
        if trunk.protection is not None:
            what = "fibre route and its protection route: cuts of both stop them all"
        yield Finding(
            "CTB-T065",
            "note",
            f"all {plan.planes} planes between {between} share one {what}",
            loaded.document.where(("trunks", index)),
            "is that meant? a second trunk between the sites can be a second way",
        )
    seen = set()
    for site in plan.sites:
        groups = site.planes_alike()
        if not site.split or len(groups) == 1 or site.path in seen:
            continue
        seen.add(site.path)
        kinds = "; ".join(numbered("plane", numbers) for _, numbers in groups)
        yield Finding(
            "CTB-T066",
            "note",
            f"every NIC is split over planes of {len(groups)} kinds ({kinds})",
            loaded.document.where(("planes", "overrides")),
            "a NIC that spreads evenly gets from every plane what the least of them carries",
        )

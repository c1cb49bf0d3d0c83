"""What was inferred, as data and in words, with the strength of every figure."""

from collections import Counter

from ctestbed.topology.asbuilt.deviations import many
from ctestbed.topology.asbuilt.infer import FORMS, Inference, planes_of, tier_word
from ctestbed.topology.asbuilt.inferred import (
    HostsData,
    InferredData,
    LayerData,
    RailsData,
    TierData,
)
from ctestbed.topology.asbuilt.layers import Layer, most_common

_PLURALS = {"leaf": "leaves", "tier-4 switch": "tier-4 switches"}


def inferred_data(inference: Inference) -> InferredData:
    """Return an inference as data."""
    tiers: list[TierData] = [
        {"tier": tier, "name": tier_word(tier), "switches": len(inference.of_tier(tier))}
        for tier in range(1, inference.tiers + 1)
    ]
    regular = inference.regular
    layers = [_layer(inference, layer) for layer in inference.layers] if regular else []
    planes = planes_of(inference.layers) if regular else 1
    data: InferredData = {
        "kind": "irregular",
        "description": "",
        "planes": planes,
        "endpoints": len(inference.of_tier(0)),
        "tiers": tiers,
        "layers": layers,
        "below": _below(inference),
        "rails": _rails(inference),
    }
    if regular:
        data["kind"] = _kind(inference, data)
    data["description"] = _describe(data)
    return data


def _layer(inference: Inference, layer: Layer) -> LayerData:
    usual, votes_for, against = layer.votes()
    expected = present = 0
    for group in layer.groups:
        for pair, count in group.expected().items():
            expected += count
            present += min(count, group.pairs.get(pair, 0))
    rate_for, rate_against = inference.rate_votes.get(layer.tier, (0, 0))
    rate = inference.rates.get(layer.tier, -1)
    return {
        "lower": tier_word(layer.tier),
        "upper": tier_word(layer.tier + 1),
        "groups": len(layer.groups),
        "full_mesh": layer.complete,
        "cables_per_pair": usual or None,
        "pairs_for": votes_for,
        "pairs_against": against,
        "cables_expected": expected,
        "cables_present": present,
        "rate": None if rate < 0 else rate,
        "rate_for": rate_for,
        "rate_against": rate_against,
    }


def _below(inference: Inference) -> HostsData:
    counts = inference.endpoints_per_leaf()
    usual = most_common(counts) if counts else None
    rate = inference.rates.get(0, -1)
    votes = inference.rate_votes.get(0, (0, 0))
    devices = inference.cabling.devices
    endpoints = inference.of_tier(0).tolist()
    hosts = {devices[at].host or devices[at].name for at in endpoints}
    return {
        "endpoints_per_leaf": usual,
        "leaves_for": 0 if usual is None else counts[usual],
        "leaves_against": 0 if usual is None else counts.total() - counts[usual],
        "hosts": len(hosts),
        "rate": None if rate < 0 else rate,
        "rate_for": votes[0],
        "rate_against": votes[1],
    }


def _rails(inference: Inference) -> RailsData | None:
    rails = inference.rails
    if rails is None:
        return None
    return {
        "rails": len(rails.rails),
        "leaves_per_rail": rails.tors,
        "segments": len(rails.segments),
        "adapters_for": rails.aligned,
        "adapters_against": rails.astray,
        "other_hosts": list(rails.others),
    }


def _kind(inference: Inference, data: InferredData) -> str:
    form = FORMS.get(inference.tiers, f"{inference.tiers}-tier Clos")
    if data["rails"] is None:
        return form
    words = "rail-optimised"
    if data["rails"]["leaves_per_rail"] > 1:
        tors = data["rails"]["leaves_per_rail"]
        words += " dual-ToR" if tors == 2 else f" {tors}-ToR"  # noqa: PLR2004
    if data["planes"] > 1:
        words += " dual-plane" if data["planes"] == 2 else f" {data['planes']}-plane"  # noqa: PLR2004
    return f"{words} {form}"


def _describe(data: InferredData) -> str:
    if data["kind"] == "irregular":
        return "no regular fabric is to be seen: only cables one by one are judged"
    parts = [
        many(tier["switches"], tier["name"], _PLURALS.get(tier["name"])) for tier in data["tiers"]
    ]
    text = f"{data['kind']} of {', '.join(parts)}, {many(data['endpoints'], 'endpoint')}"
    for layer in data["layers"]:
        if layer["cables_per_pair"] and layer["full_mesh"]:
            per = many(layer["cables_per_pair"], "cable")
            text += f"; {per} per {layer['lower']}-{layer['upper']} pair"
            text += f" ({layer['pairs_for']} pairs for, {layer['pairs_against']} against)"
        else:
            text += f"; {layer['lower']} and {layer['upper']} no full mesh"
    return text


def alike(counts: Counter[int]) -> int:
    """Return how many have the commonest value."""
    return counts[most_common(counts)] if counts else 0

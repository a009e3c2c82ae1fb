"""What a run cost, in words: shared by the command line, the report and the pages."""

from __future__ import annotations

from assay.core.billing import format_usd
from assay.core.rounding import format_percent
from assay.core.run import Charge, RunManifest


def format_charge_lines(manifest: RunManifest) -> list[str]:
    """Return what the run cost: each task and method, then each model; empty if no cost is known."""
    if not manifest.charges:
        return []
    lines = []
    scores = [cost for cost in manifest.costs if cost.usd or cost.n_unpriced]
    if len(scores) > 1:
        lines += [f"{cost.task} {cost.method}: {format_usd(cost.usd)}" for cost in scores]
    lines += [_format_charge(charge) for charge in manifest.charges]
    if len(manifest.charges) > 1:
        total = compute_total_usd(manifest)
        assert total is not None  # The charges are not empty.
        lines.append(f"in total {format_usd(total)}")
    return lines


def compute_total_usd(manifest: RunManifest) -> float | None:
    """Return the cost of a run in US dollars, with its judge; None if it is not known."""
    if not manifest.charges:
        return None
    return sum(charge.usd for charge in manifest.charges)


def _format_charge(charge: Charge) -> str:
    read = f"{charge.n_input_tokens:,} input"
    if charge.n_cached_input_tokens:
        read += f" ({charge.n_cached_input_tokens:,} from the provider's cache)"
    source = "reported by the server" if charge.price is None else "price in assay.toml"
    if charge.price is not None and charge.is_batch:
        source += f", {format_percent(charge.price.batch_discount)} % batch discount"
    parts = [
        f"{charge.role} {charge.model}: {format_usd(charge.usd)} for {charge.n_priced:,} requests, {read} "
        f"and {charge.n_output_tokens:,} output tokens ({source})"
    ]
    if charge.n_reused:
        parts.append(f"{charge.n_reused:,} reused answers cost nothing")
    if charge.n_unpriced:
        parts.append(f"the cost of {charge.n_unpriced:,} answers is not known")
    return "; ".join(parts)

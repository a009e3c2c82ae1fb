from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.faces.cli.progress_views import Budget


@given(
    costs=st.lists(st.floats(0, 0.2), min_size=1, max_size=200),
    every_s=st.floats(0.05, 1.0),
    step=st.floats(0.001, 0.1),
)
def test_drawing_takes_its_share_of_the_time_and_no_more(
    costs: list[float], every_s: float, step: float
) -> None:
    """However long a drawing takes, over time it is below half a hundredth, one drawing apart."""
    now, computed = 0.0, 0.0
    budget = Budget(every_s, lambda: now, lambda: computed)
    for n_drawn, cost in enumerate(costs, start=1):
        while now < budget.next:
            now += max(step, budget.pause_s / 50)
        with budget:
            computed += cost
            now += cost
        assert computed - cost <= 0.005 * now
        assert n_drawn <= now / every_s + 1

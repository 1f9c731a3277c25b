from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.config.upstreams import Upstream
from groundwire.gateway.upstream.routing import in_order, serving

pytestmark = pytest.mark.merge


def upstream(name: str, *models: str, weight: int = 1) -> Upstream:
    url = f"http://{name}.test/v1"
    return Upstream(name=name, url=url, models=models or ("*",), weight=weight)


def names(upstreams: tuple[Upstream, ...]) -> list[str]:
    return [each.name for each in upstreams]


def test_an_upstream_that_names_a_model_has_it_to_itself() -> None:
    all_ = (upstream("rest"), upstream("openai", "gpt-*", "o3"), upstream("local", "llama-*"))
    assert names(serving("gpt-4o", all_)) == ["openai"]
    assert names(serving("o3", all_)) == ["openai"]
    assert names(serving("mistral", all_)) == ["rest"]


def test_patterns_tell_upper_from_lower_case() -> None:
    assert serving("GPT-4", (upstream("openai", "gpt-*"),)) == ()


def test_a_model_that_nobody_serves_has_no_upstream() -> None:
    assert in_order("mistral", (upstream("openai", "gpt-*"),), random=Random(0)) == ()


def test_all_that_serve_a_model_are_asked_one_after_the_other() -> None:
    all_ = (upstream("a", "m"), upstream("b", "m"), upstream("c", "m"))
    assert sorted(names(in_order("m", all_, random=Random(0)))) == ["a", "b", "c"]


def test_the_first_is_chosen_by_weight() -> None:
    all_ = (upstream("heavy", weight=3), upstream("light", weight=1))
    random = Random(7)
    first = Counter(in_order("m", all_, random=random)[0].name for _ in range(4000))
    assert 2850 < first["heavy"] < 3150  # 3000 expected, standard deviation 27


def test_a_seed_gives_the_same_order_again() -> None:
    all_ = tuple(upstream(str(number)) for number in range(10))
    assert in_order("m", all_, random=Random(3)) == in_order("m", all_, random=Random(3))


def test_without_a_model_the_heaviest_is_first_and_then_the_order_of_the_file() -> None:
    all_ = (upstream("a", "gpt-*"), upstream("b", weight=5), upstream("c", "llama"))
    assert names(in_order(None, all_, random=Random(0))) == ["b", "a", "c"]


@given(
    model=st.text(max_size=20),
    patterns=st.lists(st.lists(st.text("ab*?[]", max_size=4), min_size=1), max_size=5),
    seed=st.integers(),
)
def test_an_order_never_repeats_nor_invents(
    model: str, patterns: list[list[str]], seed: int
) -> None:
    all_ = tuple(upstream(str(i), *models) for i, models in enumerate(patterns))
    order = in_order(model, all_, random=Random(seed))
    assert len(set(names(order))) == len(order)
    assert set(order) == set(serving(model, all_)) <= set(all_)

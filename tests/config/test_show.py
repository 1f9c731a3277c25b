import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.config import parse
from groundwire.config.show import to_data, to_yaml
from groundwire.config.tree import SETTINGS
from tests.config.documented import REFERENCE, SNIPPET
from tests.config.test_names import DIRECTOR
from tests.tiers import costly

EVERYTHING = """\
check: {action: block, contradicted_action: block, min_severity: 2}
signals:
  keywords:
    - {name: k, words: [Straße, "a: #b"], patterns: ['\\d+'], operator: AND, case_sensitive: yes}
  domains: [{name: law}, {name: sport, description: "Games and matches.", threshold: 0.4}]
  embeddings: [{name: e, examples: ["How are you?"], aggregation: mean}]
  languages: [{name: iberian, codes: [es, pt]}]
  hallucination: [{name: severe, label: contradicted, min_severity: 3}]
decisions:
  - name: d
    priority: -3
    description: Only an example.
    rules:
      operator: AND
      conditions:
        - {type: keyword, name: k}
        - operator: NOT
          conditions:
            - {operator: OR, conditions: [{type: domain, name: math}, {type: embedding, name: e}]}
        - {type: hallucination, name: severe}
        - {type: language, name: fr}
    plugins: [{type: hallucination, configuration: {enabled: true, action: body}}]
  - {name: always}
tenants:
  acme: {enabled: no, on_error: block}
  other: {detector: "similarity:hash", similarity_threshold: 0.5, release: deferred}
  third: {operating_point: recall}
"""


@pytest.mark.parametrize("text", ["", SNIPPET, REFERENCE, DIRECTOR, EVERYTHING])
def test_what_is_shown_reads_back_the_same(text: str) -> None:
    config = parse(text, name="c.yaml")
    assert parse(to_yaml(config), name="shown.yaml") == config


@costly(0.3)
@given(st.text(min_size=1).filter(str.strip), st.text(min_size=1))
def test_texts_of_strangers_read_back_the_same(word: str, tenant: str) -> None:
    text = json.dumps(
        {
            "signals": {"keywords": [{"name": word, "words": [word]}]},
            "tenants": {tenant: {}},
        }
    )
    try:
        config = parse(text, name="c.yaml")
    except ValueError:
        return  # JSON that is no YAML
    assert parse(to_yaml(config), name="shown.yaml") == config


def test_each_line_says_where_its_value_comes_from() -> None:
    shown = to_yaml(parse(REFERENCE, name="c.yaml", environ={"GROUNDWIRE_CHECK_ACTION": "flag"}))
    lines = {
        line.partition("  # ")[0].rstrip(): line.partition("  # ")[2] for line in shown.splitlines()
    }
    assert lines['  action: "flag"'] == "GROUNDWIRE_CHECK_ACTION"
    assert lines["  operating_point: 0.8"] == (
        "c.yaml:3 (hallucination_mitigation.hallucination_model.threshold)"
    )
    assert lines["  enabled: true"] == "default"
    assert shown.count("# c.yaml:9\n") == 1  # the decision


def test_nothing_in_a_line_moves_the_cursor() -> None:
    shown = to_yaml(parse("tenants: {'a\\u202e': {}}".replace("'", '"'), name="\x1b[2Jc.yaml"))
    assert all(each.isprintable() for line in shown.splitlines() for each in line)


def test_a_secret_is_shown_as_stars_and_not_read_back() -> None:
    config = parse("verify.api_key: sk-1", name="c.yaml")
    assert "  # api_key: ***" in to_yaml(config)
    assert "sk-1" not in to_yaml(config) + json.dumps(to_data(config))
    assert parse(to_yaml(config), name="").verify.api_key is None
    with pytest.raises(ValueError, match="not the \\*\\*\\* it is shown as"):
        parse("verify.api_key: '***'", name="")


def test_as_data_every_setting_stands_under_our_name() -> None:
    data = to_data(parse(REFERENCE, name="c.yaml"))
    assert list(data["settings"]) == list(SETTINGS)
    assert data["settings"]["gate.threshold"] == {
        "value": 0.6,
        "source": "c.yaml:2",
        "name": "hallucination_mitigation.fact_check_model.threshold",
        "format": "halugate",
    }
    assert data["formats"] == ["halugate"]

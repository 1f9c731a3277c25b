"""Examples of requests in the OpenAPI document."""

from typing import Any

#: The example of DVARA's documentation.
DVARA: dict[str, Any] = {
    "dvara": {
        "summary": "As DVARA documents it",
        "value": {
            "metadata": {
                "grounding.enabled": "true",
                "grounding.action": "BLOCK",
                "grounding.max-sources": "20",
                "grounding.max-source-length": "5000",
            }
        },
    }
}

POLICY: dict[str, Any] = {
    "block": {
        "summary": "Withhold what is not supported",
        "value": {"action": "block", "detector": "reader", "operating_point": "recall"},
    }
}

"""Characters and patterns that several rules of the segmenter share."""

import re

#: Line breaks, as in ``str.splitlines``.
BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
#: Full stops, question and exclamation marks of Asian scripts; they end a sentence in most cases.
STRONG = "。！？｡।॥؟۔"

#: Matches a letter or digit.
ALNUM = re.compile(r"[^\W_]")
LINE_BREAK = re.compile(f"[{BREAKS}]")

# Patterns for View.run. Each matches a limited length, so that a long run cannot delay a decision
# forever.
BLANKS = re.compile(f"[^\\S{BREAKS}]{{0,40}}")
BACKTICKS = re.compile("`{0,41}")

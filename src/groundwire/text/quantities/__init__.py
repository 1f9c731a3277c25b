"""Finds numbers, times and dates in texts, and compares those of an answer with the evidence.

``quantities`` finds and normalises them: "$1.2 million" is 1,200,000 usd, "330 m" equals "0.33 km",
"4:30 PM" equals "16:30". A ``QuantityIndex`` has the quantities of the evidence, and finds how well
they agree with one quantity of an answer.

``quantity`` has the class of quantities. ``numerals`` reads numbers in digits, and ``words`` reads
numbers in letters; ``amounts`` and ``units`` read the magnitude and unit after a number; ``times``
and ``dates`` read times and dates. ``names`` has patterns of digits that are part of a name,
``ranges`` joins two quantities, ``scan`` finds all quantities of a text with the modules above, and
``index`` compares quantities.

Among others, these are not quantities: "one" alone, ordinal words such as "third", weekday names,
list markers and citations ("1. " at the start of a line, "[1]"), and digits that name something:
identifiers ("AB-1234", "S0", "passage 2", "step 3"), versions, IP addresses, phone numbers, ISBNs;
the scale in "4.5 out of 5"; and the idioms "seven days a week" and "24 hours a day".

Two quantities are equal in these cases, among others:

* numbers, if they have the same base unit, and their values differ by at most one in a million. If
  the units were written with different names, the values may differ by up to 0.5 % (0.5 degrees for
  temperatures), because conversions in prose are rounded: "1 mile" equals "1.61 km", but "1.60 km"
  does not equal "1.61 km";
* "165 degrees" without a scale equals 165 °F and 165 °C;
* ages are numbers without a unit: "15-year-old", "15 years old" and "aged 15" are equal;
* a year alone equals the year of a date; "1990s" is the number 1990;
* times, if they are the same; seconds that only the evidence states do not count;
* dates, if every part that the answer states is the same.

In a numeric date that can be read in two ways, the month is first ("03/04/1945"); if it is written
with dots, the day is first ("03.04.1945").
"""

from groundwire.text.quantities.index import Match, QuantityIndex
from groundwire.text.quantities.quantity import Quantity, QuantityKind
from groundwire.text.quantities.scan import quantities

__all__ = ["Match", "Quantity", "QuantityIndex", "QuantityKind", "quantities"]

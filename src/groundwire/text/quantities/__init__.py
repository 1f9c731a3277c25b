"""Numbers, times and dates in a text, and whether other texts state the same ones.

``quantities`` finds them and normalises what it finds: "$1.2 million" is 1,200,000 usd, "330 m"
equals "0.33 km", "4:30 PM" is "16:30". A ``QuantityIndex`` holds those of the evidence and
answers, for one quantity of an answer, how well the evidence agrees.

One module a concept: ``quantity`` (the value), ``units``, ``numerals`` and ``words`` (a number in
digits and in letters), ``amounts`` (what follows it), ``times``, ``dates``, ``names`` (digits that
count nothing), ``ranges`` (two quantities that share what one states), ``scan``, which joins them,
and ``index``, which compares.

What is no quantity: "one" alone, ordinal words, weekday names, list markers and citations
("1. " at the start of a line, "[1]"), and digits that name something: identifiers ("AB-1234",
"S0", "passage 2", "step 3"), versions, IP addresses, phone numbers, ISBNs; nor the scale in
"4.5 out of 5" and the idioms "seven days a week" and "24 hours a day".

Equal means:

* numbers: the same base unit, and values within one in a million; where the units were written
  with different names also within 0.5 % (0.5 degrees for temperatures), because conversions in
  prose are rounded: "1 mile" equals "1.61 km", but "1.60 km" does not equal "1.61 km";
* "165 degrees", of no stated scale, equal 165 °F and 165 °C;
* ages are bare numbers: "15-year-old", "15 years old" and "aged 15" are equal;
* a bare year equals the year of a date; "1990s" is the number 1990;
* times: the same minute of the day; dates: every part the answer states.

Numeric dates that can be read both ways are read month first ("03/04/1945"), with dots day
first ("03.04.1945"): the same literal always equals itself.
"""

from groundwire.text.quantities.index import Match, QuantityIndex
from groundwire.text.quantities.quantity import Quantity, QuantityKind
from groundwire.text.quantities.scan import quantities

__all__ = ["Match", "Quantity", "QuantityIndex", "QuantityKind", "quantities"]

"""Patterns of digits that are not quantities: they name something or are part of an idiom.

The patterns are parts of the regular expression of :mod:`.scan`, which skips the matched text.
"""

from groundwire.text.quantities.reading import SPACE

#: Pattern of the number of a list item, at the start of its line: "1." and "(2)".
ENUMERATOR = r"^[ \t*\#>-]{0,16}(?:[0-9]{1,2}[.)]|\([0-9]{1,2}\))(?=\s)"
#: Pattern of a citation: "[1, 3-5]"; but '"stars": [4]' is data.
CITATION = r"(?<!:)(?<!:[ ])\[[0-9]{1,3}(?:[ ]?[,–-][ ]?[0-9]{1,3}){0,20}\]"
#: Pattern of a phone number: "(805) 963-1234", "+1 805 963 1234".
PHONE = (
    r"(?:(?:\+[0-9]{1,3}[ .-]?)?\([0-9]{2,4}\)[ ]?[0-9]{3,4}[- .][0-9]{3,4}(?!\w)"
    r"|\+[0-9]{1,3}(?:[ .-]?[0-9]{2,4}){2,5}(?!\w))"
)
#: Pattern of an idiom that means "always": "7 days a week", "24 hours a day".
ALWAYS = (
    rf"(?:7{SPACE}days{SPACE}(?:a|per){SPACE}week|24{SPACE}hours{SPACE}(?:a|per){SPACE}day)(?!\w)"
)
#: Pattern of an idiom that means "always", with the number in words: "seven days a week".
ALWAYS_IN_WORDS = rf"(?ai:seven{SPACE}days{SPACE}(?:a|per){SPACE}week)(?!\w)"
#: Pattern of versions, IP addresses, phone numbers, ISBNs, ...: "1.2.3", "555-1234", "24/7".
CHAIN = (
    r"(?:[0-9]++(?:[.-][0-9]++){2,}+(?:-[xX])?\w*+|[0-9]++(?:/[0-9]++){2,}+"
    r"|[0-9]{3}-[0-9]{4}(?!\w)|24/7(?!\w)|[0-9]{1,3}(?:,[0-9]{3}){10,}+)"
)
#: Pattern of a web address: "https://example.org/2015".
LINK = r"(?:https?://|www\.)\S++"
#: Pattern of the number of a source or step: "passage 2", "Sources 1 and 3", "step 4".
LABEL = (
    rf"(?ai:passages?|sources?|excerpts?|documents?|steps?){SPACE}[0-9]{{1,2}}(?!\w|,[0-9]{{3}})"
    rf"(?:(?:,|,?{SPACE}and|{SPACE}?[-–&])?{SPACE}?[0-9]{{1,2}}(?!\w|,[0-9]{{3}})){{0,9}}(?!\w|\.[0-9]):?"
)
#: Pattern of an identifier: "AB-1234", "v2.3.1", "S0"; but "USD5" is money.
IDENTIFIER = (
    r"(?:[A-Z]{1,10}-[0-9][\w-]*+|(?!(?:USD|EUR|GBP|Rs)[0-9])[^\W\d]++[0-9]\w*+(?:[.-]\w++)*+)"
)

"""Closed classes of English words, for what reads texts by their words.

Shared by what explains findings (:mod:`groundwire.explain`), by what finds conflicts
(:mod:`groundwire.detection.rules`) and by what makes mistakes to train with
(:mod:`groundwire_training.corrupt`). All words are in lower case.
"""

from collections.abc import Iterable


def words(text: str) -> frozenset[str]:
    """The words of a text, which are apart by spaces."""
    return frozenset(text.split())


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((one, other) for one, _, other in (pair.partition("/") for pair in text.split()))


def opposites_of(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """Of each word of some pairs, its opposites."""
    found: dict[str, set[str]] = {}
    for one, other in pairs:
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


# Words that are written with a capital letter and name nobody.

#: Of offices and institutions.
OFFICES = words("""
    president minister senator governor king queen prince princess pope judge doctor professor
    officer chief captain general secretary chairman director manager mayor prime mr mrs ms dr sir
    lord lady coach attorney police court state states united government party republican democrat
    democratic republicans democrats congress senate house supreme federal national international
    department north south east west northern southern eastern western
    internet web christmas easter ramadan god bible street avenue road drive place ave blvd
""")
#: Of peoples and religions.
PEOPLES = words("""
    american british english french german dutch greek swiss spanish christian muslim jewish
    islamic arab iraqi israeli pakistani saudi thai americans mexican italian chinese
    japanese indian european asian african australian canadian russian iranian ukrainian
""")
#: Of what begins a sentence.
OPENERS = words("""
    passage passages source however the this that these those there they then when while where
    what which who whom how why also according additionally overall based customers reviewers
    review reviews restaurant some many most both all other others yes no not if in on at for from
    with and but or as it its he she we you your our their his her after before during
    since until because although despite here i'm note see summary answer question instruction
""")
WEEKDAYS = words("monday tuesday wednesday thursday friday saturday sunday")
MONTHS = words("""
    january february march april may june july august september october november december
""")
CALENDAR = WEEKDAYS | MONTHS

# What a statement may turn on.

#: Opposites whatever stands around them.
OPPOSITES = _pairs("""
    increased/decreased increases/decreases increasing/decreasing higher/lower highest/lowest
    larger/smaller largest/smallest older/younger oldest/youngest longer/shorter longest/shortest
    stronger/weaker strong/weak faster/slower cheaper/costlier best/worst positive/negative
    male/female maximum/minimum majority/minority legal/illegal accepted/rejected inside/outside
    indoor/outdoor internal/external northern/southern eastern/western optional/mandatory
    enabled/disabled enables/disables allowed/forbidden bought/sold buy/sell guilty/innocent
    temporary/permanent hot/cold safe/unsafe friendly/rude casual/formal affordable/expensive
    husband/wife son/daughter father/mother brother/sister supported/opposed success/failure
    successful/unsuccessful
""")
#: Opposites in most places: good enough to explain, not to make a mistake by.
LOOSE_OPPOSITES = _pairs("""
    before/after above/below more/less most/least first/last earlier/later early/late rose/fell
    rises/falls won/lost wins/loses open/closed opened/closed opens/closes increase/decrease
    always/never always/sometimes up/down over/under north/south east/west left/right
    accepts/rejects approved/rejected started/ended began/ended parent/child teacher/student
""")
#: Verbs, third person and base.
VERBS = _pairs("""
    offers/offer provides/provide includes/include accepts/accept allows/allow
    serves/serve features/feature requires/require supports/support contains/contain takes/take
    needs/need operates/operate opens/open closes/close covers/cover works/work lives/live
    owns/own sells/sell causes/cause means/mean affects/affect produces/produce receives/receive
    occurs/occur lasts/last appears/appear remains/remain believes/believe plans/plan
    involves/involve depends/depend refers/refer has/have boasts/boast describes/describe
    recommends/recommend claims/claim wants/want mentions/mention states/state says/say
    uses/use makes/make gives/give shows/show helps/help returns/return holds/hold
    belongs/belong applies/apply exists/exist stores/store
""")
#: Pasts that do not end in "ed".
IRREGULAR_PASTS = words("""
    beat became began bought brought built came cut drew fed fell felt fought found gave got grew
    held hit kept knew led left lent let lost made meant met paid put ran read rose said sang sat
    saw sent set shot sold sought spent spoke stood swam taught thought threw told took went won
    wore wrote
""")
#: The same with their bases: "did not run" denies "ran".
PASTS = _pairs("""
    ran/run went/go won/win paid/pay bought/buy brought/bring built/build came/come drew/draw
    fought/fight found/find gave/give got/get grew/grow held/hold kept/keep knew/know led/lead
    left/leave lent/lend lost/lose made/make meant/mean met/meet rose/rise said/say saw/see
    sent/send sold/sell spent/spend spoke/speak stood/stand taught/teach thought/think
    told/tell took/take threw/throw wore/wear wrote/write began/begin became/become
""")
NEGATIONS = words("""
    not no never none neither nor nothing nobody nowhere without cannot hardly
""")
#: After "not" these leave the statement as it is: "not only".
NOT_NEGATED = words("only just merely simply necessarily")
#: Say that something is possible, expected or claimed.
HEDGES = words("""
    may might could possibly perhaps maybe likely unlikely probably presumably potentially
    reportedly allegedly alleged alleges suspected suspects suspect supposedly apparently appears
    appear seems seem suggests suggest suggested expected expects planned plans proposed proposes
    rumored rumoured unconfirmed tentative tentatively preliminary believed thought claimed
    hopes intends
""")
#: Say that it is so.
FIRM = words("""
    will must certainly certain definitely confirmed confirms confirm proven proved proves prove
    guaranteed guarantees guarantee undoubtedly undeniably surely clearly conclusively established
    demonstrated demonstrably officially always inevitably
""")
PREPOSITIONS = words("""
    of in on at by to for from with into onto over under about around between among through during
    before after above below against within upon until via near like when if because since
""")
#: Words that say nothing by themselves.
FUNCTION_WORDS = PREPOSITIONS | words("""
    a an the this that these those there here it its he him his she her hers they them their theirs
    i me my we us our ours you your yours who whom whose which what where when why how
    and or but nor so yet if then than as while because although though since unless whether
    off out up down per is are was were be been being am has have had having do does did doing done
    will would shall should can could may might must
    not no also just only very too more most less least some any all each every both either neither
    one other others such same own
""")
#: A thing said in different parts of speech, by measure: a table says "height", a sentence "tall".
MEASURES = (
    words("height high tall elevation altitude"),
    words("length long"),
    words("width wide"),
    words("depth deep"),
    words("age aged old"),
    words("weight weighs weigh weighed heavy mass"),
    words("price cost costs costing priced fee"),
    words("population inhabitants people residents"),
    words("distance away far"),
    words("speed fast"),
    words("built construction constructed building build"),
    words("founded founding established establishment"),
    words("born birth birthday"),
    words("died death dead"),
    words("opened opening opens open"),
    words("located location lies situated"),
    words("written author wrote writer"),
)

"""What it takes to verify 25 cited claims against 10 spans, and what an LLM would need for it.

``detect_hallucination`` as users call it, first with spans that were never seen, then with the same
again; the citations of the same claims as well. Work is counted, for the machine may be busy: texts
and sentences that were read, and processor time.

An LLM verifier is not called: its prompts are built, and their calls and tokens counted (word
pieces of the embedded tokenizer: about what an LLM's own counts). A prior is asked for only where
the posterior passes, as the local verifier has it.

Run it: ``python benchmarks/verify.py --out benchmarks/results/verify.json``
"""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from time import process_time
from typing import Any

import corpus
import measure

from groundwire import Detector
from groundwire.detection.example import Source
from groundwire.engine.cache import ByteCache
from groundwire.engine.reader import Reader
from groundwire.engine.runtime import KeysValues
from groundwire.verify.claims import VerifiableClaim, read_claims
from groundwire.verify.context import Contexts
from groundwire.verify.detect import detect_hallucination
from groundwire.verify.forensics import check_citations
from groundwire.verify.local import LocalVerifier
from groundwire.verify.openai import plan_groups
from groundwire.verify.prompts import Prompt, prompt_for
from groundwire.verify.verifier import ClaimQuestion, Readout

CLAIMS, SPANS = 25, 10
LIMIT_S = 2.0
#: As ``detect_hallucination`` groups by default.
GROUP_SIZE, GROUP_CHARS = 8, 24_000
TARGET = 0.95

COLUMNS = ("what", "n", "median", "q1", "q3", "cpu_s", "texts_read", "sentences_read")


class Case:
    """One answer with its spans."""

    def __init__(self, seed: int) -> None:
        """Make one up."""
        self.texts, self.answer = corpus.cited(seed, n_spans=SPANS, n_claims=CLAIMS)
        self.spans = [{"sid": sid, "text": text} for sid, text in self.texts.items()]

    @property
    def claims(self) -> tuple[VerifiableClaim, ...]:
        """What it claims."""
        return read_claims(self.answer, span_ids=list(self.texts))

    @property
    def contexts(self) -> Contexts:
        """What its claims are read with."""
        spans = [Source(id=sid, text=text) for sid, text in self.texts.items()]
        return Contexts.of(spans, mode="cited", placeholder="[REDACTED]")


def run(
    what: str,
    pairs: Sequence[tuple[Callable[[], object], Callable[[], object]]],
    verifier: LocalVerifier,
    quiet: measure.Quiet,
) -> dict[str, Any]:
    """Time calls, each after one that is not timed, and count what they did."""
    measured = [quiet.run(partial(_once, before, call, verifier)) for before, call in pairs]
    return {
        "what": what,
        **measure.summary([each["s"] for each in measured], digits=3),
        **{name: round(fmean(each[name] for each in measured), 2) for name in COLUMNS[5:]},
    }


def _once(
    before: Callable[[], object], call: Callable[[], object], verifier: LocalVerifier
) -> dict[str, float]:
    before()
    work, cpu = verifier.work, process_time()
    seconds = measure.milliseconds(call) / 1000
    done = {name: verifier.work.get(name, 0) - work.get(name, 0) for name in COLUMNS[6:]}
    return {"s": seconds, "cpu_s": process_time() - cpu, **done}


def cache_of(detector: Detector) -> ByteCache[KeysValues]:
    """What keeps the spans that were read."""
    assert isinstance(detector.backend, Reader)
    return detector.backend.shared.cache


def by_llm(cases: Sequence[Case], verifier: LocalVerifier) -> list[dict[str, Any]]:
    """Calls and tokens that an LLM needs for the same answers, one claim a call and grouped."""
    pieces = corpus.word_pieces()
    rows = []
    for what, size in (("one claim a call", 1), ("claims grouped", GROUP_SIZE)):
        calls = prompt_tokens = written = 0
        for case in cases:
            for questions in rounds(case, verifier):
                for prompt in prompts(questions, size):
                    calls += 1
                    prompt_tokens += len(pieces.encode(prompt.text))
                    # A letter for each claim, and the line breaks between them.
                    written += 2 * prompt.n - 1
        n = len(cases)
        rows.append(
            {
                "what": what,
                "calls": round(calls / n, 1),
                "prompt_tokens": round(prompt_tokens / n),
                "written_tokens": round(written / n),
            }
        )
    return rows


def rounds(case: Case, verifier: LocalVerifier) -> tuple[list[ClaimQuestion], list[ClaimQuestion]]:
    """What is asked with the evidence, and then of those that pass without it."""
    claims = [claim for claim in case.claims if claim.cites]
    posteriors = [case.contexts.posterior(claim) for claim in claims]
    answers = verifier.judge(posteriors)
    passed = [
        claim
        for claim, answer in zip(claims, answers, strict=True)
        if isinstance(answer, Readout) and answer.yes.low >= TARGET
    ]
    return posteriors, [case.contexts.prior(claim) for claim in passed]


def prompts(questions: Sequence[ClaimQuestion], size: int) -> list[Prompt]:
    """What is sent."""
    distinct = list(dict.fromkeys(questions))
    groups = plan_groups(distinct, max_size=size, max_chars=GROUP_CHARS)
    return [prompt_for([each.claim for each in group], group[0].evidence) for group in groups]


def main() -> None:
    """Print the tables, and write them as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=10, help="answers")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--patience", type=float, default=60, help=measure.PATIENCE)
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    options = parser.parse_args()
    machine, quiet = measure.machine(), measure.Quiet(options.patience)
    detector = Detector.load(threads=options.threads)
    verifier, forget = LocalVerifier.of(detector), cache_of(detector).clear
    cases = [Case(seed) for seed in range(options.n + 1)]
    warm_up, *cases = cases

    def verify(case: Case) -> Callable[[], object]:
        return lambda: detect_hallucination(case.answer, case.spans, verifier=verifier)

    def forensics(case: Case) -> Callable[[], object]:
        return lambda: check_citations(case.claims, case.contexts.evidence, verifier)

    verify(warm_up)()
    rows = [
        run("spans never seen", [(forget, verify(case)) for case in cases], verifier, quiet),
        run("the same again", [(verify(case), verify(case)) for case in cases], verifier, quiet),
        run(
            "citations of the same claims",
            [(verify(case), forensics(case)) for case in cases],
            verifier,
            quiet,
        ),
    ]
    print(measure.table(rows, COLUMNS))
    llm = by_llm(cases, verifier)
    print(measure.table(llm, list(llm[0])))
    bars = [
        measure.bar(
            f"{CLAIMS} claims, {SPANS} spans never seen, {options.threads} threads",
            LIMIT_S,
            rows[0]["median"],
            "s",
        )
    ]
    measure.print_bars(bars)
    report = {
        "benchmark": "verify",
        "machine": machine,
        **quiet.to_dict(),
        "claims": CLAIMS,
        "spans": SPANS,
        "rows": rows,
        "llm": llm,
        "bars": bars,
    }
    measure.write(options.out, report)


if __name__ == "__main__":
    main()

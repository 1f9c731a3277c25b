/** What the gateway returns for a check, and what a result means. */

/** The outcome of a check, from the worst to the best. */
export type Outcome =
  | "hallucinated"
  | "unavailable"
  | "partial"
  | "unverified"
  | "skipped"
  | "grounded";

/** The label of a stretch of an answer. */
export type Label = "supported" | "unsupported" | "contradicted" | "unchecked";

/** An outcome in the terms of a guardrail. Everything that was not checked in full is "not checked". */
export type Status = "passed" | "failed" | "not checked";

/** A stretch of a source. Offsets count Unicode code points. */
export interface EvidenceRef {
  source_id: string;
  start: number;
  end: number;
  text: string;
}

/** Words of the answer that its sources do not support. `[...answer].slice(start, end)` are the words. */
export interface Span {
  start: number;
  end: number;
  text: string;
  label: Label;
  /** P(not supported), in [0, 1]; null if the detector compares. */
  probability: number | null;
  /** Cosine to the nearest source; null if the detector gives probabilities. */
  similarity: number | null;
  /** From 0 (entailed) to 4 (contradicted). */
  severity: number;
  evidence: EvidenceRef[];
}

/** One statement of the answer. */
export interface Claim {
  start: number;
  end: number;
  text: string;
  label: Label;
  probability: number | null;
  similarity: number | null;
  /** Why the claim was not checked; null if it was. */
  reason: string | null;
  evidence: EvidenceRef[];
}

/** How much of the evidence and of the answer was read, as shares in [0, 1]. */
export interface Coverage {
  indexed: number;
  attended: number;
  answer: number;
  /** How often each reason kept something from being checked. */
  reasons: Record<string, number>;
}

/** The result for an answer with its sources. */
export interface Detection {
  outcome: Outcome;
  /** P(something is not supported), in [0, 1]; null if nothing was judged. */
  probability: number | null;
  similarity: number | null;
  spans: Span[];
  claims: Claim[];
  coverage: Coverage;
}

/** The result for one answer of a conversation. */
export interface Checked {
  index: number;
  outcome: Outcome;
  /** Why there is no detection; null if there is one. */
  reason: string | null;
  action: string;
  detection: Detection | null;
  explanations: { start: number; end: number; text: string }[];
}

/** The result for a conversation: the worst outcome, and the result of each answer. */
export interface CheckedResponse {
  outcome: Outcome;
  action: string;
  answers: Checked[];
}

/** Return what an outcome means to a guardrail. */
export function statusOf(outcome: Outcome): Status {
  if (outcome === "grounded") return "passed";
  return outcome === "hallucinated" ? "failed" : "not checked";
}

const OUTCOMES: Partial<Record<Outcome, string>> = {
  unavailable: "the check failed",
  partial: "not all of it could be read",
  unverified: "there is no evidence",
  skipped: "no check was needed",
};

/** Return why an answer failed, or why it was not checked; an empty text if it passed. */
export function reasonOf(checked: Checked): string {
  const { outcome, explanations, detection } = checked;
  if (outcome === "grounded") return "";
  if (outcome === "hallucinated") {
    const found = explanations.length
      ? explanations.map((each) => each.text)
      : (detection?.spans ?? []).map((span) => `The evidence does not say "${span.text}".`);
    return found.join(" ");
  }
  const why = checked.reason ? [checked.reason] : Object.keys(detection?.coverage.reasons ?? {});
  return `Not checked: ${[OUTCOMES[outcome] ?? outcome, ...why].join("; ")}.`;
}

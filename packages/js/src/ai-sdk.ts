/** A middleware for language models of the AI SDK, which checks each answer at a gateway. */

import type { LanguageModelMiddleware } from "ai";
import { Groundwire, GroundwireError, type Source } from "./client.js";
import { type Call, type Result, Said, type StreamPart } from "./prompt.js";
import { type Outcome, reasonOf, type Status, statusOf } from "./results.js";

/** The verdict on an answer; it stands in `providerMetadata.groundwire`. */
export type Verdict = {
  status: Status;
  outcome: Outcome;
  /** Why it failed or was not checked. Left out if the answer was withheld, since it quotes it. */
  reason?: string;
  /** The unsupported words, by Unicode code points. Left out if the answer was withheld. */
  spans?: { start: number; end: number; text: string }[];
};

/** What is done about an answer. */
export interface GroundednessSettings {
  client: Groundwire;
  /** The evidence. By default all that the call gives the model: results of tools, system prompt, messages. */
  sources?: readonly Source[] | ((call: Call) => readonly Source[] | PromiseLike<readonly Source[]>);
  /**
   * `annotate` (default): answers keep their text, and streams pass through. `block`: an unsupported
   * answer is replaced, and a stream is held back until its answer is checked.
   */
  action?: "annotate" | "block";
  /** With `block`: whether answers that could not be checked are replaced too. */
  blockUnchecked?: boolean;
  /** The text in place of a withheld answer. */
  withheld?: string;
}

const WITHHELD = "This answer was withheld, because the evidence does not support it.";

/** Return a middleware for `wrapLanguageModel`, which checks each answer of the model. */
export function groundedness(settings: GroundednessSettings): LanguageModelMiddleware {
  const { action = "annotate", withheld = WITHHELD } = settings;
  return {
    specificationVersion: "v4",

    async wrapGenerate({ doGenerate, params }) {
      const result = await doGenerate();
      const said = new Said();
      result.content.forEach((part) => said.add(part));
      said.end(result.finishReason);
      const verdict = await judge(settings, params, said);
      if (!verdict) return result;
      if (withholds(settings, verdict)) return replaced(result, verdict, withheld);
      return { ...result, providerMetadata: { ...result.providerMetadata, groundwire: verdict } };
    },

    async wrapStream({ doStream, params }) {
      const { stream, ...rest } = await doStream();
      const said = new Said();
      const held: StreamPart[] = [];
      const checked = new TransformStream<StreamPart, StreamPart>({
        async transform(part, controller) {
          said.add(part);
          if (part.type !== "finish") {
            if (action === "block" && !EARLY.has(part.type)) held.push(part);
            else controller.enqueue(part);
            return;
          }
          const verdict = await judge(settings, params, said);
          if (verdict && withholds(settings, verdict)) {
            for (const each of withoutWords(held)) controller.enqueue(each);
            for (const each of block(withheld)) controller.enqueue(each);
            controller.enqueue({ ...part, finishReason: FILTERED, providerMetadata: told(verdict) });
          } else {
            for (const each of held) controller.enqueue(each);
            const metadata = { ...part.providerMetadata, ...(verdict && { groundwire: verdict }) };
            controller.enqueue({ ...part, providerMetadata: metadata });
          }
          held.length = 0;
        },
        flush(controller) {
          // The stream broke off: what was held is not checked, and stays back.
          for (const each of withoutWords(held)) controller.enqueue(each);
        },
      });
      return { ...rest, stream: stream.pipeThrough(checked) };
    },
  };
}

/** Parts of a stream without words of the answer, which are never held back. */
const EARLY = new Set<StreamPart["type"]>(["stream-start", "response-metadata", "ping"]);
const FILTERED = { unified: "content-filter", raw: "groundwire" } as const;

/** Return the verdict on what a model said; undefined if that is no answer. */
async function judge(
  { client, sources }: GroundednessSettings,
  call: Call,
  said: Said,
): Promise<Verdict | undefined> {
  if (said.callsTools || !said.text.trim()) return undefined;
  try {
    const given = typeof sources === "function" ? await sources(call) : sources;
    const options = call.abortSignal ? { signal: call.abortSignal } : {};
    const { answers } = await client.check(said.conversation(call, given), options);
    const checked = answers[0];
    if (!checked) return failure("the gateway found no answer");
    const spans = (checked.detection?.spans ?? []).map(({ start, end, text }) => ({ start, end, text }));
    const { outcome } = checked;
    return { status: statusOf(outcome), outcome, reason: reasonOf(checked), spans };
  } catch (error) {
    if (error instanceof GroundwireError) return failure(error.message);
    throw error;
  }
}

function failure(message: string): Verdict {
  return { status: "not checked", outcome: "unavailable", reason: `Not checked: ${message}`, spans: [] };
}

function withholds({ action, blockUnchecked }: GroundednessSettings, verdict: Verdict): boolean {
  if (action !== "block" || verdict.outcome === "skipped") return false;
  return verdict.status === "failed" || (!!blockUnchecked && verdict.status !== "passed");
}

function told({ status, outcome }: Verdict): { groundwire: Verdict } {
  return { groundwire: { status, outcome } };
}

/** Return a result without the words of its answer, its reasoning, and what the provider sent. */
function replaced(result: Result, verdict: Verdict, text: string): Result {
  const { structuredOutputText: _, ...rest } = result;
  const kept = result.content.filter((part) => !/^(text|reasoning)/.test(part.type));
  return {
    ...rest,
    content: [...kept, { type: "text", text }],
    finishReason: FILTERED,
    providerMetadata: told(verdict),
    ...(result.response && { response: { ...result.response, body: undefined } }),
  };
}

function withoutWords(parts: readonly StreamPart[]): StreamPart[] {
  return parts.filter((part) => !/^(text|reasoning|raw)/.test(part.type));
}

function block(text: string): StreamPart[] {
  const id = "groundwire";
  return [
    { type: "text-start", id },
    { type: "text-delta", id, delta: text },
    { type: "text-end", id },
  ];
}

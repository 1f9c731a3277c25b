/** A client for the endpoint `/v1/check` of a gateway. */

import type { CheckedResponse, Detection } from "./results.js";

/** A source: a text, or an object with a text, or JSON data. */
export type Source = string | { id?: string; title?: string; text: string } | Record<string, unknown>;

/** An answer with what it must rest on. */
export interface Answer {
  answer: string;
  sources: readonly Source[];
  /** The question; it is never evidence. */
  question?: string;
  /** The operating point; by default that of the gateway. */
  operating_point?: "precision" | "balanced" | "recall" | number;
}

/** A chat request with its response, as the API of OpenAI has them. The evidence is in the request. */
export interface Conversation {
  request: Record<string, unknown>;
  response: Record<string, unknown>;
}

/** Settings of a client. */
export interface Settings {
  /** The address of the gateway, without `/v1`. */
  baseURL: string;
  /** A key of the gateway; a gateway that runs with `--local-demo` needs none. */
  apiKey?: string;
  /** How long a check may take, in milliseconds; by default 30,000. */
  timeoutMs?: number;
  /** Used in place of the global `fetch`. */
  fetch?: typeof fetch;
}

/** A check that did not happen: the gateway refused it, cannot be reached, or took too long. */
export class GroundwireError extends Error {
  override name = "GroundwireError";

  constructor(
    message: string,
    /** The HTTP status; undefined without a response. */
    readonly status?: number,
    /** What happened, for programs, such as `invalid_input`. */
    readonly code?: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Checks answers at a gateway. */
export class Groundwire {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /**
   * Check an answer with its sources, or the answers of a conversation.
   *
   * @throws {GroundwireError} If the check did not happen. An aborted signal throws its own reason.
   */
  check(answer: Answer, options?: { signal?: AbortSignal }): Promise<Detection>;
  check(conversation: Conversation, options?: { signal?: AbortSignal }): Promise<CheckedResponse>;
  async check(
    body: Answer | Conversation,
    options: { signal?: AbortSignal } = {},
  ): Promise<Detection | CheckedResponse> {
    const { baseURL, apiKey, timeoutMs = 30_000, fetch: ask = fetch } = this.#settings;
    const { signal } = options;
    const headers: Record<string, string> = { "Content-Type": "application/json" };
    if (apiKey) headers["X-Groundwire-Key"] = apiKey;
    const timeout = AbortSignal.timeout(timeoutMs);
    let response: Response, text: string;
    try {
      response = await ask(`${baseURL.replace(/\/+$/, "")}/v1/check`, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      });
      text = await response.text();
    } catch (cause) {
      signal?.throwIfAborted();
      throw new GroundwireError(
        timeout.aborted
          ? `The gateway did not answer within ${timeoutMs} ms. Raise timeoutMs, or look at its log.`
          : `The gateway at ${baseURL} cannot be reached. Is groundwire serve running there?`,
        undefined,
        undefined,
        { cause },
      );
    }
    const data = parsed(text);
    if (!response.ok || !isResult(data)) throw refused(response.status, data);
    return data;
  }
}

function isResult(data: unknown): data is Detection | CheckedResponse {
  return typeof data === "object" && data !== null && "outcome" in data;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refused(status: number, data: unknown): GroundwireError {
  const error = (data as { error?: { message?: string; next_step?: string; code?: string } })?.error;
  if (!error) {
    return new GroundwireError(
      `Status ${status} and no result in JSON. Is baseURL the address of a Groundwire gateway?`,
      status,
    );
  }
  const message = [error.message, error.next_step].filter(Boolean).join(" ");
  return new GroundwireError(message, status, error.code);
}

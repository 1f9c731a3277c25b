/** A call of the AI SDK as a conversation that the gateway reads. */

import type { LanguageModelMiddleware } from "ai";
import type { Conversation, Source } from "./client.js";

export type Model = Parameters<NonNullable<LanguageModelMiddleware["wrapGenerate"]>>[0];
export type Call = Model["params"];
export type Result = Awaited<ReturnType<Model["doGenerate"]>>;
export type StreamPart =
  Awaited<ReturnType<Model["doStream"]>>["stream"] extends ReadableStream<infer Part> ? Part : never;
type Message = Call["prompt"][number];
type Part = Exclude<Message["content"], string>[number];
type Output = Extract<Part, { type: "tool-result" }>["output"];
type Row = Record<string, unknown>;

/** What a model has written in one call. */
export class Said {
  text = "";
  /** Whether the application has to run a tool, so that the answer is still to come. */
  callsTools = false;
  isCutOff = false;
  /** Results of tools that ran at the provider: the model has read them. */
  readonly #results: Row[] = [];

  /** Note a part of a result or of a stream. */
  add(part: Result["content"][number] | StreamPart): void {
    if (part.type === "text") this.text += part.text;
    if (part.type === "text-delta") this.text += part.delta;
    if (part.type === "tool-call" && !part.providerExecuted) this.callsTools = true;
    if (part.type === "tool-result") {
      this.#results.push(...toolRows(part.toolCallId, part.toolName, JSON.stringify(part.result)));
    }
    if (part.type === "finish") this.end(part.finishReason);
  }

  /** Note why the answer ends: after some reasons it is not complete. */
  end(reason: Result["finishReason"]): void {
    this.isCutOff = ["length", "content-filter", "error"].includes(reason.unified);
  }

  /** Return the conversation to check. */
  conversation(call: Call, sources: readonly Source[] | undefined): Conversation {
    return {
      request: {
        messages: [...call.prompt.flatMap(rows), ...this.#results],
        // The fields of a structured answer are checked one by one, by the schema if there is one.
        ...(call.responseFormat?.type === "json" && { response_format: formatOf(call.responseFormat.schema) }),
        ...(sources && { metadata: { "grounding.sources": sources } }),
      },
      response: {
        choices: [
          {
            index: 0,
            message: { role: "assistant", content: this.text },
            finish_reason: this.isCutOff ? "length" : "stop",
          },
        ],
      },
    };
  }
}

function formatOf(schema: unknown): Row {
  return schema ? { type: "json_schema", json_schema: { name: "answer", schema } } : { type: "json_object" };
}

function rows(message: Message): Row[] {
  if (message.role === "system") return [{ role: "system", content: message.content }];
  const parts: Part[] = message.content;
  const content = parts.flatMap((part): Row[] => {
    if (part.type === "text") return [{ type: "text", text: part.text }];
    return part.type === "file" ? [UNREAD] : [];
  });
  const results = parts.flatMap((part) =>
    part.type === "tool-result" ? toolRows(part.toolCallId, part.toolName, contentOf(part.output)) : [],
  );
  return content.length ? [{ role: message.role, content }, ...results] : results;
}

/** Stands for a file: its bytes are not sent, and the gateway says that it was not read. */
const UNREAD = { type: "file", file: {} };

function toolRows(id: string, name: string, content: string | Row[]): Row[] {
  const call = { id, type: "function", function: { name, arguments: "{}" } };
  return [
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: id, content },
  ];
}

function contentOf(output: Output): string | Row[] {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value;
    case "json":
    case "error-json":
      return JSON.stringify(output.value);
    case "content":
      return output.value.map((each) => (each.type === "text" ? { type: "text", text: each.text } : UNREAD));
    default:
      return "";
  }
}

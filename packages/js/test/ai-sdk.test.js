import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { generateText, jsonSchema, NoObjectGeneratedError, Output, streamText, tool, wrapLanguageModel } from "ai";
import { MockLanguageModelV4, convertArrayToReadableStream } from "ai/test";
import { Groundwire } from "groundwire";
import { groundedness } from "groundwire/ai-sdk";
import { QUESTION, RIGHT, serve, TOWER, WRONG } from "./gateway.js";

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const STOP = { unified: "stop", raw: "stop" };
const CALL = { type: "tool-call", toolCallId: "1", toolName: "landmark", input: '{"name": "Eiffel Tower"}' };
const landmark = tool({
  description: "Facts about a landmark.",
  inputSchema: jsonSchema({ type: "object", properties: { name: { type: "string" } } }),
  execute: async () => ({ height: "330 metres", completed: 1889 }),
});

let gateway;
let client;

before(async () => {
  gateway = await serve();
  client = new Groundwire({ baseURL: gateway.url });
});
after(() => gateway?.stop());

/** A model that says what each call is to say: a text, or parts of content. */
function scripted(...calls) {
  const said = () => {
    const next = calls.shift();
    return typeof next === "string" ? [{ type: "text", text: next }] : next;
  };
  return new MockLanguageModelV4({
    doGenerate: async () => {
      const content = said();
      const kept = { response: { body: { content } }, providerMetadata: { scripted: { logprobs: content } } };
      return { content, finishReason: STOP, usage: USAGE, warnings: [], ...kept };
    },
    doStream: async () => {
      const parts = [{ type: "stream-start", warnings: [] }, ...said().flatMap(pieces)];
      parts.push({ type: "finish", finishReason: STOP, usage: USAGE });
      return { stream: convertArrayToReadableStream(parts) };
    },
  });
}

/** The parts of a stream for a part of content: texts come word by word. */
function pieces({ type, text }) {
  const words = text.split(/(?<= )/).map((delta) => ({ type: `${type}-delta`, id: "0", delta }));
  return [{ type: `${type}-start`, id: "0" }, ...words, { type: `${type}-end`, id: "0" }];
}

const model = (calls, settings) =>
  wrapLanguageModel({ model: scripted(...calls), middleware: groundedness({ client, ...settings }) });
const verdict = (step) => step.providerMetadata?.groundwire;

async function generated(answer, settings) {
  const include = { responseBody: true };
  return generateText({ model: model([answer], { sources: [TOWER], ...settings }), prompt: QUESTION, include });
}

/** What a stream shows, part by part. */
async function streamed(answer, settings) {
  const given = { sources: [TOWER], ...settings };
  const result = streamText({ model: model([answer], given), prompt: QUESTION, onError: () => {} });
  const parts = [];
  for await (const part of result.fullStream) parts.push(part);
  const text = parts.flatMap((part) => (part.type === "text-delta" ? [part.text] : []));
  const finished = parts.find((part) => part.type === "finish-step");
  return { parts, text, verdict: finished && verdict(finished), finished };
}

test("an unsupported answer is annotated with the reason", async () => {
  const result = await generated(WRONG);
  assert.equal(result.text, WRONG);
  assert.match(JSON.stringify(result.steps[0].response.body), /500 m/);
  const found = verdict(result.steps[0]);
  assert.deepEqual([found.status, found.outcome], ["failed", "hallucinated"]);
  assert.match(found.reason, /330 metres/);
  assert.equal(found.spans[0].text, "500 metres");
});

test("a supported answer passes and keeps what the provider said", async () => {
  for (const action of ["annotate", "block"]) {
    const sources = async (call) => (call.prompt.length ? [TOWER] : []);
    const result = await generated(RIGHT, { action, sources });
    assert.equal(result.text, RIGHT);
    assert.equal(verdict(result.steps[0]).status, "passed");
    assert.ok(result.steps[0].providerMetadata.scripted);
    assert.equal(result.finishReason, "stop");
  }
});

test("a blocked answer leaves no trace in the result", async () => {
  const result = await generated([{ type: "reasoning", text: WRONG }, { type: "text", text: WRONG }], {
    action: "block",
  });
  assert.match(result.text, /was withheld/);
  assert.equal(result.finishReason, "content-filter");
  assert.deepEqual(verdict(result.steps[0]), { status: "failed", outcome: "hallucinated" });
  assert.doesNotMatch(JSON.stringify([result, result.steps, result.steps[0].response]), /500 m/);
});

test("an answer without evidence is not checked, and is withheld on request only", async () => {
  const given = { sources: [], action: "block" };
  const result = await generated(WRONG, given);
  assert.equal(result.text, WRONG);
  assert.equal(verdict(result.steps[0]).status, "not checked");
  assert.match(verdict(result.steps[0]).reason, /there is no evidence/);
  const withheld = await generated(WRONG, { ...given, blockUnchecked: true, withheld: "Sorry." });
  assert.equal(withheld.text, "Sorry.");
});

test("a greeting is never withheld", async () => {
  const result = await generated("You're welcome!", { action: "block", blockUnchecked: true });
  assert.equal(result.text, "You're welcome!");
  assert.equal(verdict(result.steps[0]).outcome, "skipped");
});

test("without a gateway the answer is not checked", async () => {
  const nowhere = { client: new Groundwire({ baseURL: "http://127.0.0.1:9" }), action: "block" };
  const result = await generated(RIGHT, nowhere);
  assert.equal(result.text, RIGHT);
  assert.deepEqual(verdict(result.steps[0]).outcome, "unavailable");
  assert.match((await generated(RIGHT, { ...nowhere, blockUnchecked: true })).text, /was withheld/);
});

test("results of tools are evidence, and a call of a tool is no answer", async () => {
  const ask = async (answer) => {
    const { steps } = await generateText({
      model: model([[CALL], answer]),
      tools: { landmark },
      stopWhen: ({ steps }) => steps.length === 2,
      prompt: QUESTION,
    });
    return steps.map((step) => verdict(step)?.status);
  };
  assert.deepEqual(await ask(WRONG), [undefined, "failed"]);
  assert.deepEqual(await ask(RIGHT), [undefined, "passed"]);
});

test("the system prompt is evidence, and results of tools of the provider are", async () => {
  const instructions = `Answer from this text: ${TOWER}`;
  const result = await generateText({ model: model([WRONG]), instructions, prompt: QUESTION });
  assert.equal(verdict(result.steps[0]).status, "failed");
  const searched = [
    { ...CALL, toolName: "search", providerExecuted: true },
    { type: "tool-result", toolCallId: "1", toolName: "search", result: { text: TOWER } },
    { type: "text", text: WRONG },
  ];
  const found = await generateText({ model: model([searched]), prompt: QUESTION });
  assert.equal(verdict(found.steps[0]).status, "failed");
});

test("a file in a tool result is evidence that was not read", async () => {
  const picture = tool({
    inputSchema: jsonSchema({ type: "object" }),
    execute: async () => "AAAA",
    toModelOutput: () => ({
      type: "content",
      value: [
        { type: "text", text: TOWER },
        { type: "file", mediaType: "image/png", data: { type: "data", data: "AAAA" } },
      ],
    }),
  });
  const { steps } = await generateText({
    model: model([[CALL], RIGHT]),
    tools: { landmark: picture },
    stopWhen: ({ steps }) => steps.length === 2,
    prompt: QUESTION,
  });
  assert.deepEqual(verdict(steps[1]).status, "not checked");
  assert.match(verdict(steps[1]).reason, /unread_evidence/);
});

test("the fields of a structured answer are checked", async () => {
  const schema = jsonSchema({ type: "object", properties: { height: { type: "string" } }, required: ["height"] });
  const ask = (height, settings) =>
    generateText({
      model: model([JSON.stringify({ height })], { sources: [TOWER], ...settings }),
      output: Output.object({ schema }),
      prompt: QUESTION,
    });
  const right = await ask("330 metres");
  assert.deepEqual([right.output.height, verdict(right.steps[0]).status], ["330 metres", "passed"]);
  assert.equal(verdict((await ask("500 metres")).steps[0]).status, "failed");
  const blocked = ask("500 metres", { action: "block" });
  await assert.rejects(async () => (await blocked).output, NoObjectGeneratedError);
});

test("a value that the schema allows is checked by the schema", async () => {
  const properties = { height: { type: "string" }, kind: { type: "string", enum: ["LANDMARK", "OTHER"] } };
  const found = await generateText({
    model: model([JSON.stringify({ height: "330 metres", kind: "LANDMARK" })], { sources: [TOWER] }),
    output: Output.object({ schema: jsonSchema({ type: "object", properties }) }),
    prompt: QUESTION,
  });
  assert.equal(verdict(found.steps[0]).status, "passed");
});

test("an answer that the provider's filter cut off is not judged to its end", async () => {
  const middleware = groundedness({ client, sources: [TOWER] });
  const cut = new MockLanguageModelV4({
    doGenerate: async () => ({
      content: [{ type: "text", text: "It is 330 metres tall. It was completed in 18" }],
      finishReason: { unified: "content-filter", raw: "filter" },
      usage: USAGE,
      warnings: [],
    }),
  });
  const found = await generateText({ model: wrapLanguageModel({ model: cut, middleware }), prompt: QUESTION });
  assert.equal(verdict(found.steps[0]).status, "not checked");
});

test("an annotated stream passes through, with the verdict at its end", async () => {
  const words = WRONG.split(/(?<= )/);
  const found = await streamed(WRONG);
  assert.deepEqual(found.text, words);
  assert.equal(found.verdict.status, "failed");
  assert.equal((await streamed(RIGHT)).verdict.status, "passed");
  assert.equal((await streamed(RIGHT, { sources: [] })).verdict.status, "not checked");
});

test("a blocked stream is held back until it is checked", async () => {
  const right = await streamed(RIGHT, { action: "block" });
  assert.equal(right.text.join(""), RIGHT);
  assert.equal(right.verdict.status, "passed");
  const said = [{ type: "reasoning", text: WRONG }, { type: "text", text: WRONG }];
  const wrong = await streamed(said, { action: "block" });
  assert.match(wrong.text.join(""), /was withheld/);
  assert.equal(wrong.finished.finishReason, "content-filter");
  assert.doesNotMatch(JSON.stringify(wrong.parts), /500 m/);
});

test("of a stream that breaks off nothing is shown that was held back", async () => {
  const broken = {
    specificationVersion: "v4",
    wrapStream: async ({ doStream }) => {
      const { stream } = await doStream();
      let n = 0;
      const cut = new TransformStream({
        transform: (part, controller) => (++n > 6 ? controller.terminate() : controller.enqueue(part)),
      });
      return { stream: stream.pipeThrough(cut) };
    },
  };
  for (const [action, shown] of [["annotate", true], ["block", false]]) {
    const inner = wrapLanguageModel({ model: scripted(WRONG), middleware: broken });
    const outer = wrapLanguageModel({
      model: inner,
      middleware: groundedness({ client, sources: [TOWER], action }),
    });
    const result = streamText({ model: outer, prompt: QUESTION, onError: () => {} });
    let text = "";
    for await (const part of result.fullStream) if (part.type === "text-delta") text += part.text;
    assert.equal(text !== "", shown, action);
  }
});

test("the snippet of the README runs", async () => {
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const code = /```js\n(.*?)```/s.exec(readme)[1];
  const body = code
    .replace(/^import .*\n/gm, "")
    .replace('"http://127.0.0.1:8080"', "url");
  const run = new Function("url", "openai", "question", "passages", "wrapLanguageModel", "generateText", "Groundwire", "groundedness", "console", `return (async () => {${body}})()`);
  const printed = [];
  const openai = () => scripted(WRONG);
  await run(gateway.url, openai, QUESTION, [TOWER], wrapLanguageModel, generateText, Groundwire, groundedness, {
    log: (...values) => printed.push(...values),
  });
  assert.equal(printed[0], "failed");
  assert.match(printed[1], /330 metres/);
});

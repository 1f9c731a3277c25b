import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Groundwire, GroundwireError, statusOf } from "groundwire";
import { QUESTION, RIGHT, serve, TOWER, WRONG } from "./gateway.js";

let gateway;
let client;

before(async () => {
  gateway = await serve();
  client = new Groundwire({ baseURL: gateway.url });
});
after(() => gateway?.stop());

test("unsupported words of an answer are marked", async () => {
  const found = await client.check({ question: QUESTION, sources: [TOWER], answer: WRONG });
  assert.equal(statusOf(found.outcome), "failed");
  const [span] = found.spans;
  assert.equal(span.text, "500 metres");
  assert.equal([...WRONG].slice(span.start, span.end).join(""), "500 metres");
});

test("a supported answer passes", async () => {
  const found = await client.check({ sources: [{ id: "guide", text: TOWER }], answer: RIGHT });
  assert.equal(statusOf(found.outcome), "passed");
});

test("an answer without sources is not checked", async () => {
  const found = await client.check({ sources: [], answer: RIGHT });
  assert.equal(statusOf(found.outcome), "not checked");
  assert.deepEqual(found.coverage.reasons, { no_evidence: 1 });
});

test("the evidence of a conversation is in its request", async () => {
  const found = await client.check({
    request: { messages: [{ role: "system", content: TOWER }, { role: "user", content: QUESTION }] },
    response: { choices: [{ message: { role: "assistant", content: WRONG } }] },
  });
  assert.equal(found.outcome, "hallucinated");
  assert.match(found.answers[0].explanations[0].text, /330 metres/);
});

test("a refusal says what to do", async () => {
  await assert.rejects(client.check({ sources: [TOWER], answer: "" }), (error) => {
    assert.ok(error instanceof GroundwireError);
    assert.deepEqual([error.status, error.code], [400, "invalid_input"]);
    assert.match(error.message, /The answer is empty/);
    return true;
  });
});

test("a gateway that is not there is an error, and so is a page that is no gateway", async () => {
  const nowhere = new Groundwire({ baseURL: "http://127.0.0.1:9" });
  await assert.rejects(nowhere.check({ sources: [TOWER], answer: RIGHT }), /cannot be reached/);
  for (const body of ["<html>", "{}", "[]", "null"]) {
    const page = async () => new Response(body, { status: 200 });
    const other = new Groundwire({ baseURL: "http://127.0.0.1", fetch: page });
    await assert.rejects(other.check({ sources: [TOWER], answer: RIGHT }), /no result in JSON/);
  }
});

test("a check ends when it takes too long, or when its caller aborts it", async () => {
  const never = (_, { signal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  // A timer of AbortSignal.timeout does not keep the process alive.
  const alive = setInterval(() => {}, 1000);
  const slow = new Groundwire({ baseURL: "http://127.0.0.1", fetch: never, timeoutMs: 20 });
  await assert.rejects(slow.check({ sources: [TOWER], answer: RIGHT }), /within 20 ms/);
  const signal = AbortSignal.abort(new Error("the user left"));
  await assert.rejects(client.check({ sources: [TOWER], answer: RIGHT }, { signal }), /the user left/);
  clearInterval(alive);
});

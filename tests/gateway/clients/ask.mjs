// Asks one Node client for each line of standard input, and prints a line of JSON with what it showed.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, generateText, streamObject, streamText } from "ai";
import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { createInterface } from "node:readline";
import { inspect } from "node:util";
import { z } from "zod";

const Tower = z.object({ built: z.string(), height: z.number() });

// openai-node

const chat = (asked) => ({ model: asked.model, messages: [{ role: "user", content: asked.prompt }] });
const form = { response_format: zodResponseFormat(Tower, "Tower") };
const textForm = { text: { format: zodTextFormat(Tower, "Tower") } };

const ends = (response) => response.incomplete_details?.reason ?? response.status;

const openaiNode = {
  async "chat/completions text"(client, asked, got) {
    const said = await client.chat.completions.create(chat(asked));
    got.text = said.choices[0].message.content;
    got.ended = said.choices[0].finish_reason;
  },
  async "chat/completions text stream"(client, asked, got) {
    for await (const chunk of await client.chat.completions.create({ ...chat(asked), stream: true })) {
      for (const choice of chunk.choices) {
        got.text += choice.delta.content ?? "";
        got.ended = choice.finish_reason ?? got.ended;
      }
    }
  },
  async "chat/completions object"(client, asked, got) {
    const said = await client.chat.completions.parse({ ...chat(asked), ...form });
    got.value = said.choices[0].message.parsed;
    got.ended = said.choices[0].finish_reason;
  },
  async "chat/completions object stream"(client, asked, got) {
    const stream = client.chat.completions.stream({ ...chat(asked), ...form });
    for await (const chunk of stream) got.text += chunk.choices[0]?.delta.content ?? "";
    const said = await stream.finalChatCompletion();
    got.value = said.choices[0].message.parsed;
    got.ended = said.choices[0].finish_reason;
  },
  async "responses text"(client, asked, got) {
    const said = await client.responses.create({ model: asked.model, input: asked.prompt });
    got.text = said.output_text;
    got.ended = ends(said);
  },
  async "responses text stream"(client, asked, got) {
    const stream = client.responses.stream({ model: asked.model, input: asked.prompt });
    for await (const event of stream) {
      if (event.type === "response.output_text.delta") got.text += event.delta;
    }
    got.ended = ends(await stream.finalResponse());
  },
  async "responses object"(client, asked, got) {
    const said = await client.responses.parse({ model: asked.model, input: asked.prompt, ...textForm });
    got.value = said.output_parsed;
    got.ended = ends(said);
  },
  async "responses object stream"(client, asked, got) {
    const stream = client.responses.stream({ model: asked.model, input: asked.prompt, ...textForm });
    for await (const event of stream) {
      if (event.type === "response.output_text.delta") got.text += event.delta;
    }
    const said = await stream.finalResponse();
    got.value = said.output_parsed;
    got.ended = ends(said);
  },
};

// AI SDK

const sdkModels = {
  "@ai-sdk/openai chat/completions": (to, model) => createOpenAI(to).chat(model),
  "@ai-sdk/openai responses": (to, model) => createOpenAI(to)(model),
  "@ai-sdk/openai-compatible chat/completions": (to, model) =>
    createOpenAICompatible({ ...to, name: "own", supportsStructuredOutputs: true })(model),
  "@ai-sdk/anthropic messages": (to, model) => createAnthropic(to)(model),
};

const aiSdk = {
  async text(model, asked, got) {
    const said = await generateText({ model, prompt: asked.prompt });
    got.text = said.text;
    got.ended = said.finishReason;
    got.seen.push(inspect(said, { depth: 9 }));
  },
  async "text stream"(model, asked, got) {
    // Without onError the kit prints errors, and its stream of texts ends as if all were well.
    const stream = streamText({ model, prompt: asked.prompt, onError: ({ error }) => tell(error, got) });
    for await (const piece of stream.textStream) got.text += piece;
    got.ended ||= await stream.finishReason;
  },
  async object(model, asked, got) {
    const said = await generateObject({ model, prompt: asked.prompt, schema: Tower });
    got.value = said.object;
    got.ended = said.finishReason;
    got.seen.push(inspect(said, { depth: 9 }));
  },
  async "object stream"(model, asked, got) {
    const stream = streamObject({
      model, prompt: asked.prompt, schema: Tower, onError: ({ error }) => tell(error, got),
    });
    for await (const partial of stream.partialObjectStream) got.value = partial;
    await stream.object;
    got.ended ||= "returned";
  },
};

// An exception may have others in its fields: its cause, what was tried before, the response.
function tell(error, got) {
  const status = error.status ?? error.statusCode ?? error.cause?.statusCode;
  got.ended = [error.name === "Error" ? error.constructor.name : error.name, status].filter(Boolean).join(" ");
  got.seen.push(inspect(error, { depth: 9, showHidden: true }), error.stack);
}

async function answer(asked) {
  const got = { text: "", value: null, ended: "", seen: [] };
  const way = asked.wants + (asked.streams ? " stream" : "");
  const to = { baseURL: `${asked.url}/v1`, apiKey: asked.key };
  try {
    if (asked.name === "openai (node)") {
      await openaiNode[`${asked.path} ${way}`](new OpenAI(to), asked, got);
    } else {
      await aiSdk[way](sdkModels[`${asked.name} ${asked.path}`](to, asked.model), asked, got);
    }
  } catch (error) {
    tell(error, got);
  }
  return got;
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(JSON.parse(line))));
}

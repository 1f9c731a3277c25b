/** A real gateway on the loopback interface, and what the tests ask it. */
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const QUESTION = "How tall is the Eiffel Tower?";
export const TOWER = "The Eiffel Tower stands in Paris. It is 330 metres tall and was completed in 1889.";
export const RIGHT = "The Eiffel Tower is 330 metres tall.";
export const WRONG = "The Eiffel Tower is 500 metres tall.";

/** Start `groundwire serve`, the program that GROUNDWIRE names; return its address and a function that ends it. */
export async function serve() {
  const folder = await mkdtemp(join(tmpdir(), "groundwire-"));
  const config = join(folder, "groundwire.yaml");
  await writeFile(config, JSON.stringify({ gateway: { data_dir: folder } }));
  const command = ["serve", "--config", config, "--local-demo", "--no-admin", "--port", "0"];
  const program = spawn(
    process.env.GROUNDWIRE ?? "groundwire",
    [...command, "--upstream", "http://127.0.0.1:9/v1"],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  const ended = new Promise((resolve) => program.once("close", resolve));
  const lines = [];
  const url = await new Promise((resolve, reject) => {
    program.once("error", reject);
    ended.then((code) => reject(new Error(`groundwire serve ended with ${code}:\n${lines.join("\n")}`)));
    createInterface({ input: program.stderr }).on("line", (line) => {
      lines.push(line);
      const found = /Listening on (http:\S+)/.exec(line);
      if (found) resolve(found[1]);
    });
  });
  const stop = async () => {
    program.kill();
    await ended;
    await rm(folder, { recursive: true });
  };
  return { url, stop };
}

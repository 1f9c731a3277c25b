export * from "./client.js";
export * from "./results.js";

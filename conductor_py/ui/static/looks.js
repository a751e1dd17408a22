// How statuses and task types look: a tone (a colour of the style sheet), an icon and a text.

import { h, icon } from "./dom.js";
import { clip } from "./format.js";

const STATUSES = {
  RUNNING: ["live", "play", "Running"],
  PAUSED: ["warm", "pause", "Paused"],
  COMPLETED: ["good", "check", "Completed"],
  FAILED: ["bad", "cross", "Failed"],
  TIMED_OUT: ["late", "timeout", "Timed out"],
  TERMINATED: ["ended", "stop", "Terminated"],
  SCHEDULED: ["wait", "clock", "Scheduled"],
  IN_PROGRESS: ["live", "play", "In progress"],
  COMPLETED_WITH_ERRORS: ["warm", "checkWarn", "Completed with errors"],
  SKIPPED: ["none", "skip", "Skipped"],
  CANCELED: ["none", "ban", "Canceled"],
  FAILED_WITH_TERMINAL_ERROR: ["bad", "stop", "Failed, terminal error"],
};

export const WORKFLOW_STATUSES = ["RUNNING", "PAUSED", "COMPLETED", "FAILED", "TIMED_OUT", "TERMINATED"];

const OPEN = new Set(["RUNNING", "PAUSED", "SCHEDULED", "IN_PROGRESS"]);
const FAILED = new Set(["FAILED", "FAILED_WITH_TERMINAL_ERROR", "TIMED_OUT", "CANCELED"]);

export const isOpen = (status) => OPEN.has(status);
export const isFailed = (status) => FAILED.has(status);

/** `{tone, icon, text}` of a status; neutral for one that is not known. */
export function statusLook(status) {
  const known = Object.hasOwn(STATUSES, status) ? STATUSES[status] : ["none", "unknown", clip(status || "Unknown", 40)];
  return { tone: known[0], icon: known[1], text: known[2] };
}

/** A status as a pill. */
export function pill(status) {
  const look = statusLook(status);
  return h("span", { class: `pill tone-${look.tone}`, title: clip(status, 60) }, icon(look.icon), look.text);
}

const TYPES = {
  SIMPLE: ["worker", "Worker task"],
  USER_DEFINED: ["worker", "Worker task"],
  DYNAMIC: ["dynamic", "Dynamic task"],
  FORK: ["fork", "Fork"],
  FORK_JOIN: ["fork", "Fork"],
  FORK_JOIN_DYNAMIC: ["fork", "Dynamic fork"],
  JOIN: ["join", "Join"],
  EXCLUSIVE_JOIN: ["join", "Exclusive join"],
  CONDITIONS: ["branch", "Conditions"],
  DECISION: ["branch", "Decision"],
  SWITCH: ["branch", "Switch"],
  DO_WHILE: ["loop", "Loop"],
  SUB_WORKFLOW: ["nested", "Sub-workflow"],
  START_WORKFLOW: ["launch", "Start workflow"],
  EVENT: ["bolt", "Event"],
  WAIT: ["clock", "Wait"],
  HUMAN: ["person", "Human task"],
  HTTP: ["globe", "HTTP"],
  LAMBDA: ["braces", "Lambda"],
  INLINE: ["braces", "Inline script"],
  TERMINATE: ["stop", "Terminate"],
  KAFKA_PUBLISH: ["message", "Kafka publish"],
  JSON_JQ_TRANSFORM: ["filter", "jq transform"],
  SET_VARIABLE: ["assign", "Set variables"],
  NOOP: ["dash", "No operation"],
  LLM_TEXT_COMPLETE: ["spark", "LLM text"],
  LLM_CHAT_COMPLETE: ["spark", "LLM chat"],
  LLM_INDEX_TEXT: ["spark", "LLM index text"],
  LLM_SEARCH_INDEX: ["spark", "LLM search"],
  LLM_GENERATE_EMBEDDINGS: ["spark", "LLM embeddings"],
  LLM_STORE_EMBEDDINGS: ["spark", "LLM store embeddings"],
  LLM_GET_EMBEDDINGS: ["spark", "LLM get embeddings"],
  LIST_MCP_TOOLS: ["plug", "List MCP tools"],
  CALL_MCP_TOOL: ["plug", "Call MCP tool"],
  PULL_WORKFLOW_MESSAGES: ["inbox", "Pull messages"],
  AGENT: ["spark", "Agent"],
  GET_AGENT_CARD: ["spark", "Agent card"],
  CANCEL_AGENT: ["ban", "Cancel agent"],
};

/** `{icon, text}` of a task type; a type that is not known is a worker's. */
export function typeLook(type) {
  const known = Object.hasOwn(TYPES, type) ? TYPES[type] : ["worker", clip(type || "Task", 60)];
  return { icon: known[0], text: known[1] };
}

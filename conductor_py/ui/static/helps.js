// What helps an execution that does not move, by the code of its cause. Data only; a test holds it
// against the codes of the server.

/** Causes that nobody has to act on: the execution goes on by itself, or has ended. */
const BY_ITSELF = new Set(["retry-delay", "callback", "start-delay", "wait-timer", "script", "queued", "running", "resuming", "deciding", "inbox", "draining", "finished", "archived"]);

/** Causes of which the page of an execution that has ended says nothing: its status says it. */
const QUIET = new Set(["draining", "finished", "archived"]);

// What happens at the instant that a cause names.
const UNTIL = {
  quarantined: "Next try",
  failing: "Next try",
  "worker-lost": "Offered again",
  "worker-silent": "Offered again",
  running: "Its claim ends, unless the worker extends it,",
  "concurrency-limit": "The first claim ends, unless it is extended,",
  "rate-limit": "The window ends",
  "retry-delay": "Tried again",
  callback: "Offered again",
  "start-delay": "It begins",
};

const QUEUES = { page: "/queues", label: "See queues and workers" };
const SERVERS = { page: "/workers", label: "See servers and their shards" };
const DECIDE = { call: "decide", label: "Decide now" };
const REQUEUE = { verb: "requeue", of: "task", label: "Requeue…" };
const REPORT = { verb: "complete", of: "task", label: "Report a result…" };

// `verb`: an operation on the execution, or `of` the task of the cause; `call`: a request; `page`: where
// to look; `holder`: the execution that is in the way.
const HELPS = {
  quarantined: { call: "retry", label: "Try again" },
  "plan-lost": { verb: "terminate", label: "Terminate…" },
  broken: DECIDE,
  failing: DECIDE,
  "no-sweeper": SERVERS,
  paused: { verb: "resume", label: "Resume…" },
  "shard-unserved": SERVERS,
  "effect-stuck": SERVERS,
  "archive-pending": SERVERS,
  "no-system-worker": QUEUES,
  "worker-in-other-domain": QUEUES,
  "worker-in-other-group": QUEUES,
  "no-worker-ever": QUEUES,
  "no-worker-since": QUEUES,
  "worker-elsewhere": QUEUES,
  "workers-busy": QUEUES,
  "worker-silent": REQUEUE,
  running: REQUEUE,
  "workflow-rate-limit": { holder: true, label: "See who is before it" },
  "concurrency-limit": { holder: true, label: "See who holds it" },
  human: { verb: "complete", of: "task", label: "Complete…" },
  "wait-signal": { verb: "signal", label: "Signal…" },
  external: REPORT,
  messages: { verb: "message", label: "Send a message…" },
  callback: { verb: "resetCallbacks", label: "Offer now…" },
  "wait-timer": { verb: "complete", of: "task", label: "End the wait…" },
};

/** Whether somebody has to act. */
export const isActedOn = (code) => !BY_ITSELF.has(code);

/** Whether the page of an ended execution says nothing of it. */
export const isQuiet = (code) => QUIET.has(code);

/** What happens at `until`, to go before "in 5 s". */
export const untilOf = (code) => UNTIL[code] ?? "It goes on";

/** What can be pressed, or null. */
export const helpOf = (code) => HELPS[code] ?? null;

/** The execution that a cause names as being in the way, or "". */
export function holderOf(cause) {
  const [first] = cause.evidence?.heldBy ?? [];
  return String(first ?? "").slice(0, 36);
}

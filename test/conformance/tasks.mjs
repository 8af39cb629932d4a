// Drives the fixture tools to their end with the official client of the Tasks extension, @modelcontextprotocol/ext-tasks, and
// checks every message that passes, its own and the SDK's, against the schemas of that package. It gets the endpoint in ENDPOINT
// and a bearer token in TOKEN, and prints one JSON object per check: {check, what, problem}, where no problem is good; at the
// end {messages}, how many messages it has seen.
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { Client, StreamableHTTPClientTransport, specTypeSchemas } from "@modelcontextprotocol/client";
import { JsonRpcResponseError, createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client";
import * as v2 from "@modelcontextprotocol/ext-tasks/core/v2";

const endpoint = new URL(process.env.ENDPOINT);
const revision = "2026-07-28";
const tasks = "io.modelcontextprotocol/tasks";
const clientInfo = { name: "ext-tasks", version: "0.2.2" };
const clientCapabilities = { elicitation: { form: {} }, extensions: { [tasks]: {} } };
const patience = AbortSignal.timeout(5 * 60_000); // for all of it

// --- the wire: every message passes here

let messages = 0;
const invalid = []; // what is wrong with messages, until a check takes it

// conform checks a value against a schema. A member that the schema does not know counts as wrong too, where it would be dropped.
function conform(schema, value, what) {
  const parsed = schema.safeParse(value);
  if (!parsed.success) invalid.push(`${what}: ${parsed.error.message}`);
  else if (!isDeepStrictEqual(parsed.data, value)) invalid.push(`${what}: has members that its schema does not know`);
}

// conformTo is conform for a type of the core protocol.
function conformTo(type, value, what) {
  const { issues } = specTypeSchemas[type]["~standard"].validate(value);
  if (issues) invalid.push(`${what}: ${JSON.stringify(issues)}`);
}

const acknowledgement = (result, what) => {
  conform(v2.UpdateTaskResultV2Schema, result, what);
  const { resultType, _meta, ...others } = result;
  if (Object.keys(others).length > 0) invalid.push(`${what}: an acknowledgement says ${Object.keys(others)}`);
};

// results are the checks of results, by method.
const results = {
  "server/discover": (result, what) => {
    conformTo("DiscoverResult", result, what);
    conform(v2.ServerTaskCapabilityEnvelopeV2Schema.loose(), result.capabilities, what);
    conform(v2.TasksExtensionCapabilityV2Schema, result.capabilities.extensions[tasks], what);
  },
  "tools/list": (result, what) => {
    conformTo("ListToolsResult", result, what);
    for (const tool of result.tools) conform(v2.ToolV2Schema, tool, `${what}: ${tool.name}`);
  },
  "tools/call": (result, what) =>
    conform(result.resultType === "task" ? v2.CreateTaskResultV2Schema : v2.CallToolResultV2Schema, result, what),
  "tasks/get": (result, what) => {
    conform(v2.GetTaskResultV2Schema, result, what);
    if (result.status === "completed") conform(v2.CallToolResultV2Schema, result.result, `${what}: result`);
  },
  "tasks/update": acknowledgement,
  "tasks/cancel": acknowledgement,
};

// notifications are the checks of notifications, by method.
const notifications = {
  "notifications/subscriptions/acknowledged": (notification, what) => {
    conformTo("SubscriptionsAcknowledgedNotification", notification, what);
    conform(v2.TaskSubscriptionAcknowledgedNotificationsV2Schema, notification.params.notifications, what);
  },
  "notifications/tasks": (notification, what) => conform(v2.TaskStatusNotificationV2Schema, notification, what),
};

// requests are the schemas of requests about tasks, names the members that Mcp-Name repeats.
const requests = {
  "tasks/get": v2.GetTaskRequestV2Schema,
  "tasks/update": v2.UpdateTaskRequestV2Schema,
  "tasks/cancel": v2.CancelTaskRequestV2Schema,
};

const names = { "tools/call": "name", "tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId" };

// parse returns the messages of a response: its only one, or those of the stream's events.
function parse(response, body) {
  if (response.headers.get("content-type") === "application/json") return [JSON.parse(body)];
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const events = body.split("\n\n").filter((event) => event !== "" && !event.startsWith(":"));
  return events.map((event) => JSON.parse(event.split("\n").find((line) => line.startsWith("data: ")).slice("data: ".length)));
}

// inspectNotification checks a notification.
function inspectNotification(notification, what) {
  const of = notifications[notification.method];
  if (of) of(notification, `${what}: ${notification.method}`);
  else invalid.push(`${what}: there is no schema for ${JSON.stringify(notification)}`);
}

// inspect checks a request and the messages that answer it.
function inspect(request, answers, status) {
  const what = `${request.method} (id ${request.id})`;
  messages += 1 + answers.length;
  const framed = requests[request.method];
  if (framed && !framed.safeParse(request).success) invalid.push(`${what}: the request does not fit its schema`);
  const reply = answers.at(-1);
  for (const notification of answers.slice(0, -1)) inspectNotification(notification, what);
  if (reply?.jsonrpc !== "2.0" || reply.id !== request.id || ("result" in reply) === ("error" in reply)) {
    invalid.push(`${what}: ${JSON.stringify(reply)} is no reply to it`);
  } else if ("error" in reply) {
    conform(v2.ErrorV2Schema, reply.error, `${what}: error`);
  } else if (status !== 200) {
    invalid.push(`${what}: a result with HTTP ${status}`);
  } else if (!results[request.method]) {
    invalid.push(`${what}: there is no schema for it`);
  } else {
    results[request.method](reply.result, what);
  }
}

// inspected is a fetch for the SDK, which keeps a copy of what comes back.
async function inspected(url, init) {
  const response = await fetch(url, init);
  const request = JSON.parse(init.body);
  const body = await response.text();
  inspect(request, parse(response, body), response.status);
  return new Response(body, response);
}

// post sends a request that the SDK cannot.
let lastId = 0;
async function post({ method, params }, { signal, context } = {}) {
  const request = { jsonrpc: "2.0", id: `ext-tasks-${++lastId}`, method, params };
  const response = await fetch(endpoint, {
    method: "POST",
    signal,
    headers: {
      ...context?.headers,
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      Authorization: `Bearer ${process.env.TOKEN}`,
      "MCP-Protocol-Version": revision,
      "Mcp-Method": method,
      ...(names[method] && { "Mcp-Name": params[names[method]] }),
    },
    body: JSON.stringify(request),
  });
  return { request, response };
}

// dispatch sends a request that a task may answer, or one about tasks, for the client of the extension.
async function dispatch(message, options) {
  const { request, response } = await post(message, options);
  const answers = parse(response, await response.text());
  inspect(request, answers, response.status);
  const reply = answers.at(-1);
  return "error" in reply ? { kind: "error", error: reply.error } : { kind: "result", result: reply.result };
}

// listen listens to tasks until done says so of a notification, and returns all of them. The client of the extension only polls.
async function listen(params, done) {
  const leaving = new AbortController();
  const { request, response } = await post(
    { method: "subscriptions/listen", params },
    { signal: AbortSignal.any([leaving.signal, patience]) },
  );
  const heard = [];
  let rest = "";
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const events = (rest + piece).split(/(?<=\n\n)/);
    rest = events.at(-1).endsWith("\n\n") ? "" : events.pop();
    for (const notification of parse(response, events.join(""))) {
      messages++;
      inspectNotification(notification, `${request.method} (id ${request.id})`);
      heard.push(notification);
    }
    if (heard.some(done)) break;
  }
  leaving.abort();
  return { id: request.id, heard };
}

// --- the checks

async function check(name, what, run) {
  let problem;
  try {
    await run();
  } catch (error) {
    problem = error.stack;
  }
  if (invalid.length > 0) problem = [problem, ...invalid.splice(0)].filter(Boolean).join("; ");
  console.log(JSON.stringify({ check: name, what, problem }));
}

let session, asked; // asked: what the server has asked in the course of a check

// answers are what a person would say, by the question's key.
const answers = { confirm: { confirm: true }, user_name: { name: "Alice" }, go_on: { confirm: true } };

async function connect() {
  const client = new Client(clientInfo, { capabilities: clientCapabilities, versionNegotiation: { mode: { pin: revision } } });
  await client.connect(
    new StreamableHTTPClientTransport(endpoint, {
      fetch: inspected,
      requestInit: { headers: { Authorization: `Bearer ${process.env.TOKEN}` } },
    }),
  );
  return createTaskSessionFromClient(client, {
    endpointId: "fixtures",
    rawDispatch: dispatch,
    v2RequestFraming: { protocolVersion: revision, clientInfo, clientCapabilities },
    signal: patience,
    onInputRequest: async (request, context) => {
      asked.push({ key: context.inputId, by: context.delivery, message: request.params.message });
      return { action: "accept", content: answers[context.inputId] };
    },
    onError: (error) => invalid.push(`the client says: ${error.stack}`),
  });
}

// call calls a tool and follows it to its end.
async function call(tool, args = {}) {
  asked = [];
  const execution = await session.callTool(tool, args, { signal: patience });
  const { outcome, lastTask } = await execution.settle({ signal: patience });
  return { kind: execution.kind, outcome, lastTask };
}

const text = (outcome) => outcome.result.content.map((block) => block.text).join("\n");

await check("ext-tasks-connect", "server/discover offers the extension, which has no settings", async () => {
  session = await connect();
  assert.equal(session.capabilities.execution, true);
});

await check("ext-tasks-greet", "a tool that is never a task answers", async () => {
  const { kind, outcome } = await call("greet", { name: "Alice" });
  assert.equal(kind, "immediate");
  assert.equal(text(outcome), "Hello, Alice!");
});

await check("ext-tasks-slow-compute", "a task is followed to its result", async () => {
  const { kind, outcome, lastTask } = await call("slow_compute", { seconds: 1, label: "followed" });
  assert.equal(kind, "task");
  assert.equal(lastTask.status, "completed");
  assert.match(text(outcome), /followed: done$/);
});

await check("ext-tasks-cancel", "a task that is cancelled ends as cancelled", async () => {
  const execution = await session.callTool("slow_compute", { seconds: 300, label: "cancelled" }, { signal: patience });
  await execution.cancel(patience);
  const outcome = await session.task(execution.handle.taskId).result({ signal: patience });
  assert.equal(outcome.status, "cancelled");
});

await check("ext-tasks-resume", "a task that one client hands over is followed by another, from its id", async () => {
  const execution = await session.callTool("slow_compute", { seconds: 1, label: "resumed" }, { signal: patience });
  let reference;
  await execution.handoff((serialized) => void (reference = serialized));
  const other = await connect();
  const resumed = await other.resumeTask(reference, { signal: patience });
  const { outcome } = await resumed.settle({ signal: patience });
  assert.match(text(outcome), /resumed: done$/);
  await other.close();
});

await check("ext-tasks-failing-job", "a tool's own failure is a result", async () => {
  const { outcome } = await call("failing_job");
  assert.equal(outcome.status, "completed");
  assert.equal(outcome.result.isError, true);
  assert.match(text(outcome), /The disk is full/);
});

await check("ext-tasks-protocol-error-job", "a call that cannot be carried out is an error", async () => {
  const { outcome, lastTask } = await call("protocol_error_job");
  assert.equal(outcome.status, "failed");
  assert.equal(outcome.error.code, -32603);
  assert.equal(outcome.error.data.reason, "Rejected");
  assert.equal(lastTask.status, "failed");
});

await check("ext-tasks-confirm-delete", "a question of a task is answered by tasks/update", async () => {
  const { outcome } = await call("confirm_delete", { filename: "a.txt" });
  assert.deepEqual(asked, [{ key: "confirm", by: "task-update", message: "Delete a.txt?" }]);
  assert.equal(text(outcome), "Deleted a.txt");
});

await check("ext-tasks-multi-input", "two questions at once are answered", async () => {
  const { outcome } = await call("multi_input");
  assert.deepEqual(asked.map(({ key, by }) => `${key} ${by}`).sort(), ["go_on task-update", "user_name task-update"]);
  assert.equal(text(outcome), "Hello, Alice!");
});

await check("ext-tasks-mrtr", "a question of a call is answered by repeating the call, which then becomes a task", async () => {
  const { kind, outcome } = await call("test_tool_with_task");
  assert.equal(kind, "task");
  assert.deepEqual(asked.map(({ key, by }) => `${key} ${by}`), ["user_name request-retry"]);
  assert.equal(text(outcome), "Hello, Alice!");
});

await check("ext-tasks-listen", "a listener is told what tasks/get would say, until the task has ended", async () => {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientInfo": clientInfo,
    "io.modelcontextprotocol/clientCapabilities": clientCapabilities,
  };
  const call = { name: "slow_compute", arguments: { seconds: 1, label: "heard" }, _meta };
  const { taskId } = (await dispatch({ method: "tools/call", params: call })).result;
  const ended = ({ params }) => ["completed", "failed", "cancelled"].includes(params.status);
  const { id, heard } = await listen({ notifications: { taskIds: [taskId] }, _meta }, ended);
  assert.equal(heard[0].method, "notifications/subscriptions/acknowledged");
  assert.deepEqual(heard[0].params.notifications, { taskIds: [taskId] });
  const { _meta: tag, ...told } = heard.at(-1).params;
  assert.equal(tag["io.modelcontextprotocol/subscriptionId"], id);
  const { resultType, _meta: server, ...now } = (await dispatch({ method: "tasks/get", params: { taskId, _meta } })).result;
  assert.equal(told.status, "completed");
  assert.deepEqual(told, now);
});

await check("ext-tasks-unknown", "a tool and a task that do not exist are errors", async () => {
  const refused = (error) => error instanceof JsonRpcResponseError && error.code === -32602;
  await assert.rejects(call("no_such_tool"), refused);
  await assert.rejects(session.task("t-aaaaaaaaaaaaaaaaaaaaaaaaaa").snapshot(patience), refused);
});

await check("ext-tasks-close", "the session ends", () => session.close());

console.log(JSON.stringify({ messages }));

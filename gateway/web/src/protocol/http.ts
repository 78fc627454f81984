import type { z } from 'zod';
import * as guards from './guards';
import type {
  Health,
  Issue,
  MessagePage,
  Session,
  SessionStatus,
  UISpecs,
  World,
  WorldSummary,
} from './types';

/** A refusal of the HTTP interface, or a server that could not be reached (`code` is then `unreachable`). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly issues: Issue[] = [],
  ) {
    super(message);
    this.name = 'ApiError';
  }
}

async function call<S extends z.ZodType>(
  schema: S,
  path: string,
  init: RequestInit & { json?: unknown } = {},
): Promise<z.output<S>> {
  const { json, ...rest } = init;
  const request: RequestInit = { ...rest, headers: { Accept: 'application/json' } };
  if (json !== undefined) {
    request.body = JSON.stringify(json);
    request.headers = { Accept: 'application/json', 'Content-Type': 'application/json' };
  }
  let response: Response;
  try {
    response = await fetch(`/api${path}`, request);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(0, 'unreachable', 'The server cannot be reached.');
  }
  const body: unknown = await response.json().catch(() => undefined);
  if (!response.ok) {
    const fault = guards.httpError.safeParse(body);
    const text = fault.success && fault.data.error !== '' ? fault.data.error : response.statusText;
    throw new ApiError(
      response.status,
      fault.success ? fault.data.code : '',
      text,
      fault.success ? fault.data.details : [],
    );
  }
  const parsed = schema.safeParse(body);
  if (!parsed.success) {
    console.warn(`covel: the answer to ${path} could not be read`, parsed.error.issues);
    throw new ApiError(response.status, 'unreadable', 'The answer of the server could not be read.');
  }
  return parsed.data;
}

const at = encodeURIComponent;

export function listWorlds(locale: string, signal?: AbortSignal): Promise<WorldSummary[]> {
  return call(guards.worldList, `/worlds?locale=${at(locale)}`, { signal: signal ?? null }).then(
    (l) => l.items,
  );
}

export function getWorld(id: string, locale: string, signal?: AbortSignal): Promise<World> {
  return call(guards.world, `/worlds/${at(id)}?locale=${at(locale)}`, { signal: signal ?? null });
}

export function listSessions(signal?: AbortSignal): Promise<Session[]> {
  return call(guards.sessionList, '/sessions', { signal: signal ?? null }).then((l) => l.items);
}

export function createSession(worldId: string, locale: string): Promise<Session> {
  return call(guards.session, '/sessions', { method: 'POST', json: { worldId, locale } });
}

export function getSession(id: string): Promise<Session> {
  return call(guards.session, `/sessions/${at(id)}`);
}

export function setSessionStatus(id: string, status: SessionStatus): Promise<Session> {
  return call(guards.session, `/sessions/${at(id)}`, { method: 'PATCH', json: { status } });
}

/** A blocked step of the set-up may be tried again. */
export async function retrySetup(id: string, runtimeId: string): Promise<void> {
  await call(guards.anything, `/sessions/${at(id)}/setup/${at(runtimeId)}/retry`, {
    method: 'POST',
    json: {},
  });
}

/** The player gives a question up: the run that asked it ends without an answer. */
export async function abandonSuspension(id: string, suspensionId: string): Promise<void> {
  await call(guards.anything, `/sessions/${at(id)}/suspensions/${at(suspensionId)}`, { method: 'DELETE' });
}

/** A plugin that was paused after repeated errors runs again. */
export async function resumePlugin(id: string, pluginId: string): Promise<void> {
  await call(guards.anything, `/sessions/${at(id)}/plugins/${at(pluginId)}/resume`, {
    method: 'POST',
    json: {},
  });
}

/** The turn begins with the submissions that wait. */
export async function closeGathering(id: string): Promise<void> {
  await call(guards.anything, `/sessions/${at(id)}/gathering/close`, { method: 'POST', json: {} });
}

export async function deleteSession(id: string): Promise<void> {
  await call(guards.anything, `/sessions/${at(id)}`, { method: 'DELETE' });
}

export function getMessages(id: string, before: string): Promise<MessagePage> {
  return call(guards.messagePage, `/sessions/${at(id)}/messages?before=${at(before)}&limit=80`);
}

export function getUISpecs(id: string, signal?: AbortSignal): Promise<UISpecs> {
  return call(guards.uiSpecs, `/ui-specs?sessionId=${at(id)}`, { signal: signal ?? null });
}

export function getHealth(signal?: AbortSignal): Promise<Health> {
  return call(guards.health, '/health', { signal: signal ?? null });
}

/** True unless the server says that there is no such session; a server out of reach may still have it. */
export async function sessionExists(id: string): Promise<boolean> {
  try {
    await getSession(id);
    return true;
  } catch (error) {
    return !(error instanceof ApiError && error.status === 404);
  }
}

/** The address of a session's socket, beside this page. */
export function socketUrl(id: string): string {
  const scheme = window.location.protocol === 'https:' ? 'wss:' : 'ws:';
  return `${scheme}//${window.location.host}/api/sessions/${at(id)}/ws`;
}

import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { WebSocketServer } from 'ws';
import type { Session } from '../../src/protocol/types';
import { MockSession, worldSummary } from './session';
import { specs, worlds } from './texts';

/**
 * A server for the page alone: it speaks docs/protocol.md over real HTTP and real sockets, serves the build under
 * the same content security policy as the Go handler, and plays a scripted story. Tests slow it down, stop it in
 * mid-sentence, make the next turn fail, break its sockets, and put hostile text into everything it says.
 */
export class MockServer {
  readonly sessions = new Map<string, MockSession>();
  /** Milliseconds between two pieces of prose. */
  pace = 12;
  offline = false;
  /** The worlds that are installed. */
  worlds: string[] = worlds.map((w) => w.id);
  /** What goes wrong with the next turn. */
  next: 'fine' | 'fail' | 'choice' = 'fine';
  /** Prose stops after so many pieces, until `release()`. */
  holdAfter: number | undefined;
  /** Extra latency and faults of the HTTP side. */
  httpDown = false;
  socketsDown = false;
  /** Without it the page must be safe all the same. */
  policy = true;
  private held: (() => void)[] = [];
  private server: Server | undefined;
  private wss: WebSocketServer | undefined;
  private count = 0;
  url = '';

  constructor(private readonly dist = join(import.meta.dirname, '../../dist')) {}

  async start(port = 0): Promise<this> {
    const policy = readFileSync(join(import.meta.dirname, '../../csp.txt'), 'utf8').trim();
    this.server = createServer((request, response) => {
      this.serve(request, response, policy).catch((error: unknown) => {
        reply(response, 500, { error: String(error), code: 'internal' });
      });
    });
    this.wss = new WebSocketServer({ noServer: true });
    this.server.on('upgrade', (request, socket, head) => {
      const id = /^\/api\/sessions\/([^/]+)\/ws$/.exec(request.url ?? '')?.[1];
      const session = id === undefined ? undefined : this.sessions.get(decodeURIComponent(id));
      if (session === undefined || this.socketsDown) {
        socket.end('HTTP/1.1 404 Not Found\r\n\r\n');
        return;
      }
      this.wss?.handleUpgrade(request, socket, head, (ws) => {
        session.connect(ws);
      });
    });
    await new Promise<void>((resolve) => this.server?.listen(port, '127.0.0.1', resolve));
    const address = this.server.address();
    this.url = `http://127.0.0.1:${String(typeof address === 'object' ? address?.port : port)}`;
    return this;
  }

  async stop(): Promise<void> {
    this.release();
    this.dropSockets();
    this.wss?.close();
    this.server?.closeAllConnections();
    await new Promise<void>((resolve) => this.server?.close(() => resolve()));
  }

  reset(): void {
    this.release();
    this.dropSockets();
    this.sessions.clear();
    this.next = 'fine';
    this.holdAfter = undefined;
    this.httpDown = false;
    this.socketsDown = false;
    this.offline = false;
    this.pace = 12;
    this.policy = true;
    this.worlds = worlds.map((w) => w.id);
  }

  /** Breaks every line, without a goodbye. */
  dropSockets(): void {
    for (const session of this.sessions.values()) session.drop();
  }

  create(worldId: string, locale: string): MockSession {
    const world = worlds.find((w) => w.id === worldId);
    if (world === undefined) throw new Error(`no world ${worldId}`);
    this.count++;
    const session = new MockSession(this, `${worldId}-${String(this.count)}`, worldId, locale);
    this.sessions.set(session.id, session);
    return session;
  }

  /** Waits here when prose is held. */
  async waitForRelease(): Promise<void> {
    await new Promise<void>((resolve) => this.held.push(resolve));
  }

  release(): void {
    this.holdAfter = undefined;
    for (const go of this.held.splice(0)) go();
  }

  private async serve(request: IncomingMessage, response: ServerResponse, policy: string): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://mock');
    if (!url.pathname.startsWith('/api/')) {
      this.serveFile(url.pathname, response, policy);
      return;
    }
    if (this.httpDown) {
      reply(response, 500, { error: 'The store is not reachable.', code: 'internal' });
      return;
    }
    const body = await readBody(request);
    this.api(request.method ?? 'GET', url, body, response);
  }

  private api(method: string, url: URL, body: Record<string, unknown>, response: ServerResponse): void {
    const [, , what, id, part, runtime, deed] = url.pathname.split('/').map(decodeURIComponent);
    const locale = url.searchParams.get('locale') ?? 'en';
    if (what === 'health') {
      reply(response, 200, { status: 'ok', version: 'mock', model: { offline: this.offline, slots: {} } });
    } else if (what === 'worlds' && id === undefined) {
      reply(response, 200, { items: this.worlds.map((w) => worldSummary(w, locale)) });
    } else if (what === 'worlds') {
      const world = worlds.find((w) => w.id === id);
      if (world === undefined)
        reply(response, 404, { error: 'There is no such world.', code: 'world_not_found' });
      else {
        const lore = locale.startsWith('zh') ? world.lore['zh-CN'] : world.lore.en;
        reply(response, 200, { ...worldSummary(world.id, locale), lore, greeting: '' });
      }
    } else if (what === 'ui-specs') {
      reply(response, 200, specs);
    } else if (what === 'sessions' && id === undefined && method === 'POST') {
      const session = this.create(String(body['worldId']), String(body['locale'] ?? 'en'));
      reply(response, 201, session.session);
    } else if (what === 'sessions' && id === undefined) {
      reply(response, 200, { items: [...this.sessions.values()].reverse().map((s) => s.session) });
    } else if (what === 'sessions') {
      const session = this.sessions.get(id ?? '');
      if (session === undefined) {
        reply(response, 404, { error: 'There is no such session.', code: 'session_not_found' });
      } else if (part === 'suspensions' && method === 'DELETE') {
        session.close(runtime ?? '');
        reply(response, 200, { ok: true, suspensionId: runtime });
      } else if (method === 'DELETE') {
        this.sessions.delete(session.id);
        reply(response, 200, { ok: true });
      } else if (method === 'PATCH') {
        session.change({ status: body['status'] as Session['status'] });
        reply(response, 200, session.session);
      } else if (part === 'messages') {
        reply(
          response,
          200,
          session.page(url.searchParams.get('before'), Number(url.searchParams.get('limit') ?? 80)),
        );
      } else if (part === 'view') {
        reply(response, 200, session.view());
      } else if (part === 'setup' && deed === 'retry' && method === 'POST') {
        session.change({ setupRuntimes: { [runtime ?? '']: { status: 'pending' } } });
        reply(response, 200, { ok: true });
      } else {
        reply(response, 200, session.session);
      }
    } else {
      reply(response, 404, { error: 'There is no such thing.', code: 'not_found' });
    }
  }

  private serveFile(path: string, response: ServerResponse, policy: string): void {
    const types: Record<string, string> = {
      '.html': 'text/html; charset=utf-8',
      '.js': 'text/javascript; charset=utf-8',
      '.css': 'text/css; charset=utf-8',
      '.svg': 'image/svg+xml',
    };
    const file = join(this.dist, path);
    const isFile = !path.includes('..') && existsSync(file) && statSync(file).isFile();
    const served = isFile ? file : join(this.dist, 'index.html');
    response.writeHead(200, {
      'Content-Type': types[extname(served)] ?? 'application/octet-stream',
      ...(this.policy && { 'Content-Security-Policy': policy }),
      'Cache-Control': 'no-cache',
    });
    response.end(readFileSync(served));
  }
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(body));
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A call as the recipient got it. */
export interface RecipientCall {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Of the header `idempotency-key`; '' where there was none. */
  readonly key: string;
  /** The body as JSON, or as text where it is none. */
  readonly body: any;
}

/** An effect that the recipient took. */
export interface TakenCall extends RecipientCall {
  /** What it answered, or would have. */
  readonly answer: unknown;
}

/** How the recipient treats a call, instead of acting on it and answering 200. */
export interface Misbehaviour {
  /** Whether it acts on the call. Default true: that is the case in which the caller cannot know. */
  readonly acts?: boolean;
  /** Closes the connection without an answer, never answers, answers this status, or answers well but late. */
  readonly reply: 'drop' | 'hang' | number | { readonly afterMs: number };
  /** Of the next calls, how many. Default 1. */
  readonly times?: number;
  /** Only calls that this is true of. Default: any. */
  readonly where?: (call: RecipientCall) => boolean;
}

/** Options of {@link startRecipient}. */
export interface RecipientOptions {
  /** What it answers to a call that it acts on. Default `{ id: 'effect-1' }`, counted up. */
  readonly answer?: (call: RecipientCall, count: number) => unknown;
  /** Whether it acts once per idempotency key, and repeats its answer. Default true. */
  readonly dedupes?: boolean;
}

/** A recipient of external effects that counts what it really did. */
export interface Recipient {
  /** `http://127.0.0.1:<port>`; it takes calls on every path. */
  readonly url: string;
  /** Every effect that it took, in order. */
  readonly effects: readonly TakenCall[];
  /** Every call that would be an effect and arrived, whatever became of it. */
  readonly calls: readonly RecipientCall[];
  /** Tells it how to treat calls to come. Of several words the one said first counts, until it is used up. */
  next(misbehaviour: Misbehaviour): void;
  /** From now on it takes keys that it knew for new ones. */
  forgetKeys(): void;
  /** Cuts every connection, also of calls that hang. */
  stop(): Promise<void>;
}

/**
 * Starts a partner on 127.0.0.1 to call from effects. It acts on every call but `GET`, once per `idempotency-key`, and
 * answers with JSON. Asked by `GET` with the same header, it answers 200 with what it had answered, or 404: that is what
 * `reconcile` asks.
 */
export async function startRecipient(options: RecipientOptions = {}): Promise<Recipient> {
  const { answer = (_call, count) => ({ id: `effect-${count}` }), dedupes = true } = options;
  const effects: TakenCall[] = [];
  const calls: RecipientCall[] = [];
  const known = new Map<string, unknown>();
  const told: { readonly behaviour: Misbehaviour; left: number }[] = [];

  const act = (call: RecipientCall): unknown => {
    if (dedupes && known.has(call.key)) return known.get(call.key);
    const taken = { ...call, answer: answer(call, effects.length + 1) };
    effects.push(taken);
    if (call.key !== '') known.set(call.key, taken.answer);
    return taken.answer;
  };

  const misbehaviourFor = (call: RecipientCall): Misbehaviour | undefined => {
    const found = told.find(({ behaviour, left }) => left > 0 && (behaviour.where?.(call) ?? true));
    if (found) found.left -= 1;
    return found?.behaviour;
  };

  const take = async (call: RecipientCall, response: ServerResponse): Promise<void> => {
    calls.push(call);
    const { reply, acts = true } = misbehaviourFor(call) ?? { reply: { afterMs: 0 } };
    if (typeof reply === 'object') {
      if (reply.afterMs > 0) await sleep(reply.afterMs);
      return acts ? send(response, 200, act(call)) : send(response, 503, { error: 'not done' });
    }
    if (acts) act(call);
    if (reply === 'drop') response.socket?.destroy();
    if (typeof reply === 'number') send(response, reply, { error: 'as the test told it to' });
  };

  const server = createServer(async (request, response) => {
    try {
      const call = await readCall(request);
      if (call.method !== 'GET') return await take(call, response);
      return dedupes && known.has(call.key)
        ? send(response, 200, known.get(call.key))
        : send(response, 404, { error: 'unknown' });
    } catch {
      // The caller has gone, or the answer is nothing that JSON can hold: either way there is no answer.
      request.socket.destroy();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    effects,
    calls,
    next: (behaviour) => void told.push({ behaviour, left: behaviour.times ?? 1 }),
    forgetKeys: () => known.clear(),
    async stop() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function readCall(request: IncomingMessage): Promise<RecipientCall> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return {
    method: request.method ?? 'GET',
    path: request.url ?? '/',
    key: [request.headers['idempotency-key']].flat().join(),
    body: jsonOrText(text),
  };
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? null));
}

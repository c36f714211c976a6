import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What the partner does with one call instead of acting and answering 200. */
export type Behaviour =
  /** Ends the connection without an answer. */
  | { readonly kind: 'drop'; readonly acts: boolean }
  /** Never answers. */
  | { readonly kind: 'hang'; readonly acts: boolean }
  | { readonly kind: 'answer'; readonly status: number; readonly acts: boolean }
  /** Acts and answers late, whether or not the caller still listens. */
  | { readonly kind: 'delay'; readonly ms: number };

/** What the partner knows of an effect. */
export type Asked =
  | { readonly state: 'done'; readonly result: Receipt }
  | { readonly state: 'absent' }
  | { readonly state: 'unknown' };

/** The answer to a call that acted. */
export interface Receipt {
  readonly id: string;
  readonly business: string;
}

/** An effect that was actually taken. */
export interface TakenEffect extends Receipt {
  readonly key: string;
}

/** A recipient of external effects which counts what it really did. */
export interface Partner {
  readonly url: string;
  /** How it treats the next calls, so many of them, for one business identity. Later words follow earlier ones. */
  tell(business: string, behaviour: Behaviour, times?: number): void;
  /** It answers 'unknown' to the next questions, so many of them, about one business identity. */
  keepQuiet(business: string, times: number): void;
  /** Every effect that it took, or those of one business identity. */
  taken(business?: string): readonly TakenEffect[];
  /** Every effect that it took under one idempotency key. */
  takenUnder(key: string): readonly TakenEffect[];
  /** Calls that arrived for one business identity, whatever became of them. */
  calls(business: string): number;
  /** From now on it takes known keys for new ones. */
  forgetKeys(): void;
  close(): Promise<void>;
}

/** What kind of recipient it is. */
export interface PartnerOptions {
  /** It dedupes on the idempotency key and replays its answer. */
  readonly remembers: boolean;
}

/**
 * Starts a partner: `POST /effects` with the header `idempotency-key` and the body `{ business }` takes an effect,
 * `GET /effects/<business>` says what became of one. It is a server of its own, so that what a caller did not hear of was
 * done all the same.
 */
export async function startPartner({ remembers }: PartnerOptions): Promise<Partner> {
  const taken: TakenEffect[] = [];
  const answers = new Map<string, Receipt>();
  const told = new Map<string, Behaviour[]>();
  const quiet = new Map<string, number>();
  const calls = new Map<string, number>();

  const act = (business: string, key: string): Receipt => {
    const known = remembers ? answers.get(key) : undefined;
    if (known) return known;
    const receipt = { id: randomUUID(), business };
    taken.push({ ...receipt, key });
    answers.set(key, receipt);
    return receipt;
  };

  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { business } = JSON.parse(await readText(request)) as { business: string };
    const key = String(request.headers['idempotency-key'] ?? '');
    calls.set(business, (calls.get(business) ?? 0) + 1);
    const behaviour = told.get(business)?.shift();
    switch (behaviour?.kind) {
      case undefined:
        return answer(response, 200, act(business, key));
      case 'delay':
        await sleep(behaviour.ms);
        return answer(response, 200, act(business, key));
      case 'drop':
        if (behaviour.acts) act(business, key);
        request.socket.destroy();
        return;
      case 'hang':
        if (behaviour.acts) act(business, key);
        return;
      case 'answer':
        if (behaviour.acts) act(business, key);
        return answer(response, behaviour.status, { error: 'told to' });
    }
  };

  const tellAbout = (business: string): Asked => {
    const left = quiet.get(business) ?? 0;
    if (left > 0) {
      quiet.set(business, left - 1);
      return { state: 'unknown' };
    }
    const found = taken.find((effect) => effect.business === business);
    return found ? { state: 'done', result: { id: found.id, business } } : { state: 'absent' };
  };

  const server = createServer((request, response) => {
    const [, resource, business] = (request.url ?? '').split('/');
    if (resource !== 'effects') return answer(response, 404, {});
    if (request.method === 'GET') return answer(response, 200, tellAbout(decodeURIComponent(business ?? '')));
    take(request, response).catch(() => request.socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    tell(business, behaviour, times = 1) {
      const next = told.get(business) ?? [];
      for (let time = 0; time < times; time++) next.push(behaviour);
      told.set(business, next);
    },
    keepQuiet: (business, times) => void quiet.set(business, times),
    taken: (business) => (business === undefined ? [...taken] : taken.filter((effect) => effect.business === business)),
    takenUnder: (key) => taken.filter((effect) => effect.key === key),
    calls: (business) => calls.get(business) ?? 0,
    forgetKeys: () => answers.clear(),
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

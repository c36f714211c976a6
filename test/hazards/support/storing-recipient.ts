import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A recipient that keeps its first answer to each idempotency key for ever, a refusal like any other. */
export interface StoringRecipient {
  readonly url: string;
  /** The next key that it does not know is refused with 402. */
  refuseNext(): void;
  /** Keys under which it acted. */
  readonly taken: readonly string[];
  /** Statuses of its answers, in order. */
  readonly answers: readonly number[];
  close(): Promise<void>;
}

export async function startStoringRecipient(): Promise<StoringRecipient> {
  const stored = new Map<string, number>();
  const taken: string[] = [];
  const answers: number[] = [];
  let refuses = false;
  const decide = (key: string): number => {
    if (refuses) {
      refuses = false;
      return 402;
    }
    taken.push(key);
    return 200;
  };
  const server = createServer((request, response) => {
    const key = String(request.headers['idempotency-key']);
    const status = stored.get(key) ?? decide(key);
    stored.set(key, status);
    answers.push(status);
    request.resume();
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ id: key }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refuseNext() {
      refuses = true;
    },
    taken,
    answers,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

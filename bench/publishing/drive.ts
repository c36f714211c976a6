import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';

/** A question to a publisher: publish so many, with so many under way. */
export interface Load {
  readonly deliveries: number;
  readonly inFlight: number;
}

/** What came of it, in ms. */
export interface Driven {
  /** From the call that publishes to the request at the endpoint, for each delivery. */
  readonly latencies: readonly number[];
  /** From the first call to the last request. */
  readonly duration: number;
}

/**
 * Makes this process a publisher of a system: it answers every load that its parent asks for. The next one is published when
 * an earlier one has arrived, so that the latency is that of so many under way, and not of a backlog.
 *
 * @param publish Publishes one message; the endpoint is to see the given `webhook-id`.
 */
export async function servePublisher(endpoint: string, publish: (eventId: string) => Promise<unknown>): Promise<void> {
  const waiting = new Map<string, (at: number) => void>();
  const { body } = await fetch(endpoint);
  if (!body) throw new Error('the endpoint tells nothing');
  createInterface({ input: Readable.fromWeb(body) }).on('line', (line) => {
    const [id = '', at = ''] = line.split(' ');
    waiting.get(id)?.(Number(at));
    waiting.delete(id);
  });

  const one = async (): Promise<{ readonly from: number; readonly to: number }> => {
    const eventId = `bench_${randomUUID()}`;
    const arrived = new Promise<number>((resolve) => void waiting.set(eventId, resolve));
    const from = now();
    await publish(eventId);
    return { from, to: await arrived };
  };
  process.on('message', async ({ deliveries, inFlight }: Load) => {
    const carried: { readonly from: number; readonly to: number }[] = [];
    let left = deliveries;
    const inTurn = async (): Promise<void> => {
      while (left-- > 0) carried.push(await one());
    };
    const began = now();
    await Promise.all(Array.from({ length: Math.min(inFlight, deliveries) }, inTurn));
    const driven: Driven = {
      latencies: carried.map(({ from, to }) => to - from),
      duration: Math.max(...carried.map(({ to }) => to)) - began,
    };
    process.send?.(driven);
  });
  process.stdout.write('{"msg":"publisher.ready"}\n');
  await once(process, 'SIGTERM');
  process.exit(0);
}

/** Of the whole machine, so that another process may subtract it; ms. */
function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

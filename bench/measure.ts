import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { Pool } from 'undici';
import { cpuSeconds } from './cpu-seconds.js';
import { benchSecret } from './onefold.js';
import type { Labels } from './report.js';
import type { Servers } from './servers.js';
import { percentile } from './statistics.js';
import type { System } from './systems.js';

/** What one repetition shows of one system. Times in ms, rates per second, CPU in seconds per 1,000 events. */
export interface Figures {
  /** From sending to the acknowledgement, one event at a time. */
  readonly ackP50: number;
  readonly ackP99: number;
  /** From sending until the row is visible to another connection, one event at a time. */
  readonly endToEndP50: number;
  readonly endToEndP99: number;
  /** Acknowledgements, 16 at a time. */
  readonly ackRate: number;
  /** Effects, from the first of these deliveries to the last row. */
  readonly effectRate: number;
  readonly cpuReceiver: number;
  readonly cpuWorker: number;
  readonly cpuTemporal: number;
  readonly cpuPostgres: number;
  readonly cpuTotal: number;
}

/** What each is called. */
export const eventLabels: Labels<keyof Figures> = {
  ackP50: 'acknowledgement p50, 1 at a time, ms',
  ackP99: 'acknowledgement p99, 1 at a time, ms',
  ackRate: 'acknowledgements per second, 16 at a time',
  endToEndP50: 'end to end p50, 1 at a time, ms',
  endToEndP99: 'end to end p99, 1 at a time, ms',
  effectRate: 'effects per second, 16 at a time',
  cpuTotal: 'CPU-seconds per 1,000 events',
  cpuReceiver: '  receiver',
  cpuWorker: '  worker',
  cpuTemporal: '  Temporal',
  cpuPostgres: '  PostgreSQL',
};

const concurrency = 16;
/** Deliveries before the first one that counts: connections, caches, compiled code. */
const warmUpEvents = 100;
/** One at a time is slow, and its percentiles need no more. */
const singleShare = 0.25;
const lookEveryMs = 1;
const requestWithinMs = 30_000;
const drainWithinMs = 120_000;

const signer = new Webhook(benchSecret);

/** Runs both phases on a system that is ready. */
export async function measure(system: System, servers: Servers, events: number): Promise<Figures> {
  const url = new URL(system.url);
  const http = new Pool(url.origin, {
    connections: concurrency,
    headersTimeout: requestWithinMs,
    bodyTimeout: requestWithinMs,
  });
  try {
    const send = (order: string): Promise<void> => deliver(http, url.pathname, order);
    await atOnce(Math.min(warmUpEvents, events), send);
    await drained(servers, Math.min(warmUpEvents, events));

    const single = Math.max(20, Math.round(events * singleShare));
    const acknowledged: number[] = [];
    const visible: number[] = [];
    for (let number = 0; number < single; number++) {
      const order = randomUUID();
      const began = performance.now();
      await send(order);
      acknowledged.push(performance.now() - began);
      await rowOf(servers, order);
      visible.push(performance.now() - began);
    }
    await drained(servers, single);

    const roots = {
      receiver: system.receiverPid,
      worker: system.workerPid,
      temporal: servers.temporalPid,
      postgres: servers.postgresPid,
    };
    const before = cpuSeconds(roots);
    const began = performance.now();
    await atOnce(events, send);
    const acknowledgedMs = performance.now() - began;
    await drained(servers, events);
    const drainedMs = performance.now() - began;
    const after = cpuSeconds(roots);
    const cpu = (name: keyof typeof roots): number => (((after[name] ?? 0) - (before[name] ?? 0)) / events) * 1000;
    return {
      ackP50: percentile(acknowledged, 0.5),
      ackP99: percentile(acknowledged, 0.99),
      endToEndP50: percentile(visible, 0.5),
      endToEndP99: percentile(visible, 0.99),
      ackRate: (events / acknowledgedMs) * 1000,
      effectRate: (events / drainedMs) * 1000,
      cpuReceiver: cpu('receiver'),
      cpuWorker: cpu('worker'),
      cpuTemporal: cpu('temporal'),
      cpuPostgres: cpu('postgres'),
      cpuTotal: cpu('receiver') + cpu('worker') + cpu('temporal') + cpu('postgres'),
    };
  } finally {
    await http.close();
  }
}

/** Sends one delivery, signed as its provider would; both systems get the same bytes. */
async function deliver(http: Pool, path: string, order: string): Promise<void> {
  const body = JSON.stringify({ type: 'order.paid', data: { order } });
  const now = new Date();
  const { statusCode, body: answer } = await http.request({
    method: 'POST',
    path,
    headers: {
      'content-type': 'application/json',
      'webhook-id': order,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': signer.sign(order, now, body),
    },
    body,
  });
  const text = await answer.text();
  if (statusCode !== 202) throw new Error(`a delivery was answered ${statusCode}: ${text}`);
}

async function atOnce(events: number, send: (order: string) => Promise<void>): Promise<void> {
  let left = events;
  const provider = async (): Promise<void> => {
    while (left-- > 0) await send(randomUUID());
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, events) }, provider));
}

async function rowOf({ database }: Servers, order: string): Promise<void> {
  const until = Date.now() + drainWithinMs;
  for (;;) {
    const { rowCount } = await database.query('SELECT 1 FROM bench.shipments WHERE order_id = $1', [order]);
    if (rowCount === 1) return;
    if (Date.now() > until) throw new Error(`no row for ${order} in time`);
    await sleep(lookEveryMs);
  }
}

/** Waits for the rows of a phase, and takes them away. */
async function drained({ database }: Servers, events: number): Promise<void> {
  const until = Date.now() + drainWithinMs;
  for (;;) {
    const { rows } = await database.query<{ rows: number }>('SELECT count(*)::int AS rows FROM bench.shipments');
    if (rows[0]?.rows === events) break;
    if (Date.now() > until) throw new Error(`${rows[0]?.rows} rows of ${events} events in time`);
    await sleep(20);
  }
  await database.query('TRUNCATE bench.shipments');
}

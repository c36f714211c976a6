import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { cpuSeconds } from '../cpu-seconds.js';
import type { Labels } from '../report.js';
import type { Servers } from '../servers.js';
import { percentile } from '../statistics.js';
import type { Driven, Load } from './drive.js';
import type { Sender } from './start-sender.js';

/** What one repetition shows of one system. Times in ms from publishing to the request; CPU in seconds per 1,000. */
export interface PublishingFigures {
  readonly p50At1: number;
  readonly p95At1: number;
  readonly p99At1: number;
  readonly rateAt16: number;
  readonly p50At16: number;
  readonly p95At16: number;
  readonly p99At16: number;
  readonly rateAt50: number;
  readonly p50At50: number;
  readonly p95At50: number;
  readonly p99At50: number;
  readonly cpuPublisher: number;
  readonly cpuWorker: number;
  readonly cpuTemporal: number;
  readonly cpuPostgres: number;
  readonly cpuTotal: number;
}

/** What each is called. */
export const publishingLabels: Labels<keyof PublishingFigures> = {
  p50At1: 'publish to request p50, 1 under way, ms',
  p95At1: '  p95',
  p99At1: '  p99',
  rateAt16: 'deliveries per second, 16 under way',
  p50At16: '  publish to request p50, ms',
  p95At16: '  p95',
  p99At16: '  p99',
  rateAt50: 'deliveries per second, 50 under way',
  p50At50: '  publish to request p50, ms',
  p95At50: '  p95',
  p99At50: '  p99',
  cpuTotal: 'CPU-seconds per 1,000 deliveries',
  cpuPublisher: '  publisher',
  cpuWorker: '  worker',
  cpuTemporal: '  Temporal',
  cpuPostgres: '  PostgreSQL',
};

/** Deliveries before the first one that counts: connections, caches, compiled code. */
const warmUpDeliveries = 100;
/** One at a time is slow, and its percentiles need no more. */
const singleShare = 0.25;
const drainWithinMs = 120_000;

/** Runs all phases on a system that is ready. */
export async function measurePublishing(
  { publisher, worker }: Sender,
  servers: Servers,
  client: Client,
  deliveries: number,
): Promise<PublishingFigures> {
  const drive = async (load: Load): Promise<Driven> => {
    const driven = (await publisher.ask(load)) as Driven;
    await drained(client);
    return driven;
  };
  await drive({ deliveries: Math.min(warmUpDeliveries, deliveries), inFlight: 16 });
  const single = await drive({ deliveries: Math.max(20, Math.round(deliveries * singleShare)), inFlight: 1 });
  const roots = {
    publisher: publisher.pid,
    worker: worker.pid,
    temporal: servers.temporalPid,
    postgres: servers.postgresPid,
  };
  const before = cpuSeconds(roots);
  const at16 = await drive({ deliveries, inFlight: 16 });
  const at50 = await drive({ deliveries, inFlight: 50 });
  const after = cpuSeconds(roots);
  const cpu = (name: keyof typeof roots): number =>
    (((after[name] ?? 0) - (before[name] ?? 0)) / (2 * deliveries)) * 1000;
  const rate = ({ duration }: Driven): number => (deliveries / duration) * 1000;
  return {
    p50At1: percentile(single.latencies, 0.5),
    p95At1: percentile(single.latencies, 0.95),
    p99At1: percentile(single.latencies, 0.99),
    rateAt16: rate(at16),
    p50At16: percentile(at16.latencies, 0.5),
    p95At16: percentile(at16.latencies, 0.95),
    p99At16: percentile(at16.latencies, 0.99),
    rateAt50: rate(at50),
    p50At50: percentile(at50.latencies, 0.5),
    p95At50: percentile(at50.latencies, 0.95),
    p99At50: percentile(at50.latencies, 0.99),
    cpuPublisher: cpu('publisher'),
    cpuWorker: cpu('worker'),
    cpuTemporal: cpu('temporal'),
    cpuPostgres: cpu('postgres'),
    cpuTotal: cpu('publisher') + cpu('worker') + cpu('temporal') + cpu('postgres'),
  };
}

/** Waits until every workflow of a phase has ended: what comes after the request belongs to its cost. */
async function drained(client: Client): Promise<void> {
  const query = `ExecutionStatus = 'Running' AND WorkflowType IN ('deliverPublication', 'sendMessage')`;
  const until = Date.now() + drainWithinMs;
  for (;;) {
    const { count } = await client.workflow.count(query);
    if (count === 0) return;
    if (Date.now() > until) throw new Error(`${count} workflows had not ended in time`);
    await sleep(50);
  }
}

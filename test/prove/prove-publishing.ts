import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { startMeddlingProxy } from '../publisher/crash/support/meddling-proxy.js';
import { randomMeddling } from '../publisher/crash/support/random-meddling.js';
import { type Counts, count, inWords, sumOf } from './counts.js';
import { injectFaults } from './inject-faults.js';
import { judgePublishing, type PublishingFigures, type PublishingVerdict, withDatabase } from './publishing/judge.js';
import { makePublications, publishAll, publishOnce } from './publishing/publish-all.js';
import { onefold } from './publishing/publisher.js';
import { endpoints } from './publishing/sources.js';
import { type PublishingTopology, startPublishingTopology } from './publishing/topology.js';
import { seededRandom } from './random.js';
import { readArguments } from './read-arguments.js';
import { tailOf } from './start-node.js';

const usage = `npm run prove:publishing -- [--seed N] [--events N] [--concurrency N]

Publishes messages to two endpoints of another application, which receives with Onefold too, over a network that loses
answers, repeats requests and lets them overtake each other, while senders, relays, receivers, Temporal and PostgreSQL are
killed at random moments. Then counts: each message must have one effect behind each endpoint.
Exit code: 0 proven, 1 not proven, 2 wrong usage.`;

/** Faults end when so much is delivered: the rest meets their aftermath. */
const faultsUntilDelivered = 0.9;

/** They end after this time in any case, counted from the last publishing, ms. */
const faultsWithinMs = 120_000;

/** Between two faults: a sender that dies takes ten seconds to be missed, and something has to be under way by then. */
const faultPausesMs = [1000, 6000] as const;

/** After the last fault everything must come to rest by itself within this time. Against hanging only. */
const restWithinMs = 600_000;

/** Of every request. Frozen workers sleep longer than its lease. */
const timeout = '2 seconds';

/** Many short pauses: how often an attempt fails here says nothing about the message. */
const schedule = Array.from({ length: 50 }, (_, number) => Math.min(5000, 500 * (number + 1)));

async function main(): Promise<number> {
  const { seed, events: total, concurrency } = readArguments(usage, { events: 500, concurrency: 4 });
  const random = seededRandom(seed);
  const progress = (line: string): void => void process.stderr.write(`[prove] ${line}\n`);
  const topology = await startPublishingTopology(progress);
  Object.assign(process.env, topology.environment, { ONEFOLD_LOG_LEVEL: 'error' });
  // The network has its own numbers: how many it draws depends on what the faults hit.
  const network = seededRandom(seed + 1);
  const meddled: Counts = {};
  const proxy = await startMeddlingProxy(
    () => network.pick(topology.origins),
    () => {
      const { name, ...meddling } = randomMeddling(network);
      count(meddled, name);
      return meddling;
    },
  );
  const began = Date.now();
  try {
    const ids = new Map<string, string>();
    for (const { source, types, secret } of endpoints) {
      const url = `${proxy.url}/webhooks/${source}`;
      const created = await onefold.endpoints.create({ url, types, secret, timeout, schedule, concurrency: 50 });
      ids.set(source, created.endpoint.id);
    }
    const publications = makePublications(total, random);
    const stopFaults = new AbortController();
    const faulting = injectFaults(topology, random, stopFaults.signal, faultPausesMs);
    faulting.catch(() => {});
    const hopeless = (): boolean => topology.crashed.length > 0;
    const paths = await publishAll(publications, concurrency, random, hopeless, progress);
    progress('all is published; waiting for most of it to be delivered');
    await waitForMost(topology, hopeless);
    stopFaults.abort();
    const faults = await faulting;
    progress('every part is back; waiting for rest');
    const rested = await waitForRest(topology, proxy.settled, progress);
    // A part of it once more: what is done must not be sent.
    for (const one of publications) if (random.next() < 0.25) count(paths, await publishOnce(one));
    await sleep(2000);
    const settled = await waitForRest(topology, proxy.settled, progress);
    const { verdict, figures } = await judgePublishing(topology, publications, ids, proxy.requests);
    const proven = rested && settled && Object.values(verdict).every((number) => number === 0);
    const answers: Counts = {};
    for (const { status, onefoldPath } of proxy.answers) count(answers, onefoldPath || `status_${status}`);
    report({
      ...{ seed, total, faults, paths, meddled, answers, verdict, figures, proven },
      rested: rested && settled,
      seconds: (Date.now() - began) / 1000,
    });
    return proven ? 0 : 1;
  } finally {
    for (const name of topology.crashed) {
      progress(`${name} ended by itself; its log:\n${tailOf(topology.folder, name)}`);
    }
    await onefold.close();
    await proxy.close();
    await topology.stop();
  }
}

async function waitForMost(topology: PublishingTopology, hopeless: () => boolean): Promise<void> {
  const until = Date.now() + faultsWithinMs;
  while (Date.now() < until && !hopeless()) {
    // PostgreSQL may be away.
    const delivered = await deliveredPart(topology).catch(() => 0);
    if (delivered >= faultsUntilDelivered) return;
    await sleep(1000);
  }
}

async function deliveredPart({ publisherUrl }: PublishingTopology): Promise<number> {
  return withDatabase(publisherUrl, async (client) => {
    const { rows } = await client.query<{ part: number }>(
      `SELECT (count(*) FILTER (WHERE state = 'delivered'))::float8 / greatest(1, count(*)) AS part
       FROM onefold.publication_deliveries`,
    );
    return rows[0]?.part ?? 0;
  });
}

/** @returns Whether nothing is queued, no workflow of either application is open, and no request is on its way. */
async function waitForRest(
  topology: PublishingTopology,
  settled: () => Promise<void>,
  progress: (line: string) => void,
): Promise<boolean> {
  const connection = await Connection.connect({ address: topology.temporalAddress });
  try {
    const client = new Client({ connection });
    const until = Date.now() + restWithinMs;
    let left = '';
    while (Date.now() < until && topology.crashed.length === 0) {
      await settled();
      const { count: open } = await client.workflow.count(
        "ExecutionStatus = 'Running' AND WorkflowType IN ('deliverPublication', 'processEvent')",
      );
      const queued = await queuedDeliveries(topology);
      if (open === 0 && queued === 0) return true;
      left = `${open} workflows are open, ${queued} deliveries are queued`;
      await sleep(1000);
    }
    progress(left);
    return false;
  } finally {
    await connection.close();
  }
}

async function queuedDeliveries({ publisherUrl }: PublishingTopology): Promise<number> {
  return withDatabase(publisherUrl, async (client) => {
    const { rows } = await client.query<{ count: number }>(
      "SELECT count(*)::int AS count FROM onefold.publication_deliveries WHERE state = 'queued'",
    );
    return rows[0]?.count ?? 0;
  });
}

function report(run: {
  readonly seed: number;
  readonly total: number;
  readonly faults: Counts;
  readonly paths: Counts;
  readonly meddled: Counts;
  readonly answers: Counts;
  readonly verdict: PublishingVerdict;
  readonly figures: PublishingFigures;
  readonly rested: boolean;
  readonly proven: boolean;
  readonly seconds: number;
}): void {
  const { verdict, figures } = run;
  process.stdout.write(
    [
      `seed         ${run.seed}`,
      `faults       ${sumOf(run.faults)}: ${inWords(run.faults)}`,
      `publications ${run.total}, in ${sumOf(run.paths)} calls: ${inWords(run.paths)}`,
      `deliveries   ${figures.deliveries}, in ${figures.attempts} attempts, ${figures.outcomeUnknown} of them of unknown outcome`,
      `requests     ${sumOf(run.meddled)}: ${inWords(run.meddled)}`,
      `answers      ${sumOf(run.answers)}: ${inWords(run.answers)}`,
      `effects      lost ${verdict.lost}, double ${verdict.double}, stray ${verdict.stray}`,
      `records      requests without a row ${verdict.withoutRow}, rows without an activity ${verdict.withoutActivity}, second runs ${verdict.secondRuns}`,
      `left behind  deliveries not delivered ${verdict.undelivered}, dead letters ${verdict.deadLetters}, all at rest: ${run.rested ? 'yes' : 'no'}, processes that ended by themselves ${verdict.crashed}`,
      `time         ${run.seconds.toFixed(0)} s`,
      `verdict      ${run.proven ? 'PROVEN: every publication has one effect behind each endpoint' : 'NOT PROVEN'}`,
      '',
    ].join('\n'),
  );
}

main().then(
  (code) => process.exit(code),
  (error: Error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);

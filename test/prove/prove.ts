import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Counts, inWords, sumOf } from './counts.js';
import { deliver, deliverOnce, type ProofEvent } from './deliver.js';
import { partnersVariable, type RecoveryKind, recoveries } from './external-effects.js';
import { injectFaults } from './inject-faults.js';
import { type ExternalVerdict, judgeExternal } from './judge-external.js';
import { misbehave, startPartners } from './partners.js';
import { seededRandom } from './random.js';
import { readArguments } from './read-arguments.js';
import { openResolver, type Resolver } from './resolve-parked.js';
import { tailOf } from './start-node.js';
import { startTopology, type Topology } from './topology.js';

const usage = `npm run prove -- [--seed N] [--events N] [--concurrency N]

Sends events with duplicates through two receivers and two workers while receivers, workers, Temporal and PostgreSQL are
killed at random moments, then counts. Every event has a local effect, and half of them one that calls a partner, who drops
connections, hangs and answers wrongly. Every event that was accepted must have its effects exactly once.
Exit code: 0 proven, 1 not proven, 2 wrong usage.`;

/** Events that share a fulfilment with the one before: two events, one business identity. */
const sharedKeyPart = 0.1;

/** So many events have an external effect beside the local one. */
const externalPart = 0.5;

/**
 * After the last fault everything must come to rest by itself within this time: the backlog that was accepted during the
 * faults, the waits for partners, and the person who resolves what is parked. Against hanging only.
 */
const restWithinMs = 600_000;

interface Verdict {
  /** Of the local effect. */
  readonly lost: number;
  readonly double: number;
  readonly open: number;
  readonly deadLetters: number;
  readonly stray: number;
  readonly crashed: number;
}

async function main(): Promise<number> {
  const { seed, events: total, concurrency } = readArguments(usage, { events: 500, concurrency: 8 });
  const random = seededRandom(seed);
  const progress = (line: string): void => void process.stderr.write(`[prove] ${line}\n`);
  const partners = await startPartners();
  const urls = Object.fromEntries(recoveries.map((kind) => [kind, partners[kind].url]));
  const topology = await startTopology(progress, { [partnersVariable]: JSON.stringify(urls) });
  const began = Date.now();
  try {
    const events = makeEvents(total, random);
    const misbehaved = misbehave(partners, events, random);
    const stopFaults = new AbortController();
    const faulting = injectFaults(topology, random, stopFaults.signal);
    faulting.catch(() => {});
    await sendAll(events, topology, concurrency, random, progress);
    stopFaults.abort();
    const faults = await faulting;
    progress('the last event was accepted and every part is back; waiting for rest');
    const resolver = await openResolver(topology, partners);
    const rested = await waitForRest(topology, restWithinMs, progress, resolver).finally(() => resolver.close());
    // Everything once more: a redelivery of what is done must run nothing.
    for (const event of events) {
      if (random.next() < 0.25) await deliverOnce(event, random.pick(topology.receivers).url);
    }
    await waitForRest(topology, 30_000, progress);
    const verdict = await judge(topology, events);
    const external = judgeExternal(partners, events);
    const proven = rested && isClean(verdict) && Object.values(external).every(isProven);
    report({
      ...{ seed, total, events, faults, misbehaved, verdict, external, rested, proven },
      resolved: resolver.resolved(),
      seconds: (Date.now() - began) / 1000,
    });
    return proven ? 0 : 1;
  } finally {
    for (const name of topology.crashed)
      progress(`${name} ended by itself; its log:\n${tailOf(topology.folder, name)}`);
    await topology.stop();
    for (const kind of recoveries) await partners[kind].close();
  }
}

function isClean(verdict: Verdict): boolean {
  return Object.values(verdict).every((count) => count === 0);
}

function isProven({ lost, double, stray }: ExternalVerdict): boolean {
  return lost + double + stray === 0;
}

function makeEvents(total: number, random: ReturnType<typeof seededRandom>): ProofEvent[] {
  const events: ProofEvent[] = [];
  for (let number = 0; number < total; number++) {
    const before = events.at(-1);
    const shared = before && random.next() < sharedKeyPart;
    events.push({
      id: `evt_${number}`,
      fulfilment: shared ? before.fulfilment : `f_${number}`,
      recovery: shared ? before.recovery : random.next() < externalPart ? random.pick(recoveries) : undefined,
      repeats: random.pick([0, 0, 1, 1, 2, 5]),
      accepted: 0,
      refused: 0,
      paths: {},
    });
  }
  return events;
}

async function sendAll(
  events: readonly ProofEvent[],
  topology: Topology,
  concurrency: number,
  random: ReturnType<typeof seededRandom>,
  progress: (line: string) => void,
): Promise<void> {
  const urls = topology.receivers.map(({ url }) => url);
  let next = 0;
  const provider = async (): Promise<void> => {
    for (let event = events[next++]; event; event = events[next++]) {
      await deliver(event, urls, random, () => topology.crashed.length > 0);
      if (next % 100 === 0) progress(`${next} of ${events.length} events`);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, provider));
}

async function withDatabase<Value>(topology: Topology, work: (client: pg.Client) => Promise<Value>): Promise<Value> {
  const client = new pg.Client({ connectionString: topology.databaseUrl });
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** @returns Whether no event was left open. */
async function waitForRest(
  topology: Topology,
  withinMs: number,
  progress: (line: string) => void,
  resolver?: Resolver,
): Promise<boolean> {
  const until = Date.now() + withinMs;
  let open = -1;
  while (Date.now() < until) {
    await resolver?.resolveParked();
    open = await openWorkflows(topology);
    if (open === 0) return true;
    await sleep(1000);
  }
  progress(`${open} workflows are still open`);
  return false;
}

/** Temporal's own count of running events: the ledger does not know those that were never planned. */
async function openWorkflows(topology: Topology): Promise<number> {
  const { Client, Connection } = await import('@temporalio/client');
  const connection = await Connection.connect({ address: topology.temporalAddress });
  try {
    const client = new Client({ connection });
    const { count } = await client.workflow.count("WorkflowType = 'processEvent' AND ExecutionStatus = 'Running'");
    return count;
  } finally {
    await connection.close();
  }
}

async function judge(topology: Topology, events: readonly ProofEvent[]): Promise<Verdict> {
  return withDatabase(topology, async (client) => {
    const shipments = await client.query<{ fulfilment: string; count: number }>(
      'SELECT fulfilment, count(*)::int AS count FROM proof.shipments GROUP BY fulfilment',
    );
    const states = await client.query<{ event_id: string; state: string }>(
      'SELECT event_id, state FROM onefold.events',
    );
    const letters = await client.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM onefold.dead_letters WHERE closed_at IS NULL',
    );
    const shipped = new Map(shipments.rows.map(({ fulfilment, count }) => [fulfilment, count]));
    const stateOf = new Map(states.rows.map(({ event_id, state }) => [event_id, state]));
    const wanted = new Set(events.map(({ fulfilment }) => fulfilment));
    return {
      lost: [...wanted].filter((fulfilment) => !shipped.has(fulfilment)).length,
      double: [...shipped.values()].filter((count) => count > 1).length,
      stray: [...shipped.keys()].filter((fulfilment) => !wanted.has(fulfilment)).length,
      open: events.filter(({ id }) => stateOf.get(id) !== 'done').length,
      deadLetters: letters.rows[0]?.count ?? 0,
      crashed: topology.crashed.length,
    };
  });
}

function report(run: {
  readonly seed: number;
  readonly total: number;
  readonly events: readonly ProofEvent[];
  readonly faults: Counts;
  readonly misbehaved: Record<string, number>;
  readonly verdict: Verdict;
  readonly external: Readonly<Record<RecoveryKind, ExternalVerdict>>;
  readonly resolved: Record<string, number>;
  readonly rested: boolean;
  readonly proven: boolean;
  readonly seconds: number;
}): void {
  const paths: Counts = {};
  for (const event of run.events) {
    for (const [path, count] of Object.entries(event.paths)) paths[path] = (paths[path] ?? 0) + count;
  }
  const { verdict } = run;
  process.stdout.write(
    [
      `seed         ${run.seed}`,
      `faults       ${sumOf(run.faults)}: ${inWords(run.faults)}`,
      `partners     misbehave in ${sumOf(run.misbehaved)} calls: ${inWords(run.misbehaved)}`,
      `events       ${run.total}, with ${new Set(run.events.map(({ fulfilment }) => fulfilment)).size} business identities`,
      `deliveries   ${sumOf(paths)}: ${inWords(paths)}`,
      `effects lost ${verdict.lost}, double ${verdict.double}, stray ${verdict.stray}`,
      ...recoveries.map((kind) => {
        const { identities, calls, lost, double, stray } = run.external[kind];
        const name = `external     ${kind}: lost ${lost}, double ${double}, stray ${stray}`;
        return `${name}, of ${identities} business identities in ${calls} calls`;
      }),
      `parked       resolved ${sumOf(run.resolved)}: ${inWords(run.resolved)}`,
      `left behind  events not done ${verdict.open}, dead letters ${verdict.deadLetters}, workflows at rest: ${run.rested ? 'yes' : 'no'}, processes that ended by themselves ${verdict.crashed}`,
      `time         ${run.seconds.toFixed(0)} s`,
      `verdict      ${run.proven ? 'PROVEN: every accepted event has its effects exactly once' : 'NOT PROVEN'}`,
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

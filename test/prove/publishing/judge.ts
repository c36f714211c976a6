import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { publicationKey } from '../../../src/identity/publication-identity.js';
import { sha256 } from '../../../src/runtime/sha256.js';
import { readHistory } from '../../publisher/crash/support/delivery-history.js';
import type { PassedRequest } from '../../publisher/crash/support/meddling-proxy.js';
import type { ProofPublication } from './publish-all.js';
import { sourcesOf } from './sources.js';
import type { PublishingTopology } from './topology.js';

/** All of it must be 0. */
export interface PublishingVerdict {
  /** Effects at the partner, by endpoint and event. */
  readonly lost: number;
  readonly double: number;
  readonly stray: number;
  /** Deliveries that the publisher's ledger does not have as delivered. */
  readonly undelivered: number;
  /** Open ones of both applications. */
  readonly deadLetters: number;
  /** Requests on the wire that no row of an attempt stands for. */
  readonly withoutRow: number;
  /** Rows of attempts that no activity in a history stands for. */
  readonly withoutActivity: number;
  /** Deliveries whose workflow was started more than once, or that nobody asked for. */
  readonly secondRuns: number;
  readonly crashed: number;
}

/** What it was judged by. */
export interface PublishingFigures {
  readonly deliveries: number;
  readonly attempts: number;
  readonly outcomeUnknown: number;
}

/** Histories read at once. */
const readers = 8;

/**
 * Holds what the partner did, what was on the wire, what the ledger says and what the histories say against what was
 * published.
 *
 * @param endpoints Their ids, by the source that they lead to.
 */
export async function judgePublishing(
  topology: PublishingTopology,
  publications: readonly ProofPublication[],
  endpoints: ReadonlyMap<string, string>,
  requests: readonly PassedRequest[],
): Promise<{ readonly verdict: PublishingVerdict; readonly figures: PublishingFigures }> {
  const wanted = publications.flatMap(({ publication, type, eventId }) =>
    sourcesOf(type).map((source) => ({ publication, source, eventId: eventId ?? 'never accepted' })),
  );
  const [bookings, letters] = await withDatabase(topology.partnerUrl, async (client) => [
    await client.query('SELECT source, event FROM proof.bookings'),
    await client.query(openLetters),
  ]);
  const [deliveries, attempts, ownLetters] = await withDatabase(topology.publisherUrl, async (client) => [
    await client.query('SELECT publication, endpoint, state FROM onefold.publication_deliveries'),
    await client.query('SELECT publication, endpoint, ended FROM onefold.publication_attempts'),
    await client.query(openLetters),
  ]);
  const booked = tally(bookings?.rows ?? [], ({ source, event }) => `${source} ${event}`);
  const onWire = tally(requests, ({ id, path }) => `${path.split('/').at(-1)} ${id}`);
  const rows = tally(attempts?.rows ?? [], ({ publication, endpoint }) => `${endpoint} ${publication}`);
  const stateOf = new Map(
    (deliveries?.rows ?? []).map(({ publication, endpoint, state }) => [`${endpoint} ${publication}`, state]),
  );
  const effects = new Set(wanted.map(({ source, eventId }) => `${source} ${eventId}`));

  const connection = await Connection.connect({ address: topology.temporalAddress });
  try {
    const client = new Client({ connection });
    let withoutRow = 0;
    let withoutActivity = 0;
    await inParallel(wanted, readers, async ({ publication, source, eventId }) => {
      const endpoint = endpoints.get(source) as string;
      const written = rows.get(`${endpoint} ${publication}`) ?? 0;
      withoutRow += Math.max(0, (onWire.get(`${source} ${eventId}`) ?? 0) - written);
      const workflowId = publicationKey({ tenant: '', endpoint, publication }, sha256);
      const { sends } = await readHistory(client.workflow.getHandle(workflowId));
      withoutActivity += Math.max(0, written - sends);
    });
    const { count: runs } = await client.workflow.count("WorkflowType = 'deliverPublication'");
    return {
      verdict: {
        lost: [...effects].filter((effect) => !booked.has(effect)).length,
        double: [...booked.values()].filter((times) => times > 1).length,
        stray: [...booked.keys()].filter((effect) => !effects.has(effect)).length,
        undelivered: wanted.filter(
          ({ publication, source }) => stateOf.get(`${endpoints.get(source)} ${publication}`) !== 'delivered',
        ).length,
        deadLetters: (letters?.rowCount ?? 0) + (ownLetters?.rowCount ?? 0),
        withoutRow,
        withoutActivity,
        secondRuns: Math.abs(runs - wanted.length) + Math.abs(stateOf.size - wanted.length),
        crashed: topology.crashed.length,
      },
      figures: {
        deliveries: wanted.length,
        attempts: attempts?.rowCount ?? 0,
        outcomeUnknown: (attempts?.rows ?? []).filter(({ ended }) => ended === 'outcome_unknown').length,
      },
    };
  } finally {
    await connection.close();
  }
}

const openLetters = 'SELECT 1 FROM onefold.dead_letters WHERE closed_at IS NULL';

function tally<Item>(items: readonly Item[], nameOf: (item: Item) => string): Map<string, number> {
  const counted = new Map<string, number>();
  for (const item of items) counted.set(nameOf(item), (counted.get(nameOf(item)) ?? 0) + 1);
  return counted;
}

async function inParallel<Item>(
  items: readonly Item[],
  width: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const one = async (): Promise<void> => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: width }, one));
}

export async function withDatabase<Value>(
  connectionString: string,
  work: (client: pg.Client) => Promise<Value>,
): Promise<Value> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

import type { Sql } from '../../ledger/database.js';
import { countOpenDeliveries } from '../../ledger/publishing-checks/count-open-deliveries.js';
import { measureOutbox } from '../../ledger/publishing-checks/measure-outbox.js';
import type { SchemaName } from '../../ledger/schema-name.js';
import { relayQueues, relayWindow } from '../../publisher/relay-window.js';
import { durationInWords } from './duration-in-words.js';
import { type Finding, finding } from './finding.js';

/** What was learnt of the queue of deliveries. */
export interface CheckedOutbox {
  /** Deliveries that have waited for a relay for more than a minute; at least so many, where the queues are long or many. */
  readonly overdue: number;
  /** How long the oldest of them has waited, ms; 0 where there is none. */
  readonly oldestMs: number;
}

/** A relay looks every second, and the lease of a dead one ends within 30: what still waits then has nobody. */
const overdueMs = 60_000;

/** As a relay looks. */
const look = { overdueMs, window: relayWindow, queues: relayQueues, perQueue: 1_000 } as const;

/** Open deliveries that are counted one by one. */
const openLimit = 1_000;

/** Looks whether what is queued is being started. */
export async function checkOutbox(
  sql: Sql,
  schema: SchemaName,
): Promise<{ readonly outbox: CheckedOutbox; readonly findings: readonly Finding[] }> {
  const { overdue, cut, oldestMs, relayed } = await measureOutbox(sql, schema, look);
  const outbox = { overdue, oldestMs: Math.round(oldestMs) };
  if (overdue === 0) return { outbox, findings: [] };
  const wait = `${cut ? 'at least ' : ''}${counted(overdue)} queued for more than a minute, the oldest for ${durationInWords(oldestMs)}`;
  const found = relayed
    ? finding('relay_behind', {
        place: 'relay',
        message: `${wait}: relays are at work, and do not keep up`,
        remedy: 'run more of them (`onefold relay`), and see whether Temporal answers slowly: the log lines relay.*',
      })
    : finding('relay_missing', {
        place: 'relay',
        message: `${wait}: no relay runs on this ledger, or it cannot start anything`,
        remedy:
          'run `onefold worker`, or `onefold relay` beside workers with --no-relay; where one runs, see its log lines relay.*',
      });
  return { outbox, findings: [found] };
}

/** Where nothing is published any more: whether something is still under way, which nobody would finish. */
export async function checkLeftDeliveries(sql: Sql, schema: SchemaName): Promise<readonly Finding[]> {
  const open = await countOpenDeliveries(sql, schema, openLimit);
  if (open === 0) return [];
  return [
    finding('deliveries_unfinished', {
      place: `ledger ${schema}`,
      message: `it has ${open === openLimit ? `${open} or more deliveries` : counted(open)} under way, and the configuration publishes nothing: no relay starts them and no worker sends them`,
      remedy:
        "keep `publications` in createOnefold until they have ended, or abandon them; if another application's, give each a schema of its own",
    }),
  ];
}

function counted(deliveries: number): string {
  return `${deliveries} ${deliveries === 1 ? 'delivery' : 'deliveries'}`;
}

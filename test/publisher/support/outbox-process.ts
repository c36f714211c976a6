import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { pgDatabase } from '../../../src/ledger/pg-database.js';
import { schemaName } from '../../../src/ledger/schema-name.js';
import { publish, publishIn } from '../../../src/publisher/publish.js';
import { createRelay } from '../../../src/publisher/relay.js';
import type { RelayStep } from '../../../src/publisher/start-taken.js';
import { createLogger } from '../../../src/runtime/logger.js';
import { outgoing } from './outgoing.js';

/** What a process of its own does, and where it dies. */
export interface OutboxProcessSettings {
  readonly address: string;
  readonly taskQueue: string;
  readonly databaseUrl: string;
  readonly publication: string;
  readonly does:
    | { readonly publish: 'before_commit' | 'after_commit' | 'whole' }
    /** A relay that dies at the n-th time of a step. */
    | { readonly relay: RelayStep; readonly nth: number };
}

/** Kills this process as an operating system does: nothing is flushed, nothing is answered. */
function die(): never {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('still alive after SIGKILL');
}

const settings = JSON.parse(process.env.ONEFOLD_TEST_WORKER ?? '{}') as OutboxProcessSettings;
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
const ledger = { database: pgDatabase({ connectionString: settings.databaseUrl }), schema: schemaName('onefold') };
const message = { publication: settings.publication, type: 'order.note', data: { n: 1 } };
const { does } = settings;
// Heard before it dies.
await new Promise<void>((resolve) => process.send?.('ready', undefined, {}, () => resolve()));

if ('relay' in does) {
  const connection = await Connection.connect({ address: settings.address });
  let times = 0;
  await createRelay({
    ledger,
    client: new Client({ connection }),
    namespace: 'default',
    taskQueue: settings.taskQueue,
    log: createLogger({ level: 'silent' }),
    onStep: (step) => {
      if (step !== does.relay) return;
      times += 1;
      if (times === does.nth) die();
    },
  }).run();
} else if (does.publish === 'whole') {
  await publish({ ledger, publications: outgoing }, message);
  die();
} else {
  const client = new pg.Client({ connectionString: settings.databaseUrl });
  await client.connect();
  await client.query('BEGIN');
  await client.query('INSERT INTO orders VALUES ($1)', [settings.publication]);
  await publishIn({ ledger, publications: outgoing }, client as never, message);
  if (does.publish === 'before_commit') die();
  await client.query('COMMIT');
  die();
}

import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { migrateLedger } from '../../src/ledger/migrate.js';
import { findTemporal } from '../../src/runtime/embedded/find-temporal.js';
import { startPostgresServer } from '../../src/runtime/embedded/postgres-server.js';
import { startTemporalServer } from '../../src/runtime/embedded/temporal-server.js';
import { searchAttributeTypes } from '../../src/workflows/contract.js';

/** Real servers of a recorder's own, with a migrated ledger in the schema `onefold`. */
export interface RecordingServers {
  readonly client: Client;
  /** Of Temporal. */
  readonly address: string;
  /** Of PostgreSQL. */
  readonly connectionString: string;
}

/** Writes a line about how the recording goes. */
export function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Starts the servers, which suggest to continue as new after 80 events, and stops them when the work is over. */
export async function withRecordingServers(work: (servers: RecordingServers) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'onefold-histories-'));
  await chmod(folder, 0o711);
  const stops: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  try {
    const postgres = await startPostgresServer({ folder, port: 0, durable: false, progress });
    stops.push(() => postgres.stop());
    const connectionString = postgres.urlOf('postgres');
    await migrateLedger({ connectionString });
    const temporal = await startTemporalServer({
      executable: await findTemporal(progress),
      folder,
      inMemory: true,
      port: 0,
      searchAttributes: searchAttributeTypes,
      dynamicConfig: ['limit.historyCount.suggestContinueAsNew=80'],
    });
    stops.push(() => temporal.stop());
    const { address } = temporal;
    const connection = await Connection.connect({ address });
    stops.push(() => connection.close());
    await work({ client: new Client({ connection }), address, connectionString });
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

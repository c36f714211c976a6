import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { createOnefold, pgDatabase, standardWebhooks, types } from '../../src/index.js';
import type { Database } from '../../src/ledger/database.js';
import { migrateLedger } from '../../src/ledger/migrate.js';
import type { PgTransaction } from '../../src/ledger/pg-database.js';
import { startPostgresServer } from '../../src/runtime/embedded/postgres-server.js';
import { events, seed } from './seed.js';

// Measures `onefold trace` on a ledger with a million events: `npx tsx bench/trace/bench-trace.ts`. Only the ledger's part:
// what Temporal takes is bounded, and beside it. Fails where a statement reads a big table from end to end, or where the
// 95th percentile of a lookup is not under the target.

const target = 300;
const rounds = 40;

/** Of a statement that reads a table from end to end. */
const bigTables =
  /Seq Scan on (events|event_effects|effects|deliveries|publications|publication_deliveries|publication_attempts|acts)\b/;

const log = (line: string): void => void process.stdout.write(`${line}\n`);
const folder = await mkdtemp(join(tmpdir(), 'onefold-bench-trace-'));
// As root, PostgreSQL runs as another user, who must get through.
await chmod(folder, 0o711);
const server = await startPostgresServer({ folder, port: 0, progress: log });
let failed = false;
try {
  await migrateLedger({ connectionString: server.url });
  const pool = new pg.Pool({ connectionString: server.url, max: 2 });
  await seed(pool, log);

  const statements = new Map<string, readonly unknown[]>();
  const own = pgDatabase({ connectionString: server.url, max: 10 });
  const database: Database<PgTransaction> = {
    ...own,
    query: (text, values) => {
      statements.set(text, values ?? []);
      return own.query(text, values);
    },
  };
  const shop = standardWebhooks('shop', {
    secrets: 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=',
    events: { 'order.paid': types<{ order: string }>() },
  });
  const shipOrder = shop.effect('ship-order', {
    on: 'order.paid',
    businessKey: ({ data }) => `shipment:${data.order}`,
    commit: async () => null,
  });
  const onefold = createOnefold({
    sources: [shop],
    effects: [shipOrder],
    database,
    logger: pino({ level: 'silent' }),
  });

  const some = (round: number): number => 1 + ((round * 104_729) % events);
  const published = (round: number): number => 1 + ((round * 7_919) % 200_000);
  const md5 = async (n: number): Promise<string> =>
    (await pool.query<{ md5: string }>('SELECT md5($1::text) AS md5', [String(n)])).rows[0]?.md5 ?? '';
  const kinds: Record<string, (round: number) => Promise<readonly [string, { effect?: string; tenant?: string }]>> = {
    'source/event-id': async (round) => [`shop/evt_${some(round)}`, {}],
    'event id': async (round) => [`evt_${some(round)}`, {}],
    'workflow ID': async (round) => [`event//shop/evt_${some(round) - (some(round) % 10) + 1}`, {}],
    'business key': async (round) => [`shipment:${some(round)}`, {}],
    'effect, business key': async (round) => [`shipment:${some(round)}`, { effect: 'ship-order' }],
    publication: async (round) => [`order:${published(round)}:confirmed:v1`, {}],
    'webhook-id': async (round) => [`msg_${await md5(published(round))}`, {}],
    'beginning of an event id': async (round) => [`evt_${some(round)}`.slice(0, 8), {}],
    'part of a name': async (round) => [`t_${some(round)}`, {}],
    'unknown name': async (round) => [`no-such-${round}`, {}],
  };
  log(`\n${'lookup'.padEnd(28)}${'p50 ms'.padStart(10)}${'p95 ms'.padStart(10)}`);
  for (const [kind, make] of Object.entries(kinds)) {
    const scanned = kind === 'part of a name' || kind === 'unknown name';
    const times: number[] = [];
    for (let round = 0; round < (scanned ? 10 : rounds); round++) {
      const [identity, options] = await make(round);
      const began = performance.now();
      await onefold.trace(identity, { ...options, temporal: false }).catch((error: { code?: string }) => {
        if (error.code !== 'identity_unknown') throw error;
      });
      times.push(performance.now() - began);
    }
    times.sort((one, other) => one - other);
    const at = (share: number): number => times[Math.ceil(times.length * share) - 1] ?? 0;
    log(`${kind.padEnd(28)}${at(0.5).toFixed(1).padStart(10)}${at(0.95).toFixed(1).padStart(10)}`);
    // A search inside of names reads them all, and is bounded by its own time instead.
    if (!scanned && at(0.95) > target) {
      failed = true;
      log(`  over the target of ${target} ms`);
    }
  }

  log('\nplans');
  for (const [text, values] of statements) {
    const { rows } = await pool.query<Record<string, string>>(`EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ${text}`, [
      ...values,
    ]);
    const plan = rows.map((row) => row['QUERY PLAN'] ?? '').join('\n');
    log(`\n${text.replace(/\s+/g, ' ').slice(0, 160)}\n${plan}`);
    if (bigTables.test(plan)) {
      failed = true;
      log('  READS A BIG TABLE FROM END TO END');
    }
  }
  await onefold.close();
  await own.close();
  await pool.end();
} finally {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
process.exitCode = failed ? 1 : 0;

import type pg from 'pg';

/** How much is seeded. */
export const events = 1_000_000;
const publications = 200_000;

/**
 * Fills a ledger set-wise as a year would have: each event with one effect, a claim and two deliveries; some dead letters,
 * acts, publications with their deliveries and attempts. Every tenth event belongs to one of a hundred tenants.
 */
export async function seed(database: pg.Pool, progress: (line: string) => void): Promise<void> {
  const tenant = `CASE WHEN n % 10 = 0 THEN 'tenant-' || (n / 10) % 100 ELSE '' END`;
  const key = `'event/' || ${tenant} || '/shop/evt_' || n`;
  const at = `now() - make_interval(secs => ${events} - n)`;
  const all = `generate_series(1, ${events}) n`;
  const some = (every: number): string => `generate_series(1, ${events}, ${every}) n`;
  const published = `generate_series(1, ${publications}) n`;
  const statements: readonly (readonly [what: string, sql: string])[] = [
    [
      'events',
      `INSERT INTO onefold.events (tenant, event_key, source, event_id, type, digest, input, state, remaining, received_at, ended_at)
       SELECT ${tenant}, ${key}, 'shop', 'evt_' || n, 'order.paid', md5(n::text), '{}',
              CASE WHEN n % 1000 = 1 THEN 'dead_lettered' ELSE 'done' END, 0, ${at}, ${at} FROM ${all}`,
    ],
    [
      'event_effects',
      `INSERT INTO onefold.event_effects (tenant, event_key, effect, business_key, outcome, ended_at)
       SELECT ${tenant}, ${key}, 'ship-order', 'shipment:' || n, CASE WHEN n % 1000 = 1 THEN NULL ELSE 'done' END, ${at} FROM ${all}`,
    ],
    [
      'effects',
      `INSERT INTO onefold.effects (tenant, effect, business_key, state, fence, owner, event_key, event, data_digest, done_at)
       SELECT ${tenant}, 'ship-order', 'shipment:' || n, 'done', 1, gen_random_uuid(), ${key}, 'shop/evt_' || n, md5(n::text), ${at}
       FROM ${all} WHERE n % 1000 <> 1`,
    ],
    [
      'deliveries',
      `INSERT INTO onefold.deliveries (tenant, source, event_key, path, status, received_at)
       SELECT ${tenant}, 'shop', ${key}, CASE d WHEN 1 THEN 'first_run' ELSE 'duplicate_done' END, 202, ${at}
       FROM ${all} CROSS JOIN generate_series(1, 2) d`,
    ],
    [
      'dead_letters',
      `INSERT INTO onefold.dead_letters (tenant, event_key, source, event_id, type, code, message, input, effects, runs)
       SELECT ${tenant}, ${key}, 'shop', 'evt_' || n, 'order.paid', 'budget_spent', 'gave up', '{}', '[]', '{}' FROM ${some(1000)}`,
    ],
    [
      'acts',
      `INSERT INTO onefold.acts (tenant, id, kind, event_key, actor, reason, seen, outcome)
       SELECT ${tenant}, 'act-' || n, 'replay', ${key}, 'bob', 'mended', '{}', 'started' FROM ${some(50)}`,
    ],
    [
      'superseded_attempts',
      `INSERT INTO onefold.superseded_attempts (tenant, effect, business_key, event_key, attempt, owner, fence, ended)
       SELECT ${tenant}, 'ship-order', 'shipment:' || n, ${key}, 1, gen_random_uuid(), 1, 'not_done' FROM ${some(100)}`,
    ],
    [
      'publications',
      `INSERT INTO onefold.publications (tenant, publication, event_id, type, digest, body, published_at, caused_by)
       SELECT ${tenant}, 'order:' || n || ':confirmed:v1', 'msg_' || md5(n::text), 'order.confirmed', md5(n::text), '{}', ${at}, ${key}
       FROM ${published}`,
    ],
    [
      'publication_deliveries',
      `INSERT INTO onefold.publication_deliveries (tenant, publication, endpoint, state, attempts, ended_at)
       SELECT ${tenant}, 'order:' || n || ':confirmed:v1', 'ep_1', 'delivered', 1, ${at} FROM ${published}`,
    ],
    [
      'publication_attempts',
      `INSERT INTO onefold.publication_attempts (id, tenant, publication, endpoint, run_id, attempt, endpoint_version, started_at, lease_until, ended, status)
       SELECT gen_random_uuid(), ${tenant}, 'order:' || n || ':confirmed:v1', 'ep_1', 'run', 1, 1, ${at}, ${at}, 'delivered', 200 FROM ${published}`,
    ],
  ];
  for (const [what, sql] of statements) {
    const began = performance.now();
    const { rowCount } = await database.query(sql);
    progress(`${what}: ${rowCount} rows in ${Math.round((performance.now() - began) / 1000)} s`);
  }
  await database.query('VACUUM ANALYZE');
}

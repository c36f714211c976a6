import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type PauseName, pauseKey } from './pause-row.js';

/** Pauses an effect or a source. Of one that is paused already the latest reason stands, and since when it was. */
export async function writePause(
  sql: Sql,
  schema: SchemaName,
  pause: PauseName & { readonly act: string; readonly by: string; readonly reason: string },
): Promise<void> {
  await sql(
    `INSERT INTO ${schema}.pauses (kind, name, every_tenant, tenant, act, actor, reason)
     VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (kind, name, every_tenant, tenant) DO UPDATE
       SET act = EXCLUDED.act, actor = EXCLUDED.actor, reason = EXCLUDED.reason`,
    [...pauseKey(pause), pause.act, pause.by, pause.reason],
  );
}

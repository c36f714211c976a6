import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** Records that an event, planned before, has these effects as well, which only look: they count as ended from the first. */
export async function recordObserved(
  sql: Sql,
  schema: SchemaName,
  event: {
    readonly tenant: string;
    readonly eventKey: string;
    readonly effects: readonly { readonly effect: string; readonly businessKey: string }[];
  },
): Promise<void> {
  await sql(
    `INSERT INTO ${schema}.event_effects (tenant, event_key, effect, business_key, outcome, ended_at)
     SELECT $1, $2, observed.effect, observed.business_key, 'observed', clock_timestamp()
     FROM unnest($3::text[], $4::text[]) AS observed (effect, business_key)
     ON CONFLICT DO NOTHING`,
    [
      event.tenant,
      event.eventKey,
      event.effects.map(({ effect }) => effect),
      event.effects.map(({ businessKey }) => businessKey),
    ],
  );
}

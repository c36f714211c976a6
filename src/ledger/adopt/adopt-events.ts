import { adoptedDigest } from '../../workflows/contract.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { AdoptedEvent } from './adopted-row.js';

/** An event for which an effect is done, by an earlier system or by another event. */
export interface EndedEvent {
  readonly tenant: string;
  readonly event: AdoptedEvent;
  readonly businessKey: string;
  readonly doneAt: Date;
  /** `already_done` where the ledger has it as another event's doing. */
  readonly outcome: 'done' | 'already_done';
}

/**
 * Records events that are done, unless they are recorded; nothing of their bodies is known. Sort them, so that two adoptions
 * never wait for each other.
 *
 * @returns The keys of those that were recorded, `tenant` first.
 */
export async function adoptEvents(
  sql: Sql,
  schema: SchemaName,
  events: readonly EndedEvent[],
): Promise<readonly (readonly [tenant: string, eventKey: string])[]> {
  const { rows } = await sql<{ tenant: string; event_key: string }>(
    `INSERT INTO ${schema}.events
       (tenant, event_key, source, event_id, type, digest, input, received_at, remaining, state, ended_at)
     SELECT tenant, event_key, source, event_id, type, '${adoptedDigest}', input, done_at, 0, 'done', done_at
     FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[])
       WITH ORDINALITY AS given (tenant, event_key, source, event_id, type, input, done_at, place)
     ORDER BY place
     ON CONFLICT DO NOTHING
     RETURNING tenant, event_key`,
    [
      events.map(({ tenant }) => tenant),
      events.map(({ event }) => event.eventKey),
      events.map(({ event }) => event.source),
      events.map(({ event }) => event.id),
      events.map(({ event }) => event.type),
      events.map(({ event }) => event.input),
      events.map(({ doneAt }) => doneAt.toISOString()),
    ],
  );
  return rows.map(({ tenant, event_key }) => [tenant, event_key]);
}

/**
 * Ends an effect for events that have a plan, or were adopted, without it, and for events that only observed it. An effect
 * that an event was planned to run is not touched, since the claim decides there; nor is an event that has no plan yet, whose
 * effects its next one is to find.
 *
 * @param recorded What {@link adoptEvents} has recorded in this transaction.
 * @returns The keys of the events that it was recorded for, `tenant` first.
 */
export async function adoptEventEffects(
  sql: Sql,
  schema: SchemaName,
  { effect, names }: { readonly effect: string; readonly names: readonly string[] },
  events: readonly EndedEvent[],
  recorded: readonly (readonly [tenant: string, eventKey: string])[],
): Promise<readonly (readonly [tenant: string, eventKey: string])[]> {
  const { rows } = await sql<{ tenant: string; event_key: string }>(
    `INSERT INTO ${schema}.event_effects AS k (tenant, event_key, effect, business_key, outcome, completed_as, ended_at)
     SELECT DISTINCT ON (given.tenant, given.event_key)
            given.tenant, given.event_key, $1::text, given.business_key, given.outcome, done.effect, given.done_at
     FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[])
       WITH ORDINALITY AS given (tenant, event_key, business_key, outcome, done_at, place)
     CROSS JOIN LATERAL (
       SELECT d.effect FROM ${schema}.effects d
       WHERE d.tenant = given.tenant AND d.effect = ANY($2) AND d.business_key = given.business_key AND d.state = 'done'
       LIMIT 1
     ) AS done
     WHERE NOT EXISTS (SELECT 1 FROM ${schema}.event_effects own
                       WHERE own.tenant = given.tenant AND own.event_key = given.event_key AND own.effect = ANY($2)
                         AND own.outcome IS DISTINCT FROM 'observed')
       AND (EXISTS (SELECT 1 FROM unnest($8::text[], $9::text[]) AS recorded (tenant, event_key)
                    WHERE recorded.tenant = given.tenant AND recorded.event_key = given.event_key)
            OR EXISTS (SELECT 1 FROM ${schema}.event_effects any_of
                       WHERE any_of.tenant = given.tenant AND any_of.event_key = given.event_key))
     ORDER BY given.tenant, given.event_key, given.place
     ON CONFLICT (tenant, event_key, effect) DO UPDATE
       SET outcome = EXCLUDED.outcome, completed_as = EXCLUDED.completed_as, ended_at = EXCLUDED.ended_at
       WHERE k.outcome = 'observed' AND k.business_key = EXCLUDED.business_key
     RETURNING tenant, event_key`,
    [
      effect,
      names,
      events.map(({ tenant }) => tenant),
      events.map(({ event }) => event.eventKey),
      events.map(({ businessKey }) => businessKey),
      events.map(({ outcome }) => outcome),
      events.map(({ doneAt }) => doneAt.toISOString()),
      recorded.map(([tenant]) => tenant),
      recorded.map(([, eventKey]) => eventKey),
    ],
  );
  return rows.map(({ tenant, event_key }) => [tenant, event_key]);
}

import { Client, Connection } from '@temporalio/client';
import { pino } from 'pino';
import { pgDatabase } from '../../src/ledger/pg-database.js';
import { schemaName } from '../../src/ledger/schema-name.js';
import type { OperationsContext } from '../../src/operations/context.js';
import { resolveEffect } from '../../src/operations/resolve-effect.js';
import { createMetrics } from '../../src/runtime/metrics.js';
import { callTimeoutMs, latestActMs } from './external-effects.js';
import { onefold } from './onefold.js';
import type { Partners } from './partners.js';

/** The person who looks at what is parked. */
export interface Resolver {
  /** Says of each effect that is parked long enough what its partner really did. */
  resolveParked(): Promise<void>;
  /** Effects that were resolved, by what was said of them. */
  resolved(): Record<string, number>;
  close(): Promise<void>;
}

/** Before a person believes that nothing was done, every call must have arrived and the partner have acted on it. */
const lookAfterMs = callTimeoutMs + latestActMs;

/** Opens what resolving needs; every part of the topology must be up. */
export async function openResolver(
  topology: { readonly databaseUrl: string; readonly temporalAddress: string },
  partners: Partners,
): Promise<Resolver> {
  const connection = await Connection.connect({ address: topology.temporalAddress });
  const database = pgDatabase({ connectionString: topology.databaseUrl, max: 4 });
  const context: OperationsContext = {
    catalogue: onefold.catalogue,
    client: new Client({ connection }),
    namespace: 'default',
    temporal: { address: topology.temporalAddress },
    taskQueue: 'proof',
    ledger: { database, schema: schemaName('onefold') },
    log: pino({ level: 'silent' }),
    metrics: createMetrics(),
  };
  const seenSince = new Map<string, number>();
  const resolved: Record<string, number> = {};
  return {
    async resolveParked() {
      const { rows } = await database.query<{ effect: string; business_key: string; fence: string }>(
        "SELECT effect, business_key, fence FROM onefold.effects WHERE state = 'parked'",
      );
      for (const { effect, business_key: businessKey, fence } of rows) {
        const parking = `${businessKey} ${fence}`;
        const since = seenSince.get(parking) ?? Date.now();
        seenSince.set(parking, since);
        if (Date.now() - since < lookAfterMs) continue;
        const [found] = partners.park.taken(businessKey);
        const outcome = found
          ? ({ outcome: 'done', result: { id: found.id, business: businessKey } } as const)
          : ({ outcome: 'absent' } as const);
        await resolveEffect(context, { effect, businessKey }, outcome, {
          by: 'the proof',
          reason: 'asked the partner',
        });
        resolved[outcome.outcome] = (resolved[outcome.outcome] ?? 0) + 1;
      }
    },
    resolved: () => resolved,
    async close() {
      await database.close();
      await connection.close();
    },
  };
}

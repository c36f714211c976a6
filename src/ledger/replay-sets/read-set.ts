import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** A set as it was frozen, and how far it has come. */
export interface ReplaySet {
  readonly tenant: string;
  readonly id: string;
  /** JSON. */
  readonly filter: string;
  readonly effect?: string;
  readonly size: number;
  /** Events per second. */
  readonly rate?: number;
  readonly state: 'open' | 'ended' | 'cancelled';
  readonly frozenAt: Date;
  readonly endedAt?: Date;
  /** Who asked for it, and why: its act. */
  readonly by: string;
  readonly reason: string;
}

interface Row extends Omit<ReplaySet, 'effect' | 'rate' | 'endedAt'> {
  readonly effect: string | null;
  readonly rate: string | null;
  readonly endedAt: Date | null;
}

/** Reads a set with the act that it belongs to, or undefined. */
export async function readSet(
  sql: Sql,
  schema: SchemaName,
  set: { readonly tenant: string; readonly id: string },
): Promise<ReplaySet | undefined> {
  const { rows } = await sql<Row>(
    `SELECT s.tenant, s.id, s.filter, s.effect, s.size, s.rate, s.state, s.frozen_at AS "frozenAt",
            s.ended_at AS "endedAt", a.actor AS by, a.reason
     FROM ${schema}.replay_sets s JOIN ${schema}.acts a ON a.tenant = s.tenant AND a.id = s.id
     WHERE s.tenant = $1 AND s.id = $2`,
    [set.tenant, set.id],
  );
  const [row] = rows;
  if (!row) return undefined;
  const { effect, rate, endedAt, ...rest } = row;
  return {
    ...rest,
    ...(effect === null ? {} : { effect }),
    ...(rate === null ? {} : { rate: Number(rate) }),
    ...(endedAt === null ? {} : { endedAt }),
  };
}

import type { Catalogue } from '../../effects/catalogue.js';
import { OnefoldError } from '../../errors.js';
import type { Sql, TransactionLimits } from '../../ledger/database.js';
import type { RecordedPause } from '../../ledger/pauses/pause-row.js';
import { readAct, recordAct } from '../../ledger/record-act.js';
import type { SchemaName } from '../../ledger/schema-name.js';
import type { ActOptions } from '../read-act-options.js';
import { type Pausable, pauseActKey } from './read-pausable.js';

/** A few short statements. */
export function pauseLimits(): TransactionLimits {
  const ms = 10_000;
  return { statementTimeoutMs: ms, lockTimeoutMs: ms, idleTimeoutMs: ms, signal: AbortSignal.timeout(ms) };
}

/** A pause as answers show it. */
export interface ShownPause {
  readonly kind: 'effect' | 'source';
  /** An effect's present name, where the configuration has it. */
  readonly name: string;
  /** Undefined for every tenant. */
  readonly tenant?: string;
  readonly by: string;
  readonly reason: string;
  readonly since: Date;
  /** Of the latest act about it. */
  readonly id: string;
}

/** Shows a pause, of an effect under its present name. */
export function shownPause(
  catalogue: Catalogue,
  { kind, name, tenant, by, reason, at, act }: RecordedPause,
): ShownPause {
  const shown = (kind === 'effect' && catalogue.effect(name)?.name) || name;
  return { kind, name: shown, ...(tenant === undefined ? {} : { tenant }), by, reason, since: at, id: act };
}

/**
 * Records the wish to pause or resume, in the transaction that carries it out.
 *
 * @returns False where the same wish was carried out before.
 * @throws {OnefoldError} `pause_refused` for the id of another act.
 */
export async function recordPauseWish(
  sql: Sql,
  schema: SchemaName,
  kind: 'pause' | 'resume',
  pausable: Pausable,
  { id, by, reason }: Required<ActOptions>,
  before: RecordedPause | undefined,
): Promise<boolean> {
  const { tenant } = pausable;
  const seen = {
    everyTenant: tenant === undefined,
    ...(before ? { paused: { by: before.by, reason: before.reason, since: before.at.toISOString() } } : {}),
  };
  const act = { tenant: tenant ?? '', id, kind, eventKey: pauseActKey(pausable), actor: by, reason } as const;
  const outcome = kind === 'pause' ? 'paused' : 'resumed';
  if (await recordAct(sql, schema, { ...act, seen: JSON.stringify(seen), outcome })) return true;
  const earlier = await readAct(sql, schema, act.tenant, id);
  const everyTenant = earlier && (JSON.parse(earlier.seen) as { readonly everyTenant?: boolean }).everyTenant;
  if (earlier?.kind === kind && earlier.eventKey === act.eventKey && everyTenant === seen.everyTenant) return false;
  throw new OnefoldError(
    'pause_refused',
    `the id ${id} is that of another act: ${earlier?.kind} of ${earlier?.eventKey}`,
  );
}

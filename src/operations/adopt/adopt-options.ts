import { ledgerName, ledgerNames } from '../../effects/catalogue.js';
import type { Effect } from '../../effects/effect.js';
import { OnefoldError } from '../../errors.js';
import { checkTenant } from '../../identity/check-tenant.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import type { OperationsContext } from '../context.js';
import { type ActOptions, readActOptions } from '../read-act-options.js';

/** What is adopted, and who asks for it. */
export interface AdoptOptions extends ActOptions {
  readonly source: string;
  /** Its name, or a former one. */
  readonly effect: string;
  /**
   * A query of what an earlier system has done for this effect, one row for each. Columns, in any order:
   * - `event_key`: the provider's event id, as the provider spells it; null where it was not kept.
   * - `business_key`: as the effect's `businessKey` makes it; left out, or null, only where that is `perEvent`.
   * - `result`: optional. JSON, as a type of PostgreSQL's or as text; answered to duplicates.
   * - `done_at`: optional. A time without a zone is taken as UTC. Default: now.
   * - `type`: optional, the event's type. Default: the first that the effect acts on.
   * - `tenant`: optional. Default: `tenant`.
   */
  readonly sql: string;
  /** Where the query runs, as a PostgreSQL URL. Default: the ledger's database. */
  readonly from?: string;
  /** Of all rows, where the query gives none. Default ''. */
  readonly tenant?: string;
  /** Only say what would be done. */
  readonly dryRun?: boolean;
  /** Told after each batch how far it has come. */
  readonly onProgress?: (progress: AdoptProgress) => void;
  /** Stops between two batches. */
  readonly signal?: AbortSignal;
}

/** How far an adoption has come, in rows of the query. */
export interface AdoptProgress {
  readonly rows: number;
  /** Written: a completion, or an event that has it. In a dry run, those that would be. */
  readonly adopted: number;
  /** The ledger has all of it. */
  readonly alreadyThere: number;
  /** What the ledger has contradicts the row, and stands. */
  readonly conflicts: number;
  /** Nothing that can be adopted. */
  readonly refused: number;
}

const known: readonly (keyof AdoptOptions)[] = [
  'by',
  'reason',
  'id',
  'source',
  'effect',
  'sql',
  'from',
  'tenant',
  'dryRun',
  'onProgress',
  'signal',
];

/** The options as they were understood. */
export interface AdoptPlan {
  readonly effect: Effect;
  /** The name that the ledger goes by. */
  readonly ledgerName: string;
  readonly names: readonly string[];
  readonly sql: string;
  readonly from: string | undefined;
  readonly tenant: string;
  readonly act: Required<ActOptions>;
  /** Other effects that act on events of the types adopted: for these a redelivery will not run them. */
  readonly notRun: readonly string[];
}

/**
 * Judges what was asked for.
 *
 * @throws {OnefoldError} `config_invalid` for an unknown option; `effect_unknown`, `identity_invalid`, `adopt_refused`.
 */
export function readAdoptOptions({ catalogue }: OperationsContext, options: AdoptOptions): AdoptPlan {
  refuseUnknownOptions(options, known, 'adopt');
  const act = readActOptions(options, 'adopt_refused');
  const effect = catalogue.effect(options.effect);
  if (!effect || effect.source !== options.source) {
    const names = catalogue.effects.filter(({ source }) => source === options.source).map(({ name }) => name);
    throw new OnefoldError(
      'effect_unknown',
      `no effect '${options.effect}' of source '${options.source}' in the configuration; that source has ${names.join(', ') || 'none'}`,
    );
  }
  // A statement takes no second one behind it, and a query mostly comes with its closing semicolon.
  const sql = options.sql.trim().replace(/;\s*$/, '');
  if (sql === '') throw new OnefoldError('adopt_refused', 'the query is blank');
  return {
    effect,
    ledgerName: ledgerName(effect),
    names: ledgerNames(effect),
    sql,
    from: options.from,
    tenant: checkTenant(options.tenant ?? ''),
    act,
    notRun: effectsBeside(catalogue, effect),
  };
}

/** Names of the other effects that act on events of the same types. */
export function effectsBeside({ effects }: OperationsContext['catalogue'], effect: Effect): readonly string[] {
  return effects
    .filter((other) => other !== effect && other.source === effect.source)
    .filter(({ on }) => on.some((type) => effect.on.includes(type)))
    .map(({ name }) => name);
}

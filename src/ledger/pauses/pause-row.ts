/** What a pause can be of; endpoints have a state of their own. */
export type PauseKind = 'effect' | 'source';

/** What is paused, and for whom. */
export interface PauseName {
  readonly kind: PauseKind;
  /** Of an effect, the name that the ledger claims it under. */
  readonly name: string;
  /** Its events alone, '' being those without a tenant; undefined for every tenant. */
  readonly tenant?: string;
}

/** A pause as recorded. */
export interface RecordedPause extends PauseName {
  /** The act that gave the latest reason. */
  readonly act: string;
  readonly by: string;
  readonly reason: string;
  /** Since when it is paused, whoever gave further reasons since. */
  readonly at: Date;
}

/** A row as PostgreSQL gives it. */
export interface PauseRow {
  readonly kind: PauseKind;
  readonly name: string;
  readonly tenant: string;
  readonly everyTenant: boolean;
  readonly act: string;
  readonly by: string;
  readonly reason: string;
  readonly at: Date;
}

/** The columns of a {@link PauseRow}. */
export const pauseColumns = 'kind, name, tenant, every_tenant AS "everyTenant", act, actor AS by, reason, at';

/** The parameters $1 to $4 by which statements find a pause. */
export function pauseKey({ kind, name, tenant }: PauseName): readonly unknown[] {
  return [kind, name, tenant === undefined, tenant ?? ''];
}

/** Makes a pause of a row. */
export function pauseOfRow({ tenant, everyTenant, ...rest }: PauseRow): RecordedPause {
  return { ...rest, ...(everyTenant ? {} : { tenant }) };
}

import { type Catalogue, ledgerNames } from '../../effects/catalogue.js';
import type { Sql } from '../../ledger/database.js';
import type { Ledger } from '../../ledger/ledger.js';
import { listMissingMigrations } from '../../ledger/list-missing-migrations.js';
import { listUnknownEffects, type UnknownEffect } from '../../ledger/list-unknown-effects.js';
import type { SchemaName } from '../../ledger/schema-name.js';
import type { Sealer } from '../../runtime/seal.js';
import { type CheckedEndpoints, checkEndpoints } from './check-endpoints.js';
import { type CheckedOutbox, checkLeftDeliveries, checkOutbox } from './check-outbox.js';
import { type Finding, finding } from './finding.js';

/** What was learnt of the ledger. */
export interface CheckedLedger {
  readonly schema: string;
  readonly missingMigrations: readonly string[];
  /** Effects that it holds something of and the configuration does not have; null where it could not be asked. */
  readonly unknownEffects: readonly UnknownEffect[] | null;
  /** Null where the configuration publishes nothing, or the ledger could not be asked. */
  readonly publishing: (CheckedEndpoints & CheckedOutbox) | null;
}

/** What is published, and what opens the secrets of those it goes to. */
export interface LedgerPublishing {
  readonly types: readonly string[];
  readonly sealer: Sealer;
}

/** A permanent ledger grows for years; whoever checks waits longer than an attempt would. */
const limits = { statementTimeoutMs: 60_000, lockTimeoutMs: 5_000, idleTimeoutMs: 60_000 } as const;

/**
 * Looks at the ledger: whether it is of this version, and whether it holds work that this configuration would not finish.
 *
 * @param publishing Absent where the configuration publishes nothing.
 * @throws {OnefoldError} `ledger_unavailable`; PostgreSQL's own error where the ledger is not there.
 */
export async function checkLedger(
  ledger: Ledger,
  catalogue: Catalogue,
  publishing?: LedgerPublishing,
): Promise<{ readonly ledger: CheckedLedger; readonly findings: readonly Finding[] }> {
  const { database, schema } = ledger;
  const place = `ledger ${schema}`;
  const missingMigrations = await listMissingMigrations(database.query, schema);
  if (missingMigrations.length > 0) {
    return {
      ledger: { schema: unquoted(schema), missingMigrations, unknownEffects: null, publishing: null },
      findings: [
        finding('migration_missing', {
          place,
          message: `it is older than this version: ${missingMigrations.join(', ')} not applied`,
          remedy: 'run onefold migrate',
        }),
      ],
    };
  }
  const known = catalogue.effects.flatMap((effect) => ledgerNames(effect));
  return database.transaction(async (_tx, sql) => {
    const unknownEffects = await listUnknownEffects(sql, schema, known);
    const published = await checkPublishing(sql, schema, publishing);
    return {
      ledger: { schema: unquoted(schema), missingMigrations, unknownEffects, publishing: published.publishing },
      findings: [...unknownEffects.map((unknown) => judge(unknown, place)), ...published.findings],
    };
  }, limits);
}

async function checkPublishing(
  sql: Sql,
  schema: SchemaName,
  publishing: LedgerPublishing | undefined,
): Promise<{ readonly publishing: CheckedLedger['publishing']; readonly findings: readonly Finding[] }> {
  if (!publishing) return { publishing: null, findings: await checkLeftDeliveries(sql, schema) };
  const { endpoints, findings } = await checkEndpoints(sql, schema, publishing.types, publishing.sealer);
  const outbox = await checkOutbox(sql, schema);
  return { publishing: { ...endpoints, ...outbox.outbox }, findings: [...findings, ...outbox.findings] };
}

function judge({ effect, unfinishedClaims, openEvents, deadLetteredEvents }: UnknownEffect, place: string): Finding {
  const work = [
    counted(unfinishedClaims, 'unfinished claim'),
    counted(openEvents, 'open event'),
    counted(deadLetteredEvents, 'dead-lettered event'),
  ].filter((text) => text !== undefined);
  if (unfinishedClaims + openEvents > 0) {
    return finding('effect_unfinished', {
      place,
      message: `it knows an effect '${effect}' that the configuration does not have, with ${work.join(', ')}: nobody would finish them`,
      remedy: `if it was renamed, add formerly: '${effect}' to the new name; if it was removed, keep it until they have ended, or resolve and abandon them`,
    });
  }
  return finding('effect_forgotten', {
    place,
    message: `it knows an effect '${effect}' that the configuration does not have${work.length > 0 ? `, with ${work.join(', ')} that a replay would hold waiting for it` : ', and nothing of it is under way'}`,
    remedy: `if it was renamed, add formerly: '${effect}' to the new name, or what it has done would be done again; if it was removed, all is well; if another application's, give each a schema of its own`,
  });
}

function counted(number: number, what: string): string | undefined {
  return number === 0 ? undefined : `${number} ${what}${number === 1 ? '' : 's'}`;
}

/** The name as a person configures it. */
function unquoted(schema: string): string {
  return schema.replace(/^"|"$/g, '');
}

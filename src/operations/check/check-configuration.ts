import { sqlState } from '../../effects/classify-failure.js';
import { OnefoldError } from '../../errors.js';
import type { OperationsContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { type CheckedEffect, checkEffect } from './check-effect.js';
import { type CheckedLedger, checkLedger } from './check-ledger.js';
import { type CheckedNamespace, checkNamespace } from './check-namespace.js';
import { type CheckedSource, checkSource } from './check-source.js';
import { type Finding, type FindingId, finding, findingKinds } from './finding.js';

/** Options of {@link checkConfiguration}. */
export interface CheckOptions {
  /** Leaves out whatever needs Temporal or PostgreSQL. Default false. */
  readonly offline?: boolean;
  /** How long a stopping worker lets attempts run on, ms. */
  readonly graceMs: number;
}

/** What a check found. Fields are only ever added. */
export interface CheckReport {
  readonly version: 1;
  /** No finding is a problem. */
  readonly ok: boolean;
  readonly sources: readonly CheckedSource[];
  readonly effects: readonly CheckedEffect[];
  /** Null where it was left out or could not be reached. */
  readonly namespace: CheckedNamespace | null;
  /** Null where it was left out or could not be reached. */
  readonly ledger: CheckedLedger | null;
  /** Checks that were not made. */
  readonly leftOut: readonly string[];
  /** Problems first. */
  readonly findings: readonly Finding[];
  readonly problems: number;
  readonly warnings: number;
}

const namespaceChecks = ["the namespace's retention", 'the search attributes'];
const migrationCheck = "the ledger's migrations";
const unknownEffectsCheck = 'effects that only the ledger knows';

/**
 * Checks a configuration: what it declares against itself and its providers' facts, then the servers it would run on.
 * Changes nothing.
 */
export async function checkConfiguration(context: OperationsContext, options: CheckOptions): Promise<CheckReport> {
  const { catalogue } = context;
  const sources = catalogue.sources.map((source) => checkSource(source, catalogue.effects));
  const effects = catalogue.effects.map((effect) => checkEffect(effect, options.graceMs));
  const [namespace, ledger] = options.offline
    ? [undefined, undefined]
    : await Promise.all([
        reached('Temporal', () => checkNamespace(context.client, context.namespace, catalogue.sources)),
        reached('PostgreSQL', () => checkLedger(context.ledger, catalogue)),
      ]);
  const findings = [...sources, ...effects, namespace, ledger].flatMap((part) => part?.findings ?? []);
  const problems = findings.filter(({ level }) => level === 'problem');
  const warnings = findings.filter(({ level }) => level === 'warning');
  return {
    version: 1,
    ok: problems.length === 0,
    sources: sources.map(({ source }) => source),
    effects: effects.map(({ effect }) => effect),
    namespace: namespace && 'namespace' in namespace ? namespace.namespace : null,
    ledger: ledger && 'ledger' in ledger ? ledger.ledger : null,
    leftOut: [
      ...(namespace && 'namespace' in namespace ? [] : namespaceChecks),
      ...(ledger && 'ledger' in ledger ? [] : [migrationCheck]),
      ...(ledger && 'ledger' in ledger && ledger.ledger.unknownEffects ? [] : [unknownEffectsCheck]),
    ],
    findings: [...problems, ...warnings],
    problems: problems.length,
    warnings: warnings.length,
  };
}

/** Makes a finding of a server that is away, refuses, or has no ledger; anything else is a defect and is thrown. */
async function reached<Checked>(
  server: 'Temporal' | 'PostgreSQL',
  check: () => Promise<Checked>,
): Promise<Checked | { readonly findings: readonly Finding[] }> {
  try {
    return await check();
  } catch (error) {
    const failure = operationFailure(error);
    if (failure instanceof OnefoldError) {
      return { findings: [unreached(server, idOf(failure, server), failure.message)] };
    }
    // Such as a password that is wrong, a permission that is missing, or a statement that took too long.
    if (sqlState(error) !== undefined) {
      return { findings: [unreached(server, 'ledger_unavailable', (error as Error).message)] };
    }
    throw error;
  }
}

function idOf({ code }: OnefoldError, server: 'Temporal' | 'PostgreSQL'): FindingId {
  if (code in findingKinds) return code as FindingId;
  return server === 'Temporal' ? 'temporal_unavailable' : 'ledger_unavailable';
}

function unreached(server: string, id: FindingId, text: string): Finding {
  // gRPC ends its message with a note that is mostly empty.
  const message = text.replace(/\.? Resolution note: *$/, '');
  const remedy =
    id === 'migration_missing'
      ? 'run onefold migrate, or check without the servers: --offline'
      : 'mend it, or check without the servers: --offline';
  return finding(id, { place: server, message, remedy });
}

import { sqlState } from '../../effects/classify-failure.js';
import { OnefoldError } from '../../errors.js';
import type { PublishingContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { type CheckedEffect, checkEffect } from './check-effect.js';
import { type CheckedLedger, checkLedger } from './check-ledger.js';
import { type CheckedNamespace, checkNamespace } from './check-namespace.js';
import { type CheckedPublications, checkPublications } from './check-publications.js';
import { type CheckedSource, checkSource } from './check-source.js';
import { type Finding, type FindingId, finding, findingKinds } from './finding.js';

/** Options of {@link checkConfiguration}. */
export interface CheckOptions {
  /** Leaves out whatever needs Temporal or PostgreSQL. Default false. */
  readonly offline?: boolean;
  /** How long a stopping worker lets attempts run on, ms. */
  readonly graceMs: number;
  /** Judged as what runs in production, where nothing is allowed that only development needs. Default false. */
  readonly production?: boolean;
}

/** What a check found. Fields are only ever added. */
export interface CheckReport {
  readonly version: 1;
  /** No finding is a problem. */
  readonly ok: boolean;
  readonly sources: readonly CheckedSource[];
  readonly effects: readonly CheckedEffect[];
  /** Null where nothing is published. */
  readonly publications: CheckedPublications | null;
  /** Null where it was left out or could not be reached. */
  readonly namespace: CheckedNamespace | null;
  /** Null where it was left out or could not be reached. */
  readonly ledger: CheckedLedger | null;
  /** Checks that were not made. */
  readonly leftOut: readonly string[];
  /** Problems first, notes last. */
  readonly findings: readonly Finding[];
  readonly problems: number;
  readonly warnings: number;
  readonly notes: number;
}

const namespaceChecks = ["the namespace's retention", 'the search attributes'];
const migrationCheck = "the ledger's migrations";
const unknownEffectsCheck = 'effects that only the ledger knows';
const publishingChecks = ['the endpoints and what opens their secrets', 'the queue of deliveries'];

/**
 * Checks a configuration: what it declares against itself and its providers' facts, then the servers it would run on.
 * Changes nothing.
 */
export async function checkConfiguration(context: PublishingContext, options: CheckOptions): Promise<CheckReport> {
  const { catalogue } = context;
  const sources = catalogue.sources.map((source) => checkSource(source, catalogue.effects));
  const effects = catalogue.effects.map((effect) => checkEffect(effect, options.graceMs));
  const published = checkPublications(context, options.production === true);
  const { publications } = published;
  const types = publications?.types.map(({ type }) => type);
  const [namespace, ledger] = options.offline
    ? [undefined, undefined]
    : await Promise.all([
        reached('Temporal', () =>
          checkNamespace(context.client, context.namespace, catalogue.sources, publications !== null),
        ),
        reached('PostgreSQL', () => {
          const { ledger, sealer } = context;
          return checkLedger(ledger, catalogue, types && { types, sealer });
        }),
      ]);
  const findings = [...sources, ...effects, published, namespace, ledger].flatMap((part) => part?.findings ?? []);
  const problems = findings.filter(({ level }) => level === 'problem');
  const warnings = findings.filter(({ level }) => level === 'warning');
  const notes = findings.filter(({ level }) => level === 'note');
  const seen = ledger && 'ledger' in ledger ? ledger.ledger : null;
  return {
    version: 1,
    ok: problems.length === 0,
    sources: sources.map(({ source }) => source),
    effects: effects.map(({ effect }) => effect),
    publications,
    namespace: namespace && 'namespace' in namespace ? namespace.namespace : null,
    ledger: seen,
    leftOut: [
      ...(namespace && 'namespace' in namespace ? [] : namespaceChecks),
      ...(seen ? [] : [migrationCheck]),
      ...(seen?.unknownEffects ? [] : [unknownEffectsCheck]),
      ...(!publications || seen?.publishing ? [] : publishingChecks),
    ],
    findings: [...problems, ...warnings, ...notes],
    problems: problems.length,
    warnings: warnings.length,
    notes: notes.length,
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

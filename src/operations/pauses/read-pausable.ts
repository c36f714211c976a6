import { type Catalogue, ledgerName, ledgerNames } from '../../effects/catalogue.js';
import { OnefoldError } from '../../errors.js';
import { checkTenant } from '../../identity/check-tenant.js';
import type { OpenEventsOf } from '../../ledger/open-events/open-events-of.js';
import type { PauseName, RecordedPause } from '../../ledger/pauses/pause-row.js';
import { refuseUnknownOptions } from '../../runtime/options.js';

/** An effect or a source of this configuration, and whose events are meant. */
export type PausableName = ({ readonly effect: string } | { readonly source: string }) & {
  /** Its events alone, '' being those without a tenant. Default: every tenant. */
  readonly tenant?: string;
};

/** What can be paused, as the ledger and the running events know it. */
export interface Pausable extends PauseName {
  /** What a person calls it: an effect's present name. */
  readonly shown: string;
  /** Of an effect: its names in the ledger, one of which each running event was planned with. */
  readonly names?: readonly string[];
}

/**
 * Reads which effect or source is meant.
 *
 * @param recorded Pauses of the ledger: what a configuration has no more can still be resumed.
 * @throws {OnefoldError} `pause_refused` for one that is unknown, with those that are known; `config_invalid`,
 * `identity_invalid`.
 */
export function readPausable(
  catalogue: Catalogue,
  given: PausableName,
  recorded: readonly RecordedPause[] = [],
): Pausable {
  refuseUnknownOptions(given, ['effect', 'source', 'tenant'], 'pause');
  const { effect: name, source, tenant } = given as { effect?: string; source?: string; tenant?: string };
  const whose = tenant === undefined ? {} : { tenant: checkTenant(tenant) };
  if ((name === undefined) === (source === undefined)) {
    throw new OnefoldError('pause_refused', 'expected the name of an effect, or that of a source');
  }
  const isRecorded = (kind: PauseName['kind'], one: string) => recorded.some((p) => p.kind === kind && p.name === one);
  if (source !== undefined) {
    if (!catalogue.source(source) && !isRecorded('source', source)) {
      throw unknown('source', source, catalogue.sources);
    }
    return { kind: 'source', name: source, shown: source, ...whose };
  }
  const wanted = name ?? '';
  const effect = catalogue.effect(wanted);
  if (effect) {
    return { kind: 'effect', name: ledgerName(effect), shown: effect.name, names: ledgerNames(effect), ...whose };
  }
  if (!isRecorded('effect', wanted)) throw unknown('effect', wanted, catalogue.effects);
  return { kind: 'effect', name: wanted, shown: wanted, names: [wanted], ...whose };
}

/** The open events that it is about. */
export function openEventsOf({ kind, name, names, tenant }: Pausable): OpenEventsOf {
  return {
    ...(kind === 'source' ? { source: name } : { effect: names ?? [name] }),
    ...(tenant === undefined ? {} : { tenant }),
  };
}

/** What acts about it stand under. */
export function pauseActKey({ kind, name }: PauseName): string {
  return `${kind}/${name}`;
}

function unknown(kind: string, name: string, known: readonly { readonly name: string }[]): OnefoldError {
  const names = known.map((one) => `'${one.name}'`).join(', ');
  return new OnefoldError(
    'pause_refused',
    `this configuration has no ${kind} '${name}'; ${names === '' ? `it has no ${kind}s` : `it has ${names}`}`,
  );
}

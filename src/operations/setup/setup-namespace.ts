import { NamespaceNotFoundError } from '@temporalio/client';
import { OnefoldError } from '../../errors.js';
import { createNamespace, readRetention, setRetention } from '../../runtime/namespace-settings.js';
import { refusesCaller } from '../../runtime/operator-service.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import { registerSearchAttributes } from '../../runtime/register-search-attributes.js';
import { readSearchAttributes } from '../../runtime/temporal.js';
import { searchAttributeTypes } from '../../workflows/contract.js';
import type { OperationsContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { recommendedRetentionMs, redeliveryWindows, sweepNeedsMs } from './namespace-needs.js';

/** What a namespace is to be like. */
export interface SetupOptions {
  /** How long it shall remember closed events, ms. Default: it stays as it is, and is only judged. */
  readonly retentionMs?: number;
  /** Make the namespace where it is not there. Default no: a misspelt name would become one. */
  readonly createNamespace?: boolean;
  /** Only say what is missing. */
  readonly dryRun?: boolean;
}

/** What was done, and what is left to do. */
export interface SetupOutcome {
  readonly namespace: string;
  readonly created: boolean;
  readonly searchAttributes: readonly {
    readonly name: string;
    readonly type: string;
    /** `registered`: it was there. `added`. `missing`: it is not there. `refused`: the server does not let this caller. */
    readonly state: 'registered' | 'added' | 'missing' | 'refused';
  }[];
  readonly retention: {
    /** Before and now, ms; null where it has no end or is not told. */
    readonly beforeMs: number | null;
    readonly nowMs: number | null;
    /** Enough for the sweeper, and for each source's provider, ms. */
    readonly recommendedMs: number;
    /** `kept`: nobody asked for another. `set`. `refused`: the server does not let this caller. */
    readonly state: 'kept' | 'set' | 'refused';
    /** What it is too short for, in words. */
    readonly tooShortFor: readonly string[];
  };
  /** Nothing is missing, and the retention is enough. */
  readonly ok: boolean;
}

/**
 * Makes a namespace fit: registers the search attributes that it lacks, and sets its retention where asked for, else
 * judges it. Repeating it is harmless.
 *
 * @throws {OnefoldError} `config_invalid` for an unknown option, for a retention of less than an hour, which the sweeper
 * needs, and where there is no such namespace; `temporal_unavailable`.
 */
export async function setupNamespace(context: OperationsContext, options: SetupOptions = {}): Promise<SetupOutcome> {
  refuseUnknownOptions(options, ['retentionMs', 'createNamespace', 'dryRun'], 'setup');
  const { retentionMs } = options;
  if (retentionMs !== undefined && !(retentionMs >= sweepNeedsMs)) {
    throw new OnefoldError(
      'config_invalid',
      'retention: at least 1 hour, in which the sweeper finds events that were closed from outside',
    );
  }
  try {
    const created = await createWhereMissing(context, options);
    const searchAttributes = await registerMissing(context, created && options.dryRun === true, options);
    const retention = await retain(context, created && options.dryRun === true, options);
    const registered = searchAttributes.every(({ state }) => state === 'registered' || state === 'added');
    return {
      namespace: context.namespace,
      created,
      searchAttributes,
      retention,
      ok: registered && retention.state !== 'refused' && retention.tooShortFor.length === 0,
    };
  } catch (error) {
    throw operationFailure(error);
  }
}

/** @returns Whether it was, or in a dry run would be, made. */
async function createWhereMissing(
  { client, namespace, catalogue, log }: OperationsContext,
  { createNamespace: create, retentionMs = recommendedRetentionMs(catalogue.sources), dryRun }: SetupOptions,
): Promise<boolean> {
  try {
    await readRetention(client, namespace);
    return false;
  } catch (error) {
    if (!create || !(error instanceof NamespaceNotFoundError)) throw error;
  }
  if (dryRun) return true;
  await createNamespace(client, namespace, retentionMs);
  log.info({ namespace, retentionMs }, 'namespace.created');
  return true;
}

async function registerMissing(
  { client, namespace, log }: OperationsContext,
  absent: boolean,
  { dryRun }: SetupOptions,
): Promise<SetupOutcome['searchAttributes']> {
  const before = absent ? new Set<string>() : await readSearchAttributes(client, namespace);
  const wanted = Object.entries(searchAttributeTypes);
  const missing = wanted.filter(([name]) => !before.has(name)).map(([name]) => name);
  let became: 'added' | 'missing' | 'refused' = 'missing';
  if (missing.length > 0 && !dryRun) {
    became = (await registerSearchAttributes(client, namespace, searchAttributeTypes)) ? 'added' : 'refused';
    if (became === 'added') log.info({ namespace, attributes: missing }, 'namespace.attributes_added');
  }
  return wanted.map(([name, type]) => ({ name, type, state: before.has(name) ? 'registered' : became }));
}

async function retain(
  { client, namespace, catalogue, log }: OperationsContext,
  absent: boolean,
  { retentionMs, dryRun }: SetupOptions,
): Promise<SetupOutcome['retention']> {
  const recommendedMs = recommendedRetentionMs(catalogue.sources);
  const before = absent ? (retentionMs ?? recommendedMs) : await readRetention(client, namespace);
  let state: SetupOutcome['retention']['state'] = 'kept';
  if (retentionMs !== undefined && retentionMs !== before && !dryRun) {
    try {
      await setRetention(client, namespace, retentionMs);
      state = 'set';
      log.info({ namespace, beforeMs: before ?? null, retentionMs }, 'namespace.retention_set');
    } catch (error) {
      if (!refusesCaller(error)) throw error;
      state = 'refused';
    }
  }
  const now = state === 'set' ? retentionMs : before;
  return {
    beforeMs: before ?? null,
    nowMs: now ?? null,
    recommendedMs,
    state,
    tooShortFor: now === undefined ? [] : tooShortFor(now, catalogue.sources),
  };
}

function tooShortFor(retentionMs: number, sources: OperationsContext['catalogue']['sources']): readonly string[] {
  return [
    ...(retentionMs < sweepNeedsMs ? ['the sweeper, which finds what was closed from outside'] : []),
    ...redeliveryWindows(sources)
      .filter(({ windowMs }) => retentionMs < windowMs)
      .map(({ source, provider, byHand }) =>
        byHand ? `redeliveries of '${source}' by hand (${provider})` : `redeliveries of '${source}' (${provider})`,
      ),
  ];
}

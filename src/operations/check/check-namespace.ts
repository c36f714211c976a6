import type { Client } from '@temporalio/client';
import { readRetention } from '../../runtime/namespace-settings.js';
import { readSearchAttributes } from '../../runtime/temporal.js';
import { searchAttributeNames, searchAttributeTypes } from '../../workflows/contract.js';
import { redeliveryWindows, sweepNeedsMs } from '../setup/namespace-needs.js';
import type { Source } from './check-source.js';
import { durationInWords } from './duration-in-words.js';
import { type Finding, finding } from './finding.js';

/** What was learnt of the namespace. */
export interface CheckedNamespace {
  readonly namespace: string;
  /** How long Temporal remembers a closed event, ms; null where it has no end or is not told. */
  readonly retentionMs: number | null;
  /** Names of Onefold's search attributes that are registered. */
  readonly searchAttributes: readonly string[];
}

/**
 * Looks at the namespace: whether it remembers events for long enough, and whether lists can be filtered.
 *
 * @param publishes Whether deliveries are to be found by their endpoint too.
 * @throws {OnefoldError} Whatever `operationFailure` makes of a Temporal that is away, or has no such namespace.
 */
export async function checkNamespace(
  client: Client,
  namespace: string,
  sources: readonly Source[],
  publishes: boolean,
): Promise<{ readonly namespace: CheckedNamespace; readonly findings: readonly Finding[] }> {
  // First, since it is what tells a missing namespace from anything else.
  const retentionMs = await readRetention(client, namespace);
  const registered = await readSearchAttributes(client, namespace);
  return {
    namespace: { namespace, retentionMs: retentionMs ?? null, searchAttributes: [...registered].sort() },
    findings: [
      ...(retentionMs === undefined ? [] : judgeRetention(retentionMs, namespace, sources)),
      ...judgeAttributes(registered, namespace, publishes),
    ],
  };
}

function* judgeRetention(retentionMs: number, namespace: string, sources: readonly Source[]): Iterable<Finding> {
  const retention = durationInWords(retentionMs);
  if (retentionMs < sweepNeedsMs) {
    yield finding('retention_below_sweep', {
      place: `namespace '${namespace}'`,
      message: `it forgets closed events after ${retention}; the sweeper needs ${durationInWords(sweepNeedsMs)} to find those that were terminated or cancelled from outside, and to write their dead letters`,
      remedy: 'raise it: onefold setup --retention 7d',
    });
  }
  for (const { source, provider, windowMs, byHand } of redeliveryWindows(sources)) {
    if (retentionMs >= windowMs) continue;
    const by = byHand ? 'can be asked to deliver' : 'may deliver';
    yield finding('retention_below_redelivery', {
      place: `source '${source}'`,
      message: `${provider} ${by} an event again for ${durationInWords(windowMs)}, and namespace '${namespace}' remembers it for ${retention}; a later delivery is a first_run to the receiver. The ledger holds then: it runs nothing twice, at the price of a short workflow`,
      remedy: `a retention above ${durationInWords(windowMs)} spares that: onefold setup --retention …`,
    });
  }
}

function* judgeAttributes(registered: ReadonlySet<string>, namespace: string, publishes: boolean): Iterable<Finding> {
  const wanted = Object.entries(searchAttributeTypes).filter(
    ([name]) => publishes || name !== searchAttributeNames.endpoint,
  );
  const missing = wanted.filter(([name]) => !registered.has(name));
  if (missing.length === 0) return;
  const carried = publishes ? 'Events and deliveries' : 'Events';
  const filters = `source, state${publishes ? ', endpoint' : ''} or business key`;
  yield finding('search_attributes_missing', {
    place: `namespace '${namespace}'`,
    message: `not registered, or not told: ${missing.map(([name]) => name).join(', ')}. ${carried} are carried without them; lists cannot be filtered by ${filters}`,
    remedy: 'onefold setup registers them',
  });
}

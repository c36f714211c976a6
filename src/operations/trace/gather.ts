import { ledgerNames } from '../../effects/catalogue.js';
import { parseEventKey } from '../../identity/event-identity.js';
import { readActs, type TracedAct } from '../../ledger/trace/read-acts.js';
import { type ClaimName, readClaims, type TracedClaim } from '../../ledger/trace/read-claims.js';
import { readDeliveries } from '../../ledger/trace/read-deliveries.js';
import { readEvents, type TracedEventRow } from '../../ledger/trace/read-events.js';
import { readLetters } from '../../ledger/trace/read-letters.js';
import { readPauses, type TracedPause } from '../../ledger/trace/read-pauses.js';
import { readSuperseded } from '../../ledger/trace/read-superseded.js';
import type { TracedKey } from '../../ledger/trace/traced-key.js';
import type { OperationsContext } from '../context.js';
import { attributeWork } from './attribute-work.js';
import type { SeenRuns } from './look-at-temporal.js';
import type { TracedEvent } from './trace.js';

/** Of one key: dead letters, and acts. */
const lettersEach = 20;
const actsEach = 50;
const supersededInAll = 200;
const pausesInAll = 200;

/** What the ledger has about events, gathered in two rounds of statements side by side. */
export interface LedgerFacts {
  readonly rows: readonly TracedEventRow[];
  readonly deliveries: Awaited<ReturnType<typeof readDeliveries>>;
  readonly letters: Awaited<ReturnType<typeof readLetters>>;
  readonly acts: readonly TracedAct[];
  readonly superseded: Awaited<ReturnType<typeof readSuperseded>>;
  readonly pauses: readonly TracedPause[];
  readonly claims: readonly TracedClaim[];
}

/**
 * Reads what the ledger has about events.
 *
 * @param also Business identities that are asked for beside those of the events.
 */
export async function gatherLedger(
  { ledger, catalogue }: OperationsContext,
  keys: readonly TracedKey[],
  also: readonly ClaimName[],
): Promise<LedgerFacts> {
  const { query } = ledger.database;
  const { schema } = ledger;
  const [rows, deliveries, letters, actsAbout, superseded, pauses] = await Promise.all([
    readEvents(query, schema, keys),
    readDeliveries(query, schema, keys),
    readLetters(query, schema, keys, lettersEach),
    readActs(query, schema, keys, actsEach),
    readSuperseded(query, schema, keys, supersededInAll),
    readPauses(query, schema, pausesInAll),
  ]);
  const names = new Map<string, ClaimName>();
  const name = (one: ClaimName): void => {
    const effect = catalogue.effect(one.effect);
    for (const called of new Set([one.effect, ...(effect ? ledgerNames(effect) : [])])) {
      names.set(JSON.stringify([one.tenant, called, one.businessKey]), { ...one, effect: called });
    }
  };
  for (const { tenant, effect, businessKey, completedAs } of rows) {
    if (effect === null) continue;
    name({ tenant, effect, businessKey });
    if (completedAs !== null) name({ tenant, effect: completedAs, businessKey });
  }
  for (const one of also) name(one);
  const claims = names.size === 0 ? [] : await readClaims(query, schema, [...names.values()]);
  // A person speaks about a claim under the event that left it, which may be another one; an adoption has a key of its own.
  const known = new Set(keys.map(({ key }) => key));
  const others = claims
    .filter(({ eventKey }) => !known.has(eventKey))
    .map(({ tenant, eventKey: key }) => ({ tenant, key }));
  const actsOfOthers = others.length === 0 ? [] : await readActs(query, schema, distinct(others), actsEach);
  const told = actsOfOthers.filter(({ kind, seen }) => kind === 'resolve' && speaksOf(seen, claims));
  return { rows, deliveries, letters, acts: [...actsAbout, ...told], superseded, pauses, claims };
}

/** Joins what the ledger and Temporal have about each event. */
export function joinEvents(
  { catalogue }: Pick<OperationsContext, 'catalogue'>,
  keys: readonly TracedKey[],
  facts: LedgerFacts,
  { look, known }: SeenRuns,
): readonly TracedEvent[] {
  return keys.map(({ tenant, key }): TracedEvent => {
    const rows = facts.rows.filter((row) => row.tenant === tenant && row.eventKey === key);
    const [row] = rows;
    const runs = known.get(key);
    const parsed = parseEventKey(key);
    const source = row?.source ?? parsed?.source ?? '';
    const of = <Fact extends { readonly tenant: string }>(
      list: readonly Fact[],
      keyOf: (fact: Fact) => string,
    ): Fact[] => list.filter((fact) => fact.tenant === tenant && keyOf(fact) === key);
    const effects = rows.flatMap(({ effect, businessKey, outcome, effectEndedAt }) => {
      if (effect === null) return [];
      const called = catalogue.effect(effect);
      const names = new Set([effect, ...(called ? ledgerNames(called) : [])]);
      const claims = facts.claims.filter((one) => {
        return one.tenant === tenant && one.businessKey === businessKey && names.has(one.effect);
      });
      const claim =
        claims.find(({ state }) => state === 'done') ?? claims.find(({ leaseRunning }) => leaseRunning) ?? claims[0];
      return [
        {
          effect,
          businessKey,
          ...(outcome === null ? {} : { outcome }),
          ...(effectEndedAt === null ? {} : { endedAt: effectEndedAt }),
          ...(claim ? { claim } : {}),
          done: claim?.state === 'done',
        },
      ];
    });
    const identities = new Set(effects.map(({ businessKey }) => businessKey));
    const event: TracedEvent = {
      tenant,
      eventKey: key,
      event: `${source}/${row?.id ?? parsed?.id ?? key.slice(key.lastIndexOf('/') + 1)}`,
      source,
      ...(row ? { type: row.type, receivedAt: row.receivedAt, recordedAt: row.recordedAt } : {}),
      ledger: row?.state ?? 'unknown',
      temporal: runs?.state ?? (look.state === 'looked' ? 'forgotten' : 'not_asked'),
      ...(row?.endedAt ? { endedAt: row.endedAt } : {}),
      ...(row?.state === 'abandoned'
        ? { abandoned: { by: row.abandonedBy ?? '', reason: row.abandonedReason ?? '' } }
        : {}),
      effects,
      deliveries: of(facts.deliveries, ({ eventKey }) => eventKey),
      runs: runs?.runs ?? [],
      deadLetters: of(facts.letters, (letter) => letter.key),
      superseded: of(facts.superseded, ({ eventKey }) => eventKey),
      acts: facts.acts.filter((act) => {
        return (
          act.tenant === tenant && (act.key === key || (act.kind === 'resolve' && identities.has(seenKey(act.seen))))
        );
      }),
      pauses: facts.pauses.filter(({ kind, name, everyTenant, tenant: of }) => {
        if (!everyTenant && of !== tenant) return false;
        return kind === 'source' ? name === source : effects.some((one) => isCalled(catalogue, one.effect, name));
      }),
    };
    return { ...event, effects: event.effects.map((effect) => attributeWork(event, effect, runs !== undefined)) };
  });
}

function isCalled(catalogue: OperationsContext['catalogue'], effect: string, name: string): boolean {
  const known = catalogue.effect(effect);
  return effect === name || (known !== undefined && ledgerNames(known).includes(name));
}

function distinct(keys: readonly TracedKey[]): readonly TracedKey[] {
  return [...new Map(keys.map((key) => [JSON.stringify([key.tenant, key.key]), key])).values()];
}

/** The business key that an act of resolving was about. */
function seenKey(seen: string): string {
  try {
    return String((JSON.parse(seen) as { businessKey?: unknown }).businessKey ?? '');
  } catch {
    return '';
  }
}

function speaksOf(seen: string, claims: readonly TracedClaim[]): boolean {
  const businessKey = seenKey(seen);
  return claims.some((claim) => claim.businessKey === businessKey);
}

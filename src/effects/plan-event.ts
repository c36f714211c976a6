import { OnefoldError } from '../errors.js';
import type { Ledger } from '../ledger/ledger.js';
import { readPayload } from '../ledger/read-payload.js';
import { type RecordedEffect, type RecordedEvent, readPlan } from '../ledger/read-plan.js';
import { recordPlan } from '../ledger/record-plan.js';
import { reopenEvent } from '../ledger/reopen-event.js';
import { replayLifts } from '../ledger/replay-lifts.js';
import { sha256 } from '../runtime/sha256.js';
import type { ExternalPlan, PlanAnswer, PlannedEffect, ProcessEventInput } from '../workflows/contract.js';
import { buildEvent } from './build-event.js';
import { businessKeyOf } from './business-key-of.js';
import { type Catalogue, effectFor, ledgerName, ledgerNames } from './catalogue.js';
import type { Effect, ExternalEffect } from './effect.js';
import { rekeyEvent } from './rekey-event.js';
import { travellingResult } from './travelling-result.js';

/** Longer attempts run as regular activities from the first: a local one would hold its workflow task open. */
const localAttemptLimitMs = 60_000;

/**
 * SQL visibility stores keywords of at most 255 characters, and ten keys together must stay below the 2,048 bytes of a
 * search attribute. Bytes of the key's JSON text, since that is what the server measures and a control character has six.
 */
const indexedKeyBytes = 128;
/** In characters of at most six bytes. */
const indexedPrefix = 30;

/** What planning needs. */
export interface PlanDependencies {
  readonly catalogue: Catalogue;
  readonly ledger: Ledger;
  /** Search attributes that the worker found registered. */
  readonly searchAttributes: readonly string[];
}

/**
 * Decides which effects an event has, under which business keys and with which numbers, and records it. What an earlier
 * plan of the same event recorded stands, whatever the code says now: keys, body, and the list of effects. Only a replay
 * extends the list, and replaces keys where a person has asked for it.
 *
 * @throws {OnefoldError} `data_invalid`, `business_key_invalid`, `payload_missing`, `input_malformed` for good;
 * `replay_refused` when a key is to be replaced under which the effect may have happened; `planning_failed` when a
 * business key function threw; `keys_differ` when this worker computes other keys than a replay asked for;
 * `ledger_unavailable` and PostgreSQL's errors for a while.
 */
export async function planEvent(
  deps: PlanDependencies,
  eventKey: string,
  input: ProcessEventInput,
): Promise<PlanAnswer> {
  const { catalogue, ledger } = deps;
  const { schema } = ledger;
  const sql = ledger.database.query;
  const source = catalogue.source(input.source);
  if (!source) return { kind: 'effects_unknown', names: [] };
  if (input.effects.length === 0) {
    throw new OnefoldError('input_malformed', 'the event names no effect, and an empty plan never completes an event');
  }
  const known = input.effects.map((name) => effectFor(catalogue, name, input));
  const wanted = [...new Set(known.flatMap((effect) => effect ?? []))];
  if (known.includes(undefined)) {
    // A record decides what the event has, so only an event without one, or a wish to extend it, must wait.
    const standing = input.replay ? undefined : await readPlan(sql, schema, input.tenant, eventKey);
    if (!standing?.effects.length && !standing?.abandoned) {
      return { kind: 'effects_unknown', names: input.effects.filter((_name, index) => !known[index]) };
    }
  }

  const keysOf = async (effects: readonly Effect[], json: string, type: string): Promise<Key[]> => {
    const { event } = await buildEvent(source, { ...input, type }, json);
    return effects.map((effect) => ({ effect, businessKey: businessKeyOf(effect, event) }));
  };

  const json = await payloadText(ledger, eventKey, input.tenant, input.digest, input.payload);
  // Computed before the record is known, since nearly every plan is the first; a failure counts only where it is needed.
  const computed = await keysOf(wanted, json, input.type).catch((error: Error) => error);
  if (Array.isArray(computed) && !known.includes(undefined)) {
    const recorded = await recordPlan(sql, schema, {
      ...input,
      eventKey,
      input: inputWithoutBody(input),
      body: Buffer.from(json),
      effects: computed.map(({ effect, businessKey: key }) => ({ effect: ledgerName(effect), businessKey: key })),
    });
    if (recorded) {
      return {
        kind: 'planned',
        plan: { effects: computed.map(plannedEffect), searchAttributes: deps.searchAttributes },
      };
    }
  }

  const earlier = await readPlan(sql, schema, input.tenant, eventKey);
  if (!earlier) throw computed instanceof Error ? computed : new OnefoldError('planning_failed', 'the record is gone');
  const lifts = input.replay && (await replayLifts(sql, schema, { ...input, eventKey, id: input.replay.id }));
  if (earlier.abandoned && !lifts) {
    return {
      kind: 'planned',
      plan: { effects: [], searchAttributes: deps.searchAttributes, abandoned: earlier.abandoned },
    };
  }
  const strangers = earlier.effects.filter(({ effect }) => !effectFor(catalogue, effect, earlier));
  if (strangers.length > 0) return { kind: 'effects_unknown', names: strangers.map(({ effect }) => effect) };

  const compute = async (effects: readonly Effect[]): Promise<Key[]> =>
    keysOf(effects, await recordedText(earlier.digest), earlier.type);
  const current = input.replay?.rekey ? await rekeyEvent(deps, earlier, input.replay.rekey, compute) : earlier;
  const added = await addedKeys(wanted, current, input);
  if (added.length > 0 || current.state === 'dead_lettered' || current.state === 'abandoned') {
    await reopenEvent(sql, schema, {
      tenant: input.tenant,
      eventKey,
      added: added.map(({ effect, businessKey: key }) => ({ effect: ledgerName(effect), businessKey: key })),
      liftAbandoned: lifts === true,
    });
  }
  return {
    kind: 'planned',
    plan: {
      effects: [
        ...current.effects.map((recorded) =>
          recordedPlan(catalogue.effect(recorded.effect) as Effect, recorded, current.effects.length + added.length),
        ),
        ...added.map(plannedEffect),
      ],
      searchAttributes: deps.searchAttributes,
      ...(current.digest === input.digest ? {} : { recordedDigest: current.digest }),
      ...(current.type === input.type ? {} : { recordedType: current.type }),
    },
  };

  /** Effects this event did not have: all of them where none was recorded, newer ones only by an explicit replay. */
  async function addedKeys(
    effects: readonly Effect[],
    recorded: RecordedEvent,
    from: ProcessEventInput,
  ): Promise<Key[]> {
    if (recorded.effects.length > 0 && !from.replay) return [];
    const recordedNames = new Set(recorded.effects.map(({ effect }) => effect));
    const missing = effects.filter((effect) => !ledgerNames(effect).some((name) => recordedNames.has(name)));
    if (missing.length === 0) return [];
    if (recorded.digest === from.digest && recorded.type === from.type) {
      if (computed instanceof Error) throw computed;
      return computed.filter(({ effect }) => missing.includes(effect));
    }
    return keysOf(missing, await recordedText(recorded.digest), recorded.type);
  }

  /** The body that the record has, which need not be this run's. */
  function recordedText(digest: string): Promise<string> {
    return payloadText(ledger, eventKey, input.tenant, digest, { stored: true });
  }
}

interface Key {
  readonly effect: Effect;
  readonly businessKey: string;
}

function plannedEffect({ effect, businessKey: key }: Key): PlannedEffect {
  return {
    effect: effect.name,
    businessKey: key,
    indexedKey: indexedKey(key),
    policy: effect.policy,
    // An attempt that reaches outside and vanishes has to stand in the history, which a local one would not.
    localFirst: effect.kind === 'local' && effect.policy.timeoutMs <= localAttemptLimitMs,
    ...(effect.kind === 'external' ? { external: externalPlan(effect) } : {}),
  };
}

/** Below this a busy worker would count as dead. */
const leastHeartbeatTimeoutMs = 3000;

function externalPlan({ recovery, parkedAtMostMs, heartbeatMs, leaseMs }: ExternalEffect): ExternalPlan {
  return {
    recovery: recovery.kind,
    parkedAtMostMs,
    ...(heartbeatMs === undefined ? {} : { heartbeatTimeoutMs: Math.max(leastHeartbeatTimeoutMs, leaseMs) }),
  };
}

/** Long keys are cut for search attributes, whose values are limited, and told apart by a hash. */
function indexedKey(key: string): string {
  if (Buffer.byteLength(JSON.stringify(key)) <= indexedKeyBytes) return key;
  return `${[...key].slice(0, indexedPrefix).join('')}~${sha256(key).slice(0, 16)}`;
}

/** An effect that ended in an earlier run is not run again: the ledger answers `already_done`. */
function recordedPlan(effect: Effect, recorded: RecordedEffect, effects: number): PlannedEffect {
  const planned = plannedEffect({ effect, businessKey: recorded.businessKey });
  if (!recorded.ended) return planned;
  const { outcome, result, ...end } = recorded.ended;
  return {
    ...planned,
    ended: {
      effect: effect.name,
      businessKey: recorded.businessKey,
      outcome: outcome === 'stale' ? 'stale' : 'already_done',
      attempts: 0,
      ...end,
      ...(result ? { result: travellingResult(result, effects) } : {}),
    },
  };
}

/** The input as it is kept beside the body, which has its own place. */
export function inputWithoutBody(input: ProcessEventInput): string {
  const { carried: _carried, ...rest } = input;
  return JSON.stringify({ ...rest, payload: { stored: true } });
}

/** The event's JSON text: from the input, or from the ledger by its digest. @throws {OnefoldError} `payload_missing`. */
export async function payloadText(
  ledger: Ledger,
  eventKey: string,
  tenant: string,
  digest: string,
  payload: ProcessEventInput['payload'],
): Promise<string> {
  if ('text' in payload) return payload.text;
  const body = await readPayload(ledger.database.query, ledger.schema, { tenant, eventKey, digest });
  if (body === undefined) {
    throw new OnefoldError('payload_missing', `the ledger holds no body ${digest.slice(0, 16)} of this event`);
  }
  return Buffer.from(body).toString('utf8');
}

import { OnefoldError } from '../errors.js';
import { takeOverAdopted } from '../ledger/adopt/take-over-adopted.js';
import type { Ledger } from '../ledger/ledger.js';
import { beginObserved } from '../ledger/observe/begin-observed.js';
import { recordObserved } from '../ledger/observe/record-observed.js';
import { readPayload } from '../ledger/read-payload.js';
import { type RecordedEvent, readPlan } from '../ledger/read-plan.js';
import { recordPlan } from '../ledger/record-plan.js';
import { reopenEvent } from '../ledger/reopen-event.js';
import { replayLifts } from '../ledger/replay-lifts.js';
import { adoptedDigest, type PlanAnswer, type ProcessEventInput } from '../workflows/contract.js';
import { buildEvent } from './build-event.js';
import { businessKeyOf } from './business-key-of.js';
import { type Catalogue, effectFor, ledgerNames } from './catalogue.js';
import type { Effect } from './effect.js';
import { type Observation, observeEffect } from './observe-effect.js';
import { type EffectKey, firstPlan, isObserved, ledgerKey, recordedPlan } from './planned-effect.js';
import { rekeyEvent } from './rekey-event.js';

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
 * extends the list, and replaces keys where a person has asked for it. An effect whose mode is to observe has ended with
 * its plan; only a replay takes it up, once it is live. An event that an earlier system has done is done.
 *
 * @param onObserved Told of each effect that was planned only to be observed, once.
 * @throws {OnefoldError} `data_invalid`, `business_key_invalid`, `payload_missing`, `input_malformed` for good;
 * `replay_refused` when a key is to be replaced under which the effect may have happened; `planning_failed` when a
 * business key function threw; `keys_differ` when this worker computes other keys than a replay asked for;
 * `ledger_unavailable` and PostgreSQL's errors for a while.
 */
export async function planEvent(
  deps: PlanDependencies,
  eventKey: string,
  input: ProcessEventInput,
  onObserved: (observation: Observation) => void = () => {},
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

  const keysOf = async (effects: readonly Effect[], json: string, type: string): Promise<EffectKey[]> => {
    const { event } = await buildEvent(source, { ...input, type }, json);
    return effects.map((effect) => ({ effect, businessKey: businessKeyOf(effect, event) }));
  };

  const json = await payloadText(ledger, eventKey, input.tenant, input.digest, input.payload);
  // Computed before the record is known, since nearly every plan is the first; a failure counts only where it is needed.
  const computed = await keysOf(wanted, json, input.type).catch((error: Error) => error);
  if (Array.isArray(computed) && !known.includes(undefined)) {
    const observations = await observe(computed);
    const recorded = await recordPlan(sql, schema, {
      ...input,
      eventKey,
      input: inputWithoutBody(input),
      body: Buffer.from(json),
      effects: computed.map((key) => ({ ...ledgerKey(key), observed: isObserved(key) })),
    });
    if (recorded) {
      for (const observation of observations) onObserved(observation);
      return {
        kind: 'planned',
        plan: { effects: computed.map(firstPlan), searchAttributes: deps.searchAttributes },
      };
    }
  }

  const earlier = await readStanding();
  if (!earlier) throw computed instanceof Error ? computed : new OnefoldError('planning_failed', 'the record is gone');
  const lifts = input.replay && (await replayLifts(sql, schema, { ...input, eventKey, id: input.replay.id }));
  if (earlier.abandoned && !lifts) {
    return {
      kind: 'planned',
      plan: { effects: [], searchAttributes: deps.searchAttributes, abandoned: earlier.abandoned },
    };
  }
  // Of one that has ended the name is enough: an event may have been adopted under a type that it does not have.
  const strangers = earlier.effects.filter(({ effect, ended }) =>
    ended ? !catalogue.effect(effect) : !effectFor(catalogue, effect, earlier),
  );
  if (strangers.length > 0) return { kind: 'effects_unknown', names: strangers.map(({ effect }) => effect) };

  const compute = async (effects: readonly Effect[]): Promise<EffectKey[]> =>
    keysOf(effects, await recordedText(earlier.digest), earlier.type);
  const standing = input.replay ? await takeUpObserved(earlier) : earlier;
  const current = input.replay?.rekey ? await rekeyEvent(deps, standing, input.replay.rekey, compute) : standing;
  const added = await addedKeys(wanted, current, input);
  const observations = await observe(added);
  if (observations.length > 0) {
    const effects = added.filter(isObserved).map(ledgerKey);
    await recordObserved(sql, schema, { tenant: input.tenant, eventKey, effects });
    for (const observation of observations) onObserved(observation);
  }
  if (added.length > 0 || current.state === 'dead_lettered' || current.state === 'abandoned') {
    await reopenEvent(sql, schema, {
      tenant: input.tenant,
      eventKey,
      added: added.filter((key) => !isObserved(key)).map(ledgerKey),
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
        ...added.map(firstPlan),
      ],
      searchAttributes: deps.searchAttributes,
      ...(current.digest === input.digest ? {} : { recordedDigest: current.digest }),
      ...(current.type === input.type ? {} : { recordedType: current.type }),
    },
  };

  /** What effects that only look would do. Asked before their plan is recorded, which a failure here must not leave unsaid. */
  function observe(keys: readonly EffectKey[]): Promise<readonly Observation[]> {
    return Promise.all(keys.filter(isObserved).map((key) => observeEffect(ledger, input.tenant, key)));
  }

  /** The record of an earlier plan. One that was adopted is given what this delivery knows of the event. */
  async function readStanding(): Promise<RecordedEvent | undefined> {
    const { tenant, type, digest } = input;
    const recorded = await readPlan(sql, schema, tenant, eventKey);
    if (recorded?.digest !== adoptedDigest || digest === adoptedDigest) return recorded;
    const delivered = { tenant, eventKey, type, digest, input: inputWithoutBody(input), body: Buffer.from(json) };
    await takeOverAdopted(sql, schema, delivered);
    return readPlan(sql, schema, tenant, eventKey);
  }

  /** Makes what was observed, of effects that a replay is about and that are live by now, a part of the work. */
  async function takeUpObserved(recorded: RecordedEvent): Promise<RecordedEvent> {
    const effects = recorded.effects.flatMap(({ effect: name, ended }) => {
      const effect = catalogue.effect(name);
      const isMeant = effect && effect.mode !== 'observe' && wanted.includes(effect) && ended?.outcome === 'observed';
      return isMeant ? [name] : [];
    });
    if (effects.length === 0) return recorded;
    await beginObserved(sql, schema, { tenant: input.tenant, eventKey, effects });
    return (await readPlan(sql, schema, input.tenant, eventKey)) ?? recorded;
  }

  /** Effects this event did not have: all of them where none was recorded, newer ones only by an explicit replay. */
  async function addedKeys(
    effects: readonly Effect[],
    recorded: RecordedEvent,
    from: ProcessEventInput,
  ): Promise<EffectKey[]> {
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

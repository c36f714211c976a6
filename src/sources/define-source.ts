import { defineEffect, type LocalEffectOptions } from '../effects/define-effect.js';
import {
  defineExternalEffect,
  type ExternalEffectOptions,
  type PerformResult,
} from '../effects/define-external-effect.js';
import { declaredBy, type Effect, type ExternalEffect, type LocalEffect, type TakenFrom } from '../effects/effect.js';
import { OnefoldError } from '../errors.js';
import { checkTenant } from '../identity/check-tenant.js';
import { durationMs } from '../runtime/duration.js';
import { checkName, refuseUnknownOptions } from '../runtime/options.js';
import { oneOf } from './one-of.js';
import type {
  DeliveryRequest,
  EventSchemas,
  Identified,
  Preset,
  Refusal,
  SourceOptions,
  SourceSettings,
  Verdict,
} from './source.js';

/** A source of events: how one provider signs, names and types them. */
export interface Source<Name extends string = string, Events extends EventSchemas = EventSchemas> {
  readonly name: Name;
  readonly events: Events;
  readonly preset: Preset;
  readonly settings: SourceSettings;
  /**
   * Judges the bytes of a request against the configured secrets. Pure, given the clock.
   *
   * @throws {OnefoldError} `config_missing`, `secret_invalid` when the secrets themselves are at fault.
   */
  verify(request: DeliveryRequest, context: { readonly now: Date }): Verdict;
  /** Reads identity and type out of a verified request. Pure. */
  identify(request: DeliveryRequest): Identified | Refusal;
  /**
   * Declares a local write: an effect whose business rows lie in the ledger's own database.
   *
   * @throws {OnefoldError} `config_invalid` naming the effect and the option at fault.
   */
  effect<const Types extends keyof Events & string>(
    name: string,
    options: LocalEffectOptions<Name, Events, Types>,
  ): LocalEffect<TakenFrom<Events, Types>>;
  /**
   * Declares a call to the outside, and what finishes the work when its outcome stays unknown.
   *
   * @throws {OnefoldError} `config_invalid` naming the effect and the option at fault.
   */
  externalEffect<const Types extends keyof Events & string, Result extends PerformResult>(
    name: string,
    options: ExternalEffectOptions<Name, Events, Types, Result>,
  ): ExternalEffect<TakenFrom<Events, Types>>;
}

const known: readonly (keyof SourceOptions)[] = [
  'events',
  'acknowledge',
  'settleWithin',
  'bodyLimitBytes',
  'exposeResult',
  'refuseOtherBody',
  'tenant',
  'record',
  'rejected',
  'successStatus',
  'signed',
  'rateLimit',
  'backlogLimit',
];

/** Above this Express, proxies and providers have given up; and PostgreSQL's rows should not grow so. */
const largestBodyBytes = 25 * 1024 * 1024;

/**
 * Joins a provider's preset with what the user wants of the source.
 *
 * @param allowed Names of the options that the preset itself takes.
 * @throws {OnefoldError} `config_invalid` naming the source and the option at fault.
 */
export function defineSource<const Name extends string, Events extends EventSchemas>(
  name: Name,
  options: SourceOptions<Events>,
  preset: Preset,
  allowed: readonly string[],
): Source<Name, Events> {
  const place = `source '${name}'`;
  checkName(name, place);
  refuseUnknownOptions(options, [...known, ...allowed], place);
  const events = options.events;
  if (typeof events !== 'object' || events === null || Object.keys(events).length === 0) {
    throw new OnefoldError('config_invalid', `${place}.events: name at least one event type with its schema`);
  }
  for (const [type, schema] of Object.entries(events)) {
    if (typeof schema?.['~standard']?.validate !== 'function') {
      throw new OnefoldError(
        'config_invalid',
        `${place}.events['${type}']: expected a Standard Schema (zod, valibot, arktype, …) or types<T>()`,
      );
    }
  }
  const source: Source<Name, Events> = Object.freeze({
    name,
    events,
    preset,
    settings: settingsOf(options, preset, place),
    verify: (request, context) => preset.verify(request, context),
    identify: (request) => preset.identify(request),
    effect: (effectName, effectOptions) => declared(defineEffect(name, events, effectName, effectOptions)),
    externalEffect: (effectName, effectOptions) =>
      declared(defineExternalEffect(name, events, effectName, effectOptions)),
  } satisfies Source<Name, Events>);
  // To an effect its source is one of any name and events: a function of its options would not fit otherwise.
  const declaration = Object.freeze({ source: source as unknown as Source });
  const declared = <Kind extends Effect>(effect: Kind): Kind => {
    const whole: Kind = { ...effect, [declaredBy]: declaration };
    return Object.freeze(whole);
  };
  return source;
}

function settingsOf(options: SourceOptions, preset: Preset, place: string): SourceSettings {
  const { bodyLimitBytes = 1024 * 1024, successStatus, rateLimit, backlogLimit, rejected } = options;
  const refuse = (option: string, expected: string): never => {
    throw new OnefoldError('config_invalid', `${place}.${option}: expected ${expected}`);
  };
  if (!Number.isInteger(bodyLimitBytes) || bodyLimitBytes < 1 || bodyLimitBytes > largestBodyBytes) {
    refuse('bodyLimitBytes', `whole bytes from 1 to ${largestBodyBytes}`);
  }
  for (const option of ['exposeResult', 'refuseOtherBody'] as const) {
    if (options[option] !== undefined && typeof options[option] !== 'boolean') refuse(option, 'true or false');
  }
  if (
    successStatus !== undefined &&
    !(Number.isInteger(successStatus) && successStatus >= 200 && successStatus <= 299)
  ) {
    refuse('successStatus', 'a status from 200 to 299');
  }
  if (rateLimit !== undefined) {
    refuseUnknownOptions(rateLimit, ['perSecond', 'burst'], `${place}.rateLimit`);
    if (!(rateLimit.perSecond > 0)) refuse('rateLimit.perSecond', 'a positive number');
    if (rateLimit.burst !== undefined && !(rateLimit.burst >= 1)) refuse('rateLimit.burst', 'a number from 1');
  }
  if (rejected !== undefined) {
    refuseUnknownOptions(rejected, ['keepBody'], `${place}.rejected`);
    if (rejected.keepBody !== undefined && typeof rejected.keepBody !== 'boolean') {
      refuse('rejected.keepBody', 'true or false');
    }
  }
  if (backlogLimit !== undefined) refuseUnknownOptions(backlogLimit, ['oldest'], `${place}.backlogLimit`);
  return Object.freeze({
    acknowledge: oneOf(options.acknowledge ?? 'durable', ['durable', 'settled'], `${place}.acknowledge`),
    settleWithinMs: settleWithinMs(options.settleWithin, preset.facts.timeoutMs, `${place}.settleWithin`),
    bodyLimitBytes,
    exposeResult: options.exposeResult ?? preset.exposesResult,
    refuseOtherBody: options.refuseOtherBody ?? preset.facts.identityUnsigned,
    tenant: tenantOf(options.tenant, `${place}.tenant`),
    record: oneOf(options.record ?? 'subscribed', ['subscribed', 'all'], `${place}.record`),
    keepRejectedBody: rejected?.keepBody ?? false,
    successStatus,
    signed: oneOf(options.signed ?? 'wire', ['wire', 'decoded'], `${place}.signed`),
    rateLimit: rateLimit && {
      perSecond: rateLimit.perSecond,
      burst: rateLimit.burst ?? Math.max(1, rateLimit.perSecond),
    },
    backlogLimitMs: backlogLimit && durationMs(backlogLimit.oldest, `${place}.backlogLimit.oldest`),
  });
}

/** What fits most effects and every preset's provider but the quickest. */
const defaultSettleMs = 8_000;

/** What an answer may need to reach the provider, ms. */
const answerMarginMs = 1_000;

/** An answer that comes after the provider has hung up tells nobody anything, and counts there as a failure. */
function settleWithinMs(given: string | number | undefined, providerMs: number | undefined, place: string): number {
  if (given === undefined) return Math.min(defaultSettleMs, (providerMs ?? Number.POSITIVE_INFINITY) - answerMarginMs);
  const asked = durationMs(given, place, '10 minutes');
  if (providerMs === undefined || asked <= providerMs) return asked;
  throw new OnefoldError(
    'config_invalid',
    `${place}: ${JSON.stringify(given)} is longer than the provider waits for an answer, ${providerMs} ms`,
  );
}

function tenantOf(tenant: SourceOptions['tenant'], place: string): SourceSettings['tenant'] {
  if (typeof tenant === 'function') return tenant;
  try {
    return checkTenant(tenant ?? '');
  } catch (cause) {
    throw new OnefoldError('config_invalid', `${place}: ${(cause as Error).message}, or a function that returns it`, {
      cause,
    });
  }
}

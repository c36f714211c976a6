import { createHash } from 'node:crypto';
import { github } from '../src/sources/github.js';
import { shopify } from '../src/sources/shopify.js';
import type { DeliveryRequest, HeaderMap, Identified, Preset, Refusal } from '../src/sources/source.js';
import { standardWebhooks } from '../src/sources/standard-webhooks.js';
import { stripe } from '../src/sources/stripe.js';
import { types } from '../src/sources/types.js';

/** A file of test vectors: requests of one provider with the verdict and identity that a correct receiver reaches. */
export interface VectorFile {
  readonly provider: string;
  /** The tolerance the vectors assume; null where the scheme signs no time. */
  readonly tolerance_s: number | null;
  readonly vectors: readonly Vector[];
}

/** One request, what the receiver holds, and what must come out. */
export interface Vector {
  readonly name: string;
  readonly kind: 'delivery' | 'handshake';
  readonly mode?: string;
  readonly method?: string;
  readonly url?: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body_base64: string;
  readonly secrets: readonly string[];
  /** The instant to judge at. */
  readonly now: string;
  readonly expect: Expectation;
}

/** What must come out. A key that is absent says nothing about its value. */
export interface Expectation {
  readonly valid: boolean;
  readonly reason?: string;
  readonly reason_any?: readonly string[];
  readonly event_id?: string | null;
  readonly id_parts?: readonly (string | null)[];
  readonly event_type?: string;
  readonly event_action?: string;
  readonly event_time?: string;
  readonly delivery_id?: string;
  readonly scope?: string;
  readonly [other: string]: unknown;
}

/** What a file came to. */
export interface FileVerdict {
  readonly provider: string;
  /** False where Onefold has no preset for the provider; nothing was judged then. */
  readonly supported: boolean;
  readonly total: number;
  /** The vectors that differ, each with what differs. */
  readonly differing: readonly { readonly name: string; readonly differences: readonly string[] }[];
}

type PresetOf = (secrets: readonly string[], mode: string | undefined, toleranceMs: number | undefined) => Preset;

const events = { 'vectors.any': types<unknown>() };
const tolerate = (tolerance: number | undefined) => (tolerance === undefined ? {} : { tolerance });

// The modes of the other two are told apart by the secrets (v1, v1a) or by the headers (webhooks, events).
const presets: Readonly<Record<string, PresetOf>> = {
  'standard-webhooks': (secrets, _mode, toleranceMs) =>
    standardWebhooks('vectors', { events, secrets, ...tolerate(toleranceMs) }).preset,
  svix: (secrets, mode, toleranceMs) =>
    standardWebhooks('vectors', {
      events,
      secrets,
      headers: mode === 'svix' ? 'svix' : mode === 'webhook' ? 'webhook' : 'either',
      ...tolerate(toleranceMs),
    }).preset,
  github: (secrets) => github('vectors', { events, secrets }).preset,
  stripe: (secrets, _mode, toleranceMs) => stripe('vectors', { events, secrets, ...tolerate(toleranceMs) }).preset,
  shopify: (secrets) => shopify('vectors', { events, secrets }).preset,
};

/** Expectations that {@link differencesOf} compares; any other is a difference, since nothing here reads it. */
const compared: readonly string[] = [
  'valid',
  'reason',
  'reason_any',
  'event_id',
  'id_parts',
  'event_type',
  'event_action',
  'event_time',
  'delivery_id',
  'scope',
];

/**
 * Judges every vector of a file with the preset of its provider.
 *
 * @throws {Error} for a file without vectors, which would agree with anything.
 */
export function judgeVectors(file: VectorFile): FileVerdict {
  const presetOf = Object.hasOwn(presets, file.provider) ? presets[file.provider] : undefined;
  const total = file.vectors.length;
  if (total === 0) throw new Error('it holds no vectors');
  if (!presetOf) return { provider: file.provider, supported: false, total, differing: [] };
  const toleranceMs = file.tolerance_s === null ? undefined : file.tolerance_s * 1000;
  const differing = file.vectors
    .map((vector) => ({ name: vector.name, differences: judgeVector(vector, presetOf, toleranceMs) }))
    .filter(({ differences }) => differences.length > 0);
  return { provider: file.provider, supported: true, total, differing };
}

function judgeVector(vector: Vector, presetOf: PresetOf, toleranceMs: number | undefined): readonly string[] {
  if (vector.kind !== 'delivery') return [`the preset answers no ${vector.kind}`];
  try {
    const preset = presetOf(vector.secrets, vector.mode, toleranceMs);
    const request = requestOf(vector);
    const verdict = preset.verify(request, { now: new Date(vector.now) });
    return differencesOf(vector.expect, verdict.ok ? preset.identify(request) : verdict, request.rawBody);
  } catch (error) {
    return [`threw ${(error as Error).message}`];
  }
}

function requestOf(vector: Vector): DeliveryRequest {
  const headers: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(vector.headers)) headers[name.toLowerCase()] = value;
  return {
    method: vector.method ?? 'POST',
    url: vector.url ?? 'https://receiver.example/vectors',
    headers: headers as HeaderMap,
    rawBody: Buffer.from(vector.body_base64, 'base64'),
  };
}

function differencesOf(expect: Expectation, outcome: Identified | Refusal, rawBody: Uint8Array): readonly string[] {
  const differences: string[] = [];
  const compare = (what: string, expected: unknown, actual: unknown) => {
    if (JSON.stringify(expected) !== JSON.stringify(actual)) {
      differences.push(`${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`);
    }
  };
  if (expect.valid !== outcome.ok) {
    const got = outcome.ok ? 'it was accepted' : `it was refused: ${outcome.code}, ${outcome.message}`;
    return [`valid: expected ${expect.valid}, and ${got}`];
  }
  if (!outcome.ok) {
    const reasons = expect.reason_any ?? (expect.reason === undefined ? undefined : [expect.reason]);
    if (reasons && !reasons.includes(outcome.reason)) compare('reason', reasons, outcome.reason);
    return differences;
  }
  if ('event_id' in expect) compare('event_id', expect.event_id, outcome.eventId);
  if (expect.id_parts) {
    const digest = createHash('sha256').update(rawBody).digest('hex');
    compare(
      'id_parts',
      expect.id_parts.map((part) => (part === 'sha256(body)' ? digest : part)),
      outcome.parts,
    );
  }
  if ('event_type' in expect) compare('event_type', expect.event_type, outcome.type);
  if ('event_action' in expect) compare('event_action', expect.event_action, outcome.action);
  if ('event_time' in expect) compare('event_time', expect.event_time, outcome.occurredAt);
  if ('delivery_id' in expect) compare('delivery_id', expect.delivery_id, outcome.deliveryId);
  if ('scope' in expect) compare('scope', expect.scope, outcome.scope);
  for (const key of Object.keys(expect)) {
    if (!compared.includes(key)) compare(key, expect[key], undefined);
  }
  return differences;
}

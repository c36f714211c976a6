import { readFileSync } from 'node:fs';
import type { Source } from '../../src/sources/define-source.js';
import { github } from '../../src/sources/github.js';
import type { DeliveryRequest, Identified, Refusal } from '../../src/sources/source.js';
import { standardWebhooks } from '../../src/sources/standard-webhooks.js';
import { stripe } from '../../src/sources/stripe.js';
import { types } from '../../src/sources/types.js';

interface CaseProvider {
  readonly scheme: string;
  readonly secrets: readonly string[];
  readonly toleranceSeconds?: number;
}

interface CaseRequest {
  readonly name: string;
  readonly provider: string;
  readonly method: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: { readonly text: string };
}

/** One case from the field, as its file says it. */
export interface Case {
  readonly now: Date;
  /** What each request of the case comes to with the presets, by its name. */
  readonly outcomes: ReadonlyMap<string, Identified | Refusal>;
  readonly given: Record<string, unknown>;
  readonly expect: Record<string, unknown>;
}

/** Reads a case and judges its requests. */
export function readCase(id: string, secrets?: readonly string[]): Case {
  const file = JSON.parse(readFileSync(new URL(`../cases/${id}.json`, import.meta.url), 'utf8'));
  const now = new Date(file.given.now);
  const providers = (file.given.providers ?? {}) as Record<string, CaseProvider>;
  const outcomes = new Map<string, Identified | Refusal>();
  for (const request of (file.given.requests ?? []) as CaseRequest[]) {
    const provider = providers[request.provider]!;
    const source = sourceOf({ ...provider, secrets: secrets ?? provider.secrets });
    outcomes.set(request.name, judge(source, requestOf(request), now));
  }
  return { now, outcomes, given: file.given, expect: file.expect };
}

/** The names of the requests that a case expects to be answered so. */
export function namesAnswered(known: Case, status: number | string): readonly string[] {
  const responses = known.expect.responses as { request: string; status: (number | string)[] }[];
  return responses.filter((response) => response.status.includes(status)).map((response) => response.request);
}

/** What the receiver does with a request: verify, and identify only what is verified. */
export function judge(source: Source, request: DeliveryRequest, now: Date): Identified | Refusal {
  const verdict = source.verify(request, { now });
  return verdict.ok ? source.identify(request) : verdict;
}

function sourceOf({ scheme, secrets, toleranceSeconds }: CaseProvider): Source {
  const events = { 'order.confirmed': types<unknown>() };
  const tolerance = (toleranceSeconds ?? 300) * 1000;
  if (scheme === 'standard-webhooks') return standardWebhooks('std', { events, secrets, tolerance });
  if (scheme === 'hub-sha256') return github('hub', { events, secrets });
  if (scheme === 't-v1') return stripe('tv1', { events, secrets, tolerance });
  throw new TypeError(`no preset for the scheme ${scheme}`);
}

function requestOf({ method, headers, body }: CaseRequest): DeliveryRequest {
  return {
    method,
    url: 'https://receiver.example/hook',
    headers: Object.fromEntries(headers),
    rawBody: Buffer.from(body.text),
  };
}

import { utf8Bytes } from '../identity/encode-segment.js';
import { eventIdLimitBytes } from '../identity/event-identity.js';
import { refuse } from './refuse.js';
import type { Identified, Refusal } from './source.js';

/** What a preset found; the optional parts may be undefined. */
export interface Found {
  readonly id: string;
  readonly eventId: string | null;
  readonly parts: readonly string[];
  readonly type: string;
  readonly action?: string | undefined;
  readonly occurredAt?: string | undefined;
  readonly deliveryId?: string | undefined;
  readonly scope?: string | undefined;
  readonly json: string;
  readonly body: unknown;
}

/** Types, actions, scopes and delivery ids go into log lines, metric labels and indexed columns. */
export const labelLimitBytes = 512;

/**
 * The last step of every preset: refuses an identity or type that Temporal or PostgreSQL could not hold, and leaves out
 * what is absent.
 */
export function identified(found: Found): Identified | Refusal {
  const { id, eventId, parts, type, json, body } = found;
  if (!isText(id)) {
    return refuse(
      'identity_invalid',
      'missing_identity',
      'the event id holds NUL or a lone surrogate, which no text may',
    );
  }
  if (utf8Bytes(id) > eventIdLimitBytes) {
    return refuse(
      'identity_invalid',
      'missing_identity',
      `the event id is longer than ${eventIdLimitBytes} bytes of UTF-8`,
    );
  }
  if (type !== '' && !isLabel(type)) {
    return refuse(
      'type_missing',
      'malformed_body',
      `the event type holds NUL or a lone surrogate, or is longer than ${labelLimitBytes} bytes of UTF-8`,
    );
  }
  const { action, occurredAt, deliveryId, scope } = found;
  return {
    ok: true,
    id,
    eventId,
    parts,
    type,
    ...(isLabel(action) && { action }),
    ...(occurredAt !== undefined && { occurredAt }),
    ...(isLabel(deliveryId) && { deliveryId }),
    ...(isLabel(scope) && { scope }),
    json,
    body,
  };
}

function isLabel(text: string | undefined): text is string {
  return text !== undefined && isText(text) && utf8Bytes(text) <= labelLimitBytes;
}

/** PostgreSQL refuses NUL in text, and UTF-8 cannot carry half a surrogate pair. */
function isText(text: string): boolean {
  return !text.includes('\0') && !/\p{Surrogate}/u.test(text);
}

import type { ErrorCode } from '../errors.js';

/** What the admin API answers for a code; any other is 500. `docs/admin-api.md` is generated from it. */
export const adminStatuses = {
  request_invalid: 400,
  body_malformed: 400,
  body_too_deep: 400,
  identity_invalid: 400,
  identity_missing: 400,
  endpoint_invalid: 400,
  destination_refused: 400,
  filter_missing: 400,
  publication_invalid: 400,
  publication_type_unknown: 400,
  data_invalid: 400,
  admin_unauthorized: 401,
  admin_forbidden: 403,
  not_found: 404,
  endpoint_unknown: 404,
  event_unknown: 404,
  identity_unknown: 404,
  replay_set_unknown: 404,
  dead_letter_unknown: 404,
  publication_unknown: 404,
  method_not_allowed: 405,
  replay_refused: 409,
  abandon_refused: 409,
  retry_refused: 409,
  note_refused: 409,
  pause_refused: 409,
  effect_unknown: 409,
  keys_differ: 409,
  payload_missing: 409,
  endpoint_paused: 409,
  endpoint_disabled: 409,
  endpoint_removed: 409,
  body_too_large: 413,
  publication_too_large: 413,
  body_unreadable: 415,
  publication_conflict: 422,
  replay_set_too_large: 422,
  ledger_unavailable: 503,
  migration_missing: 503,
  temporal_unavailable: 503,
} as const satisfies Partial<Record<ErrorCode, number>>;

/** The status that answers for a code. */
export function adminStatus(code: ErrorCode): number {
  const statuses: Partial<Record<ErrorCode, number>> = adminStatuses;
  return statuses[code] ?? 500;
}

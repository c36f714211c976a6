/**
 * Every code that Onefold puts into an answer, a log line, a metric label or a dead letter, with its meaning and what
 * to do about it. A code is an API: its meaning never changes. `docs/errors.md` is generated from this table.
 */
export const errorCodes = {
  // Refusals at the door: the receiver answers, no workflow is started.
  unknown_source: {
    cause: 'The URL names no configured source.',
    remedy: 'Compare the path with the names of the sources.',
  },
  method_not_allowed: { cause: 'A source takes POST only.', remedy: 'Send POST.' },
  signature_missing: {
    cause: 'The headers that carry the signature are absent or blank.',
    remedy: 'Check that the provider signs, and that no proxy drops the headers.',
  },
  signature_malformed: {
    cause: 'The signature or timestamp header has not the form that the scheme demands.',
    remedy: 'Check the preset and any proxy that rewrites headers.',
  },
  signature_mismatch: {
    cause: 'No configured secret produces the signature over the bytes received.',
    remedy: 'Compare the secret; make sure that nothing parses and rewrites the body.',
  },
  signature_scheme_unsupported: {
    cause: 'The request is signed only in schemes that this source does not accept.',
    remedy: 'Configure the scheme of the provider.',
  },
  timestamp_too_old: {
    cause: 'The signed timestamp lies further back than the tolerance.',
    remedy: 'Check the clocks; a provider that re-signs retries is unaffected.',
  },
  timestamp_too_new: {
    cause: 'The signed timestamp lies further ahead than the tolerance.',
    remedy: 'Check the clocks.',
  },
  identity_missing: {
    cause: 'The event carries no usable event identity: absent, blank, or not a string or number.',
    remedy: 'Name the header or field, or the fields to hash, in the source.',
  },
  identity_invalid: {
    cause: 'An identity is blank, too long or not text.',
    remedy: 'Use a non-blank identity within the documented limit.',
  },
  type_missing: {
    cause: 'The header or field that names the event type is absent, blank or no usable text.',
    remedy: 'Name the header or field of the type in the source, or mend the sender.',
  },
  body_malformed: { cause: 'The body is not UTF-8 JSON (or not the form the source reads).', remedy: 'Send JSON.' },
  body_too_deep: { cause: 'The JSON is nested deeper than 256 levels.', remedy: 'Send flatter JSON.' },
  body_too_large: {
    cause: 'The body exceeds the limit of the source.',
    remedy: 'Raise `bodyLimitBytes` of the source, or send less.',
  },
  body_unreadable: {
    cause: 'The content type or content encoding is none that the source can read.',
    remedy: 'Send JSON, plain or compressed with gzip, deflate or br.',
  },
  body_already_parsed: {
    cause: 'Another middleware consumed the body before the receiver, so the signed bytes are gone.',
    remedy: 'Mount the receiver before express.json(), or give express.json a `verify` that keeps `req.rawBody`.',
  },
  body_differs: {
    cause: 'The event identity is known with another body, and the source refuses that.',
    remedy: 'Find out which of the two bodies is genuine.',
  },
  rate_limited: {
    cause: 'The source received more requests than its rate limit.',
    remedy: 'Retry after the time given.',
  },
  backlog_full: {
    cause: 'The oldest waiting event is older than the backlog limit of the source.',
    remedy: 'Add workers; the provider retries.',
  },
  temporal_unavailable: {
    cause: 'Temporal did not accept the event in time.',
    remedy: 'The provider retries; check Temporal.',
  },
  start_refused: {
    cause: 'Temporal refused a start that Onefold built.',
    remedy: 'A fault of set-up, such as an unregistered search attribute: see the log line.',
  },
  ledger_unavailable: {
    cause: 'PostgreSQL could not be reached or did not answer.',
    remedy: 'Check PostgreSQL; the work is retried.',
  },
  shutting_down: {
    cause: 'This process is draining and takes no more requests.',
    remedy: 'The load balancer should use another one; the provider retries.',
  },
  processing: { cause: 'The event is being processed right now.', remedy: 'Retry after the time given.' },
  effect_failed: {
    cause: 'An effect of the event failed for good and lies in the dead letters.',
    remedy: 'See the dead letter, mend the cause, replay.',
  },
  internal_error: {
    cause: 'A defect in Onefold or in a function given to it.',
    remedy: 'See the log line with the same event.',
  },

  // Ends of attempts: kept in the history and in the dead letter.
  data_invalid: {
    cause: 'The data do not match the schema declared for the type.',
    remedy: 'Mend the schema or the sender, then replay.',
  },
  business_key_invalid: {
    cause: 'A business key function returned something blank, too long or not text.',
    remedy: 'Mend the function, then replay.',
  },
  planning_failed: {
    cause: 'A business key function threw, or the plan could not be made.',
    remedy: 'Mend the function and deploy; planning is tried again within its budget.',
  },
  effect_threw: {
    cause: 'The effect threw an error.',
    remedy: 'See the message; the attempt is retried within the budget.',
  },
  permanent_error: { cause: 'The effect said that trying again is useless.', remedy: 'Mend the cause, then replay.' },
  effect_paused: {
    cause: 'A person has paused the effect or its source.',
    remedy: 'None; it waits without spending its budget until `onefold resume`. See `onefold pause list`.',
  },
  not_yet: { cause: 'The effect asked to be tried later.', remedy: 'None; it waits without spending an attempt.' },
  not_done: {
    cause: 'The effect said that nothing was done.',
    remedy: 'None; the attempt is retried within the budget.',
  },
  outcome_unknown: {
    cause: 'The attempt ended without telling whether the effect took hold.',
    remedy: 'None; the next attempt goes by the declared recovery.',
  },
  attempt_timed_out: {
    cause: 'The attempt did not end within its timeout, or its worker died.',
    remedy: 'None if rare; else raise `timeout`.',
  },
  worker_shutdown: {
    cause: 'The worker was stopped before the attempt could end.',
    remedy: 'None; it is tried again without spending an attempt.',
  },
  claim_waiting: {
    cause: 'Another event holds the claim on the same business identity.',
    remedy: 'None; it waits without spending an attempt.',
  },
  outcome_settling: {
    cause: 'The recipient has no trace of an earlier attempt, which may still be under way.',
    remedy: 'None; it is asked again when that can no longer be, without spending an attempt.',
  },
  effect_superseded: {
    cause: 'The attempt came back after its lease had been taken; it wrote nothing.',
    remedy: 'None if rare; else raise `timeout`, and hand `signal` to the client.',
  },
  effect_parked: {
    cause: 'The outcome of an attempt is unknown, and only a person can tell.',
    remedy: 'Look at the recipient, then say it: `onefold resolve`.',
  },
  version_invalid: {
    cause: 'What `supersede` returned is no lineage or no version.',
    remedy: 'Return non-blank text of at most 512 bytes, and a finite number, a bigint or a Date.',
  },
  claim_without_completion: {
    cause:
      'The ledger holds a committed claim of a local write without its completion, so whether the write took hold is unknown.',
    remedy: 'Look at the business tables, then say whether it is there: `onefold resolve`.',
  },
  transaction_aborted: {
    cause: 'An error was caught and ignored inside `commit`, so PostgreSQL rolled the transaction back.',
    remedy: 'Use ON CONFLICT or a savepoint, or let the error out.',
  },
  transaction_split: {
    cause: 'The effect ended the transaction itself, which separates the write from its completion.',
    remedy: 'Remove COMMIT and ROLLBACK from the effect.',
  },
  database_transient: {
    cause: 'PostgreSQL asked for the transaction to be tried again, or the connection was lost.',
    remedy: 'None; the attempt is retried within the budget.',
  },
  result_not_json: { cause: 'The result of the effect is not a JSON value.', remedy: 'Return JSON values only.' },
  result_too_large: {
    cause: 'The result of the effect exceeds 1 MiB of JSON.',
    remedy: 'Store it in a table of yours and return its key.',
  },
  result_unrecognised: {
    cause: 'Something other than an attempt of ours completed the activity, and the ledger knows nothing of it.',
    remedy: 'Do not complete activities by hand.',
  },
  effect_unknown: {
    cause: 'The event names effects that this worker does not have.',
    remedy: 'Deploy the workers; planning waits for one that has them.',
  },
  payload_missing: { cause: 'The stored body of the event is gone.', remedy: 'Let the provider send it again.' },
  input_malformed: {
    cause: 'The workflow was started by hand with an input that is not an event.',
    remedy: 'Use `onefold replay`.',
  },
  cancelled: { cause: 'The workflow was cancelled from outside.', remedy: 'Replay, or let the provider redeliver.' },
  terminated: {
    cause: 'The workflow was terminated or timed out from outside.',
    remedy: 'Replay, or let the provider redeliver.',
  },
  abandoned: { cause: 'A person abandoned the event.', remedy: 'Only a replay lifts it.' },
  budget_spent: {
    cause: 'The attempts or the elapsed time of the budget are used up.',
    remedy: 'Mend the cause, then replay.',
  },

  // Publishing.
  publication_invalid: {
    cause: 'What is to be published lacks a field, or has one that is none: see the message.',
    remedy: 'Mend the call.',
  },
  publication_type_unknown: {
    cause: 'The type is not in the catalogue of publications.',
    remedy: 'Declare it, or mend the name.',
  },
  publication_conflict: {
    cause: 'The same publication, or another with the same event id, was published before with other content.',
    remedy: 'Give a new intent a new publication identity, such as the next version of it.',
  },
  publication_too_large: {
    cause: 'The message exceeds 256 KiB.',
    remedy: 'Publish less, such as an address where the receiver may fetch the rest.',
  },
  publication_unknown: {
    cause: 'The ledger has no such publication, or none for this endpoint.',
    remedy: 'Check the identity, the endpoint and the tenant.',
  },
  publication_missing: {
    cause: 'The publication that a delivery refers to is not in the ledger.',
    remedy: 'The workflow was started by hand, or the ledger was restored from before; publish again.',
  },
  delivery_lost: {
    cause: 'Temporal does not know the workflow of a delivery under way: it was deleted, or Temporal was restored.',
    remedy: 'Look at its attempts; some may have arrived. Then replay it: `onefold replay --publication`.',
  },
  endpoint_unknown: { cause: 'The tenant has no such endpoint.', remedy: 'Check the id and the tenant.' },
  endpoint_invalid: {
    cause: 'A setting of the endpoint is wrong: see the message.',
    remedy: 'Mend that setting.',
  },
  endpoint_paused: {
    cause: 'The endpoint is paused; what is to be delivered to it is held.',
    remedy: 'Resume it: `onefold endpoints resume`.',
  },
  endpoint_disabled: {
    cause: 'The endpoint is disabled, and the budget of the delivery ended meanwhile.',
    remedy: 'Enable it, then recover what it missed: `onefold endpoints recover`.',
  },
  endpoint_removed: { cause: 'The endpoint was removed.', remedy: 'None; add an endpoint if that was a mistake.' },
  endpoint_gone: {
    cause: 'The endpoint answered 410, by which a receiver says that it wants no more.',
    remedy: 'Ask its owner; enable it again if that was a mistake.',
  },
  endpoint_failing: {
    cause: 'Every attempt at the endpoint has failed for days.',
    remedy: 'Ask its owner to mend it; then enable it and recover what it missed.',
  },
  destination_refused: {
    cause: 'The URL is none that may be sent to: its scheme, its form, or an address that it leads to is not allowed.',
    remedy:
      'Use an https URL with a public address, or allow the address by name (ONEFOLD_EGRESS_ALLOW; for endpoints of tenants, ONEFOLD_EGRESS_ALLOW_TENANTS too).',
  },
  dns_failed: {
    cause: 'The name of the endpoint could not be resolved.',
    remedy: 'None if rare; else check the URL.',
  },
  connection_refused: { cause: 'The endpoint refused the connection.', remedy: 'None; it is tried again.' },
  connection_failed: { cause: 'The endpoint could not be reached.', remedy: 'None; it is tried again.' },
  connection_reset: {
    cause: 'The connection ended before a whole answer came; the endpoint may have acted.',
    remedy: 'None; it is tried again under the same event identity, by which the endpoint recognises it.',
  },
  tls_failed: {
    cause: 'No trusted TLS connection could be made.',
    remedy: "Check the endpoint's certificate.",
  },
  connect_timeout: { cause: 'No connection came about within 3 seconds.', remedy: 'None; it is tried again.' },
  response_timeout: {
    cause: 'The answer did not come in time; the endpoint may have acted.',
    remedy: 'None if rare; else the endpoint should answer first and work later.',
  },
  response_malformed: {
    cause: 'What came back is not HTTP.',
    remedy: 'Check what listens at the URL; it is tried again.',
  },
  retry_after_exceeds_budget: {
    cause: 'The endpoint asked for a pause beyond what is left of the budget.',
    remedy: 'Replay it later.',
  },
  rate_or_concurrency_limited: {
    cause: 'The endpoint takes no more requests now by its own limits.',
    remedy: 'None; it waits without spending an attempt.',
  },
  secret_unreadable: {
    cause: 'A stored secret or header cannot be opened: this process lacks its key, or it is not as it was sealed.',
    remedy:
      'Add the key that the message names to ONEFOLD_SECRETS_KEYS; else rotate the secret, or set the headers anew.',
  },
  admin_unauthorized: {
    cause: 'The request to the admin API carries no valid token.',
    remedy: 'Send `Authorization: Bearer …`.',
  },
  admin_forbidden: { cause: 'The token may read only.', remedy: 'Use the token that may act.' },
  request_invalid: {
    cause: 'A filter, a parameter or a field of the request is wrong: see the message.',
    remedy: 'Mend that one.',
  },
  not_found: { cause: 'The admin API has no such path.', remedy: 'See docs/admin-api.md.' },

  // Configuration and operation.
  config_invalid: { cause: 'The configuration is wrong at the place named.', remedy: 'Mend that place.' },
  config_missing: {
    cause: 'A required setting, such as a secret or a connection string, is absent.',
    remedy: 'Set the variable named.',
  },
  secret_invalid: {
    cause: 'A secret cannot be the key of its scheme.',
    remedy: 'Copy the secret anew from the provider.',
  },
  migration_missing: { cause: 'The ledger is older than this version needs.', remedy: 'Run `onefold migrate`.' },
  event_unknown: {
    cause: 'Neither Temporal nor the ledger knows this event.',
    remedy: 'Check the identity: source/event-id.',
  },
  identity_unknown: {
    cause: 'No event, business key or publication has this name, and none holds it as a part.',
    remedy: 'Check it, and the tenant; an event id, a business key, a publication or a webhook-id is understood.',
  },
  act_invalid: {
    cause: 'The act is not one of those that are valid where the identity stands.',
    remedy: 'Look at it: `onefold fix` lists what is valid.',
  },
  dead_letter_unknown: {
    cause: 'There is no such dead letter.',
    remedy: 'Check id, event and tenant: `onefold dead-letters list --all`.',
  },
  note_refused: {
    cause: 'A note on a dead letter lacks an owner or a note, or who writes it and why.',
    remedy: 'Give what it lacks.',
  },
  keys_differ: {
    cause: 'The code computes other business keys for this event than the recorded ones.',
    remedy: 'Mend the key function, or replay with `--rekey` if the new keys are meant.',
  },
  claim_unknown: {
    cause: 'The ledger has no claim of this effect under this business key.',
    remedy: 'Check both, and the tenant.',
  },
  resolve_refused: {
    cause: 'The effect cannot be resolved: it is done, an attempt is under way, or nothing about it is unknown.',
    remedy: 'See the message.',
  },
  replay_refused: { cause: 'The event cannot be replayed now.', remedy: 'See the message.' },
  filter_missing: {
    cause: 'A replay of many names no filter, and would take every event.',
    remedy: 'Say which events are meant, such as by source and time.',
  },
  replay_set_too_large: {
    cause: 'The filter of a replay of many takes in more events than one set may have.',
    remedy: 'Narrow it, such as by time, and replay part by part.',
  },
  replay_set_unknown: {
    cause: 'No replay of many was begun under this id, by this tenant.',
    remedy: 'Check the id and the tenant.',
  },
  ingest_refused: {
    cause:
      'The event cannot be handed in: what was given does not fit its source, or the wish lacks who asks for it or why.',
    remedy: 'See the message.',
  },
  rejected_unknown: {
    cause: 'There is no such sample of a refused request, or it is older than 30 days.',
    remedy: 'Look at the list: `onefold rejected list`.',
  },
  adopt_refused: {
    cause:
      'What an earlier system has done cannot be adopted: its query fails or has unknown columns, or the wish lacks who asks for it or why.',
    remedy: 'See the message.',
  },
  pause_refused: {
    cause: 'What is to be paused or resumed is unknown, or the wish lacks who asks for it or why.',
    remedy: 'See the message.',
  },
  retry_refused: {
    cause: 'Nothing of it is under way that could be tried now, or the wish lacks who asks for it or why.',
    remedy: 'See the message.',
  },
  abandon_refused: {
    cause: 'The event or delivery cannot be given up: it is done, or the wish lacks who asks for it or why.',
    remedy: 'See the message.',
  },
  confirmation_missing: {
    cause: 'The command asks before it acts, and standard input is no terminal.',
    remedy: 'Add `--yes`.',
  },
  data_folder_busy: {
    cause: 'Another process works on the data folder of the embedded servers.',
    remedy: 'Stop that process, or choose another folder.',
  },
  embedded_unavailable: {
    cause: 'An embedded server could not be found or started.',
    remedy: 'See the message for the ways to provide one.',
  },
} as const satisfies Record<string, { readonly cause: string; readonly remedy: string }>;

/** Codes of attempts that are made from a number; listed in `docs/errors.md` with the others. */
export const errorCodeFamilies = {
  'http_<status>': {
    cause: 'The effect threw an error that carries an HTTP status from 100 to 599, such as `http_503`.',
    remedy:
      'None if the recipient mends it; the attempt is retried within the budget, or not where `nonRetryableErrorTypes` names it.',
  },
} as const satisfies Record<string, { readonly cause: string; readonly remedy: string }>;

/** A stable name for what went wrong; see {@link errorCodes}. */
export type ErrorCode = keyof typeof errorCodes;

/** The one error class of Onefold's own refusals. Match on `code`, never on the message. */
export class OnefoldError extends Error {
  override readonly name = 'OnefoldError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

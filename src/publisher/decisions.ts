/** What becomes of a delivery after an attempt. */
export type Decision = 'delivered' | 'retry' | 'rejected' | 'gone';

/** What an attempt met when no status came: nothing is known of the receiver then, which may even have acted. */
export type NoResponseCode =
  | 'dns_failed'
  | 'connection_refused'
  | 'connection_failed'
  | 'connection_reset'
  | 'tls_failed'
  | 'connect_timeout'
  | 'response_timeout'
  | 'response_malformed';

/** One row of the table. */
export interface DecisionRow {
  /** As people read it. */
  readonly answer: string;
  readonly statuses: readonly (readonly [from: number, to: number])[];
  readonly decision: Decision;
  /** Whether Retry-After is read. */
  readonly retryAfter: boolean;
  readonly meaning: string;
}

/**
 * The decision table of outbound attempts. The sender, its tests and `docs/publishing.md` are made from it. The first row
 * that holds a status decides; what is in no row is no success, and is rejected.
 *
 * @see Standard Webhooks 1.0.0, "Deliverability and reliability"; RFC 9110, section 15.
 */
export const decisionTable = [
  { answer: '2xx', statuses: [[200, 299]], decision: 'delivered', retryAfter: false, meaning: 'Delivered.' },
  {
    answer: '408, 425, 429',
    statuses: [
      [408, 408],
      [425, 425],
      [429, 429],
    ],
    decision: 'retry',
    retryAfter: true,
    meaning: 'Tried again while attempts remain, not before Retry-After, within the budget.',
  },
  {
    answer: '410',
    statuses: [[410, 410]],
    decision: 'gone',
    retryAfter: false,
    meaning: 'Rejected for good, and the endpoint is disabled.',
  },
  {
    answer: 'other 4xx',
    statuses: [[400, 499]],
    decision: 'rejected',
    retryAfter: false,
    meaning: 'Rejected for good.',
  },
  {
    answer: '5xx',
    statuses: [[500, 599]],
    decision: 'retry',
    retryAfter: true,
    meaning: 'Tried again with backoff and jitter, within the budget of attempts and elapsed time.',
  },
  {
    answer: '3xx, 1xx, unknown codes',
    statuses: [],
    decision: 'rejected',
    retryAfter: false,
    meaning: 'Rejected for good. Redirects are not followed.',
  },
] as const satisfies readonly DecisionRow[];

/** The row for an attempt without a status: timeout, DNS, refused, reset, TLS. */
export const noStatusRow = {
  answer: 'timeout, no status',
  decision: 'retry',
  meaning: 'Tried again with backoff and jitter, within the budget of attempts and elapsed time.',
} as const;

const otherwise: DecisionRow = decisionTable[decisionTable.length - 1] as DecisionRow;

/** Finds the row for a status. Total: every number has one. */
export function decide(status: number): DecisionRow {
  const rows: readonly DecisionRow[] = decisionTable;
  return rows.find(({ statuses }) => statuses.some(([from, to]) => status >= from && status <= to)) ?? otherwise;
}

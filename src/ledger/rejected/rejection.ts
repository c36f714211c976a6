/** A request that was refused at the door, before it had an event. */
export interface RejectedRequest {
  readonly source: string;
  /** Stable code of the answer. */
  readonly code: string;
  /** The finer reason; '' where there is none. */
  readonly reason: string;
  readonly status: number;
  readonly method: string;
  /** JSON: every header's name, and the values of those that cannot hold a secret. */
  readonly headers: string;
  readonly network: string | null;
  /** SHA-256 in hex of the body as far as it was read. */
  readonly digest: string | null;
  /** How much of the body was read. */
  readonly bytes: number | null;
  readonly receivedAt: Date;
  readonly body: { readonly sealed: Uint8Array; readonly key: string; readonly until: Date } | null;
}

/** How many requests were refused for one reason in one hour. */
export interface RejectedCount {
  /** Its begin, in UTC. */
  readonly hour: Date;
  readonly source: string;
  readonly code: string;
  readonly reason: string;
  readonly count: number;
}

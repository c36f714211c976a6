/** An endpoint of a tenant. */
export interface EndpointRef {
  readonly tenant: string;
  readonly id: string;
}

/** A row of `endpoints`, without what is sealed. Wide numbers come as text. */
export interface EndpointRow {
  readonly tenant: string;
  readonly id: string;
  readonly url: string;
  readonly description: string;
  readonly types: readonly string[];
  readonly headerNames: readonly string[];
  readonly rateLimit: string | null;
  readonly concurrency: number;
  readonly timeoutMs: number | null;
  readonly pausesMs: readonly string[] | null;
  readonly elapsedMs: string | null;
  readonly atMostOnce: boolean;
  readonly state: 'enabled' | 'paused' | 'disabled' | 'removed';
  readonly stateCode: 'by_owner' | 'endpoint_gone' | 'endpoint_failing' | null;
  readonly stateReason: string | null;
  readonly stateAt: Date;
  readonly version: string;
  readonly failingSince: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The columns of an {@link EndpointRow}. */
export const endpointColumns = `tenant, id, url, description, types, header_names AS "headerNames",
  rate_limit AS "rateLimit", concurrency, timeout_ms AS "timeoutMs", pauses_ms AS "pausesMs", elapsed_ms AS "elapsedMs",
  at_most_once AS "atMostOnce", state, state_code AS "stateCode", state_reason AS "stateReason", state_at AS "stateAt",
  version, failing_since AS "failingSince", created_at AS "createdAt", updated_at AS "updatedAt"`;

/** What was sealed, and the name of its key. */
export interface SealedColumns {
  readonly sealed: Buffer;
  readonly key: string;
}

/** What an owner sets, as it is stored; null where a default holds. */
export interface StoredSettings {
  readonly url: string;
  readonly description: string;
  readonly types: readonly string[];
  readonly rateLimit: number | null;
  readonly concurrency: number;
  readonly timeoutMs: number | null;
  readonly pausesMs: readonly number[] | null;
  readonly elapsedMs: number | null;
  readonly atMostOnce: boolean;
}

/** Extra headers, as they are stored. */
export interface StoredHeaders {
  /** In lower case. */
  readonly names: readonly string[];
  /** Absent where there are none. */
  readonly sealed?: SealedColumns;
}

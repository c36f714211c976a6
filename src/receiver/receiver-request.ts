import type { HeaderMap } from '../sources/source.js';

/** Where the bytes of a request are. */
export type ReceivedBody =
  /** Still to be read; ending the iteration early must not cut the connection before the answer is out. */
  | { readonly kind: 'stream'; readonly chunks: AsyncIterable<Uint8Array> }
  /** Read by a middleware that kept them, after undoing any content encoding. */
  | { readonly kind: 'kept'; readonly bytes: Uint8Array }
  /** Read by a middleware that kept only what it made of them. */
  | { readonly kind: 'consumed' };

/** A request in plain types, whatever server took it. */
export interface ReceiverRequest {
  readonly method: string;
  /** The path below the place where the receiver is mounted: `/<source>`. */
  readonly path: string;
  /** The whole URL as the provider called it; some schemes sign it. */
  readonly url: string;
  readonly headers: HeaderMap;
  readonly body: ReceivedBody;
  /** The address at the other end of the connection, which may be a proxy's; undefined where the server does not tell. */
  readonly remoteAddress?: string;
  /** Aborts when the caller is gone, which ends the wait for an outcome. */
  readonly signal?: AbortSignal;
}

/** An answer in plain types. */
export interface ReceiverResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** '' where the status has none. */
  readonly body: string;
}

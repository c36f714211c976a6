/** Which token a request needs: one that may read, or one that may act. */
export type AdminAccess = 'read' | 'act';

/** Names of parameters or fields, and what they mean; `docs/admin-api.md` says it so. */
export type Described = Readonly<Record<string, string>>;

/** One route of the admin API. */
export interface AdminRoute {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** As Express takes it. An identity stands in it percent-encoded. */
  readonly path: string;
  readonly access: AdminAccess;
  /** Of the usual answer. */
  readonly status: 200 | 201 | 202;
  readonly does: string;
  /** Beside `tenant`, which every route takes; others are refused. */
  readonly query?: Described;
  /** Fields of the JSON object; others are refused. */
  readonly body?: Described;
  /** Fields that cannot be left out, of a GET parameters. */
  readonly needs?: readonly string[];
  readonly answer: string;
}

/** What every list takes. */
export const paged: Described = {
  cursor: 'the `next` of the page before',
  limit: 'rows of a page, 1 to 200, 50 by default',
};

/** What every act takes that is carried out once for each id. */
export const wish: Described = {
  reason: 'why; recorded',
  id: 'identity of this wish: repeating it is harmless; a new one by default',
};

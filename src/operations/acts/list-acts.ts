import { type ActPlace, listActs as listRows } from '../../ledger/acts/list-acts.js';
import { type ActKind, actKinds } from '../../ledger/record-act.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import type { OperationsContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { momentForm, type Page, pageOf, readCursor, readLimit } from '../page-cursor.js';
import { readEventName } from '../read-event-name.js';
import { type ListOptions, readFilter } from '../read-filter.js';

/** Which acts are asked for; what is left out restricts nothing. */
export interface ActFilter extends ListOptions {
  /**
   * What they are about: an event as `source/event-id`; a workflow ID; `endpoint/<tenant>/<id>`, `effect/<name>`,
   * `source/<name>`; `events` for acts on many.
   */
  readonly about?: string;
  readonly kind?: ActKind;
  /** Who acted. */
  readonly by?: string;
  /** Recorded at or after. */
  readonly since?: Date;
  /** Recorded before. */
  readonly until?: Date;
}

/** What a person did. */
export interface ListedAct {
  readonly tenant: string;
  readonly id: string;
  readonly kind: ActKind;
  /** As `about` takes it. */
  readonly about: string;
  readonly by: string;
  readonly reason: string;
  readonly at: Date;
  readonly outcome: string;
  /** What the person was shown before. */
  readonly seen: unknown;
}

const known: readonly (keyof ActFilter)[] = ['tenant', 'about', 'kind', 'by', 'since', 'until', 'cursor', 'limit'];

/** Beginnings of what acts are about, beside names of events. */
const wholeKey = /^(event|publication|endpoint|effect|source)\/|^events$/;

/**
 * Lists what people did, the latest first, page by page.
 *
 * @throws {OnefoldError} `config_invalid` for an unknown filter, `request_invalid` for one that is wrong, `identity_invalid`,
 * `ledger_unavailable`, `migration_missing`.
 */
export async function listActs({ ledger }: OperationsContext, options: ActFilter = {}): Promise<Page<ListedAct>> {
  refuseUnknownOptions(options, known, 'acts');
  const { tenant: _tenant, cursor, limit: rows, kind: state, ...filter } = options;
  const { tenant, about, by, state: kind, ...within } = readFilter(options, { ...filter, state }, actKinds);
  const limit = readLimit(rows);
  const after = readCursor<ActPlace>(cursor, [momentForm, undefined]);
  const eventKey = about === undefined || wholeKey.test(about) ? about : readEventName(about, tenant).eventKey;
  try {
    const found = await listRows(
      ledger.database.query,
      ledger.schema,
      {
        tenant,
        ...within,
        ...(eventKey === undefined ? {} : { eventKey }),
        ...(by === undefined ? {} : { actor: by }),
        ...(kind === undefined ? {} : { kind }),
      },
      { limit: limit + 1, ...(after ? { after } : {}) },
    );
    return pageOf(
      found,
      limit,
      ({ act: { eventKey: subject, actor, seen, ...act } }) => ({
        ...act,
        about: subject,
        by: actor,
        seen: JSON.parse(seen) as unknown,
      }),
      ({ place }) => place,
    );
  } catch (error) {
    throw operationFailure(error);
  }
}

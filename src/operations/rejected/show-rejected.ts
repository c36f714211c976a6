import { OnefoldError } from '../../errors.js';
import type { Ledger } from '../../ledger/ledger.js';
import { listRejected, type RejectedSample } from '../../ledger/rejected/list-rejected.js';
import { readRejectedBody } from '../../ledger/rejected/read-rejected-body.js';
import { rejectedBodyPlace } from '../../receiver/sample-rejected.js';
import type { PublishingContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';

/** A sample, and its body where that was asked for. */
export interface ShownRejected extends RejectedSample {
  /** As far as it was kept. */
  readonly body?: Buffer;
}

/**
 * Shows one sampled request. Its body is opened only on demand, and a log line says who looked.
 *
 * @param look `by`: who wants to see the body too; undefined for the sample alone.
 * @throws {OnefoldError} `rejected_unknown` where there is no such sample, or none of its body; `secret_unreadable`,
 * `config_missing` without its key; `ledger_unavailable`, `migration_missing`.
 */
export async function showRejected(
  { ledger, sealer, log }: { readonly ledger: Ledger } & Pick<PublishingContext, 'sealer' | 'log'>,
  id: string,
  look?: { readonly by: string },
): Promise<ShownRejected> {
  if (!/^\d{1,18}$/.test(id)) throw new OnefoldError('rejected_unknown', 'the id of a sample is a whole number');
  const { database, schema } = ledger;
  try {
    const [found] = await listRejected(database.query, schema, {}, { only: id, limit: 1 });
    if (!found) throw new OnefoldError('rejected_unknown', `there is no sample ${id}`);
    if (!look) return found.sample;
    const sealed = await readRejectedBody(database.query, schema, id);
    if (!sealed) {
      throw new OnefoldError(
        'rejected_unknown',
        `no body of sample ${id} is kept: the source has to ask for it, and it is kept for a day`,
      );
    }
    const { source, digest = '' } = found.sample;
    const body = Buffer.from(sealer.open(sealed, rejectedBodyPlace(source, digest)), 'base64');
    log.info({ sample: id, source, by: look.by }, 'rejected.body_shown');
    return { ...found.sample, body };
  } catch (error) {
    throw operationFailure(error);
  }
}

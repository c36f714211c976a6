import { recordAct } from '../ledger/record-act.js';
import { endDelivery } from '../ledger/sends/end-delivery.js';
import { storableText } from '../ledger/storable-text.js';
import type { RecordDeliveryEndArgument } from '../workflows/delivery-contract.js';
import type { DeliveryDependencies } from './delivery-activities.js';

/** Of the whole transaction, ms: within the timeout of the activity, which is tried again. */
const transactionLimitMs = 10_000;

/**
 * Makes the activity that writes down how a delivery ended without being delivered: its dead letter, or who gave it up.
 * Temporal retries it until PostgreSQL takes it; repeating it changes nothing.
 */
export function createRecordDeliveryEnd(deps: Pick<DeliveryDependencies, 'ledger' | 'log' | 'metrics'>) {
  return async function recordDeliveryEnd(
    argument: RecordDeliveryEndArgument,
  ): Promise<{ readonly delivered: boolean }> {
    const { database, schema } = deps.ledger;
    const { deliveryKey, tenant, endpoint, publication, eventId, type, publishedAt, runId, end, attempts } = argument;
    const abandoned = end.outcome === 'abandoned';
    const ended = await database.transaction(
      async (_tx, sql) => {
        const written = await endDelivery(sql, schema, {
          deliveryKey,
          tenant,
          endpoint,
          publication,
          eventId,
          type,
          runId,
          input: JSON.stringify({ endpoint, publication, eventId, type, publishedAt }),
          outcome: end.outcome,
          code: abandoned ? 'abandoned' : end.code,
          message: abandoned ? end.reason : end.message,
          reasons: JSON.stringify(argument.reasons),
          ...(abandoned ? { by: end.by, reason: end.reason } : {}),
        });
        if (abandoned && !written.delivered) {
          await recordAct(sql, schema, {
            tenant,
            id: end.act,
            kind: 'abandon',
            eventKey: deliveryKey,
            actor: storableText(end.by),
            reason: storableText(end.reason),
            seen: JSON.stringify({ attempts }),
            outcome: 'abandoned',
          });
        }
        return written;
      },
      {
        statementTimeoutMs: transactionLimitMs,
        lockTimeoutMs: transactionLimitMs,
        idleTimeoutMs: transactionLimitMs,
        signal: AbortSignal.timeout(transactionLimitMs),
      },
    );
    if (ended.changed && !abandoned) deps.metrics.deadLetters.inc({ code: end.code });
    if (abandoned) {
      deps.log.info({ deliveryKey, by: end.by, act: end.act, abandoned: !ended.delivered }, 'delivery.abandoned');
    }
    return { delivered: ended.delivered };
  };
}

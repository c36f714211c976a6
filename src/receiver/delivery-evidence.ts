import type { DeliveryRecorder } from '../ledger/record-deliveries.js';
import type { Logger } from '../runtime/logger.js';
import type { Metrics } from '../runtime/metrics.js';
import type { Delivery } from './delivery.js';

/** How a delivery was answered, beside what it was. */
export interface AnswerEvidence {
  readonly status: number;
  /** Stable code of an error answer. */
  readonly code?: string;
  /** Where it was refused at the door, and the finer reason. */
  readonly refused?: { readonly reason?: string };
  /** Whether the source wants a row of this delivery. */
  readonly record: boolean;
}

/** Leaves the evidence of a delivery: a log line, metrics, a row. */
export interface DeliveryEvidence {
  leave(delivery: Delivery, answer: AnswerEvidence): void;
  /** Logs what was suppressed and stops timers. */
  close(): void;
}

/** Lines of refused requests per source and second; a flood must not fill the disk. */
const refusedLinesPerSecond = 20;

/** No header value, body or secret is ever part of the evidence. */
export function createDeliveryEvidence(deps: {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly recorder: DeliveryRecorder;
}): DeliveryEvidence {
  const { log, metrics, recorder } = deps;
  const sampler = createLineSampler((source, suppressed) => log.warn({ source, suppressed }, 'webhook.refused'));

  const logLine = (delivery: Delivery, answer: AnswerEvidence, ms: number): void => {
    const { source, eventKey, event, tenant, type, path } = delivery;
    const fields = {
      ...(eventKey === undefined ? {} : { eventKey, event, tenant }),
      source,
      ...(type === undefined ? {} : { type }),
      ...(path === undefined ? {} : { path }),
      status: answer.status,
      ...(answer.code === undefined ? {} : { code: answer.code }),
      ...(delivery.digest === undefined ? {} : { digest: delivery.digest.slice(0, 16) }),
      ...(path === undefined ? {} : { bodyDiffers: delivery.bodyDiffers }),
      ...(delivery.act === undefined ? {} : { signed: false, act: delivery.act }),
      ms: Math.round(ms * 10) / 10,
    };
    if (!answer.refused) log.info(fields, 'webhook.claim');
    else if (sampler.mayLog(source)) log.warn({ ...answer.refused, ...fields }, 'webhook.refused');
  };

  return {
    leave(delivery, answer) {
      const { source, path, bodyDiffers, eventKey, digest } = delivery;
      const ms = performance.now() - delivery.arrivedMs;
      metrics.answers.inc({ source, status: String(answer.status) });
      metrics.acknowledgeSeconds.observe({ source }, ms / 1000);
      if (path !== undefined) metrics.deliveries.inc({ source, path });
      if (bodyDiffers) metrics.bodyDiffers.inc({ source });
      if (answer.refused) metrics.refused.inc({ source, code: answer.code ?? '' });
      logLine(delivery, answer, ms);
      if (!answer.record) return;
      recorder.record({
        tenant: delivery.tenant,
        source,
        eventKey: eventKey ?? null,
        path: path ?? null,
        code: answer.code ?? null,
        status: answer.status,
        digest: digest ?? null,
        bodyDiffers,
        receivedAt: delivery.receivedAt,
        ...(delivery.act === undefined ? {} : { act: delivery.act }),
      });
    },
    close: () => sampler.close(),
  };
}

/** Lets a number of lines per source and second pass, and tells at the end of the second how many did not. */
function createLineSampler(tell: (source: string, suppressed: number) => void): {
  mayLog(source: string): boolean;
  close(): void;
} {
  let counts = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  const endSecond = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const ended = counts;
    counts = new Map();
    for (const [source, count] of ended) {
      if (count > refusedLinesPerSecond) tell(source, count - refusedLinesPerSecond);
    }
  };
  return {
    mayLog(source) {
      timer ??= setTimeout(endSecond, 1000).unref();
      const count = (counts.get(source) ?? 0) + 1;
      counts.set(source, count);
      return count <= refusedLinesPerSecond;
    },
    close: endSecond,
  };
}

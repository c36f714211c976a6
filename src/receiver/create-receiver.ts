import type { Client } from '@temporalio/client';
import type { Router } from 'express';
import type { Effect } from '../effects/effect.js';
import { OnefoldError } from '../errors.js';
import type { Ledger } from '../ledger/ledger.js';
import { createDeliveryRecorder } from '../ledger/record-deliveries.js';
import { createRejectionRecorder } from '../ledger/rejected/record-rejections.js';
import type { Logger } from '../runtime/logger.js';
import type { Metrics } from '../runtime/metrics.js';
import { createRegisteredAttributes } from '../runtime/registered-attributes.js';
import type { Sealer } from '../runtime/seal.js';
import type { Source } from '../sources/define-source.js';
import { type AnsweredCase, answerFor, isAnswered } from './answers.js';
import { createBacklogWatch } from './backlog-watch.js';
import { composeRefusal, composeResponse } from './compose-response.js';
import { arrivedDelivery, type Delivery } from './delivery.js';
import { createDeliveryEvidence } from './delivery-evidence.js';
import { DeliveryRefused } from './delivery-refused.js';
import { expressRouter } from './express-router.js';
import { fetchHandler } from './fetch-handler.js';
import { createInFlight } from './in-flight.js';
import { receiveDelivery } from './receive-delivery.js';
import type { ReceiveDependencies } from './receive-dependencies.js';
import type { ReceiverRequest, ReceiverResponse } from './receiver-request.js';
import { createRejectedSampler } from './sample-rejected.js';
import { createTokenBucket } from './token-bucket.js';

/** What a receiver is made of. */
export interface ReceiverDependencies {
  readonly sources: readonly Source[];
  readonly effects: readonly Effect[];
  /** From `connectClient`, whose retries are bounded; another one is cut off all the same, but goes on behind. */
  readonly client: Client;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly ledger: Ledger;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Seals the bodies of refused requests that a source wants kept. Default: none are kept. */
  readonly sealer?: Sealer;
  /** The clock that timestamps of signatures are judged by. Default: the system's. */
  readonly now?: () => Date;
}

/** HTTP in. Stateless but for evidence on its way to PostgreSQL. */
export interface Receiver {
  /** Answers a request in plain types. Never rejects. */
  handle(request: ReceiverRequest): Promise<ReceiverResponse>;
  /** Answers a web-standard request; the last segment of its path names the source. Never rejects. */
  fetch(request: Request): Promise<Response>;
  /** Mount it anywhere: `app.use('/webhooks', receiver.express)`. It answers `/<source>` below that, nothing else. */
  readonly express: Router;
  /**
   * Stops taking requests: new ones are answered 503 with `connection: close`. Resolves when those under way are
   * answered and their evidence is written. Settled requests keep their deadline, so allow for the longest.
   */
  drain(): Promise<void>;
  /** Drains, and stops everything in the background. The client and the database stay open; they are the caller's. */
  close(): Promise<void>;
}

/** Requests of one process that may wait for an outcome at a time; beyond it they are answered as in durable mode. */
const waitingLimit = 1_000;

/**
 * Makes a receiver. Nothing is opened here; connections begin with the first request.
 *
 * @throws {OnefoldError} `config_invalid` when two sources have one name.
 */
export function createReceiver(deps: ReceiverDependencies): Receiver {
  const { log, metrics, client, namespace, taskQueue, ledger } = deps;
  const now = deps.now ?? (() => new Date());
  const recorder = createDeliveryRecorder({ ledger, metrics, log });
  const evidence = createDeliveryEvidence({ log, metrics, recorder });
  const rejections = createRejectionRecorder({ ledger, metrics, log });
  const sources = byName(deps.sources);
  const sampleRejected = createRejectedSampler({ sources, sealer: deps.sealer, log });
  const backlog = createBacklogWatch({ client, namespace, taskQueue, metrics, log });
  const hasBacklogLimit = deps.sources.some(({ settings }) => settings.backlogLimitMs !== undefined);
  const inFlight = createInFlight();
  let draining = false;
  let toldAlreadyParsed = false;

  const steps: ReceiveDependencies = {
    sources,
    effects: deps.effects,
    client,
    taskQueue,
    ledger,
    log,
    metrics,
    attributes: createRegisteredAttributes({ client, namespace, log }),
    backlog,
    buckets: new Map(
      deps.sources.flatMap(({ name, settings: { rateLimit } }) =>
        rateLimit ? [[name, createTokenBucket(rateLimit)] as const] : [],
      ),
    ),
    isDraining: () => draining,
    waitingPlaces: createPlaces(waitingLimit),
  };

  /** A refusal keeps its code; whatever else was thrown is a defect, told to the log and not to the caller. */
  const refuse = (request: ReceiverRequest, delivery: Delivery, error: unknown): ReceiverResponse => {
    const refusal = error instanceof OnefoldError && isAnswered(error.code) ? error : undefined;
    const code = refusal ? (refusal.code as AnsweredCase) : 'internal_error';
    if (!refusal) log.error({ ...who(delivery), ...defect(error) }, 'webhook.internal_error');
    if (code === 'body_already_parsed' && !toldAlreadyParsed) {
      toldAlreadyParsed = true;
      log.error({ source: delivery.source, reason: refusal?.message }, 'webhook.body_already_parsed');
    }
    const response = composeRefusal(delivery, code, refusal);
    const reason = refusal instanceof DeliveryRefused ? refusal.details.reason : undefined;
    evidence.leave(delivery, {
      status: response.status,
      code,
      refused: { ...(reason === undefined ? {} : { reason }) },
      record: true,
    });
    if (delivery.eventKey === undefined) {
      const refused = { code, reason: reason ?? '', status: response.status };
      rejections.record({ source: delivery.source, receivedAt: delivery.receivedAt, ...refused }, () =>
        sampleRejected(request, delivery, refused),
      );
    }
    return response;
  };

  const answer = async (request: ReceiverRequest): Promise<ReceiverResponse> => {
    if (hasBacklogLimit) backlog.start();
    const delivery = arrivedDelivery(now());
    try {
      const end = await receiveDelivery(steps, request, delivery);
      const response = composeResponse(delivery, end);
      const { code } = answerFor(end.answer, delivery.acknowledge);
      const recordsIgnored = steps.sources.get(delivery.source)?.settings.record === 'all';
      evidence.leave(delivery, {
        status: response.status,
        ...(code === undefined ? {} : { code }),
        record: end.answer !== 'ignored' || recordsIgnored,
      });
      return response;
    } catch (error) {
      return refuse(request, delivery, error);
    }
  };

  const handle = async (request: ReceiverRequest): Promise<ReceiverResponse> => {
    const response = await inFlight.track(answer(request));
    // A connection that stays open would bring its next request to a process that refuses it.
    return draining ? { ...response, headers: { ...response.headers, connection: 'close' } } : response;
  };

  const drain = async (): Promise<void> => {
    draining = true;
    await inFlight.idle();
    await Promise.all([recorder.flush(), rejections.flush()]);
  };

  return {
    handle,
    fetch: fetchHandler(handle),
    express: expressRouter(handle, inFlight),
    drain,
    async close() {
      await drain();
      backlog.stop();
      evidence.close();
      await Promise.all([recorder.close(), rejections.close()]);
    },
  };
}

function byName(sources: readonly Source[]): ReadonlyMap<string, Source> {
  const map = new Map<string, Source>();
  for (const source of sources) {
    if (map.has(source.name)) {
      throw new OnefoldError('config_invalid', `sources: two sources are named '${source.name}'`);
    }
    map.set(source.name, source);
  }
  return map;
}

function createPlaces(limit: number): ReceiveDependencies['waitingPlaces'] {
  let taken = 0;
  return {
    take() {
      if (taken >= limit) return false;
      taken++;
      return true;
    },
    giveBack() {
      taken--;
    },
  };
}

function who({ source, eventKey, event }: Delivery): Record<string, unknown> {
  return { source, ...(eventKey === undefined ? {} : { eventKey, event }) };
}

/** Where a defect is, without its message, which may quote the payload; our own messages never do. */
function defect(error: unknown): Record<string, unknown> {
  if (error instanceof OnefoldError) return { code: error.code, reason: error.message };
  if (!(error instanceof Error)) return { thrown: typeof error };
  const frames = error.stack?.split('\n').filter((line) => line.startsWith('    at '));
  return { name: error.name, stack: frames?.join('\n') };
}

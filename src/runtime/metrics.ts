import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Every metric of Onefold, in one place; labels are closed sets, so that a flood cannot grow them. */
export interface Metrics {
  readonly registry: Registry;
  /** Deliveries by source and named path. */
  readonly deliveries: Counter<'source' | 'path'>;
  /** Answers by source and HTTP status. */
  readonly answers: Counter<'source' | 'status'>;
  /** Requests refused at the door, by stable code. */
  readonly refused: Counter<'source' | 'code'>;
  /** Seconds from the first byte to the answer. */
  readonly acknowledgeSeconds: Histogram<'source'>;
  /** Deliveries rows that were not written, since PostgreSQL was away or the buffer was full. */
  readonly evidenceLost: Counter;
  /** Duplicates whose body differs from the recorded one. */
  readonly bodyDiffers: Counter<'source'>;
  /** Which of a source's secrets verified, counted from 0. */
  readonly verifiedBy: Counter<'source' | 'secret'>;
  /** Business attempts by effect and how they ended. */
  readonly attempts: Counter<'effect' | 'ended'>;
  /** Effects of events by outcome. */
  readonly effects: Counter<'effect' | 'outcome'>;
  /** Effects of events that only looked, by what they would have done. */
  readonly observed: Counter<'effect' | 'would'>;
  /** Events collapsed onto a completed business key with different data. */
  readonly otherData: Counter<'effect'>;
  /** Superseding effects that met their own version in another event. */
  readonly equalVersions: Counter<'effect'>;
  /** Attempts that ended without telling whether the effect took hold. */
  readonly unknownOutcomes: Counter<'effect'>;
  /** Attempts that went by a recovery, since an earlier one's outcome was unknown. */
  readonly recoveries: Counter<'effect' | 'recovery'>;
  /** Attempts that came back after their lease had been taken. */
  readonly superseded: Counter<'effect'>;
  /** Attempts that found or left an effect to a person. */
  readonly parked: Counter<'effect'>;
  /** Effects that wait for a person now, by the ledger; absent until it was asked. */
  readonly parkedNow: Gauge;
  /** Pauses of effects and sources by the ledger: 1 for every tenant, and 1 for each tenant; absent where there is none. */
  readonly paused: Gauge<'kind' | 'name'>;
  /** Plans that waited for a worker which knows the named effects. */
  readonly planningWaits: Counter<'source'>;
  /** Dead letters opened or reopened, by code. */
  readonly deadLetters: Counter<'code'>;
  /** Messages by what `publish` found; where that was in a transaction, it may have rolled back since. */
  readonly published: Counter<'path'>;
  /** Starts of deliveries by relays. */
  readonly relayStarts: Counter<'outcome'>;
  /** Seconds from publishing to the relay. */
  readonly relayDelaySeconds: Histogram;
  /** Age of the oldest delivery that waits for a relay, in seconds, 0 without one; absent until a relay asked. */
  readonly outboxAge: Gauge;
  /** Outbound attempts by how they ended: `delivered`, or a stable code. */
  readonly sends: Counter<'ended'>;
  /** Seconds of outbound exchanges that were answered. */
  readonly sendSeconds: Histogram;
  /** Endpoints that were disabled without their owner's doing, by code. */
  readonly endpointsDisabled: Counter<'code'>;
  /** Age of the oldest task waiting for a worker, in seconds. */
  readonly backlogAge: Gauge;
}

/** Makes a registry of its own, so that several can live in one process (tests do that). */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const counter = <L extends string = never>(name: string, help: string, labelNames: L[] = []) =>
    new Counter<L>({ name: `onefold_${name}`, help, labelNames, registers });
  const parkedNow = new Gauge({
    name: 'onefold_parked_effects',
    help: 'Effects that wait for a person now.',
    registers,
  });
  // Until the ledger was asked nothing is known, and 0 would say that nobody has to do anything.
  parkedNow.remove();
  const outboxAge = new Gauge({
    name: 'onefold_outbox_age_seconds',
    help: 'Age of the oldest delivery that waits for a relay.',
    registers,
  });
  // A process without a relay does not ask, and 0 would say that all is well.
  outboxAge.remove();
  return {
    registry,
    deliveries: counter('deliveries_total', 'Deliveries by source and named path.', ['source', 'path']),
    answers: counter('answers_total', 'Answers by source and status.', ['source', 'status']),
    refused: counter('refused_total', 'Requests refused, by stable code.', ['source', 'code']),
    acknowledgeSeconds: new Histogram({
      name: 'onefold_acknowledge_seconds',
      help: 'Seconds from request to answer.',
      labelNames: ['source'],
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10],
      registers,
    }),
    evidenceLost: counter('delivery_evidence_lost_total', 'Delivery rows that could not be written.'),
    bodyDiffers: counter('body_differs_total', 'Duplicates with another body than the recorded one.', ['source']),
    verifiedBy: counter('verified_by_secret_total', 'Which secret verified, counted from 0.', ['source', 'secret']),
    attempts: counter('attempts_total', 'Business attempts by how they ended.', ['effect', 'ended']),
    effects: counter('effects_total', 'Effects by outcome.', ['effect', 'outcome']),
    observed: counter('observed_total', 'Effects that only looked, by what they would do.', ['effect', 'would']),
    otherData: counter('other_data_total', 'Events with other data collapsed onto a done business key.', ['effect']),
    equalVersions: counter('equal_versions_total', 'Superseding effects of equal version.', ['effect']),
    unknownOutcomes: counter('unknown_outcomes_total', 'Attempts with an unknown outcome.', ['effect']),
    recoveries: counter('recoveries_total', 'Attempts that recovered an unknown outcome.', ['effect', 'recovery']),
    superseded: counter('superseded_total', 'Attempts that came back after their lease was taken.', ['effect']),
    parked: counter('parked_total', 'Attempts that left an effect to a person.', ['effect']),
    parkedNow,
    paused: new Gauge({
      name: 'onefold_paused',
      help: 'Pauses of effects and sources.',
      labelNames: ['kind', 'name'],
      registers,
    }),
    planningWaits: counter('planning_waits_total', 'Plans waiting for a worker that knows the effects.', ['source']),
    deadLetters: counter('dead_letters_total', 'Dead letters written, by code.', ['code']),
    published: counter('published_total', 'Calls of publish by what they found; a transaction may still roll back.', [
      'path',
    ]),
    relayStarts: counter('relay_starts_total', 'Starts of deliveries by relays.', ['outcome']),
    relayDelaySeconds: new Histogram({
      name: 'onefold_relay_delay_seconds',
      help: 'Seconds from publishing to the relay.',
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300],
      registers,
    }),
    outboxAge,
    sends: counter('sends_total', 'Outbound attempts by how they ended.', ['ended']),
    sendSeconds: new Histogram({
      name: 'onefold_send_seconds',
      help: 'Seconds of outbound exchanges that were answered.',
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 15, 30],
      registers,
    }),
    endpointsDisabled: counter('endpoints_disabled_total', 'Endpoints disabled by their failures.', ['code']),
    backlogAge: new Gauge({ name: 'onefold_backlog_age_seconds', help: 'Age of the oldest waiting task.', registers }),
  };
}

import { OnefoldError } from '../errors.js';
import { durationMs } from '../runtime/duration.js';

/**
 * What a lease is longer than the attempt by. The attempt's signal aborts at its timeout, the server gives it up 5 s later,
 * and within these an attempt writes down how it ended.
 */
export const leaseMarginMs = 10_000;

/** Beats that may be lost or late before the lease is. */
const beatsPerLease = 3;

/** More often than this a beat costs more than it tells. */
const quickestBeatMs = 200;

/** How long a claim protects the record, and how it is kept up. */
export interface Lease {
  readonly leaseMs: number;
  /** The user chose the number; otherwise it follows from the attempt's timeout, or from the heartbeat. */
  readonly leaseDeclared: boolean;
  readonly heartbeatMs?: number;
}

/**
 * Judges a lease against the attempt that it has to outlive. One that could run out under a living attempt would hand the
 * same effect to a second one, so wrong numbers are refused at the start.
 *
 * @throws {OnefoldError} `config_invalid` saying which number is wrong and why.
 */
export function leaseOf(
  options: { readonly lease?: string | number; readonly heartbeat?: string | number },
  timeoutMs: number,
  place: string,
): Lease {
  const heartbeatMs = options.heartbeat === undefined ? undefined : durationMs(options.heartbeat, `${place}.heartbeat`);
  const least = heartbeatMs === undefined ? timeoutMs + leaseMarginMs : beatsPerLease * heartbeatMs;
  if (heartbeatMs !== undefined && (heartbeatMs < quickestBeatMs || heartbeatMs > timeoutMs)) {
    throw new OnefoldError(
      'config_invalid',
      `${place}.heartbeat: ${heartbeatMs} ms, and it must be from ${quickestBeatMs} ms to the attempt's timeout of ${timeoutMs} ms: it renews the lease while the attempt runs`,
    );
  }
  const beat = heartbeatMs === undefined ? {} : { heartbeatMs };
  if (options.lease === undefined) return { leaseMs: least, leaseDeclared: false, ...beat };
  const leaseMs = durationMs(options.lease, `${place}.lease`, '7 days');
  if (leaseMs < least) {
    throw new OnefoldError(
      'config_invalid',
      heartbeatMs === undefined
        ? `${place}.lease: ${leaseMs} ms, and it must be at least the timeout of ${timeoutMs} ms and ${leaseMarginMs} ms more, since a lease that ends under a living attempt hands the effect to a second one`
        : `${place}.lease: ${leaseMs} ms, and it must be at least ${beatsPerLease} heartbeats of ${heartbeatMs} ms, since a single late one must not lose it`,
    );
  }
  return { leaseMs, leaseDeclared: true, ...beat };
}

/**
 * Judges a lease that the user chose against the worker that carries the attempt: a stopping one lets it run for its grace.
 * A lease that follows from the timeout outlives the attempt in any case, and one with heartbeats is renewed in the grace.
 *
 * @throws {OnefoldError} `config_invalid` saying which number is wrong and why.
 */
export function checkLeaseAgainstGrace(effect: Lease & { readonly name: string }, graceMs: number): void {
  if (!effect.leaseDeclared || effect.heartbeatMs !== undefined || effect.leaseMs > graceMs) return;
  throw new OnefoldError(
    'config_invalid',
    `worker.shutdownGraceMs: ${graceMs} ms is not below the lease of effect '${effect.name}', ${effect.leaseMs} ms: an attempt that runs on while its worker stops must not outlive its lease; shorten the grace, or give the effect a longer lease`,
  );
}

import type { EndpointRow } from '../ledger/endpoints/endpoint-row.js';
import type { Endpoint } from './endpoint.js';

/** Makes an endpoint, as its owner sees it, of its row. */
export function endpointOfRow(row: EndpointRow): Endpoint {
  const { rateLimit, timeoutMs, pausesMs, elapsedMs, stateCode, stateReason, failingSince, version, ...rest } = row;
  return {
    ...rest,
    version: Number(version),
    ...(rateLimit === null ? {} : { rateLimit: Number(rateLimit) }),
    ...(timeoutMs === null ? {} : { timeoutMs }),
    ...(pausesMs === null ? {} : { pausesMs: pausesMs.map(Number) }),
    ...(elapsedMs === null ? {} : { elapsedMs: Number(elapsedMs) }),
    ...(stateCode === null ? {} : { stateCode }),
    ...(stateReason === null ? {} : { stateReason }),
    ...(failingSince === null ? {} : { failingSince }),
  };
}

import { isGrpcServiceError } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import { DeliveryRefused } from './delivery-refused.js';

/** gRPC's codes, by what they say of a start. */
const grpc = { invalidArgument: 3, permissionDenied: 7, resourceExhausted: 8, unauthenticated: 16 } as const;

/** Codes that a redelivery alone will not mend. */
const faultsOfSetUp: ReadonlySet<number> = new Set([grpc.invalidArgument, grpc.permissionDenied, grpc.unauthenticated]);

/**
 * Reads what a failed call to Temporal means for a delivery, or undefined where the error is none of Temporal's. None of
 * these is ever a 4xx but the size: an argument that Temporal refuses is one that Onefold built.
 */
export function startRefusal(error: unknown): DeliveryRefused | undefined {
  if (error instanceof NamespaceNotFoundError) {
    return new DeliveryRefused('start_refused', `Temporal has no namespace '${error.namespace}'`, { cause: error });
  }
  const cause = isGrpcServiceError(error) ? error : (error as { cause?: unknown } | undefined)?.cause;
  if (!isGrpcServiceError(cause)) return undefined;
  if (cause.code === grpc.resourceExhausted && cause.details.includes('larger than max')) {
    return new DeliveryRefused('body_too_large', 'the event is larger than Temporal takes', { cause });
  }
  if (faultsOfSetUp.has(cause.code)) {
    return new DeliveryRefused('start_refused', cause.details, { reason: `grpc_${cause.code}`, cause });
  }
  return new DeliveryRefused('temporal_unavailable', 'Temporal did not record the event', {
    reason: `grpc_${cause.code}`,
    cause,
  });
}

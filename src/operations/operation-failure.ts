import { isGrpcServiceError, NamespaceNotFoundError } from '@temporalio/client';
import { isLedgerMissing } from '../effects/is-ledger-missing.js';
import { OnefoldError } from '../errors.js';

/** gRPC's codes that an operator can act on; any other is Temporal being away or overloaded. */
const grpcCodes = { invalidArgument: 3, permissionDenied: 7, unauthenticated: 16 } as const;

/**
 * Puts a failure of Temporal or PostgreSQL into the words of an operation, with a stable code. What is neither is a
 * defect, and is handed back as it is.
 */
export function operationFailure(error: unknown): unknown {
  if (error instanceof OnefoldError) return error;
  if (error instanceof NamespaceNotFoundError) {
    return new OnefoldError(
      'config_invalid',
      `Temporal has no namespace '${error.namespace}': see TEMPORAL_NAMESPACE`,
      {
        cause: error,
      },
    );
  }
  const grpc = grpcErrorOf(error);
  if (grpc) return temporalFailure(grpc);
  if (isLedgerMissing(error)) {
    return new OnefoldError(
      'migration_missing',
      'the ledger is not there, or is older than this version: run onefold migrate',
      {
        cause: error,
      },
    );
  }
  return error;
}

function temporalFailure(error: { readonly code: number; readonly details: string }): OnefoldError {
  const { code, details } = error;
  if (code === grpcCodes.invalidArgument)
    return new OnefoldError('start_refused', `Temporal refused: ${details}`, { cause: error });
  if (code === grpcCodes.permissionDenied || code === grpcCodes.unauthenticated) {
    return new OnefoldError('config_invalid', `Temporal refused this caller: ${details}`, { cause: error });
  }
  return new OnefoldError('temporal_unavailable', `Temporal did not answer: ${details}`, { cause: error });
}

function grpcErrorOf(error: unknown): { readonly code: number; readonly details: string } | undefined {
  if (isGrpcServiceError(error)) return error;
  const cause = (error as { cause?: unknown } | undefined)?.cause;
  return isGrpcServiceError(cause) ? cause : undefined;
}

import { isGrpcServiceError } from '@temporalio/client';

/** Temporal's numbers for the types of search attributes that Onefold uses: INDEXED_VALUE_TYPE_KEYWORD and …_LIST. */
export const attributeTypeNumbers = { Keyword: 2, KeywordList: 7 } as const;

/** gRPC's codes for PERMISSION_DENIED, UNIMPLEMENTED and UNAUTHENTICATED. */
const refusedCodes: ReadonlySet<number> = new Set([7, 12, 16]);

/** Whether an error says that the server offers its operator service not to this caller, as some hosted ones do. */
export function refusesCaller(error: unknown): boolean {
  return isGrpcServiceError(error) && refusedCodes.has(error.code);
}

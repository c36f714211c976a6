import { isGrpcServiceError } from '@temporalio/client';
import proto from '@temporalio/proto';

const { IndexedValueType } = proto.temporal.api.enums.v1;

/** Temporal's numbers for the types of search attributes that Onefold uses. */
export const attributeTypeNumbers = {
  Keyword: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
  KeywordList: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
} as const;

/** gRPC's codes for PERMISSION_DENIED, UNIMPLEMENTED and UNAUTHENTICATED. */
const refusedCodes: ReadonlySet<number> = new Set([7, 12, 16]);

/** Whether an error says that the server offers its operator service not to this caller, as some hosted ones do. */
export function refusesCaller(error: unknown): boolean {
  return isGrpcServiceError(error) && refusedCodes.has(error.code);
}

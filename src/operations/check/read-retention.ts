import { type Client, isGrpcServiceError, NamespaceNotFoundError } from '@temporalio/client';

/** A server that is there answers in a few ms. */
const answerMs = 5_000;

/** gRPC's code for what is not there. */
const notFound = 5;

/**
 * Reads how long a namespace remembers closed workflows, in ms; undefined where that has no end or is not told.
 *
 * @throws {NamespaceNotFoundError} When there is no such namespace.
 * @throws {ServiceError} When Temporal did not answer within 5 seconds.
 */
export async function readRetention(client: Client, namespace: string): Promise<number | undefined> {
  try {
    const { config } = await client.withDeadline(Date.now() + answerMs, () =>
      client.workflowService.describeNamespace({ namespace }),
    );
    const ttl = config?.workflowExecutionRetentionTtl;
    const ms = Number(ttl?.seconds ?? 0) * 1000 + Number(ttl?.nanos ?? 0) / 1_000_000;
    return ms > 0 ? ms : undefined;
  } catch (error) {
    if (isGrpcServiceError(error) && error.code === notFound) throw new NamespaceNotFoundError(namespace);
    throw error;
  }
}

import { type Client, isGrpcServiceError, NamespaceNotFoundError } from '@temporalio/client';

/** A server that is there answers in a few ms. */
const answerMs = 5_000;

/** A new namespace is known to the whole server only after its next refresh, some seconds later. */
const knownWithinMs = 30_000;

/** gRPC's codes for what is not there, and for what is there already. */
const notFound = 5;
const alreadyExists = 6;

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

/**
 * Says how long a namespace shall remember closed workflows, those that are closed already included.
 *
 * @param retentionMs In whole seconds.
 * @throws {ServiceError} When Temporal refused, or did not answer within 5 seconds.
 */
export async function setRetention(client: Client, namespace: string, retentionMs: number): Promise<void> {
  await client.withDeadline(Date.now() + answerMs, () =>
    client.workflowService.updateNamespace({
      namespace,
      config: { workflowExecutionRetentionTtl: { seconds: seconds(retentionMs) } },
    }),
  );
}

/**
 * Makes a namespace, and waits until the server knows it everywhere; one that is there stays as it is.
 *
 * @throws {ServiceError} When Temporal refused, or does not know it within 30 seconds.
 */
export async function createNamespace(client: Client, namespace: string, retentionMs: number): Promise<void> {
  try {
    await client.withDeadline(Date.now() + answerMs, () =>
      client.workflowService.registerNamespace({
        namespace,
        workflowExecutionRetentionPeriod: { seconds: seconds(retentionMs) },
      }),
    );
  } catch (error) {
    if (!isGrpcServiceError(error) || error.code !== alreadyExists) throw error;
  }
  for (const until = Date.now() + knownWithinMs; ; ) {
    try {
      await client.withDeadline(Date.now() + answerMs, async () => {
        await client.connection.operatorService.listSearchAttributes({ namespace });
        await client.workflowService.countWorkflowExecutions({ namespace });
      });
      return;
    } catch (error) {
      if (Date.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
}

/** As the protocol's 64-bit number, which takes an ordinary one. */
function seconds(ms: number): never {
  return Math.round(ms / 1000) as never;
}

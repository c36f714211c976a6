import type { Client } from '@temporalio/client';
import { attributeTypeNumbers, refusesCaller } from './operator-service.js';

/** Names of search attributes and their types, in the words of Temporal's CLI. */
export type SearchAttributeTypes = Readonly<Record<string, keyof typeof attributeTypeNumbers>>;

/** The operator service answers in a few ms; longer means that Temporal is away. */
const registerMs = 5_000;

/**
 * Registers the search attributes that a namespace does not have yet; repeating it is harmless. They make lists in the
 * Web UI filterable and nothing depends on them.
 *
 * @returns False where the server does not let this caller, as Temporal Cloud, where they are made in its own console.
 * @throws {ServiceError} When Temporal did not answer within 5 seconds.
 */
export async function registerSearchAttributes(
  client: Client,
  namespace: string,
  types: SearchAttributeTypes,
): Promise<boolean> {
  const { operatorService } = client.connection;
  try {
    await client.withDeadline(Date.now() + registerMs, async () => {
      const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
      const missing = Object.entries(types).filter(([name]) => customAttributes[name] === undefined);
      if (missing.length === 0) return;
      const searchAttributes = Object.fromEntries(missing.map(([name, type]) => [name, attributeTypeNumbers[type]]));
      await operatorService.addSearchAttributes({ namespace, searchAttributes });
    });
    return true;
  } catch (error) {
    if (refusesCaller(error)) return false;
    throw error;
  }
}

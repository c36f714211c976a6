import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { pino } from 'pino';
import { createCatalogue } from '../effects/catalogue.js';
import type { Effect, RegisteredTx } from '../effects/effect.js';
import type { Ledger } from '../ledger/ledger.js';
import type { OperationsContext } from '../operations/context.js';
import { type ResolveVerdict, resolveEffect } from '../operations/resolve-effect.js';
import { createMetrics } from '../runtime/metrics.js';
import type { Source } from '../sources/define-source.js';
import { defaultTaskQueue } from '../workflows/contract.js';

/** What is spoken about, and where it stands. */
export interface AloneEffect {
  readonly ledger: Ledger<RegisteredTx>;
  readonly source: Source;
  readonly effect: Effect;
  readonly businessKey: string;
  readonly tenant: string;
}

/** Resolves an effect where no Temporal is: the events that wait for it have no workflow that could be told. */
export async function resolveAlone(alone: AloneEffect, verdict: ResolveVerdict): Promise<void> {
  const { ledger, source, effect, businessKey, tenant } = alone;
  const context: OperationsContext = {
    catalogue: createCatalogue([source], [effect]),
    client: nobody(),
    namespace: 'default',
    temporal: {},
    taskQueue: defaultTaskQueue,
    ledger,
    log: pino({ level: 'silent' }),
    metrics: createMetrics(),
  };
  await resolveEffect(context, { effect: effect.name, businessKey, tenant }, verdict, {
    by: 'testEffect',
    reason: 'the test says so',
  });
}

/** A client of a Temporal that has no workflow. */
function nobody(): Client {
  const client = {
    withDeadline: <Result>(_deadline: number, work: () => Promise<Result>) => work(),
    workflow: {
      getHandle: (workflowId: string) => ({
        signal: async () => {
          throw new WorkflowNotFoundError('there is no Temporal', workflowId, undefined);
        },
      }),
    },
  };
  return client as unknown as Client;
}

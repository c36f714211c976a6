import { Client, Connection } from '@temporalio/client';
import { type Comparison, compare, table } from '../report.js';
import type { Servers } from '../servers.js';
import { type SystemName, systemNames } from '../systems.js';
import { measurePublishing, type PublishingFigures, publishingLabels } from './measure.js';
import { startEndpoint, startSender } from './start-sender.js';
import { type StatementTimes, timeStatements } from './time-statements.js';

/** The publishing part of the report. */
export interface PublishingReport {
  readonly comparisons: readonly Comparison<keyof PublishingFigures>[];
  readonly statements: readonly StatementTimes[];
  readonly measured: Readonly<Record<SystemName, readonly PublishingFigures[]>>;
}

/** Measures both systems, interleaved, against one endpoint that answers at once. */
export async function benchPublishing(
  servers: Servers,
  { deliveries, repetitions }: { readonly deliveries: number; readonly repetitions: number },
  progress: (line: string) => void,
): Promise<PublishingReport> {
  const measured: Record<SystemName, PublishingFigures[]> = { onefold: [], bare: [] };
  const connection = await Connection.connect({ address: servers.temporalAddress });
  const client = new Client({ connection });
  const endpoint = await startEndpoint(servers);
  try {
    for (let repetition = 1; repetition <= repetitions; repetition++) {
      for (const name of repetition % 2 === 1 ? systemNames : systemNames.toReversed()) {
        const sender = await startSender(name, servers, endpoint.ready.url ?? '');
        try {
          measured[name].push(await measurePublishing(sender, servers, client, deliveries));
        } finally {
          await sender.stop();
        }
        progress(`publishing, repetition ${repetition} of ${repetitions}: ${name} done`);
      }
    }
    const statements = await timeStatements(servers.databaseUrl);
    return { comparisons: compare(publishingLabels, measured), statements, measured };
  } finally {
    await endpoint.stop();
    await connection.close();
  }
}

/** The report for people. */
export function publishingTable({ comparisons, statements }: PublishingReport): string {
  const lines = statements.map(
    ({ statement, p50, p95 }) => `  ${statement.padEnd(22)}${p50.toFixed(2).padStart(8)}${p95.toFixed(2).padStart(8)}`,
  );
  return `${table('publishing', publishingLabels, comparisons)}
statements of Onefold, ms     p50     p95
${lines.join('\n')}
`;
}

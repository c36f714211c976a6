import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { type Figures, measure } from './measure.js';
import { compare, type Measured, table } from './report.js';
import { startServers } from './servers.js';
import { startSystem, systemNames } from './systems.js';

const usage = `npm run bench -- [--events N] [--repetitions N] [--json]

Measures Onefold (receiver and worker as processes) and a bare Express receiver with a bare Temporal worker, one after
the other, on one PostgreSQL and one Temporal dev server of its own, over loopback. Prints the median of the repetitions
with the smallest and largest, and Onefold's median by the bare one's.

  --events N        deliveries of the phase at 16 at a time; a quarter as many one at a time (default 600, at most 20000)
  --repetitions N   turns of each system, interleaved (default 3, at most 50)
  --json            print JSON, every repetition included
Exit code: 0 done, 1 failed, 2 wrong usage. Linux only, since CPU time is read from /proc.
`;

interface Settings {
  readonly events: number;
  readonly repetitions: number;
  readonly json: boolean;
}

function readArguments(): Settings {
  try {
    const { values } = parseArgs({
      options: {
        events: { type: 'string', default: '600' },
        repetitions: { type: 'string', default: '3' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(usage);
      process.exit(0);
    }
    const events = Number(values.events);
    const repetitions = Number(values.repetitions);
    const whole = Number.isInteger(events) && Number.isInteger(repetitions);
    if (whole && events >= 20 && events <= 20_000 && repetitions >= 1 && repetitions <= 50) {
      return { events, repetitions, json: values.json };
    }
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
  }
  process.stderr.write(usage);
  return process.exit(2);
}

async function main({ events, repetitions, json }: Settings): Promise<void> {
  const progress = (line: string): void => void process.stderr.write(`[bench] ${line}\n`);
  const measured: { [Name in keyof Measured]: Figures[] } = { onefold: [], bare: [] };
  const servers = await startServers(progress);
  try {
    for (let repetition = 1; repetition <= repetitions; repetition++) {
      // The first of a turn meets a cooler machine, or a busier one, than the second: take turns at that too.
      for (const name of repetition % 2 === 1 ? systemNames : systemNames.toReversed()) {
        const system = await startSystem(name, servers);
        try {
          measured[name].push(await measure(system, servers, events));
        } finally {
          await system.stop();
        }
        progress(`repetition ${repetition} of ${repetitions}: ${name} done`);
      }
    }
  } finally {
    await servers.stop();
  }
  const comparisons = compare(measured);
  const machine = { cpus: cpus().length, model: cpus()[0]?.model, node: process.version };
  if (json) process.stdout.write(`${JSON.stringify({ events, repetitions, machine, comparisons, measured })}\n`);
  else process.stdout.write(table(comparisons));
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
await main(readArguments());

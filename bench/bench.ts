import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { eventLabels, type Figures, measure } from './measure.js';
import { benchPublishing, publishingTable } from './publishing/bench-publishing.js';
import { type Comparison, compare, table } from './report.js';
import { type Servers, startServers } from './servers.js';
import { startSystem, systemNames } from './systems.js';

const usage = `npm run bench -- [events | publishing] [--events N] [--repetitions N] [--json]

Measures Onefold as it was built last, and what one writes with Temporal alone, one after the other, on one PostgreSQL and
one Temporal dev server of its own, over loopback. Prints the median of the repetitions with the smallest and largest, and
Onefold's median by the bare one's.

  events            receiver and worker against a bare Express receiver with a bare worker
  publishing        publish, relay and worker against a bare workflow with one activity that does one POST, at an
                    endpoint that answers at once
                    default: both
  --events N        events, and deliveries, of a phase at 16 or 50 at a time; a quarter as many one at a time
                    (default 600, at most 20000)
  --repetitions N   turns of each system, interleaved (default 3, at most 50)
  --json            print JSON, every repetition included
Exit code: 0 done, 1 failed, 2 wrong usage. Linux only, since CPU time is read from /proc.
`;

const parts = ['events', 'publishing'] as const;

interface Settings {
  readonly parts: readonly (typeof parts)[number][];
  readonly events: number;
  readonly repetitions: number;
  readonly json: boolean;
}

function readArguments(): Settings {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
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
    const wanted = parts.filter((part) => positionals.length === 0 || positionals.includes(part));
    const partsKnown = positionals.every((given) => (parts as readonly string[]).includes(given));
    if (partsKnown && whole && events >= 20 && events <= 20_000 && repetitions >= 1 && repetitions <= 50) {
      return { parts: wanted, events, repetitions, json: values.json };
    }
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
  }
  process.stderr.write(usage);
  return process.exit(2);
}

interface EventsReport {
  readonly comparisons: readonly Comparison<keyof Figures>[];
  readonly measured: { readonly onefold: readonly Figures[]; readonly bare: readonly Figures[] };
}

async function benchEvents(
  servers: Servers,
  { events, repetitions }: Settings,
  progress: (line: string) => void,
): Promise<EventsReport> {
  const measured: { onefold: Figures[]; bare: Figures[] } = { onefold: [], bare: [] };
  for (let repetition = 1; repetition <= repetitions; repetition++) {
    // The first of a turn meets a cooler machine, or a busier one, than the second: take turns at that too.
    for (const name of repetition % 2 === 1 ? systemNames : systemNames.toReversed()) {
      const system = await startSystem(name, servers);
      try {
        measured[name].push(await measure(system, servers, events));
      } finally {
        await system.stop();
      }
      progress(`events, repetition ${repetition} of ${repetitions}: ${name} done`);
    }
  }
  return { comparisons: compare(eventLabels, measured), measured };
}

async function main(settings: Settings): Promise<void> {
  const { events, repetitions, json } = settings;
  const progress = (line: string): void => void process.stderr.write(`[bench] ${line}\n`);
  const servers = await startServers(progress);
  const report: { events?: EventsReport; publishing?: Awaited<ReturnType<typeof benchPublishing>> } = {};
  try {
    if (settings.parts.includes('events')) report.events = await benchEvents(servers, settings, progress);
    if (settings.parts.includes('publishing')) {
      report.publishing = await benchPublishing(servers, { deliveries: events, repetitions }, progress);
    }
  } finally {
    await servers.stop();
  }
  const machine = { cpus: cpus().length, model: cpus()[0]?.model, node: process.version };
  if (json) process.stdout.write(`${JSON.stringify({ events, repetitions, machine, ...report })}\n`);
  else {
    const tables = [
      ...(report.events ? [table('events', eventLabels, report.events.comparisons)] : []),
      ...(report.publishing ? [publishingTable(report.publishing)] : []),
    ];
    process.stdout.write(tables.join('\n'));
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
await main(readArguments());

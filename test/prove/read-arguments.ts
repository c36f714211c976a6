import { parseArgs } from 'node:util';

/** What a proof is run with. */
export interface ProofArguments {
  readonly seed: number;
  readonly events: number;
  readonly concurrency: number;
}

/** Reads the command line; ends the process with 2 where it is wrong, and with 0 after `--help`. */
export function readArguments(usage: string, defaults: Omit<ProofArguments, 'seed'>): ProofArguments {
  try {
    const { values } = parseArgs({
      options: {
        seed: { type: 'string', default: '1' },
        events: { type: 'string', default: String(defaults.events) },
        concurrency: { type: 'string', default: String(defaults.concurrency) },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(`${usage}\n`);
      process.exit(0);
    }
    const numbers = {
      seed: Number(values.seed),
      events: Number(values.events),
      concurrency: Number(values.concurrency),
    };
    if (Object.values(numbers).every((number) => Number.isInteger(number) && number > 0)) return numbers;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
  }
  process.stderr.write(`${usage}\n`);
  return process.exit(2);
}

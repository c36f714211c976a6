import { type Command, InvalidArgumentError } from 'commander';
import type { Page } from '../operations/page-cursor.js';
import { configOption } from './config-option.js';

/** Options of every list. */
export interface PageFlags {
  readonly config?: string;
  readonly json?: boolean;
  readonly limit?: number;
  readonly cursor?: string;
}

/** Adds the options of a list. */
export function withPageOptions(command: Command): Command {
  return command
    .option('--limit <n>', 'rows of a page, 1 to 200 (default 50)', limit)
    .option('--cursor <cursor>', 'the page that an earlier one named')
    .option('--json', 'print the page as JSON: items, and next where there is another page')
    .option(...configOption);
}

/** Prints a page: its rows on standard output, and on standard error how the next one is had. */
export function printPage<Item>(
  page: Page<Item>,
  json: boolean | undefined,
  line: (item: Item) => string,
  none: string,
): void {
  if (json) {
    process.stdout.write(`${JSON.stringify(page)}\n`);
    return;
  }
  process.stdout.write(page.items.map(line).join(''));
  if (page.items.length === 0) process.stderr.write(`${none}\n`);
  if (page.next !== undefined) process.stderr.write(`more: --cursor ${page.next}\n`);
}

function limit(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 200) return value;
  throw new InvalidArgumentError('expected a whole number from 1 to 200');
}

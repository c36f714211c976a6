#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { OnefoldError } from '../errors.js';
import { createProgram } from './program.js';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

try {
  await createProgram(version).parseAsync();
} catch (error) {
  // Our own refusals say what to do; anything else is a defect, or the user's module, and its stack says where.
  const text =
    error instanceof OnefoldError ? `${error.code}: ${error.message}` : ((error as Error)?.stack ?? String(error));
  process.stderr.write(`onefold: ${text}\n`);
  process.exit(1);
}

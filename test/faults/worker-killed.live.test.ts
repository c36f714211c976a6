import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Partners } from './support/carried-event.js';
import { expectedVerdict } from './support/expected.js';
import { combinations, nameOf, runFaultMatrix, type ScenarioVerdict } from './support/fault-matrix.js';
import { killHeldWorkers } from './support/held-worker.js';
import { startPartners } from './support/three-partners.js';

/** Against hanging only. */
const hangsAfterMs = 300_000;

let partners: Partners & { close(): Promise<void> };
let verdicts: ReadonlyMap<string, ScenarioVerdict>;
beforeAll(async () => {
  partners = await startPartners();
  verdicts = await runFaultMatrix('killed', partners);
}, hangsAfterMs);
afterAll(async () => {
  await killHeldWorkers();
  await partners?.close();
});

test.each(combinations.map((one) => [one.step, one.recovery, one.aftermath, one] as const))(
  'SIGKILL of the worker %s: one effect under %s, with a %s',
  (_step, _recovery, _aftermath, combination) => {
    expect(verdicts.get(nameOf(combination))).toEqual(expectedVerdict('killed', combination));
  },
);

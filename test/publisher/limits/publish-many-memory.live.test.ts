import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { publishMany } from '../../../src/publisher/publish-many.js';
import { createOutboxStage } from '../support/outbox-stage.js';

/** What is reachable, in bytes: what is merely not yet collected says nothing. */
function reachableBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

test('publishing ten thousand messages holds no more of them in memory than a few statements', async () => {
  const count = 10_000;
  const text = 'x'.repeat(3_000);
  const stage = await createOutboxStage();
  try {
    await stage.endpoint('ep_1');
    async function* messages() {
      for (let n = 0; n < count; n++) {
        yield { publication: `many:${n}`, type: 'order.note', data: { n, text: `${n}${text}` } };
      }
    }
    const before = reachableBytes();
    const grown: number[] = [];
    const progress = await publishMany(stage.deps, messages(), {
      onProgress: ({ settled }) => {
        if (settled % 1_000 === 0) grown.push(reachableBytes() - before);
      },
    });
    expect(progress).toMatchObject({ published: count, deliveries: count });
    expect(grown.length).toBeGreaterThanOrEqual(5);
    // The list is 30 MB; a statement's messages are a third of a megabyte, and several copies of three statements' may stand.
    expect(Math.max(...grown)).toBeLessThan(10 * 1024 * 1024);
  } finally {
    await stage.close();
  }
});

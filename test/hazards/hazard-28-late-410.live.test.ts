import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSendStage, type SendStage } from '../ledger/sends/support/send-stage.js';

let stage: SendStage;
beforeAll(async () => {
  stage = await createSendStage();
});
afterAll(() => stage?.close());

const gone = { ended: 'gone', status: 410, code: 'endpoint_gone' } as const;

async function stateOf(endpoint: string) {
  const [row] = await stage.sql('SELECT state, state_code, version::int FROM onefold.endpoints WHERE id = $1', [
    endpoint,
  ]);
  return row;
}

test('a 410 disables the endpoint that it was answered by', async () => {
  const endpoint = await stage.endpoint();
  const ref = await stage.delivery(endpoint);
  expect(await stage.end(ref, await stage.begun(ref), gone)).toMatchObject({ disabled: true });
  expect(await stateOf(endpoint)).toEqual({ state: 'disabled', state_code: 'endpoint_gone', version: 1 });
  expect(await stage.begin(await stage.delivery(endpoint))).toMatchObject({ kind: 'held', state: 'disabled' });
});

test('a 410 to an attempt that was sent before the endpoint was mended leaves it enabled', async () => {
  const endpoint = await stage.endpoint();
  const ref = await stage.delivery(endpoint);
  const attempt = await stage.begun(ref);
  await stage.sql(`UPDATE onefold.endpoints SET url = 'https://mended.example/', version = version + 1 WHERE id = $1`, [
    endpoint,
  ]);
  expect(await stage.end(ref, attempt, gone)).toMatchObject({ disabled: false });
  expect(await stateOf(endpoint)).toEqual({ state: 'enabled', state_code: null, version: 2 });
  // The attempt is no less over.
  expect((await stage.look(ref)).attempts).toMatchObject([{ ended: 'gone', status: 410 }]);
});

test('a 410 that comes late neither disables an endpoint again that a person enabled, nor one that is paused', async () => {
  const endpoint = await stage.endpoint();
  const [first, second] = [await stage.delivery(endpoint), await stage.delivery(endpoint)];
  const [one, two] = [await stage.begun(first), await stage.begun(second)];
  await stage.end(first, one, gone);
  await stage.sql(
    `UPDATE onefold.endpoints SET state = 'enabled', state_code = NULL, version = version + 1 WHERE id = $1`,
    [endpoint],
  );
  expect(await stage.end(second, two, gone)).toMatchObject({ disabled: false });
  expect(await stateOf(endpoint)).toMatchObject({ state: 'enabled' });

  const paused = await stage.endpoint();
  const ref = await stage.delivery(paused);
  const attempt = await stage.begun(ref);
  await stage.sql(
    `UPDATE onefold.endpoints SET state = 'paused', state_code = 'by_owner', version = version + 1 WHERE id = $1`,
    [paused],
  );
  expect(await stage.end(ref, attempt, gone)).toMatchObject({ disabled: false });
  expect(await stateOf(paused)).toMatchObject({ state: 'paused', state_code: 'by_owner' });
});

test('a 410 while the owner is just mending the endpoint waits for that, and then counts no more', async () => {
  const endpoint = await stage.endpoint();
  const ref = await stage.delivery(endpoint);
  const attempt = await stage.begun(ref);
  const ending = await stage.ledger.database.transaction(
    async (_tx, sql) => {
      await sql(`UPDATE onefold.endpoints SET url = 'https://mended.example/', version = version + 1 WHERE id = $1`, [
        endpoint,
      ]);
      const ended = stage.end(ref, attempt, gone);
      await new Promise((resolve) => setTimeout(resolve, 150));
      return { ended };
    },
    { statementTimeoutMs: 5_000, lockTimeoutMs: 5_000, idleTimeoutMs: 5_000 },
  );
  expect(await ending.ended).toMatchObject({ disabled: false });
  expect(await stateOf(endpoint)).toMatchObject({ state: 'enabled', version: 2 });
});

test('of two 410s at once the endpoint is disabled once', async () => {
  const endpoint = await stage.endpoint();
  const refs = [await stage.delivery(endpoint), await stage.delivery(endpoint)];
  const attempts = await Promise.all(refs.map((ref) => stage.begun(ref)));
  await Promise.all(refs.map((ref, nth) => stage.end(ref, attempts[nth] as (typeof attempts)[0], gone)));
  expect(await stateOf(endpoint)).toEqual({ state: 'disabled', state_code: 'endpoint_gone', version: 1 });
});

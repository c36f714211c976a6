import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { adminHandlers } from '../../src/admin/admin-handlers.js';
import type { AdminRoute } from '../../src/admin/admin-route.js';
import { adminRoutes } from '../../src/admin/admin-routes.js';

const routes: readonly AdminRoute[] = adminRoutes;
const handlers: Readonly<Record<string, unknown>> = adminHandlers({
  context: {} as never,
  publish: async () => ({}) as never,
});

test('every route has a handler, and every handler a route', () => {
  expect(Object.keys(handlers).sort()).toEqual(routes.map(({ name }) => name).sort());
  for (const { name } of routes) expect(handlers[name], name).toBeTypeOf('function');
});

test('the page of the documentation has every route, with what it takes and who may use it', async () => {
  const page = await readFile(new URL('../../docs/admin-api.md', import.meta.url), 'utf8');
  for (const { method, path, access, query = {}, body = {}, needs = [] } of routes) {
    const route = `${method} ${path}`;
    expect(page).toContain(`| \`${route}\` | ${access} |`);
    const part = page.split(`### ${route}\n`)[1]?.split(/\n##/)[0] ?? '';
    for (const name of [...Object.keys(query), ...Object.keys(body)]) expect(part, route).toContain(`| \`${name}\``);
    for (const name of needs) expect(part, route).toContain(`| \`${name}\` (required) |`);
  }
});

test('what acts on events takes a reason, and cannot be asked for without one', () => {
  const acts = routes.filter(({ path, method }) => {
    return method === 'POST' && /^\/v1\/(events|effects|sources|replays|dead-letters)/.test(path);
  });
  expect(acts.length).toBeGreaterThan(0);
  for (const { needs = [], name } of acts) expect(needs, name).toContain('reason');
});

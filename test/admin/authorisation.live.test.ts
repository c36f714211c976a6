import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AdminRoute } from '../../src/admin/admin-route.js';
import { adminRoutes } from '../../src/admin/admin-routes.js';
import { type AdminStage, createAdminStage, readToken } from './support/admin-stage.js';

let admin: AdminStage;
beforeAll(async () => {
  admin = await createAdminStage({ worker: false });
});
afterAll(() => admin?.close());

const pathOf = ({ path }: AdminRoute) =>
  path
    .replace(':id', 'ep_nobody')
    .replace(':source', 'nowhere')
    .replace(':effect', 'nothing')
    .replace(':endpoint', 'ep_nobody')
    .replace(':publication', 'nobody%3Aknows%2Fv1');

/** A body with all that the route needs, about nothing that there is. */
const bodyOf = ({ needs = [] }: AdminRoute) =>
  Object.fromEntries(
    needs.map((name) => [name, name === 'types' ? ['*'] : name === 'since' ? '2026-02-03T04:05:06Z' : 'http://nobody']),
  );

const routes: readonly AdminRoute[] = adminRoutes;
const matrix = routes.map((route) => [`${route.method} ${route.path}`, route] as const);

async function askFor(route: AdminRoute, token?: string | null) {
  const reads = route.method === 'GET';
  // Of many, at least one filter.
  const filter = route.name === 'previewReplay' ? { source: 'nowhere' } : {};
  const query = reads ? `?${new URLSearchParams({ ...(bodyOf(route) as Record<string, string>), ...filter })}` : '';
  const body = reads || route.method === 'DELETE' ? {} : { body: bodyOf(route) };
  return admin.ask(route.method, `${pathOf(route)}${query}`, { ...(token === undefined ? {} : { token }), ...body });
}

async function rows(): Promise<number> {
  const [counted] = await admin.stage.sql(
    `SELECT ((SELECT count(*) FROM onefold.endpoints) + (SELECT count(*) FROM onefold.publications)
             + (SELECT count(*) FROM onefold.acts))::int AS count`,
  );
  return counted?.count;
}

test.each(matrix)('%s without a token is 401', async (_name, route) => {
  const before = await rows();
  const { status, headers, json } = await askFor(route, null);
  expect({ status, code: json.code }).toEqual({ status: 401, code: 'admin_unauthorized' });
  expect(headers.get('www-authenticate')).toBe('Bearer realm="onefold"');
  expect(headers.get('content-type')).toContain('application/problem+json');
  expect(await rows()).toBe(before);
});

test.each(matrix)('%s with a wrong token is 401', async (_name, route) => {
  const { status, json } = await askFor(route, `${readToken}x`);
  expect({ status, code: json.code }).toEqual({ status: 401, code: 'admin_unauthorized' });
});

test.each(matrix)(
  '%s with the token that may read is answered if it reads, and 403 if it acts',
  async (_name, route) => {
    const before = await rows();
    const { status, json } = await askFor(route, readToken);
    if (route.access === 'act') {
      expect({ status, code: json.code }).toEqual({ status: 403, code: 'admin_forbidden' });
    } else {
      expect([200, 404]).toContain(status);
    }
    expect(await rows()).toBe(before);
  },
);

test.each(matrix)('%s with the token that may act is answered', async (_name, route) => {
  const { status, json } = await askFor(route);
  // About nothing that there is: found out only behind the token.
  expect([200, 201, 400, 404, 409]).toContain(status);
  expect(['admin_unauthorized', 'admin_forbidden', 'internal_error', 'not_found']).not.toContain(json.code);
});

test('a route that only reads is a GET, and every other acts', () => {
  for (const { method, access } of routes) expect(access).toBe(method === 'GET' ? 'read' : 'act');
});

test('what there is not is told only to whoever has a token', async () => {
  for (const path of ['/', '/v1', '/v1/secrets', '/v1/endpoints/ep_1/secrets', '/favicon.ico']) {
    expect((await admin.ask('GET', path, { token: null })).status).toBe(401);
    expect(await admin.ask('GET', path)).toMatchObject({ status: 404, json: { code: 'not_found' } });
  }
  expect((await admin.ask('PUT', '/v1/endpoints', { token: null })).status).toBe(401);
});

import { expect, test } from 'vitest';
import { adminStatuses } from '../../src/admin/admin-problems.js';
import type { AdminRoute } from '../../src/admin/admin-route.js';
import { adminRoutes } from '../../src/admin/admin-routes.js';
import { renderAdminApi } from '../../src/admin/render-admin-api.js';

const page = renderAdminApi('<!-- generated -->');

test('the page names every route with its parameters and fields, and every code with its status', () => {
  const routes: readonly AdminRoute[] = adminRoutes;
  for (const { method, path, query = {}, body = {} } of routes) {
    const part = page.split(`### ${method} ${path}\n`)[1]?.split('\n### ')[0] ?? '';
    for (const name of [...Object.keys(query), ...Object.keys(body)]) expect(part).toContain(`\`${name}\``);
  }
  for (const [code, status] of Object.entries(adminStatuses)) {
    expect(page).toMatch(new RegExp(`\\| ${status} \\|.*\`${code}\``));
  }
});

test('routes and their names are distinct, and what a route needs is a field of it', () => {
  const routes: readonly AdminRoute[] = adminRoutes;
  expect(new Set(routes.map(({ name }) => name)).size).toBe(routes.length);
  expect(new Set(routes.map(({ method, path }) => `${method} ${path}`)).size).toBe(routes.length);
  for (const { needs = [], method, query = {}, body = {} } of routes) {
    for (const name of needs) expect(Object.keys(method === 'GET' ? query : body)).toContain(name);
  }
});

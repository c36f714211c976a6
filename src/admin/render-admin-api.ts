import { adminStatuses } from './admin-problems.js';
import type { AdminRoute, Described } from './admin-route.js';
import { adminRoutes } from './admin-routes.js';
import { actorHeader, adminBodyLimitBytes } from './create-admin-api.js';

/**
 * Renders `docs/admin-api.md` from the tables that the API is built from.
 *
 * @param note The line that says where the file comes from.
 */
export function renderAdminApi(note: string): string {
  const routes: readonly AdminRoute[] = adminRoutes;
  const overview = routes.map(({ method, path, access, does }) => `| \`${method} ${path}\` | ${access} | ${does} |`);
  const statuses = [...new Set(Object.values(adminStatuses))].map((status) => {
    const codes = Object.entries(adminStatuses).filter(([, answered]) => answered === status);
    return `| ${status} | ${codes.map(([code]) => `\`${code}\``).join(', ')} |`;
  });
  return `# The admin API

${note}

\`onefold admin\` serves it, on a port of its own: \`ONEFOLD_ADMIN_PORT\`, 8090 by default, on \`ONEFOLD_ADMIN_HOST\`,
127.0.0.1 by default. It speaks HTTP: put TLS in front of it before it leaves the machine.

Every request carries \`authorization: Bearer <token>\`. \`ONEFOLD_ADMIN_TOKEN\` may act and read,
\`ONEFOLD_ADMIN_READ_TOKEN\` may only read (403 \`admin_forbidden\` otherwise); each has at least 24 characters, and the API
does not start without one of them, on whatever address. Acts are recorded under the name that the header
\`${actorHeader}\` gives, or \`admin-api\`.

\`?tenant=\` names the tenant; without it, what belongs to no tenant. Bodies are JSON objects of at most
${adminBodyLimitBytes / 1024} KiB. Unknown parameters and fields are refused. Lists are pages \`{ items, next? }\`; \`next\` is the
\`cursor\` of the next one. Times are ISO 8601. An identity in a path is
percent-encoded, its slashes too: \`/v1/publications/order%3A42%3Aconfirmed%3Av1\`, \`/v1/events/shop/evt%2F1\`.

| route | needs | what it does |
|---|---|---|
${overview.join('\n')}

${routes.map(renderRoute).join('\n')}
## Problems

All other answers are problem documents (RFC 9457), \`application/problem+json\`, with a stable \`code\`;
[errors.md](errors.md) says of each what causes it and what to do. Every other code is 500. A 503 says when to come again.

| status | codes |
|---|---|
${statuses.join('\n')}
`;
}

function renderRoute({ method, path, status, does, query, body, needs = [], answer }: AdminRoute): string {
  const parts = [
    `### ${method} ${path}\n`,
    `${does}\n`,
    ...(query ? [renderFields('parameter', query, needs)] : []),
    ...(body ? [renderFields('field', body, needs)] : []),
    `Answers ${status}: ${answer}.\n`,
  ];
  return parts.join('\n');
}

function renderFields(title: string, fields: Described, needs: readonly string[]): string {
  const rows = Object.entries(fields).map(
    ([name, meaning]) => `| \`${name}\`${needs.includes(name) ? ' (required)' : ''} | ${meaning} |`,
  );
  return `| ${title} | |\n|---|---|\n${rows.join('\n')}\n`;
}

import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import { type ErrorCode, OnefoldError } from '../errors.js';
import { checkTenant } from '../identity/check-tenant.js';
import { readJson } from '../operations/read-json.js';
import { problemContentType, problemDocument } from '../runtime/problem-document.js';
import type { AdminHandler } from './admin-handler.js';
import { type AdminDependencies, adminHandlers } from './admin-handlers.js';
import { adminStatus } from './admin-problems.js';
import { type AdminRequest, namesOf, readFields } from './admin-request.js';
import type { AdminAccess, AdminRoute } from './admin-route.js';
import { adminRoutes } from './admin-routes.js';
import { type AdminTokens, adminAccess } from './admin-tokens.js';

/** A message of 256 KiB, and what stands around it. */
export const adminBodyLimitBytes = 300 * 1024;

/** Says who acts; without it the acts are this API's own. */
export const actorHeader = 'onefold-actor';
const defaultActor = 'admin-api';

/** When a caller shall come again while PostgreSQL or Temporal is away. */
const retryAfterSeconds = 5;

/**
 * Makes the admin API, an Express application: JSON, cursor pages, problem details by RFC 9457. Every request needs a
 * bearer token, before anything else about it is looked at. Opens nothing until it is asked.
 *
 * @throws {OnefoldError} `config_missing` without a token, `config_invalid` for one that is too short.
 */
export function createAdminApi(deps: AdminDependencies, tokens: AdminTokens): Express {
  const accessOf = adminAccess(tokens);
  const handlers = adminHandlers(deps);
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', 'simple');
  app.use(withHeaders, authenticated(accessOf));
  const routes: readonly AdminRoute[] = adminRoutes;
  for (const path of new Set(routes.map((route) => route.path))) {
    const here = app.route(path);
    for (const route of routes.filter((one) => one.path === path)) {
      const handler = handlers[route.name as keyof typeof handlers];
      const method = route.method.toLowerCase() as 'get' | 'post' | 'patch' | 'delete';
      here[method](allowed(route.access), ...(route.method === 'GET' ? [] : [jsonBody]), answering(route, handler));
    }
    here.all(methodNotAllowed(routes.filter((one) => one.path === path).map(({ method }) => method)));
  }
  app.use(() => {
    throw new OnefoldError('not_found', 'the admin API has no such path');
  });
  app.use(problemAnswers(deps));
  return app;
}

/** What helps against a browser, a proxy or a cache that a response strays into. */
const withHeaders: RequestHandler = (_request, response, next) => {
  response.set({
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
  });
  next();
};

/** Access of a request, once its token is judged. */
const accessKey = 'adminAccess';

function authenticated(accessOf: (authorization: string | undefined) => AdminAccess | undefined): RequestHandler {
  return (request, response, next) => {
    const access = accessOf(request.headers.authorization);
    if (access === undefined) throw new OnefoldError('admin_unauthorized', 'the request carries no valid bearer token');
    response.locals[accessKey] = access;
    next();
  };
}

function allowed(needed: AdminAccess): RequestHandler {
  return (_request, response, next) => {
    if (needed === 'act' && response.locals[accessKey] !== 'act') {
      throw new OnefoldError('admin_forbidden', 'this token may read only, and this request acts');
    }
    next();
  };
}

const rawBody = express.raw({ type: () => true, limit: adminBodyLimitBytes, inflate: false });

const jsonBody: RequestHandler = (request, response, next) => {
  // Nothing was sent: the same as an empty object.
  if (request.headers['content-length'] === '0' || !hasBody(request)) return next();
  if (!request.is('application/json')) {
    throw new OnefoldError('body_unreadable', 'expected a body of the type application/json');
  }
  rawBody(request, response, next);
};

function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined;
}

function methodNotAllowed(methods: readonly string[]): RequestHandler {
  return (_request, response) => {
    response.set('allow', methods.join(', '));
    throw new OnefoldError('method_not_allowed', `this path takes ${methods.join(', ')}`);
  };
}

function answering(route: AdminRoute, handler: AdminHandler): RequestHandler {
  return async (request, response) => {
    const { body, status = route.status } = await handler(readRequest(route, request));
    response.status(status).json(body);
  };
}

function readRequest(route: AdminRoute, request: Request): AdminRequest {
  const { tenant = '', ...query } = request.query as Record<string, unknown>;
  const given = Buffer.isBuffer(request.body) && request.body.byteLength > 0 ? readJson(request.body) : {};
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new OnefoldError('body_malformed', 'expected a JSON object');
  }
  const needs = route.needs ?? [];
  const isGet = route.method === 'GET';
  const actor = request.get(actorHeader)?.trim() ?? '';
  return {
    tenant: checkTenant(tenant),
    by: actor === '' ? defaultActor : actor,
    path: readFields(request.params, Object.keys(request.params), [], 'path'),
    query: readFields(query, namesOf(route.query), isGet ? needs : [], 'query'),
    body: readFields(given as Record<string, unknown>, namesOf(route.body), isGet ? [] : needs, 'body'),
  };
}

function problemAnswers({ context }: AdminDependencies): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) return next(error);
    const { code, message } = problemOf(error);
    const status = adminStatus(code);
    if (code === 'internal_error') {
      context.log.error({ method: request.method, ...defect(error) }, 'admin.internal_error');
    } else if (status === 500) {
      context.log.error({ method: request.method, code, reason: message }, 'admin.failed');
    }
    if (status === 401) response.set('www-authenticate', 'Bearer realm="onefold"');
    if (status === 503) response.set('retry-after', String(retryAfterSeconds));
    // What is still arriving of a body that nobody reads must not be taken for the next request.
    if (!request.complete) response.set('connection', 'close');
    send(response, status, code, message);
  };
}

function send(response: Response, status: number, code: ErrorCode, detail: string | undefined): void {
  response
    .status(status)
    .type(problemContentType)
    .send(Buffer.from(problemDocument(status, code, detail)));
}

/** Our own refusals keep their code; those of Express about a malformed request get one; all else is a defect. */
function problemOf(error: unknown): { readonly code: ErrorCode; readonly message: string | undefined } {
  if (error instanceof OnefoldError) return { code: error.code, message: error.message };
  const { status } = (error ?? {}) as { status?: unknown };
  if (status === 413) return { code: 'body_too_large', message: `a body has at most ${adminBodyLimitBytes} bytes` };
  if (status === 415) return { code: 'body_unreadable', message: 'expected a body without content encoding' };
  if (status === 400) return { code: 'request_invalid', message: 'the request is malformed, or ended too early' };
  return { code: 'internal_error', message: undefined };
}

/** Where a defect is, without its message, which may quote what was sent. */
function defect(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { thrown: typeof error };
  const frames = error.stack?.split('\n').filter((line) => line.startsWith('    at '));
  return { name: error.name, stack: frames?.join('\n') };
}

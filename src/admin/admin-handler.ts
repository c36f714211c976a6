import type { AdminRequest } from './admin-request.js';

/** What a handler answers. */
export interface AdminAnswer {
  readonly body: unknown;
  /** Where it is not the route's usual one. */
  readonly status?: number;
}

/** Carries out one route. */
export type AdminHandler = (request: AdminRequest) => Promise<AdminAnswer>;

/** Who acts, and why where they say. */
export function actOf({ by, body }: AdminRequest): { readonly by: string; readonly reason?: string } {
  return { by, ...body.texts('reason') };
}

/** Who wants something done once for each id, and why. */
export function wishOf({ by, body }: AdminRequest): {
  readonly by: string;
  readonly reason: string;
  readonly id?: string;
} {
  return { by, reason: body.text('reason'), ...body.texts('id') };
}

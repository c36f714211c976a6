/** What an error or a response says about an HTTP exchange. */
export interface CarriedStatus {
  /** 100 to 599. */
  readonly status: number;
  /** The response came from where a redirect led to: the first recipient's answer was the redirect. */
  readonly redirected: boolean;
  /** The object that has the status: the error, or the response that it holds. */
  readonly holder: object;
}

interface Holder {
  readonly status?: unknown;
  readonly statusCode?: unknown;
  readonly httpStatusCode?: unknown;
  readonly redirected?: unknown;
}

/** Whether a number is a status that an HTTP response can have. */
export function isHttpStatus(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 100 && (value as number) <= 599;
}

/**
 * Finds the HTTP statuses that an error carries where the well-known clients put them: `status`, `statusCode`, the same of
 * `response`, and `$metadata.httpStatusCode`. Its causes are not looked at.
 */
export function carriedStatuses(error: object): CarriedStatus[] {
  const { response, $metadata } = error as { response?: unknown; $metadata?: unknown };
  return [error, response, $metadata].flatMap((holder) => {
    if (typeof holder !== 'object' || holder === null) return [];
    const { status, statusCode, httpStatusCode, redirected } = holder as Holder;
    return [status, statusCode, httpStatusCode]
      .filter(isHttpStatus)
      .map((found) => ({ status: found, redirected: redirected === true, holder }));
  });
}

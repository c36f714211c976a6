import type { Source } from './define-source.js';
import type { SignRequest } from './source.js';

/**
 * The headers of a delivery as the provider would send it, signed with the source's first secret. The type is that which
 * the configuration names: where the body carries the finer part itself, as GitHub's `action`, the header goes without, so
 * that `issues.opened` is sent as `issues`.
 *
 * @throws {OnefoldError} `config_missing`, `secret_invalid`.
 */
export function signedHeaders(source: Source, delivery: SignRequest): Record<string, string> {
  const type = providersType(delivery);
  return { 'content-type': 'application/json', ...source.preset.sign({ ...delivery, type }) };
}

/** The type as the provider spells it in a header: without the finer part that the body carries itself. */
export function providersType({ body, type }: Pick<SignRequest, 'body' | 'type'>): string {
  const action = actionOf(body);
  const finer = typeof action === 'string' && action !== '' ? `.${action}` : undefined;
  return finer !== undefined && type.length > finer.length && type.endsWith(finer)
    ? type.slice(0, -finer.length)
    : type;
}

function actionOf(body: Uint8Array): unknown {
  try {
    return (JSON.parse(Buffer.from(body).toString('utf8')) as { action?: unknown } | null)?.action;
  } catch {
    // Signed as it is: how the receiver refuses it may be what is to be seen.
    return undefined;
  }
}

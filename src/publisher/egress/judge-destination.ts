import { OnefoldError } from '../../errors.js';
import type { EgressRules } from '../../runtime/egress-rules.js';
import { within } from '../../runtime/within.js';
import { connectTimeoutMs } from '../endpoint.js';
import { judgeUrl } from './judge-url.js';
import { hostResolver, type Resolve } from './resolve-host.js';
import { resolveJudged } from './resolve-judged.js';
import { hostOf } from './url-host.js';

/**
 * Judges where a URL leads when an endpoint is registered, so that its owner learns at once what every attempt would say.
 * It does not replace the judgement at each attempt: a name can lead elsewhere by then.
 *
 * @returns The URL in the form to keep; `resolved` false where the name has no address now, which may be mended before anything is sent.
 * @throws {OnefoldError} `destination_refused` where the URL, or any address of its host, is not allowed.
 */
export async function judgeDestination(
  url: string,
  rules: EgressRules,
  resolve: Resolve = hostResolver(rules),
): Promise<{ readonly url: string; readonly resolved: boolean }> {
  const judged = judgeUrl(url, rules);
  const host = hostOf(judged);
  const unanswered = () => new Error('the resolver did not answer in time');
  const resolved = await resolveJudged(host, rules, (name) => within(connectTimeoutMs, resolve(name), unanswered));
  if (resolved.kind === 'refused') {
    throw new OnefoldError('destination_refused', `the URL is refused: ${resolved.message}`);
  }
  return { url: judged.href, resolved: resolved.kind === 'judged' };
}

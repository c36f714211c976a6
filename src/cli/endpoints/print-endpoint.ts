import { countedLetters } from '../../ledger/endpoints/count-open-letters.js';
import { durationInWords } from '../../operations/check/duration-in-words.js';
import type { EndpointDetails } from '../../operations/endpoints/show-endpoint.js';
import type { Endpoint } from '../../publisher/endpoint.js';
import { plainLine } from './plain-line.js';

/** One line that says where an endpoint stands. */
export function endpointLine({ id, state, types, url, description }: Endpoint): string {
  const about = description === '' ? '' : ` (${plainLine(description)})`;
  return `${id} ${state} ${types.join(',')} ${url}${about}`;
}

/** An endpoint with everything that its owner may see. */
export function endpointInWords({ endpoint, secrets, attempts, openDeadLetters }: EndpointDetails): string {
  const { id, url, tenant, description, types, headerNames, atMostOnce, failingSince, version } = endpoint;
  const lines: readonly (readonly [label: string, text: string] | undefined)[] = [
    ['url', url],
    tenant === '' ? undefined : ['tenant', tenant],
    description === '' ? undefined : ['description', plainLine(description)],
    ['types', types.join(', ')],
    ['state', stateInWords(endpoint)],
    failingSince && ['failing since', failingSince.toISOString()],
    ['dead letters', openDeadLetters < countedLetters ? `${openDeadLetters} open` : `${countedLetters} open, or more`],
    ['headers', headerNames.join(', ') || 'none'],
    ['limits', limitsInWords(endpoint)],
    ['retries', retriesInWords(endpoint)],
    atMostOnce ? ['at most once', 'an attempt that may have arrived is not repeated'] : undefined,
    ...secrets.map(({ createdAt, expiresAt }, index) => {
      const until = expiresAt ? `, signs until ${expiresAt.toISOString()}` : ', signs';
      return [index === 0 ? 'secrets' : '', `of ${createdAt.toISOString()}${until}`] as const;
    }),
    ['changed', `${endpoint.updatedAt.toISOString()}, version ${version}`],
    ...attempts.map(({ publication, attempt, startedAt, ended, code, status, durationMs }, index) => {
      const end = [ended ?? 'no end yet', status, code, durationMs === undefined ? undefined : `${durationMs} ms`];
      const said = end.filter((part) => part !== undefined).join(' ');
      const line = `${startedAt.toISOString()} ${plainLine(publication)} attempt ${attempt}: ${said}`;
      return [index === 0 ? 'attempts' : '', line] as const;
    }),
    attempts.length === 0 ? ['attempts', 'none yet'] : undefined,
  ];
  const shown = lines.filter((line) => line !== undefined);
  return `${id}\n${shown.map(([label, text]) => `  ${label.padEnd(14)} ${text}\n`).join('')}`;
}

/** The state and what brought it about. */
export function stateInWords({ state, stateCode, stateReason, stateAt }: Endpoint): string {
  const because = [stateCode, stateReason && plainLine(stateReason)].filter(Boolean).join(': ');
  return `${state} since ${stateAt.toISOString()}${because === '' ? '' : ` (${because})`}`;
}

function limitsInWords({ rateLimit, concurrency, timeoutMs }: Endpoint): string {
  const rate = rateLimit === undefined ? 'no rate limit' : `${rateLimit} requests a second`;
  const timeout = timeoutMs === undefined ? 'the default timeout' : `a timeout of ${durationInWords(timeoutMs)}`;
  return `${rate}, ${concurrency} at once, ${timeout}`;
}

function retriesInWords({ pausesMs, elapsedMs }: Endpoint): string {
  const pauses =
    pausesMs === undefined
      ? 'the schedule of the type, or the default'
      : pausesMs.length === 0
        ? 'none'
        : `after ${pausesMs.map(durationInWords).join(', ')}`;
  return elapsedMs === undefined ? pauses : `${pauses}; for ${durationInWords(elapsedMs)} at most`;
}

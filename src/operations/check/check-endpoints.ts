import { OnefoldError } from '../../errors.js';
import type { Sql } from '../../ledger/database.js';
import { countSealedByKey, type SealedByKey } from '../../ledger/publishing-checks/count-sealed-by-key.js';
import { listSealedWith } from '../../ledger/publishing-checks/list-sealed-with.js';
import { listSubscribedPatterns } from '../../ledger/publishing-checks/list-subscribed-patterns.js';
import { type SurveyedEndpoints, surveyEndpoints } from '../../ledger/publishing-checks/survey-endpoints.js';
import type { SchemaName } from '../../ledger/schema-name.js';
import { defaultElapsedMs } from '../../publisher/endpoint.js';
import { openHeaders } from '../../publisher/endpoint-headers.js';
import { openSecret } from '../../publisher/endpoint-secret.js';
import { candidatePatterns } from '../../publisher/type-pattern.js';
import { type Sealer, secretsKeysVariable } from '../../runtime/seal.js';
import { keysFailure } from './check-publications.js';
import { durationInWords } from './duration-in-words.js';
import { type Finding, finding } from './finding.js';

/** What was learnt of the endpoints of all tenants. */
export interface CheckedEndpoints {
  /** All that were not removed. */
  readonly endpoints: number;
  readonly disabled: number;
  /** Enabled, and nothing but failures for an hour. */
  readonly failing: number;
  /** What is sealed with each key, and whether this process opens it; null where it has no usable keys. */
  readonly keys: readonly (SealedByKey & { readonly opens: boolean | null })[];
  /** Types of the catalogue that no endpoint subscribes to. */
  readonly typesWithoutEndpoints: readonly string[];
}

/** What Onefold tells about endpoints: who subscribes to that subscribes to something. */
const systemTypes = ['endpoint.failing', 'endpoint.disabled', 'endpoint.recovered'] as const;

/** A receiver that is deployed or restarted fails for minutes, and nobody needs to know. */
const failingForMs = 3_600_000;

/** Endpoints, and types, that a message names; the others are counted. */
const named = 3;

/** Keys looked at; a rotation leaves two. */
const keysLimit = 20;

/** Looks at the endpoints: whether they can be sent to, and whether what is published has somewhere to go. */
export async function checkEndpoints(
  sql: Sql,
  schema: SchemaName,
  types: readonly string[],
  sealer: Sealer,
): Promise<{ readonly endpoints: CheckedEndpoints; readonly findings: readonly Finding[] }> {
  const patterns = [...new Set([...types, ...systemTypes].flatMap(candidatePatterns))];
  const survey = await surveyEndpoints(sql, schema, { patterns, defaultElapsedMs, failingForMs, named });
  const subscribed = await listSubscribedPatterns(sql, schema, patterns);
  const unwanted = types.filter((type) => !candidatePatterns(type).some((pattern) => subscribed.has(pattern)));
  const keys = await checkKeys(sql, schema, survey.any, sealer);
  return {
    endpoints: {
      endpoints: survey.any.count,
      disabled: survey.disabled.count,
      failing: survey.failing.count,
      keys: keys.keys,
      typesWithoutEndpoints: unwanted,
    },
    findings: [
      ...keys.findings,
      ...about(survey.disabled, 'endpoints_disabled', (are) => [
        `${are} disabled: what is published for them is held, and ends as a dead letter with its budget`,
        'ask their owners; then `onefold endpoints enable`, and `onefold endpoints recover` for what they missed',
      ]),
      ...about(survey.failing, 'endpoints_failing', (are, count) => [
        `${are} failing: for ${durationInWords(failingForMs)} or longer every attempt at ${count === 1 ? 'it' : 'them'} has failed`,
        'see `onefold endpoints show` for the last answers, and tell their owners; after five days they are disabled',
      ]),
      ...about(survey.unsubscribed, 'endpoint_without_types', (are, count) => [
        `${are} subscribed to nothing that the catalogue has: ${count === 1 ? 'it gets' : 'they get'} no message`,
        'mend the types by `onefold endpoints update --types`, or declare what they wait for in `publications`',
      ]),
      ...about(survey.overlong, 'schedule_exceeds_elapsed', (are) => [
        `${are} given a schedule whose pauses come to more than the time from publishing to the last attempt: its last attempts are never made`,
        'raise the elapsed time or shorten the schedule by `onefold endpoints update`',
      ]),
      ...wantedByNobody(unwanted, survey.any.count),
    ],
  };
}

/** A key of the right name may still be another one, so something that it sealed is opened. */
async function checkKeys(
  sql: Sql,
  schema: SchemaName,
  { count }: SurveyedEndpoints,
  sealer: Sealer,
): Promise<{ readonly keys: CheckedEndpoints['keys']; readonly findings: readonly Finding[] }> {
  const sealed = await countSealedByKey(sql, schema, keysLimit);
  const failure = keysFailure({ sealer });
  if (failure) {
    const keys = sealed.map((one) => ({ ...one, opens: null }));
    // What is malformed is found without a ledger.
    if (failure.code !== 'config_missing' || count === 0) return { keys, findings: [] };
    const message = `it is not set, and the ledger has ${counted(count, 'endpoint')}: nothing can be signed, so nothing is sent`;
    const remedy =
      'give every worker the keys that the secrets were sealed with: <name>:<base64 of 32 bytes>, comma separated';
    return { keys, findings: [finding('secrets_keys_missing', { place: secretsKeysVariable, message, remedy })] };
  }
  const keys: CheckedEndpoints['keys'][number][] = [];
  const findings: Finding[] = [];
  for (const one of sealed) {
    const places = await listSealedWith(sql, schema, one.key, named);
    const reason = places[0] && unreadable(sealer, places[0]);
    keys.push({ ...one, opens: reason === undefined });
    if (reason === undefined) continue;
    const parts = [
      ...(one.secrets > 0 ? [counted(one.secrets, 'secret')] : []),
      ...(one.headers > 0 ? [`the headers of ${counted(one.headers, 'endpoint')}`] : []),
    ];
    const first = [...new Map(places.map((place) => [place.tenant + place.endpoint, place])).values()];
    findings.push(
      finding('secrets_unreadable', {
        place: secretsKeysVariable,
        message: `${parts.join(' and ')} cannot be opened: ${reason}. Nothing is sent to ${names({ count: one.endpoints, named: first })}`,
        remedy: `give every worker the key '${one.key}' as it was, behind the others; if it is lost, rotate the secrets and set the headers anew`,
      }),
    );
  }
  return { keys, findings };
}

function unreadable(
  sealer: Sealer,
  { tenant, endpoint, secret, ...sealed }: Awaited<ReturnType<typeof listSealedWith>>[number],
): string | undefined {
  try {
    if (secret === '') openHeaders(sealer, sealed, { tenant, endpoint });
    else openSecret(sealer, sealed, { tenant, endpoint, id: secret });
    return undefined;
  } catch (error) {
    if (error instanceof OnefoldError && error.code === 'secret_unreadable')
      return error.message.replace(/: add .*$/, '');
    throw error;
  }
}

function about(
  found: SurveyedEndpoints,
  id: 'endpoints_disabled' | 'endpoints_failing' | 'endpoint_without_types' | 'schedule_exceeds_elapsed',
  say: (are: string, count: number) => [message: string, remedy: string],
): readonly Finding[] {
  if (found.count === 0) return [];
  const [message, remedy] = say(`${names(found)} ${found.count === 1 ? 'is' : 'are'}`, found.count);
  return [finding(id, { place: 'endpoints', message, remedy })];
}

function wantedByNobody(types: readonly string[], endpoints: number): readonly Finding[] {
  if (types.length === 0) return [];
  const first = types.slice(0, named).join(', ');
  const more = types.length > named ? ` and ${types.length - named} more` : '';
  return [
    finding('type_without_endpoints', {
      place: 'publications',
      message:
        endpoints === 0
          ? 'there is no endpoint yet: what is published is recorded, and sent to nobody'
          : `no endpoint subscribes to ${first}${more}: such messages are recorded, and sent to nobody`,
      remedy: 'none where that is meant; else `onefold endpoints add`. It gets what is published from then on',
    }),
  ];
}

/** `2 endpoints (ep_1, ep_2 of tenant acme)`: enough to begin with, and not everybody's customers. */
function names({ count, named: first }: SurveyedEndpoints): string {
  const listed = first.map(({ tenant, endpoint }) => (tenant === '' ? endpoint : `${endpoint} of tenant ${tenant}`));
  return `${counted(count, 'endpoint')} (${listed.join(', ')}${count > first.length ? ', …' : ''})`;
}

function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

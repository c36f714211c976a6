import { OnefoldError } from '../../errors.js';
import { deliveryPolicy } from '../../publisher/delivery-policy.js';
import { secretsKeysVariable } from '../../runtime/seal.js';
import type { PublishingContext } from '../context.js';
import { durationInWords } from './duration-in-words.js';
import { type Finding, finding } from './finding.js';
import { type DeliveryRecovery, whatDelivers } from './what-delivers.js';

/** What was learnt of a configuration that publishes. */
export interface CheckedPublications {
  /** What recognises an intent that was published before, for each endpoint. */
  readonly publicationIdentity: { readonly from: string; readonly workflowId: string };
  /** By what receivers recognise a message that they had before. */
  readonly eventIdentity: { readonly from: string; readonly header: string };
  readonly types: readonly CheckedType[];
  /** If this was recorded and then crashed, what finishes the work? Point by point. */
  readonly whatFinishes: readonly DeliveryRecovery[];
}

/** A type of the catalogue, and how long its messages are tried where an endpoint has no schedule of its own. */
export interface CheckedType {
  readonly type: string;
  readonly maximumAttempts: number;
  /** Of all pauses, before jitter, ms. */
  readonly scheduleMs: number;
  /** From publishing to the last attempt, ms. */
  readonly maximumElapsedMs: number;
}

/** Which parts of a context a configuration's publications are judged by. */
export type PublicationsContext = Pick<PublishingContext, 'publications' | 'sealer' | 'egressRules'>;

/**
 * Describes what is published, and judges what needs no server: the budgets of the types, the keys that seal, where
 * messages may go.
 *
 * @returns Nothing where the configuration publishes nothing.
 */
export function checkPublications(
  context: PublicationsContext,
  production: boolean,
): { readonly publications: CheckedPublications | null; readonly findings: readonly Finding[] } {
  // A configuration that was built with an older version of the package has no such field.
  const catalogue = context.publications as PublicationsContext['publications'] | null;
  if (!catalogue) return { publications: null, findings: [] };
  const types = Object.keys(catalogue.events).map((type): CheckedType => {
    const budget = catalogue.budgets.get(type) ?? { pausesMs: null, elapsedMs: null };
    const endpoint = { timeoutMs: null, pausesMs: null, elapsedMs: null };
    const { pausesMs, maximumElapsedMs } = deliveryPolicy({ endpoint, publication: { retried: true, ...budget } });
    return { type, maximumAttempts: pausesMs.length + 1, scheduleMs: sum(pausesMs), maximumElapsedMs };
  });
  return {
    publications: {
      publicationIdentity: {
        from: 'tenant, endpoint, and the `publication` that is given',
        workflowId: 'publication/<tenant>/<endpoint>/<publication>',
      },
      eventIdentity: {
        from: 'the `eventId` that is given, else made from tenant and publication',
        header: 'webhook-id',
      },
      types,
      whatFinishes: whatDelivers,
    },
    findings: [
      ...types.flatMap((type) => judgeBudget(type, catalogue.budgets.get(type.type)?.pausesMs ?? null)),
      ...read(() => judgeKeys(context)),
      ...read(() => judgeEgress(context, production)),
    ],
  };
}

/** A short `maximumElapsed` alone is meant to cut the default schedule; with a schedule beside it, one of them is a slip. */
function judgeBudget(type: CheckedType, pausesMs: readonly number[] | null): readonly Finding[] {
  const { scheduleMs, maximumElapsedMs, maximumAttempts } = type;
  if (!pausesMs || scheduleMs <= maximumElapsedMs) return [];
  const made = 1 + pausesMs.findIndex((_, index) => sum(pausesMs.slice(0, index + 1)) > maximumElapsedMs);
  return [
    finding('schedule_exceeds_elapsed', {
      place: `publications '${type.type}'`,
      message: `its pauses come to ${durationInWords(scheduleMs)}, and its messages are given up ${durationInWords(maximumElapsedMs)} after publishing: of ${maximumAttempts} attempts at most ${made} are made`,
      remedy: 'raise `maximumElapsed`, or leave the pauses out that do not fit',
    }),
  ];
}

/** Settings are read on first use, which is here where nothing else was looked at. */
function read(judge: () => readonly Finding[]): readonly Finding[] {
  try {
    return judge();
  } catch (error) {
    if (!(error instanceof OnefoldError)) throw error;
    const { message } = error;
    return [finding('config_invalid', { place: 'publications', message, remedy: 'mend the setting that is named' })];
  }
}

function judgeKeys(context: PublicationsContext): readonly Finding[] {
  const failure = keysFailure(context);
  // That they are missing matters to endpoints alone, which the ledger knows of.
  return failure?.code === 'config_invalid' ? [keysInvalid(failure)] : [];
}

function keysInvalid({ message }: OnefoldError): Finding {
  return finding('secrets_keys_invalid', {
    place: secretsKeysVariable,
    message: message.replace(`${secretsKeysVariable}: `, ''),
    remedy: 'mend that entry, in every process that sends, or makes or changes endpoints',
  });
}

/** Why nothing can be sealed or opened here. */
export function keysFailure({ sealer }: Pick<PublicationsContext, 'sealer'>): OnefoldError | undefined {
  try {
    void sealer.currentKey;
    return undefined;
  } catch (error) {
    if (error instanceof OnefoldError) return error;
    throw error;
  }
}

function judgeEgress({ egressRules }: PublicationsContext, production: boolean): readonly Finding[] {
  const { hosts, ranges, tenants } = egressRules;
  if (!production || hosts.size + ranges.length === 0) return [];
  return [
    finding('egress_allowed_in_production', {
      place: 'ONEFOLD_EGRESS_ALLOW, or createOnefold.egress',
      message: `with NODE_ENV=production, ${allowed(hosts.size, ranges.length)} may be sent to although not public, and over http: whoever may add endpoints${tenants ? '' : ' without a tenant'} reaches them`,
      remedy: 'allow nothing there but what your own endpoints need, and check who may add endpoints',
    }),
  ];
}

function allowed(hosts: number, ranges: number): string {
  return [
    ...(hosts > 0 ? [`${hosts} host ${hosts === 1 ? 'name' : 'names'}`] : []),
    ...(ranges > 0 ? [`${ranges} ${ranges === 1 ? 'address or range' : 'addresses or ranges'}`] : []),
  ].join(' and ');
}

function sum(pausesMs: readonly number[]): number {
  return pausesMs.reduce((total, pauseMs) => total + pauseMs, 0);
}

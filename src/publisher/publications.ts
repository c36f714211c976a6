import type { RegisteredTx } from '../effects/effect.js';
import { currentEffect } from '../effects/effect-scope.js';
import { OnefoldError } from '../errors.js';
import { durationMs } from '../runtime/duration.js';
import { refuseUnknownOptions } from '../runtime/options.js';
import type { EventSchemas } from '../sources/source.js';
import type { PublicationOrigin } from './build-publication.js';
import type { PublicationCatalogue, PublicationOf, Published, TypeBudget } from './publication.js';
import { originOf, type PublishDependencies, publish, publishIn } from './publish.js';
import { checkType } from './type-pattern.js';

/** How long messages of one type are tried, where the endpoint has no schedule of its own. */
export interface PublicationRetryOptions {
  /** Pauses between attempts, before jitter; one attempt more is made. At most 50, each at most 30 days. */
  readonly schedule?: readonly (string | number)[];
  /** From publishing to the last attempt. At most 30 days. */
  readonly maximumElapsed?: string | number;
}

/** What {@link publications} takes. */
export interface PublicationsOptions<Events extends EventSchemas> {
  /** The types that are published, each with a Standard Schema (zod, valibot, arktype, …) or `types<T>()`. */
  readonly events: Events;
  /** By type. Default for each: 11 attempts over some three days, given up after five. */
  readonly retry?: { readonly [Type in keyof Events]?: PublicationRetryOptions };
}

/** The catalogue of what an application publishes. */
export interface Publications<Events extends EventSchemas = EventSchemas> extends PublicationCatalogue {
  readonly events: Events;
  /**
   * Publishes from inside an effect, in a transaction of its own: for `perform`, which has none. What it wrote stays, also
   * where the effect fails afterwards; its next attempt finds it published. In a `commit` it would take a second connection
   * beside the one that its transaction holds, so {@link publishIn} is meant there. Outside of effects there is
   * `onefold.publish`. The tenant is the event's, unless the message names one.
   *
   * @throws {OnefoldError} `config_invalid` outside of an effect, and after it ended; else as `onefold.publish`.
   */
  publish(publication: PublicationOf<Events>): Promise<Published>;
  /**
   * Publishes from inside an effect, in its transaction: the message goes out if the effect commits, and never where it does
   * not. Outside of effects there is `onefold.publishIn`. The tenant is the event's, unless the message names one.
   *
   * @param tx What `commit` was given.
   * @throws {OnefoldError} `config_invalid` outside of an effect, and after it ended; else as `onefold.publishIn`.
   */
  publishIn(tx: RegisteredTx, publication: PublicationOf<Events>): Promise<Published>;
}

const pauseLimit = 50;

/** Longer than that nobody waits for a message; Temporal's timers would. */
const longest = '30 days';

/**
 * Declares what an application publishes. Give it to `createOnefold({ publications })`.
 *
 * @example
 * ```ts
 * export const outgoing = publications({
 *   events: { 'order.confirmed': z.object({ order: z.string() }) },
 *   retry: { 'order.confirmed': { schedule: ['10 seconds', '5 minutes', '1 hour'] } },
 * });
 * ```
 * @throws {OnefoldError} `config_invalid` naming the type and the option at fault.
 */
export function publications<const Events extends EventSchemas>(
  options: PublicationsOptions<Events>,
): Publications<Events> {
  refuseUnknownOptions(options, ['events', 'retry'], 'publications');
  const { events } = options;
  if (typeof events !== 'object' || events === null || Object.keys(events).length === 0) {
    throw new OnefoldError('config_invalid', 'publications.events: name at least one event type with its schema');
  }
  for (const [type, schema] of Object.entries(events)) checkEvent(type, schema);
  const budgets = readBudgets(options.retry ?? {}, events);
  const inEffect = (method: 'publish' | 'publishIn'): { deps: PublishDependencies; origin: PublicationOrigin } => {
    const scope = currentEffect();
    if (scope) {
      const { ledger, metrics, tenant } = scope;
      return { deps: { ledger, publications: catalogue, metrics }, origin: originOf(tenant) };
    }
    throw new OnefoldError(
      'config_invalid',
      `publications.${method}: this works inside the commit or perform of an effect, until that has ended; elsewhere call onefold.${method}`,
    );
  };
  const catalogue: Publications<Events> = Object.freeze({
    events,
    budgets,
    publish: async (publication: PublicationOf<Events>) => {
      const { deps, origin } = inEffect('publish');
      return publish(deps, publication, origin);
    },
    publishIn: async (tx: RegisteredTx, publication: PublicationOf<Events>) => {
      const { deps, origin } = inEffect('publishIn');
      return publishIn(deps, tx, publication, origin);
    },
  });
  return catalogue;
}

function checkEvent(type: string, schema: EventSchemas[string] | undefined): void {
  const place = `publications.events['${type}']`;
  try {
    checkType(type);
  } catch (error) {
    throw new OnefoldError('config_invalid', `${place}: ${(error as Error).message}`, { cause: error });
  }
  if (typeof schema?.['~standard']?.validate !== 'function') {
    throw new OnefoldError(
      'config_invalid',
      `${place}: expected a Standard Schema (zod, valibot, arktype, …) or types<T>()`,
    );
  }
}

function readBudgets(
  retry: { readonly [type: string]: PublicationRetryOptions | undefined },
  events: EventSchemas,
): ReadonlyMap<string, TypeBudget> {
  refuseUnknownOptions(retry, Object.keys(events), 'publications.retry');
  const entries = Object.entries(retry).map(([type, options = {}]): [string, TypeBudget] => {
    const place = `publications.retry['${type}']`;
    refuseUnknownOptions(options, ['schedule', 'maximumElapsed'], place);
    const { schedule, maximumElapsed } = options;
    return [
      type,
      {
        pausesMs: schedule === undefined ? null : readSchedule(schedule, `${place}.schedule`),
        elapsedMs: maximumElapsed === undefined ? null : durationMs(maximumElapsed, `${place}.maximumElapsed`, longest),
      },
    ];
  });
  return new Map(entries);
}

function readSchedule(schedule: unknown, place: string): readonly number[] {
  if (!Array.isArray(schedule) || schedule.length > pauseLimit) {
    throw new OnefoldError('config_invalid', `${place}: expected a list of at most ${pauseLimit} pauses`);
  }
  return schedule.map((pause: unknown, index) => durationMs(pause, `${place}[${index}]`, longest));
}

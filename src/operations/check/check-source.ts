import { type Catalogue, subscribedEffects } from '../../effects/catalogue.js';
import { encodeSegment } from '../../identity/encode-segment.js';
import { durationInWords } from './duration-in-words.js';
import { type Finding, type FindingId, finding } from './finding.js';

/** A source, by way of the catalogue that it stands in. */
export type Source = Catalogue['sources'][number];

/** What was learnt of one source. */
export interface CheckedSource {
  readonly name: string;
  readonly provider: string;
  readonly eventIdentity: {
    /** The header or field that it is read from. */
    readonly from: string;
    /** Whether the signature covers that. */
    readonly signed: boolean;
    /** The workflow ID that it becomes. */
    readonly workflowId: string;
  };
  readonly acknowledge: 'durable' | 'settled';
  /** Settled only: how long a request is held, ms. */
  readonly settleWithinMs?: number;
  /** What is known of the provider; absent fields are not. */
  readonly facts: Source['preset']['facts'];
  readonly events: readonly { readonly type: string; readonly effects: readonly string[] }[];
  /** Whether events without an effect are recorded too. */
  readonly records: 'subscribed' | 'all';
}

/** An answer needs about so much to reach the provider, ms. */
const answerMarginMs = 1_000;

/** Describes a source, and judges it against what is known of its provider. */
export function checkSource(
  source: Source,
  effects: Catalogue['effects'],
): { readonly source: CheckedSource; readonly findings: readonly Finding[] } {
  const { name, preset, settings } = source;
  const { facts } = preset;
  const settled = settings.acknowledge === 'settled';
  return {
    source: {
      name,
      provider: preset.provider,
      eventIdentity: {
        from: preset.identityFrom,
        signed: !facts.identityUnsigned,
        workflowId: `event/${tenantSegment(settings.tenant)}/${encodeSegment(name)}/<event id>`,
      },
      acknowledge: settings.acknowledge,
      ...(settled ? { settleWithinMs: settings.settleWithinMs } : {}),
      facts,
      events: Object.keys(source.events).map((type) => ({
        type,
        effects: subscribedEffects(effects, name, type).map((effect) => effect.name),
      })),
      records: settings.record,
    },
    findings: [...judge(source, effects)],
  };
}

function* judge({ name, preset, settings }: Source, effects: Catalogue['effects']): Iterable<Finding> {
  const found = (id: FindingId, message: string, remedy: string): Finding =>
    finding(id, { place: `source '${name}'`, message, remedy });
  const { timeoutMs, identityUnsigned } = preset.facts;
  if (settings.acknowledge === 'settled' && timeoutMs !== undefined) {
    const held = `it holds requests for up to ${durationInWords(settings.settleWithinMs)}, and ${preset.provider} waits for ${durationInWords(timeoutMs)}`;
    const remedy = `leave \`settleWithin\` out, or take at most ${durationInWords(timeoutMs - answerMarginMs)}`;
    if (settings.settleWithinMs > timeoutMs) {
      yield found('settle_exceeds_provider', `${held}: every slow outcome counts there as a failed delivery`, remedy);
    } else if (settings.settleWithinMs > timeoutMs - answerMarginMs) {
      yield found('settle_close_to_provider', `${held}: an answer at the deadline may come too late`, remedy);
    }
  }
  if (identityUnsigned && !settings.refuseOtherBody) {
    yield found(
      'identity_unguarded',
      'its event identity lies outside the signature, and another body under a known identity is taken: who has one signed body can use it up under the identity of an event to come',
      'leave `refuseOtherBody` on',
    );
  }
  if (settings.record === 'subscribed' && !effects.some((effect) => effect.source === name)) {
    yield found(
      'source_without_effects',
      'no effect subscribes to it: every event is answered `ignored`, and none is recorded',
      "declare an effect, record events with `record: 'all'`, or take the source out",
    );
  }
}

function tenantSegment(tenant: Source['settings']['tenant']): string {
  return typeof tenant === 'function' ? '<tenant>' : encodeSegment(tenant);
}
